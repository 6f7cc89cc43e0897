"""Records of a user feed as FIX: ExecutionReport(8) and OrderCancelReject(9), rendered once for whoever gets them.

A body is everything behind the header. Its bytes depend on the record alone, except for a cancel: the session that
asked is answered (11 its request's, 41 the order's), any other is told (11 the order's, and why). Ids are functions of
the sequence: OrderID `<symbol partition>-<position>`, ExecID `<symbol partition>-<cause>-<ordinal>`, trade id (527)
`<symbol partition>-<cause>-T<number>`. Values are those of the strict FIX 4.4 tables: a stock engine takes them.
"""

from collections.abc import Callable
from typing import Any, Final

from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.reference_data import Units
from exchange.records.refusals import Refusal
from gateway.fix.dictionary import EXECUTION_REPORT, ORDER_CANCEL_REJECT
from gateway.fix.fields import decimal_text, timestamp_text

ORD_REJ_REASONS: Final[dict[int, int]] = {
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
"""OrdRejReason(103) of a refused order; any other refusal is 99, other."""

CXL_REJ_REASONS: Final[dict[int, int]] = {
    Refusal.DUPLICATE_CL_ORD_ID: 6,
    Refusal.UNKNOWN_SYMBOL: 1,
    Refusal.UNKNOWN_ORDER: 1,
    Refusal.ORDER_MISMATCH: 99,
    Refusal.TOO_LATE_TO_CANCEL: 0,
}
"""CxlRejReason(102) of a refused cancel; any other refusal is 99, other."""

SENTENCES: Final[dict[int, str]] = {
    Refusal.UNKNOWN_PARTICIPANT: "the participant may not trade here",
    Refusal.DUPLICATE_CL_ORD_ID: "ClOrdID(11) was used before",
    Refusal.UNKNOWN_SYMBOL: "Symbol(55) is no instrument of this venue",
    Refusal.UNSUPPORTED_ORDER_TYPE: "OrdType(40) is neither market nor limit",
    Refusal.UNSUPPORTED_TIME_IN_FORCE: "TimeInForce(59) is none of day, good till cancel, immediate or cancel",
    Refusal.PRICE_MISSING: "a limit order needs Price(44)",
    Refusal.PRICE_MALFORMED: "Price(44) is not a plain positive decimal number within the limits",
    Refusal.PRICE_OFF_TICK: "Price(44) is not a multiple of the tick",
    Refusal.QUANTITY_MISSING: "OrderQty(38) is missing",
    Refusal.QUANTITY_MALFORMED: "OrderQty(38) is not a plain positive decimal number within the limits",
    Refusal.QUANTITY_OFF_LOT: "OrderQty(38) is not a multiple of the lot",
    Refusal.QUANTITY_TOO_LARGE: "OrderQty(38) is above the largest order",
    Refusal.UNKNOWN_ORDER: "no such order is remembered",
    Refusal.ORDER_MISMATCH: "Symbol(55) or Side(54) differs from the order's",
    Refusal.TOO_LATE_TO_CANCEL: "the order has ended",
}
"""What Text(58) says behind the refusal's name."""

_END_TEXTS: Final[dict[int, bytes]] = {
    EndReason.IMMEDIATE_REMAINDER: b"IMMEDIATE_REMAINDER: what an immediate or cancel order could not trade at once",
    EndReason.MARKET_REMAINDER: b"MARKET_REMAINDER: what a market order could not trade at once",
}
_REFUSAL_NAMES: Final[dict[int, str]] = {int(refusal): refusal.name for refusal in Refusal}
_OTHER: Final = 99

AVG_PX_DECIMALS: Final = 8
"""AvgPx(6) is rounded once, half up, to at most so many decimals."""

_TEXTS_KEPT: Final = 16_384


class _Texts(dict[Any, bytes]):
    """What a number or a few terms look like on the wire: made when first asked for, forgotten when it is full."""

    def __init__(self, make: Callable[[Any], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> bytes:
        if len(self) >= _TEXTS_KEPT:
            self.clear()
        text = self[key] = self._make(key)
        return text


class _UnitTexts:
    """The texts of one instrument's numbers: quantities by lots, prices and averages by ticks.

    `price_fields` are whole fields 44, empty for the None of a market order.
    """

    __slots__ = ("averages", "price_fields", "prices", "quantities")

    def __init__(self, units: Units) -> None:
        tick_mantissa, tick_decimals, lot_mantissa, lot_decimals = units
        self.quantities = _Texts(lambda lots: decimal_text(lots * lot_mantissa, lot_decimals))
        self.prices = _Texts(lambda ticks: decimal_text(ticks * tick_mantissa, tick_decimals))
        self.price_fields = _Texts(lambda ticks: b"" if ticks is None else b"44=%b\x01" % self.prices[ticks])
        self.averages = _Texts(lambda ticks: average_price(ticks, 1, units))


class _TextsByUnits(dict[Units, _UnitTexts]):
    """Units are the instruments' own, from the reference data: as few as those."""

    def __missing__(self, units: Units) -> _UnitTexts:
        texts = self[units] = _UnitTexts(units)
        return texts


def render(fields: tuple[Any, ...], symbol_partition: bytes, session: str) -> tuple[bytes, bytes]:
    """(MsgType, body) of a user-feed record, kind first, as `session` gets it.

    Raises ValueError for a kind that is not reported.
    """
    renderer = RENDERERS.get(fields[0])
    if renderer is None:
        raise ValueError(f"records of kind {fields[0]} are not reported")
    return renderer(fields, symbol_partition, session)


def _accepted(fields: tuple[Any, ...], partition: bytes, session: str) -> tuple[bytes, bytes]:
    (
        _, cause, ordinal, transact_time, _, _, _, _, order_position, cl_ord_id,
        account, symbol, units, side, order_type, time_in_force, quantity, price,
    ) = fields  # fmt: skip
    texts = _texts[units]
    order_quantity = texts.quantities[quantity]
    return EXECUTION_REPORT, (
        b"37=%b-%d\x0117=%b-%d-%d\x01150=0\x0139=0\x0111=%b\x01"
        b"%b38=%b\x01%b151=%b\x0114=0\x016=0\x0160=%b\x01"
    ) % (
        partition, order_position, partition, cause, ordinal, cl_ord_id.encode("latin-1"),
        _kind_texts[account, symbol, side, order_type, time_in_force], order_quantity, texts.price_fields[price],
        order_quantity, _time_texts[transact_time],
    )  # fmt: skip


def _filled(fields: tuple[Any, ...], partition: bytes, session: str) -> tuple[bytes, bytes]:
    (
        _, cause, ordinal, transact_time, _, _, order_position, cl_ord_id,
        account, symbol, units, side, order_type, time_in_force, quantity, price,
        cumulative, leaves, notional, last_price, last_quantity, liquidity, number,
    ) = fields  # fmt: skip
    texts = _texts[units]
    quantities = texts.quantities
    ticks, between = divmod(notional, cumulative)
    return EXECUTION_REPORT, (
        b"37=%b-%d\x0117=%b-%d-%d\x01527=%b-%d-T%d\x01150=F\x0139=%d\x0111=%b\x01"
        b"%b38=%b\x01%b"
        b"32=%b\x0131=%b\x01851=%d\x01151=%b\x0114=%b\x016=%b\x0160=%b\x01"
    ) % (
        partition, order_position, partition, cause, ordinal, partition, cause, number, 1 if leaves else 2,
        cl_ord_id.encode("latin-1"),
        _kind_texts[account, symbol, side, order_type, time_in_force], quantities[quantity], texts.price_fields[price],
        quantities[last_quantity], texts.prices[last_price], liquidity, quantities[leaves], quantities[cumulative],
        average_price(notional, cumulative, units) if between else texts.averages[ticks], _time_texts[transact_time],
    )  # fmt: skip


def _canceled(fields: tuple[Any, ...], partition: bytes, session: str) -> tuple[bytes, bytes]:
    _, cause, ordinal, transact_time, _, _, requester, _, _, cl_ord_id, order_position, order_cl_ord_id = fields[:12]
    account, symbol, units, side, order_type, time_in_force, quantity, price = fields[12:20]
    cumulative, notional, reason = fields[20:]
    texts = _texts[units]
    order_id = order_cl_ord_id.encode("latin-1")
    if requester == session and cl_ord_id is not None:
        ids, why = b"11=%b\x0141=%b\x01" % (cl_ord_id.encode("latin-1"), order_id), b""
    else:
        # Nobody on this session asked: no OrigClOrdID, and the text says who or what did (order-state matrices, D).
        ids, why = b"11=%b\x01" % order_id, _why_canceled(requester, reason)
    return EXECUTION_REPORT, (
        b"37=%b-%d\x0117=%b-%d-%d\x01150=4\x0139=4\x01%b"
        b"%b38=%b\x01%b151=0\x0114=%b\x016=%b\x0160=%b\x01%b"
    ) % (
        partition, order_position, partition, cause, ordinal, ids,
        _kind_texts[account, symbol, side, order_type, time_in_force], texts.quantities[quantity],
        texts.price_fields[price], texts.quantities[cumulative], average_price(notional, cumulative, units),
        _time_texts[transact_time], why,
    )  # fmt: skip


def _why_canceled(requester: str | None, reason: int) -> bytes:
    if requester is not None:
        return b"58=REQUESTED: canceled by session %b\x01" % requester.encode("latin-1", "replace")
    # ExecRestatementReason(378) has no value for a remainder but "other" (FIX 4.4 vol. 2).
    return b"378=99\x0158=%b\x01" % _END_TEXTS.get(reason, b"CANCELED: canceled by the venue")


def _refused(fields: tuple[Any, ...], partition: bytes, session: str) -> tuple[bytes, bytes]:
    _, cause, ordinal, transact_time, _, _, _, _, cl_ord_id, account, symbol, side, refusal, detail = fields
    return EXECUTION_REPORT, (
        b"37=%b-%d\x0117=%b-%d-%d\x01150=8\x0139=8\x01103=%d\x0111=%b\x01%b55=%b\x0154=%d\x01151=0\x0114=0\x016=0\x01"
        b"60=%b\x0158=%b\x01"
    ) % (
        partition,
        cause,
        partition,
        cause,
        ordinal,
        ORD_REJ_REASONS.get(refusal, _OTHER),
        cl_ord_id.encode("latin-1"),
        b"" if account is None else b"1=%b\x01" % account.encode("latin-1"),
        symbol.encode("latin-1"),
        side,
        _time_texts[transact_time],
        _refusal_text(refusal, detail),
    )


def _cancel_refused(fields: tuple[Any, ...], partition: bytes, session: str) -> tuple[bytes, bytes]:
    (
        _, _, _, transact_time, _, _, _, _, cl_ord_id, orig_cl_ord_id, order_position, order_state, refusal, detail,
    ) = fields  # fmt: skip
    # An unknown order has OrderID NONE and OrdStatus 8 (FIX 4.4 vol. 4, OrderCancelReject).
    return ORDER_CANCEL_REJECT, b"37=%b\x0111=%b\x0141=%b\x0139=%d\x01434=1\x01102=%d\x0160=%b\x0158=%b\x01" % (
        b"NONE" if order_position is None else b"%b-%d" % (partition, order_position),
        cl_ord_id.encode("latin-1"),
        orig_cl_ord_id.encode("latin-1"),
        8 if order_state is None else order_state,
        CXL_REJ_REASONS.get(refusal, _OTHER),
        _time_texts[transact_time],
        _refusal_text(refusal, detail),
    )


def _kind_text(kind: tuple[str | None, str, int, int, int]) -> bytes:
    """What many orders have in common: Account(1) if there is one, Symbol(55), Side, OrdType and TimeInForce."""
    account, symbol, side, order_type, time_in_force = kind
    return b"%b55=%b\x0154=%d\x0140=%d\x0159=%d\x01" % (
        b"" if account is None else b"1=%b\x01" % account.encode("latin-1"),
        symbol.encode("latin-1"),
        side,
        order_type,
        time_in_force,
    )


def average_price(notional: int, cumulative: int, units: Units) -> bytes:
    """AvgPx(6): notional * tick / cumulative, exact, rounded once half up to AVG_PX_DECIMALS, without trailing zeros.

    `notional` in ticks times lots, `cumulative` in lots; 0 while nothing is filled.
    """
    if not cumulative:
        return b"0"
    mantissa, decimals, _, _ = units
    numerator = notional * mantissa * 10**AVG_PX_DECIMALS
    denominator = cumulative * 10**decimals
    text = decimal_text((2 * numerator + denominator) // (2 * denominator), AVG_PX_DECIMALS)
    return text.rstrip(b"0").rstrip(b".")


_texts = _TextsByUnits()
_kind_texts = _Texts(_kind_text)
_time_texts = _Texts(timestamp_text)
"""TransactTime(60): the reports of one block share it."""


def _refusal_text(refusal: int, detail: str) -> bytes:
    """`CODE: sentence`, with the message's own text behind it when there is one."""
    name = _REFUSAL_NAMES.get(refusal, "REFUSED")
    text = f"{name}: {SENTENCES.get(refusal, 'refused by the venue')}"
    if detail:
        text += f" ({detail})"
    return text.encode("latin-1", "replace").replace(b"\x01", b" ")


RENDERERS: Final[dict[int, Callable[[tuple[Any, ...], bytes, str], tuple[bytes, bytes]]]] = {
    int(Kind.ORDER_ACCEPTED): _accepted,
    int(Kind.FILL): _filled,
    int(Kind.ORDER_CANCELED): _canceled,
    int(Kind.ORDER_REFUSED): _refused,
    int(Kind.CANCEL_REFUSED): _cancel_refused,
}
"""By kind of record: what makes (MsgType, body) of its fields, the symbol partition's name and the session's."""
