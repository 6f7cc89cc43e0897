"""The laws that every decoder obeys (architecture, decoders), each tested once for all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.records.codec import decode_fields, encode
from exchange.records.kinds import Kind
from exchange.records.order_entry import new_order
from exchange.records.positions import Nanoseconds, Position, StreamPosition
from exchange.records.record import Record
from tests.laws.programs import CASES, STREAMS, Case, apply_all, program

ROOT = Path(__file__).resolve().parents[2]
each_decoder = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_the_program_brings_every_kind_of_record_about() -> None:
    """A law proved on inputs where nothing happens would be empty."""
    records = [record for seed in range(3) for record in program(seed, 600)]
    kinds = {decode_fields(record.payload)[0] for record in records if record.stream == "tape"}
    assert kinds == set(range(Kind.ORDER_ACCEPTED, Kind.INPUT_REFUSED + 1))
    for case in CASES:
        assert sum(map(len, apply_all(case.make(), records))) > 1000


@each_decoder
def test_equal_input_gives_equal_output_and_equal_state(case: Case) -> None:
    for seed in range(3):
        records = program(seed, 600)
        first, second = case.make(), case.make()
        assert apply_all(first, records) == apply_all(second, records)
        assert first.snapshot() == second.snapshot()


@each_decoder
def test_restoring_at_any_record_and_reading_the_rest_equals_never_stopping(case: Case) -> None:
    records = [record for record in program(5, 110) if case.make().reads(record.stream)]
    unbroken = case.make()
    snapshots = [unbroken.snapshot()]
    outputs = []
    for record in records:
        outputs.append(list(unbroken.apply(record)))
        snapshots.append(unbroken.snapshot())
    for end, snapshot in enumerate(snapshots):
        restored = case.make()
        restored.restore(snapshot)
        assert apply_all(restored, records[end:]) == outputs[end:]
        assert restored.snapshot() == snapshots[-1]


@each_decoder
def test_a_snapshot_survives_its_restoration(case: Case) -> None:
    decoder = case.make()
    for count, record in enumerate(program(6, 600)):
        if decoder.reads(record.stream):
            decoder.apply(record)
        if count % 7 == 0:
            snapshot = decoder.snapshot()
            restored = case.make()
            restored.restore(snapshot)
            assert restored.snapshot() == snapshot
    assert decoder.snapshot() != case.make().snapshot()


def test_the_hash_seed_changes_no_byte() -> None:
    """B69: nothing that a process draws at its start reaches an output or a state."""
    digests = {
        subprocess.run(
            [sys.executable, "-m", "tests.laws.replay_digest"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("4242", "America/Lima"))
    }
    assert len(digests) == 1
    assert len(digests.pop().splitlines()) == 3 * len(CASES)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=4), st.binary(max_size=4)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=14) | st.dictionaries(scalars, inner, max_size=2), max_leaves=30
)
kinds = st.sampled_from([int(kind) for kind in Kind])
requests = [record.payload for record in program(7, 150)]


@st.composite
def altered_payloads(draw: st.DrawFn) -> bytes:
    """A payload of ours with one field replaced by anything."""
    fields = list(decode_fields(draw(st.sampled_from(requests).filter(decodes))))
    fields[draw(st.integers(0, len(fields) - 1))] = draw(values)
    return encode(fields)


def decodes(payload: bytes) -> bool:
    try:
        return len(decode_fields(payload)) > 1
    except ValueError:
        return False


streams = st.one_of(st.sampled_from(STREAMS), st.sampled_from(("tape", "orders/ACME/ACME-1")))
hostile_payloads = st.one_of(
    st.binary(max_size=80),
    st.builds(lambda kind, rest: encode([kind, *rest]), kinds, st.lists(values, max_size=20)),
    altered_payloads(),
    st.builds(
        lambda payload, at, byte: payload[: at % 99] + bytes([byte]) + payload[at % 99 + 1 :],
        st.sampled_from(requests),
        st.integers(0, 98),
        st.integers(0, 255),
    ),
    st.builds(lambda depth: b"\x92\x2a" + b"\x91" * depth + b"\x01", st.integers(1, 2000)),
    st.builds(lambda kind, size: encode((kind, "x" * size)), kinds, st.integers(8000, 8300)),
)


@each_decoder
@given(st.lists(st.tuples(streams, hostile_payloads), min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_apply_never_raises_and_its_state_stays_sound(case: Case, hostile: list[tuple[str, bytes]]) -> None:
    """Whatever the bytes, an order stream is answered, outputs are records, and the decoder goes on as it was."""
    decoder = case.make()
    history = program(8, 25)
    apply_all(decoder, history)
    position = len(history)
    for stream, payload in hostile:
        position += 1
        drafts = decoder.apply(_record(position, stream, payload))
        assert drafts or not (stream.startswith("orders/") and case.name == "matcher")
        for draft in drafts:
            fields = decode_fields(draft.payload)
            assert fields[0] in list(Kind)
            assert case.name != "matcher" or fields[1] == position
    restored = case.make()
    restored.restore(decoder.snapshot())
    assert restored.snapshot() == decoder.snapshot()
    sound = _record(position + 1, "orders/ACME/ACME-1", encode(new_order(1, 2, "FRESH", None, "ALFA", 1, 2, 0, 5, 96)))
    assert decoder.apply(sound) == restored.apply(sound)


def _record(position: int, stream: str, payload: bytes) -> Record:
    now = Nanoseconds(position)
    return Record(Position(position), stream, StreamPosition(position * 3), now, now, payload)


@each_decoder
def test_the_build_is_a_digest(case: Case) -> None:
    build = case.make().build
    assert len(build) == 64
    assert int(build, 16)
    assert case.make().kind == case.name
    assert build == case.make().build
