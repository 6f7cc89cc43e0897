"""The tape in, each participant's own stream out."""

from collections.abc import Sequence
from typing import Any

import pytest

from exchange.records.codec import decode_fields, encode
from exchange.records.kinds import Kind
from exchange.records.order_entry import unacceptable_order
from exchange.records.record import Draft, Record
from exchange.records.reference_data import participant_added
from exchange.records.refusals import Refusal
from exchange.records.user_feed import Beacon, Fill, Liquidity
from exchange.symbol_partition import user_partitioner
from exchange.symbol_partition.user_partitioner import UserPartitioner
from tests.symbol_partition.tape import BUY, DAY, GTC, LIMIT, SELL, UNITS, SymbolPartition, time_of


class Delivery:
    """A symbol partition whose tape is partitioned: ACME and CRUX in user-1, BOLT in user-2."""

    def __init__(self) -> None:
        self.symbols = SymbolPartition()
        self.partitioner = UserPartitioner("sym-1")
        self.position = 0
        for participant, user_partition in (("ACME", "user-1"), ("BOLT", "user-2"), ("CRUX", "user-1")):
            self.put("refdata", encode(participant_added(participant, user_partition)))

    def put(self, stream: str, payload: bytes) -> Sequence[Draft]:
        record = Record(self.position, stream, 40, time_of(self.position), time_of(self.position), payload)
        self.position += 1
        return self.partitioner.apply(record)

    def tape(self, records: Sequence[Any]) -> list[Draft]:
        return [draft for record in records for draft in self.put("tape", encode(record))]


def test_all_but_trades_travel_unchanged_to_the_participant_they_name() -> None:
    delivery = Delivery()
    symbols = delivery.symbols
    refusal = unacceptable_order(1, 2, "U1", None, "ZZ", BUY, Refusal.UNKNOWN_SYMBOL, "ZZ")
    records = [
        *symbols.order("ACME-1", "A1", BUY, 10, 990),
        *symbols.put("orders/BOLT/BOLT-1", refusal),
        *symbols.cancel("CRUX-1", "C1", "X", BUY),
        *symbols.cancel("ACME-2", "A2", "A1", BUY),
    ]
    assert delivery.tape(records) == [
        Draft("user-1", "sym-1/ACME", encode(records[0])),
        Draft("user-2", "sym-1/BOLT", encode(records[1])),
        Draft("user-1", "sym-1/CRUX", encode(records[2])),
        Draft("user-1", "sym-1/ACME", encode(records[3])),
    ]


def test_a_trade_becomes_one_fill_per_half_the_makers_first_and_names_no_counterparty() -> None:
    delivery = Delivery()
    delivery.symbols.order("ACME-1", "A1", SELL, 4, 1000, account="HOUSE")
    _, trade = delivery.symbols.order("BOLT-2", "B1", BUY, 10, 1005, time_in_force=GTC)
    maker = Fill(
        Kind.FILL, 6, 1, time_of(6), "ACME", "ACME-1", 5, "A1", "HOUSE", "ALFA", UNITS, SELL, LIMIT, DAY, 4, 1000, 4, 0,
        4000, 1000, 4, Liquidity.ADDED, 1,
    )  # fmt: skip
    taker = Fill(
        Kind.FILL, 6, 2, time_of(6), "BOLT", "BOLT-2", 6, "B1", None, "ALFA", UNITS, BUY, LIMIT, GTC, 10, 1005, 4, 6,
        4000, 1000, 4, Liquidity.REMOVED, 1,
    )  # fmt: skip
    assert delivery.tape([trade]) == [
        Draft("user-1", "sym-1/ACME", encode(maker)),
        Draft("user-2", "sym-1/BOLT", encode(taker)),
    ]


def test_one_participant_on_both_sides_is_told_twice() -> None:
    delivery = Delivery()
    delivery.symbols.order("ACME-1", "A1", SELL, 4, 1000)
    _, trade = delivery.symbols.order("ACME-2", "A2", BUY, 4, 1000)
    drafts = delivery.tape([trade])
    assert [draft.stream for draft in drafts] == ["sym-1/ACME"] * 2
    assert [Fill(*decode_fields(draft.payload)).cl_ord_id for draft in drafts] == ["A1", "A2"]


