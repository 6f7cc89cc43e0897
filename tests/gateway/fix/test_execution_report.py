"""Reports as whole bodies, and each of them under the eyes of a stock QuickFIX dictionary."""

from fractions import Fraction
from typing import Any

import pytest
import quickfix
from hypothesis import given
from hypothesis import strategies as st

from exchange.records.codec import decode_fields, encode
from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.refusals import Refusal
from exchange.records.trade_tape import CancelRefused, OrderAccepted, OrderCanceled, OrderRefused
from exchange.records.user_feed import Fill, beacon
from gateway.fix import execution_report
from gateway.fix.execution_report import CXL_REJ_REASONS, ORD_REJ_REASONS, SENTENCES, average_price, render
from gateway.fix.outbound_frames import FrameParts
from tests.gateway.fix.wire import NINE_O_CLOCK, text

TIME = NINE_O_CLOCK + 123_456_789
CENT = (1, 2, 1, 0)

ACCEPTED = OrderAccepted(
    Kind.ORDER_ACCEPTED, 41, 0, TIME, "ACME", "CL1", 7, 2, 41, "A1", "acc", "ABC", CENT, 1, 2, 1, 10, 990
)
MARKET = ACCEPTED._replace(account=None, order_type=1, time_in_force=3, price=None)
REFUSED = OrderRefused(
    Kind.ORDER_REFUSED, 41, 0, TIME, "ACME", "CL1", 7, 2, "A1", None, "ABC", 1, Refusal.PRICE_OFF_TICK, "9.901"
)
FILL = Fill(
    Kind.FILL, 57, 1, TIME, "ACME", "CL1", 41, "A1", "acc", "ABC", CENT, 1, 2, 1, 10, 990, 4, 6, 3_957, 989, 3, 1, 2
)
LAST_FILL = FILL._replace(cumulative=10, leaves=0, notional=9_900, last_price=990, last_quantity=6, liquidity=2)
CANCELED = OrderCanceled(
    Kind.ORDER_CANCELED, 60, 0, TIME, "ACME", "CL1", "CL1", 7, 9, "C1", 41, "A1", "acc", "ABC", CENT, 1, 2, 1, 10, 990,
    4, 3_957, EndReason.REQUESTED,
)  # fmt: skip
BY_ANOTHER = CANCELED._replace(requester="CL2")
NOBODY = {"requester": None, "session_epoch": None, "msg_seq_num": None, "cl_ord_id": None}
UNASKED = CANCELED._replace(**NOBODY, cumulative=0, notional=0)
CANCEL_REFUSED = CancelRefused(
    Kind.CANCEL_REFUSED, 60, 0, TIME, "ACME", "CL1", 7, 9, "C1", "A1", 41, 2, Refusal.TOO_LATE_TO_CANCEL, ""
)
UNKNOWN = CANCEL_REFUSED._replace(order_position=None, order_state=None, refusal=Refusal.UNKNOWN_ORDER)

ORDER = "1=acc|55=ABC|54=1|40=2|59=1|38=10|44=9.90|"
AT = "60=20260105-09:00:00.123456|"


def report(record: tuple[Any, ...], session: str = "CL1") -> tuple[str, str]:
    """What a session gets for a record that has been written and read."""
    msg_type, body = render(decode_fields(encode(record)), b"sym-1", session)
    return msg_type.decode(), text(body)


