"""The audit derives every published byte again, and shows the first that is not what its input says."""

from pathlib import Path

import pytest

from exchange.decoding.rederive import rederive
from exchange.records.clock import TICK_PAYLOAD
from exchange.records.codec import decode_fields, encode
from exchange.records.order_entry import OrderType, Side, TimeInForce, new_order
from exchange.streams.log_reader import open_log
from exchange.symbol_partition.matcher import Matcher
from exchange.symbol_partition.user_partitioner import UserPartitioner
from operations.audit import AuditedStream, DifferenceError, audit_venue
from operations.failures import UnreachableError, WrongUseError
from operations.record_text import payload_text
from operations.reference_data import configured_entries
from tests.operations.venues import demo_venue
from tests.operations.written_log import Writes, write_log


def order(number: int, side: Side, quantity: int) -> bytes:
    return encode(
        new_order(1, number, f"C{number}", None, "ALFA", side, OrderType.LIMIT, TimeInForce.DAY, quantity, 1050)
    )


REFDATA = [encode(entry) for entry in configured_entries(demo_venue(), "sym-1")]
INPUT: Writes = [
    ("sym-1", "refdata", None, REFDATA),
    ("sym-1", "orders/ACME/ACME-1", None, [order(1, Side.SELL, 100)]),
    ("sym-1", "orders/BOLT/BOLT-1", None, [order(2, Side.BUY, 40)]),
    ("sym-1", "clock", "a", [TICK_PAYLOAD]),
]


async def sequence_input(directory: Path) -> list[bytes]:
    """A log with the input of one trade; the tape that a matcher derives from it.

    Derived bytes hold sequencing times, so a correct output is derived from the very log that it is written into.
    """
    await write_log(directory, INPUT)
    return [output.payload for output in rederive(lambda: Matcher("sym-1"), open_log(directory).records("sym-1"))]


async def sequence_trade(directory: Path) -> Writes:
    """A log with input and tape; what a partitioner then has to write."""
    tape = await sequence_input(directory)
    await write_log(directory, [("sym-1", "tape", "a", tape)])
    outputs = rederive(lambda: UserPartitioner("sym-1"), open_log(directory).records("sym-1"))
    return [(output.partition, output.stream, "a", [output.payload]) for output in outputs]


def audit(directory: Path, only: str | None = None) -> list[AuditedStream]:
    return audit_venue(demo_venue(), directory, only, lambda name, done, total: None)


def difference(directory: Path) -> list[str]:
    with pytest.raises(DifferenceError) as caught:
        audit(directory)
    assert caught.value.exit_code == 1
    return list(caught.value.lines)


TAPES = [AuditedStream("sym-1", "tape", "sym-1", equal=3), AuditedStream("sym-2", "tape", "sym-2")]


async def test_a_log_that_its_input_explains_has_no_difference(tmp_path: Path) -> None:
    await write_log(tmp_path, await sequence_trade(tmp_path))
    assert audit(tmp_path) == [
        *TAPES,
        AuditedStream("user-1", "sym-1/ACME", "sym-1", equal=3),
        AuditedStream("user-1", "sym-1/CRUX", "sym-1", equal=1),
        AuditedStream("user-2", "sym-1/BOLT", "sym-1", equal=3),
    ]


async def test_what_is_not_written_yet_is_counted_and_no_difference(tmp_path: Path) -> None:
    writes = await sequence_trade(tmp_path)
    await write_log(tmp_path, writes[:1])
    assert (writes[0][:2], audit(tmp_path)) == (
        ("user-1", "sym-1/ACME"),
        [
            *TAPES,
            AuditedStream("user-1", "sym-1/ACME", "sym-1", equal=1, unwritten=2),
            AuditedStream("user-1", "sym-1/CRUX", "sym-1", unwritten=1),
            AuditedStream("user-2", "sym-1/BOLT", "sym-1", unwritten=3),
        ],
    )


async def test_one_partition_can_be_audited_alone(tmp_path: Path) -> None:
    await write_log(tmp_path, await sequence_trade(tmp_path))
    assert audit(tmp_path, "sym-1") == TAPES[:1]
    with pytest.raises(WrongUseError):
        audit(tmp_path, "sym-9")


async def test_a_record_with_other_bytes_is_the_first_difference(tmp_path: Path) -> None:
    tape = await sequence_input(tmp_path)
    forged = encode((*decode_fields(tape[1])[:5], "C9", *decode_fields(tape[1])[6:]))
    await write_log(tmp_path, [("sym-1", "tape", "a", [tape[0], forged, tape[2]])])
    assert difference(tmp_path) == [
        "sym-1 position 15: tape[1] differs from sym-1",
        f"  written: {payload_text(forged)}",
        f"  derived: {payload_text(tape[1])}",
    ]


async def test_a_record_that_nothing_caused_is_a_difference(tmp_path: Path) -> None:
    tape = await sequence_input(tmp_path)
    await write_log(tmp_path, [("sym-1", "tape", "a", [*tape, tape[2]])])
    assert difference(tmp_path) == [
        "sym-1 position 17: tape[3] differs from sym-1",
        f"  written: {payload_text(tape[2])}",
        "  derived: nothing: no input caused it",
    ]


async def test_a_report_to_the_wrong_participant_is_a_difference(tmp_path: Path) -> None:
    own = [payloads for _, stream, _, payloads in await sequence_trade(tmp_path) if stream == "sym-1/ACME"]
    payloads = own[1]
    await write_log(tmp_path, [("user-1", "sym-1/CRUX", "a", payloads)])
    assert difference(tmp_path)[:2] == [
        "user-1 position 1: sym-1/CRUX[0] differs from sym-1",
        f"  written: {payload_text(payloads[0])}",
    ]


def test_a_directory_where_no_venue_has_run_cannot_be_audited(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError):
        audit(tmp_path / "none")