def test_a_tick_becomes_a_beacon_for_every_participant_in_creation_order() -> None:
    delivery = Delivery()
    payload = encode(Beacon(Kind.BEACON, 40, 3, time_of(3)))
    assert delivery.put("clock", b"") == [
        Draft("user-1", "sym-1/ACME", payload),
        Draft("user-2", "sym-1/BOLT", payload),
        Draft("user-1", "sym-1/CRUX", payload),
    ]
    assert list(delivery.put("clock", b"\x92\x1e\x01")) == []


def test_an_unknown_participant_is_told_nothing_and_its_counterparty_all() -> None:
    delivery = Delivery()
    (refused,) = delivery.symbols.order("NOBODY-1", "N1", BUY, 1, 1)
    assert delivery.tape([refused]) == []
    delivery.symbols.order("ACME-1", "A1", SELL, 4, 1000)
    _, trade = delivery.symbols.order("BOLT-1", "B1", BUY, 4, 1000)
    for half, told in (("maker", ["sym-1/BOLT"]), ("taker", ["sym-1/ACME"])):
        stranger = trade._replace(**{half: getattr(trade, half)._replace(participant="NOBODY")})
        drafts = delivery.tape([stranger])
        assert [draft.stream for draft in drafts] == told
        assert Fill(*decode_fields(drafts[0].payload)).ordinal == (2 if half == "maker" else 1)


def test_refused_input_is_told_to_nobody() -> None:
    delivery = Delivery()
    assert delivery.tape(delivery.symbols.put("orders/ACME/ACME-1", (99, 1))) == []


def test_a_participants_user_partition_never_changes() -> None:
    delivery = Delivery()
    assert list(delivery.put("refdata", encode(participant_added("ACME", "user-9")))) == []
    (accepted,) = delivery.symbols.order("ACME-1", "A1", BUY, 10, 990)
    assert [draft.partition for draft in delivery.tape([accepted])] == ["user-1"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"\x92\x28\x01",
        encode((40, 1, 2, 3)),
        encode((40, 1, 2, 3, None)),
        encode((40, 1, 2, 3, {"a": 1})),
        encode((42, 1)),
        encode((42, 1, 1, 1, 1, "ALFA", UNITS, 1, 1, (1,), (1,))),
        encode((42, 1, "1", 1, 1, "ALFA", UNITS, 1, 1, ("ACME",) * 13, ("ACME",) * 13)),
        encode((42, 1, 1, 1, 1, "ALFA", UNITS, 1, 1, ({},) * 13, ("ACME",) * 13)),
    ],
)
def test_a_tape_record_of_no_known_form_is_told_to_nobody(payload: bytes) -> None:
    assert list(Delivery().put("tape", payload)) == []


@pytest.mark.parametrize("error", [ValueError, OverflowError])
def test_a_trade_that_can_be_read_but_not_written_is_told_to_nobody(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which values those are, such as arrays nested very deep, differs between releases of msgpack."""

    def refuse(record: Sequence[Any]) -> bytes:
        raise error

    delivery = Delivery()
    payload = encode((42, 1, 1, 1, 1, "ALFA", UNITS, 1, 1, ("ACME",) * 13, ("ACME",) * 13))
    assert len(delivery.put("tape", payload)) == 2
    monkeypatch.setattr(user_partitioner, "encode", refuse)
    assert list(delivery.put("tape", payload)) == []


@pytest.mark.parametrize("depth", [1, 510, 511, 512, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 5000])
def test_no_depth_of_nesting_raises(depth: int) -> None:
    half = ("ACME",) * 13
    for mark in ("DEEP", "ACME"):
        payload = encode((42, 1, 1, 1, 1, "DEEP", UNITS, 1, 1, half, half))
        drafts = Delivery().put("tape", payload.replace(encode(mark), b"\x91" * depth + b"\x01", 1))
        assert len(drafts) in (0, 2)


def test_the_partitioner_reads_the_tape_the_clock_and_reference_data() -> None:
    streams = ("orders/ACME/ACME-1", "refdata", "clock", "tape", "streams", "new")
    assert [stream for stream in streams if UserPartitioner("sym-1").reads(stream)] == ["refdata", "clock", "tape"]


def test_a_snapshot_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 99"):
        UserPartitioner("sym-1").restore(b"\x91\x63")