@pytest.mark.parametrize(
    ("record", "session", "msg_type", "body"),
    [
        (ACCEPTED, "CL1", "8", f"37=sym-1-41|17=sym-1-41-0|150=0|39=0|11=A1|{ORDER}151=10|14=0|6=0|{AT}"),
        (MARKET, "CL1", "8",
         f"37=sym-1-41|17=sym-1-41-0|150=0|39=0|11=A1|55=ABC|54=1|40=1|59=3|38=10|151=10|14=0|6=0|{AT}"),
        (REFUSED, "CL1", "8",
         f"37=sym-1-41|17=sym-1-41-0|150=8|39=8|103=99|11=A1|55=ABC|54=1|151=0|14=0|6=0|{AT}"
         "58=PRICE_OFF_TICK: Price(44) is not a multiple of the tick (9.901)|"),
        (FILL, "CL1", "8",
         f"37=sym-1-41|17=sym-1-57-1|527=sym-1-57-T2|150=F|39=1|11=A1|{ORDER}32=3|31=9.89|851=1|151=6|14=4|6=9.8925|{AT}"),
        (LAST_FILL, "CL1", "8",
         f"37=sym-1-41|17=sym-1-57-1|527=sym-1-57-T2|150=F|39=2|11=A1|{ORDER}32=6|31=9.90|851=2|151=0|14=10|6=9.9|{AT}"),
        (CANCELED, "CL1", "8",
         f"37=sym-1-41|17=sym-1-60-0|150=4|39=4|11=C1|41=A1|{ORDER}151=0|14=4|6=9.8925|{AT}"),
        (BY_ANOTHER, "CL1", "8",
         f"37=sym-1-41|17=sym-1-60-0|150=4|39=4|11=A1|{ORDER}151=0|14=4|6=9.8925|{AT}"
         "58=REQUESTED: canceled by session CL2|"),
        (BY_ANOTHER, "CL2", "8",
         f"37=sym-1-41|17=sym-1-60-0|150=4|39=4|11=C1|41=A1|{ORDER}151=0|14=4|6=9.8925|{AT}"),
        (UNASKED._replace(reason=EndReason.IMMEDIATE_REMAINDER), "CL1", "8",
         f"37=sym-1-41|17=sym-1-60-0|150=4|39=4|11=A1|{ORDER}151=0|14=0|6=0|{AT}"
         "378=99|58=IMMEDIATE_REMAINDER: what an immediate or cancel order could not trade at once|"),
        (UNASKED._replace(reason=EndReason.MARKET_REMAINDER), "CL1", "8",
         f"37=sym-1-41|17=sym-1-60-0|150=4|39=4|11=A1|{ORDER}151=0|14=0|6=0|{AT}"
         "378=99|58=MARKET_REMAINDER: what a market order could not trade at once|"),
        (CANCEL_REFUSED, "CL1", "9",
         f"37=sym-1-41|11=C1|41=A1|39=2|434=1|102=0|{AT}58=TOO_LATE_TO_CANCEL: the order has ended|"),
        (CANCEL_REFUSED._replace(order_position=0, order_state=0), "CL1", "9",
         f"37=sym-1-0|11=C1|41=A1|39=0|434=1|102=0|{AT}58=TOO_LATE_TO_CANCEL: the order has ended|"),
        (UNKNOWN, "CL1", "9",
         f"37=NONE|11=C1|41=A1|39=8|434=1|102=1|{AT}58=UNKNOWN_ORDER: no such order is remembered|"),
    ],
)  # fmt: skip
def test_the_whole_body_of_each_report(record: tuple[Any, ...], session: str, msg_type: str, body: str) -> None:
    for _ in range(2):  # once rendered, once from what was kept
        assert report(record, session) == (msg_type, body)


def test_every_refusal_has_a_sentence_and_a_reason_that_fits_it() -> None:
    assert set(SENTENCES) == set(Refusal)
    assert {refusal: ORD_REJ_REASONS.get(refusal, 99) for refusal in Refusal if refusal < 20} == {
        Refusal.UNKNOWN_PARTICIPANT: 99,
        Refusal.DUPLICATE_CL_ORD_ID: 6,
        Refusal.UNKNOWN_SYMBOL: 1,
        Refusal.UNSUPPORTED_ORDER_TYPE: 11,
        Refusal.UNSUPPORTED_TIME_IN_FORCE: 11,
        Refusal.PRICE_MISSING: 99,
        Refusal.PRICE_MALFORMED: 99,
        Refusal.PRICE_OFF_TICK: 99,
        Refusal.QUANTITY_MISSING: 13,
        Refusal.QUANTITY_MALFORMED: 13,
        Refusal.QUANTITY_OFF_LOT: 13,
        Refusal.QUANTITY_TOO_LARGE: 3,
    }
    assert {refusal: CXL_REJ_REASONS.get(refusal, 99) for refusal in Refusal if refusal >= 20} == {
        Refusal.UNKNOWN_ORDER: 1,
        Refusal.ORDER_MISMATCH: 99,
        Refusal.TOO_LATE_TO_CANCEL: 0,
    }
    for refusal in Refusal:
        _, body = report(REFUSED._replace(refusal=refusal, detail=""))
        assert f"58={refusal.name}: {SENTENCES[refusal]}|" in body


def test_b21_text_of_the_message_comes_back_byte_for_byte() -> None:
    _, body = render(ACCEPTED._replace(cl_ord_id="l\x92ordre", account="\xe2\x82\xac"), b"sym-1", "CL1")
    assert b"\x0111=l\x92ordre\x011=\xe2\x82\xac\x01" in body
    _, body = render(REFUSED._replace(detail="a\x01b\u20ac"), b"sym-1", "CL1")
    assert body.endswith(b" (a b?)\x01")


def test_records_that_are_no_reports_are_refused() -> None:
    with pytest.raises(ValueError, match="records of kind 61 are not reported"):
        render(beacon(1, 2, 3), b"sym-1", "CL1")


