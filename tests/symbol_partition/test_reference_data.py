"""Which records of the `refdata` stream a decoder takes."""

from typing import Any

import pytest

from exchange.records.codec import encode
from exchange.records.reference_data import instrument_added, limit_set, participant_added
from exchange.symbol_partition.instrument import Instrument
from exchange.symbol_partition.order_rules import LARGEST_INT, LONGEST_PAYLOAD
from exchange.symbol_partition.reference_data import decode_reference_data

WELL_FORMED = [
    instrument_added("ALFA", (5, 2, 1, 0), 1_000_000),
    instrument_added("X", (LARGEST_INT, 18, 1, 18), LARGEST_INT),
    participant_added("ACME", "user-1"),
    limit_set("remembered_orders", 1),
]


@pytest.mark.parametrize("record", WELL_FORMED)
def test_an_operators_record_is_taken_as_it_is(record: Any) -> None:
    taken = decode_reference_data(encode(record))
    assert taken == record
    assert type(taken) is type(record)


@pytest.mark.parametrize("record", WELL_FORMED)
def test_a_record_with_a_field_of_another_type_is_not_taken(record: Any) -> None:
    for at in range(1, len(record)):
        for other in (None, True, 1.0, b"x", {}, -1):
            assert decode_reference_data(encode((*record[:at], other, *record[at + 1 :]))) is None
    assert decode_reference_data(encode(record[:-1])) is None
    assert decode_reference_data(encode((*record, 1))) is None


@pytest.mark.parametrize(
    "record",
    [
        instrument_added("", (1, 2, 1, 0), 1),
        instrument_added("ALFA", (0, 2, 1, 0), 1),
        instrument_added("ALFA", (1, 2, 0, 0), 1),
        instrument_added("ALFA", (1, 19, 1, 0), 1),
        instrument_added("ALFA", (1, 2, 1, 19), 1),
        instrument_added("ALFA", (1, -1, 1, 0), 1),
        instrument_added("ALFA", (1, 2, 1), 1),  # type: ignore[arg-type]
        instrument_added("ALFA", (1, 2, 1, True), 1),
        instrument_added("ALFA", (1, 2, 1, 0), 0),
        instrument_added("ALFA", (1, 2, 1, 0), LARGEST_INT + 1),
        instrument_added("A" * LONGEST_PAYLOAD, (1, 2, 1, 0), 1),
        participant_added("", "user-1"),
        participant_added("ACME", ""),
        participant_added("AC/ME", "user-1"),
        limit_set("remembered_orders", 0),
        limit_set("remembered_orders", LARGEST_INT + 1),
        (99, 1),
    ],
)
def test_what_no_operator_publishes_is_not_taken(record: Any) -> None:
    assert decode_reference_data(encode(record)) is None


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x14", b"\x92\x14"])
def test_bytes_that_are_no_record_are_not_taken(payload: bytes) -> None:
    assert decode_reference_data(payload) is None


def test_the_largest_price_keeps_every_notional_in_64_bits() -> None:
    for largest_order in (1, 3, 1_000_000, LARGEST_INT):
        instrument = Instrument("ALFA", (1, 2, 1, 0), largest_order)
        assert instrument.largest_price * largest_order <= LARGEST_INT < (instrument.largest_price + 1) * largest_order
