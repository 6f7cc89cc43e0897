"""Orders and cancels into records: one row per refusal, in order of precedence; text byte for byte."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.records.codec import decode_fields
from exchange.records.kinds import Kind
from exchange.records.refusals import Refusal
from gateway.fix.session_events import ApplicationMessage
from gateway.order_entry import OrderEntry, SessionReject, order_position

Units = tuple[int, int, int, int]


class Reference:
    """Reference data of one partition."""

    def __init__(self, **instruments: Units) -> None:
        self.instruments: dict[str, Units] = instruments


ENTRY = OrderEntry({"sym-1": Reference(ALFA=(1, 2, 1, 0), BETA=(5, 2, 1, 1)), "sym-2": Reference(GAMA=(1, 0, 10, 0))})
ORDER = {"11": "A1", "55": "ALFA", "54": "1", "60": "20260105-09:00:00", "38": "10", "40": "2", "44": "9.90"}
CANCEL = {"11": "C1", "41": "A1", "55": "ALFA", "54": "2", "60": "20260105-09:00:00"}


def convert(
    msg_type: str, fields: dict[str, str], entry: OrderEntry = ENTRY
) -> tuple[str, tuple[Any, ...]] | SessionReject:
    parsed = {tag.encode(): value.encode("latin-1") for tag, value in fields.items()}
    outcome = entry.convert("sym-9", 7, ApplicationMessage(5, msg_type.encode(), parsed, 7))
    if isinstance(outcome, SessionReject):
        return outcome
    partition, payload = outcome
    return partition, decode_fields(payload)


def without(tag: str) -> dict[str, str]:
    return {name: value for name, value in ORDER.items() if name != tag}


@pytest.mark.parametrize(
    ("changes", "partition", "record"),
    [
        ({}, "sym-1", ("A1", None, "ALFA", 1, 2, 0, 10, 990)),
        ({"1": "acc"}, "sym-1", ("A1", "acc", "ALFA", 1, 2, 0, 10, 990)),
        ({"54": "2", "59": "1"}, "sym-1", ("A1", None, "ALFA", 2, 2, 1, 10, 990)),
        ({"59": "0"}, "sym-1", ("A1", None, "ALFA", 1, 2, 0, 10, 990)),
        ({"59": "3", "44": "9.9"}, "sym-1", ("A1", None, "ALFA", 1, 2, 3, 10, 990)),
        ({"40": "1"}, "sym-1", ("A1", None, "ALFA", 1, 1, 0, 10, None)),
        ({"40": "1", "44": "nonsense"}, "sym-1", ("A1", None, "ALFA", 1, 1, 0, 10, None)),
        ({"55": "BETA", "44": "9.95", "38": "2.5"}, "sym-1", ("A1", None, "BETA", 1, 2, 0, 25, 199)),
        ({"55": "GAMA", "44": "7", "38": "30"}, "sym-2", ("A1", None, "GAMA", 1, 2, 0, 3, 7)),
        ({"11": "l\x92\xe9", "1": "\xe2\x82\xac"}, "sym-1", ("l\x92\xe9", "\xe2\x82\xac", "ALFA", 1, 2, 0, 10, 990)),
    ],
)
def test_an_order_goes_to_its_symbols_partition_in_ticks_and_lots(
    changes: dict[str, str], partition: str, record: tuple[Any, ...]
) -> None:
    assert convert("D", ORDER | changes) == (partition, (Kind.NEW_ORDER, 7, 5, *record))


@pytest.mark.parametrize(
    ("fields", "refusal", "detail"),
    [
        (ORDER | {"55": "OMEGA", "40": "3"}, Refusal.UNKNOWN_SYMBOL, "OMEGA"),
        (ORDER | {"40": "3", "59": "6"}, Refusal.UNSUPPORTED_ORDER_TYPE, "3"),
        (ORDER | {"40": "K"}, Refusal.UNSUPPORTED_ORDER_TYPE, "K"),
        (without("44") | {"59": "4"}, Refusal.UNSUPPORTED_TIME_IN_FORCE, "4"),
        (ORDER | {"40": "1", "59": "6", "38": "x"}, Refusal.UNSUPPORTED_TIME_IN_FORCE, "6"),
        (without("44") | {"38": "x"}, Refusal.PRICE_MISSING, ""),
        (ORDER | {"44": "1_000", "38": "x"}, Refusal.PRICE_MALFORMED, "1_000"),
        (ORDER | {"44": "-9.90"}, Refusal.PRICE_MALFORMED, "-9.90"),
        (ORDER | {"44": "0.00"}, Refusal.PRICE_MALFORMED, "0.00"),
        (ORDER | {"44": "1" * 100}, Refusal.PRICE_MALFORMED, "1" * 64),
        (ORDER | {"44": "9.901", "38": "x"}, Refusal.PRICE_OFF_TICK, "9.901"),
        (ORDER | {"55": "BETA", "44": "9.91"}, Refusal.PRICE_OFF_TICK, "9.91"),
        (without("38"), Refusal.QUANTITY_MISSING, ""),
        (ORDER | {"38": "1E3"}, Refusal.QUANTITY_MALFORMED, "1E3"),
        (ORDER | {"38": "0"}, Refusal.QUANTITY_MALFORMED, "0"),
        (ORDER | {"38": "-10"}, Refusal.QUANTITY_MALFORMED, "-10"),
        (ORDER | {"38": "10.5"}, Refusal.QUANTITY_OFF_LOT, "10.5"),
        (ORDER | {"55": "GAMA", "44": "7", "38": "15"}, Refusal.QUANTITY_OFF_LOT, "15"),
        (ORDER | {"40": "1", "38": "10.5"}, Refusal.QUANTITY_OFF_LOT, "10.5"),
    ],
)
def test_what_cannot_be_routed_or_converted_is_a_record_of_the_home_partition(
    fields: dict[str, str], refusal: Refusal, detail: str
) -> None:
    assert convert("D", fields | {"1": "acc"}) == (
        "sym-9",
        (Kind.UNACCEPTABLE_ORDER, 7, 5, "A1", "acc", fields["55"], 1, refusal, detail),
    )


@pytest.mark.parametrize(
    ("changes", "partition", "position"),
    [
        ({}, "sym-1", None),
        ({"37": "sym-1-41"}, "sym-1", 41),
        ({"37": "sym-1-0"}, "sym-1", 0),
        ({"37": "sym-2-41"}, "sym-1", -1),
        ({"55": "GAMA", "37": "sym-2-41"}, "sym-2", 41),
    ],
)
def test_a_cancel_goes_to_its_symbols_partition(changes: dict[str, str], partition: str, position: int | None) -> None:
    fields = CANCEL | changes
    assert convert("F", fields) == (
        partition,
        (Kind.CANCEL_ORDER, 7, 5, "C1", "A1", position, fields["55"], 2),
    )


def test_a_cancel_of_an_unknown_symbol_is_a_record_of_the_home_partition() -> None:
    assert convert("F", CANCEL | {"55": "\xd6MEGA", "37": "sym-1-41"}) == (
        "sym-9",
        (Kind.UNACCEPTABLE_CANCEL, 7, 5, "C1", "A1", "\xd6MEGA", 2, Refusal.UNKNOWN_SYMBOL, "\xd6MEGA"),
    )


@pytest.mark.parametrize("side", ["0", "3", "5", "B", "11", "01"])
@pytest.mark.parametrize("msg_type", ["D", "F"])
def test_a_side_that_is_none_is_answered_by_the_session(msg_type: str, side: str) -> None:
    fields = (ORDER if msg_type == "D" else CANCEL) | {"54": side, "55": "OMEGA"}
    assert convert(msg_type, fields) == SessionReject(5, b"54", "Side must be 1 or 2")


@pytest.mark.parametrize(
    ("msg_type", "tag"), [("D", "11"), ("D", "1"), ("D", "55"), ("F", "11"), ("F", "41"), ("F", "55"), ("F", "37")]
)
def test_an_identifier_has_a_longest_length(msg_type: str, tag: str) -> None:
    fields = ORDER if msg_type == "D" else CANCEL
    assert not isinstance(convert(msg_type, fields | {tag: "x" * 64}), SessionReject)
    assert convert(msg_type, fields | {tag: "x" * 65}) == SessionReject(
        5, tag.encode(), "Value is longer than 64 bytes"
    )


@pytest.mark.parametrize(
    ("order_id", "position"),
    [
        (None, None), (b"sym-1-7", 7), (b"sym-1-0", 0), (b"sym-1-07", -1), (b"sym-1-", -1), (b"sym-1-x", -1),
        (b"sym-1--7", -1), (b"sym-1-1_0", -1), (b"sym-11-7", -1), (b"7", -1), (b"", -1), (b"NONE", -1), (b"\xff-7", -1),
        (b"sym-1-9999999999999999999", -1),
    ],
)  # fmt: skip
def test_an_order_id_names_a_position_or_no_order(order_id: bytes | None, position: int | None) -> None:
    assert order_position(order_id, "sym-1") == position


def test_an_instrument_that_is_added_later_is_found_and_strange_symbols_are_not_kept() -> None:
    reference = Reference()
    entry = OrderEntry({"sym-1": reference})
    for number in range(100):
        assert convert("D", ORDER | {"55": f"S{number}"}, entry) != convert("D", ORDER)
    assert entry._listings == {}
    reference.instruments["ALFA"] = (1, 2, 1, 0)
    assert convert("D", ORDER, entry) == convert("D", ORDER)


def test_other_types_are_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="is no order entry"):
        convert("V", ORDER)


@given(
    st.dictionaries(st.sampled_from(["1", "11", "37", "38", "40", "41", "44", "54", "55", "59"]), st.text(
        st.characters(max_codepoint=255, exclude_characters="\x01"), min_size=1, max_size=70)),
    st.sampled_from(["D", "F"]),
)  # fmt: skip
def test_any_values_give_a_record_or_a_reject(changes: dict[str, str], msg_type: str) -> None:
    outcome = convert(msg_type, ORDER | CANCEL | changes)
    if not isinstance(outcome, SessionReject):
        partition, record = outcome
        expected = (
            (Kind.NEW_ORDER, Kind.UNACCEPTABLE_ORDER)
            if msg_type == "D"
            else (
                Kind.CANCEL_ORDER,
                Kind.UNACCEPTABLE_CANCEL,
            )
        )
        assert record[:3] in ((expected[0], 7, 5), (expected[1], 7, 5))
        assert partition == ("sym-9" if record[0] == expected[1] else partition)