@pytest.mark.parametrize(
    ("notional", "cumulative", "units", "price"),
    [
        (0, 0, CENT, b"0"),
        (1_000, 1, CENT, b"10"),
        (1_001, 1, CENT, b"10.01"),
        (2_001, 2, CENT, b"10.005"),
        (10, 3, (1, 0, 1, 0), b"3.33333333"),
        (20, 3, (1, 0, 1, 0), b"6.66666667"),
        (1, 200_000_000, (1, 0, 1, 0), b"0.00000001"),
        (1, 200_000_001, (1, 0, 1, 0), b"0"),
        (1_000, 1, (25, 3, 1, 1), b"25"),
        (15, 10, (1, 9, 1, 0), b"0"),
        (50, 10, (1, 9, 1, 0), b"0.00000001"),
        (7, 1, (10, 0, 1, 0), b"70"),
    ],
)
def test_the_average_price_is_exact_and_rounded_once_half_up(
    notional: int, cumulative: int, units: tuple[int, int, int, int], price: bytes
) -> None:
    assert average_price(notional, cumulative, units) == price


@given(st.integers(1, 10**12), st.integers(1, 10**6), st.sampled_from([(1, 2), (5, 2), (25, 4), (1, 0), (1, 10)]))
def test_the_average_price_is_the_nearest_of_eight_decimals(
    notional: int, cumulative: int, tick: tuple[int, int]
) -> None:
    written = average_price(notional, cumulative, (*tick, 1, 0)).decode()
    exact = Fraction(notional * tick[0], cumulative * 10 ** tick[1])
    assert -Fraction(1, 2 * 10**8) < Fraction(written) - exact <= Fraction(1, 2 * 10**8)
    assert "." not in written or written[-1] not in "0."


def test_a_cache_of_texts_is_emptied_when_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_report, "_TEXTS_KEPT", 3)
    texts = execution_report._Texts(lambda number: b"%d" % number)
    for number in range(30):
        assert texts[number] == b"%d" % number
        assert len(texts) == number % 3 + 1


def test_reports_are_right_whatever_was_rendered_before_them() -> None:
    for price in (*range(1, 30), *range(1, 30)):
        for units, decimals in ((CENT, 2), ((1, 3, 1, 0), 3)):
            whole, fraction = divmod(price, 10**decimals)
            written = f"{whole}.{fraction:0{decimals}d}"
            _, body = report(ACCEPTED._replace(price=price, units=units, transact_time=TIME + price * 1_000))
            assert f"|44={written}|" in body
            assert f"|60=20260105-09:00:00.{123_456 + price}|" in body
            _, body = report(LAST_FILL._replace(last_price=price, units=units, notional=price * 10))
            assert f"|31={written}|" in body
            assert f"|6={written.rstrip('0')}|" in body


@pytest.mark.parametrize(
    "record",
    [
        ACCEPTED, MARKET, REFUSED, FILL, LAST_FILL, CANCELED, BY_ANOTHER, CANCEL_REFUSED, UNKNOWN,
        *(UNASKED._replace(reason=reason) for reason in EndReason),
        *(REFUSED._replace(refusal=refusal) for refusal in Refusal),
        *(CANCEL_REFUSED._replace(refusal=refusal) for refusal in Refusal),
        *(CANCEL_REFUSED._replace(order_state=state) for state in (0, 1, 2, 4)),
    ],
)  # fmt: skip
def test_a_stock_quickfix_dictionary_takes_each_report(
    dictionary: quickfix.DataDictionary, record: tuple[Any, ...]
) -> None:
    msg_type, body = render(record, b"sym-1", "CL1")
    frame = FrameParts(b"FIX.4.4", b"XCHG", b"CL1").frame(msg_type, 2, TIME, body)
    message = quickfix.Message(frame.decode("latin-1"), dictionary, True)
    dictionary.validate(message)
    assert message.toString().count("\x01") == frame.count(b"\x01")


def test_the_dictionary_would_refuse_what_is_wrong(dictionary: quickfix.DataDictionary) -> None:
    _, body = render(REFUSED, b"sym-1", "CL1")
    for wrong in (body.replace(b"103=99", b"103=18"), body.replace(b"39=8", b"39=H"), body + b"880=T1\x01"):
        frame = FrameParts(b"FIX.4.4", b"XCHG", b"CL1").frame(b"8", 2, TIME, wrong)
        with pytest.raises((quickfix.IncorrectTagValue, quickfix.TagNotDefinedForMessage)):
            dictionary.validate(quickfix.Message(frame.decode("latin-1"), dictionary, True))
