"""Records are shown by the names of their kind, each value as it was written."""

import json

from exchange.records.codec import encode
from exchange.records.kinds import Kind
from exchange.records.order_entry import OrderType, Side, TimeInForce, new_order
from exchange.records.positions import Nanoseconds, Position, StreamPosition
from exchange.records.record import Record
from exchange.records.refusals import Refusal
from exchange.records.trade_tape import OrderRefused, Trade, TradeHalf
from operations.record_text import payload_text, record_to_json, record_to_line

TIME = Nanoseconds(1_700_000_000_123_456_789)


def record(stream: str, payload: bytes) -> Record:
    return Record(Position(12), stream, StreamPosition(3), Nanoseconds(TIME - 1), TIME, payload)


ORDER = record(
    "orders/ACME/ACME-1",
    encode(new_order(1, 2, "C1", None, "ALFA", Side.BUY, OrderType.LIMIT, TimeInForce.DAY, 100, 10_050)),
)


def test_json_is_one_line_with_times_in_integer_nanoseconds() -> None:
    assert json.loads(record_to_json(ORDER)) == {
        "position": 12,
        "stream": "orders/ACME/ACME-1",
        "stream_position": 3,
        "kind": "new_order",
        "event_time": TIME - 1,
        "sequencing_time": TIME,
        "payload": {
            "session_epoch": 1, "msg_seq_num": 2, "cl_ord_id": "C1", "account": None, "symbol": "ALFA", "side": 1,
            "order_type": 2, "time_in_force": 0, "quantity": 100, "price": 10_050,
        },
    }  # fmt: skip


def test_a_line_for_a_human_has_the_same_values() -> None:
    assert record_to_line(ORDER) == (
        "        12  2023-11-14T22:13:20.123456Z  orders/ACME/ACME-1[3]        new_order        "
        "session_epoch=1 msg_seq_num=2 cl_ord_id=C1 account=- symbol=ALFA side=BUY order_type=LIMIT time_in_force=DAY "
        "quantity=100 price=10050"
    )


def test_a_tick_is_the_empty_payload() -> None:
    assert record_to_line(record("clock", b"")) == (
        "        12  2023-11-14T22:13:20.123456Z  clock[3]                     tick"
    )


def test_both_halves_of_a_trade_are_named() -> None:
    half = TradeHalf("ACME", "ACME-1", 5, "C1", None, 1, 2, 0, 100, 10_050, 100, 0, 1_005_000)
    text = payload_text(encode(Trade(Kind.TRADE, 7, 1, TIME, 1, "ALFA", (1, 2, 1, 0), 10_050, 100, half, half)))
    assert text.startswith("trade cause=7 ordinal=1 ")
    assert text.count("{participant=ACME session=ACME-1 order_position=5 cl_ord_id=C1 ") == 2


def test_what_no_version_of_ours_wrote_is_shown_in_hex() -> None:
    assert payload_text(b"\x93\x01") == "unreadable bytes=9301"
    assert payload_text(encode((99, 1))) == "unreadable bytes=926301"
    assert payload_text(encode((int(Kind.FILL), 1))) == "unreadable bytes=923c01"


def test_enumerations_are_shown_by_name_and_unknown_ones_as_they_are() -> None:
    refused = OrderRefused(
        Kind.ORDER_REFUSED, 41, 0, 1_767_603_600_123_456_789, "ACME", "CL1", 7, 2, "A1", None, "ABC", 7,
        Refusal.PRICE_OFF_TICK, "9.901",
    )  # fmt: skip
    assert payload_text(encode(refused)) == (
        "order_refused cause=41 ordinal=0 transact_time=1767603600123456789 participant=ACME session=CL1 "
        "session_epoch=7 msg_seq_num=2 cl_ord_id=A1 account=- symbol=ABC side=7 refusal=PRICE_OFF_TICK detail=9.901"
    )
