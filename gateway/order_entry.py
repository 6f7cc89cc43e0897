"""NewOrderSingle(D) and OrderCancelRequest(F) into records of a session's order streams. Pure.

The gateway routes and converts, and never answers an order itself: what it cannot route or convert goes as a record to
the session's home partition, whose matcher refuses it (architecture, refusals). Only a message that breaks FIX 4.4 is
answered by the session, with Reject(3). Text travels byte for byte, one character a byte (Latin-1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from exchange.records.codec import encode
from exchange.records.kinds import Kind
from exchange.records.order_entry import (
    NO_ORDER,
    OrderType,
    Side,
    TimeInForce,
    cancel_order,
    unacceptable_cancel,
    unacceptable_order,
)
from exchange.records.reference_data import Units
from exchange.records.refusals import Refusal
from gateway.fix.dictionary import NEW_ORDER_SINGLE, ORDER_CANCEL_REQUEST, SessionRejectReason
from gateway.fix.fields import DECIMAL_DIGITS, Fields, NotANumberError, OffUnitError, parse_units, whole_number
from gateway.fix.limits import DEFAULT_LIMITS
from gateway.fix.session_events import ApplicationMessage

_SIDES = {b"%d" % side: int(side) for side in Side}
_ORDER_TYPES = {b"%d" % order_type: int(order_type) for order_type in OrderType}
_TIMES_IN_FORCE = {b"%d" % time_in_force: int(time_in_force) for time_in_force in TimeInForce}
_LIMIT = int(OrderType.LIMIT)
_NEW_ORDER = int(Kind.NEW_ORDER)
_NUMBERS_KEPT = 16_384
_DETAIL_BYTES = 64
"""So much of a faulty value is repeated in the refusal."""


@dataclass(frozen=True, slots=True)
class SessionReject:
    """The message breaks FIX 4.4: to be answered with Reject(3). `reason` is 373, `tag` RefTagID(371)."""

    reason: int
    tag: bytes
    text: str


class ReferenceView(Protocol):
    """What is known of one symbol partition's instruments. Entries are added and never changed."""

    @property
    def instruments(self) -> Mapping[str, Units]:
        """Symbol to units."""


class _Listing(NamedTuple):
    """Where a symbol trades, its units, and the numbers of price and quantity texts that were read before."""

    partition: str
    symbol: str
    units: Units
    ticks: dict[bytes, int]
    lots: dict[bytes, int]


class _NumberRefusals(NamedTuple):
    """What is said of a price or a quantity that cannot be converted."""

    missing: Refusal
    malformed: Refusal
    off_unit: Refusal


_PRICE_REFUSALS = _NumberRefusals(Refusal.PRICE_MISSING, Refusal.PRICE_MALFORMED, Refusal.PRICE_OFF_TICK)
_QUANTITY_REFUSALS = _NumberRefusals(Refusal.QUANTITY_MISSING, Refusal.QUANTITY_MALFORMED, Refusal.QUANTITY_OFF_LOT)


class _UnacceptableError(Exception):
    """Leaves this file as a record."""

    def __init__(self, refusal: Refusal, text: bytes) -> None:
        super().__init__(refusal.name)
        self.refusal = refusal
        self.detail = text[:_DETAIL_BYTES].decode("latin-1")


class OrderEntry:
    """Routes by symbol: `references` maps each symbol partition to what is known of it, growing while we run."""

    def __init__(
        self, references: Mapping[str, ReferenceView], identifier_bytes: int = DEFAULT_LIMITS.identifier_bytes
    ) -> None:
        self._references = references
        self._identifier_bytes = identifier_bytes
        self._listings: dict[bytes, _Listing] = {}

    def convert(
        self, home_partition: str, session_epoch: int, message: ApplicationMessage
    ) -> tuple[str, bytes] | SessionReject:
        """(symbol partition, record payload) of a D or F, or the Reject(3) it deserves.

        The session has checked that the required tags are there and that TransactTime(60) is one. Raises ValueError
        for another MsgType: the session has none.
        """
        if message.msg_type == NEW_ORDER_SINGLE:
            return self._new_order(home_partition, session_epoch, message.msg_seq_num, message.fields)
        if message.msg_type == ORDER_CANCEL_REQUEST:
            return self._cancel(home_partition, session_epoch, message.msg_seq_num, message.fields)
        raise ValueError(f"MsgType {message.msg_type!r} is no order entry")

    def _new_order(
        self, home_partition: str, session_epoch: int, msg_seq_num: int, fields: Fields
    ) -> tuple[str, bytes] | SessionReject:
        cl_ord_id = fields[b"11"]
        account = fields.get(b"1")
        symbol = fields[b"55"]
        side = _SIDES.get(fields[b"54"])
        if side is None:
            return SessionReject(SessionRejectReason.VALUE_INCORRECT, b"54", "Side must be 1 or 2")
        limit = self._identifier_bytes
        if len(cl_ord_id) > limit or len(symbol) > limit or (account is not None and len(account) > limit):
            return self._too_long(fields, (b"11", b"55", b"1"))
        cl_ord_id_text = cl_ord_id.decode("latin-1")
        account_text = None if account is None else account.decode("latin-1")
        try:
            listing = self._listings.get(symbol) or self._find(symbol)
            # The usual case, a limit order whose numbers were read before, in as few steps as it takes.
            order_type = _ORDER_TYPES.get(fields[b"40"])
            time_in_force = _TIMES_IN_FORCE.get(fields.get(b"59", b"0"))
            quantity = listing.lots.get(fields.get(b"38", b""))
            price = listing.ticks.get(fields.get(b"44", b""))
            if order_type != _LIMIT or time_in_force is None or quantity is None or price is None:
                order_type, time_in_force, quantity, price = _terms(fields, listing)
        except _UnacceptableError as error:
            return home_partition, encode(
                unacceptable_order(
                    session_epoch,
                    msg_seq_num,
                    cl_ord_id_text,
                    account_text,
                    symbol.decode("latin-1"),
                    side,
                    error.refusal,
                    error.detail,
                )
            )
        # The order of the fields is that of NewOrder.
        order = (
            _NEW_ORDER, session_epoch, msg_seq_num, cl_ord_id_text, account_text, listing.symbol, side, order_type,
            time_in_force, quantity, price,
        )  # fmt: skip
        return listing.partition, encode(order)

    def _cancel(
        self, home_partition: str, session_epoch: int, msg_seq_num: int, fields: Fields
    ) -> tuple[str, bytes] | SessionReject:
        side = _SIDES.get(fields[b"54"])
        if side is None:
            return SessionReject(SessionRejectReason.VALUE_INCORRECT, b"54", "Side must be 1 or 2")
        tags = (b"11", b"41", b"55", b"37")
        if any(len(fields.get(tag, b"")) > self._identifier_bytes for tag in tags):
            return self._too_long(fields, tags)
        cl_ord_id, orig_cl_ord_id = fields[b"11"].decode("latin-1"), fields[b"41"].decode("latin-1")
        symbol = fields[b"55"]
        try:
            listing = self._listings.get(symbol) or self._find(symbol)
        except _UnacceptableError as error:
            return home_partition, encode(
                unacceptable_cancel(
                    session_epoch,
                    msg_seq_num,
                    cl_ord_id,
                    orig_cl_ord_id,
                    symbol.decode("latin-1"),
                    side,
                    error.refusal,
                    error.detail,
                )
            )
        position = order_position(fields.get(b"37"), listing.partition)
        return listing.partition, encode(
            cancel_order(session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id, position, listing.symbol, side)
        )

    def _too_long(self, fields: Fields, tags: tuple[bytes, ...]) -> SessionReject:
        tag = next(tag for tag in tags if len(fields.get(tag, b"")) > self._identifier_bytes)
        text = f"Value is longer than {self._identifier_bytes} bytes"
        return SessionReject(SessionRejectReason.VALUE_INCORRECT, tag, text)

    def _find(self, symbol: bytes) -> _Listing:
        """Where a symbol trades. Only known symbols are remembered, so that strange ones cost no memory."""
        text = symbol.decode("latin-1")
        for partition, reference in self._references.items():
            units = reference.instruments.get(text)
            if units is not None:
                listing = self._listings[symbol] = _Listing(partition, text, units, {}, {})
                return listing
        raise _UnacceptableError(Refusal.UNKNOWN_SYMBOL, symbol)


def _terms(fields: Fields, listing: _Listing) -> tuple[int, int, int, int | None]:
    """(order type, time in force, lots, ticks or None). Refusals come in the order of `Refusal`'s members."""
    order_type = _ORDER_TYPES.get(fields[b"40"])
    if order_type is None:
        raise _UnacceptableError(Refusal.UNSUPPORTED_ORDER_TYPE, fields[b"40"])
    # TimeInForce absent means day (FIX 4.4 vol. 3, TimeInForce).
    time_in_force = _TIMES_IN_FORCE.get(fields.get(b"59", b"0"))
    if time_in_force is None:
        raise _UnacceptableError(Refusal.UNSUPPORTED_TIME_IN_FORCE, fields[b"59"])
    # A market order's Price is not looked at: it has none.
    mantissa, decimals, lot_mantissa, lot_decimals = listing.units
    price = None
    if order_type == _LIMIT:
        price = _units_of(fields.get(b"44"), mantissa, decimals, listing.ticks, _PRICE_REFUSALS)
    quantity = _units_of(fields.get(b"38"), lot_mantissa, lot_decimals, listing.lots, _QUANTITY_REFUSALS)
    return order_type, time_in_force, quantity, price


def _units_of(
    text: bytes | None, mantissa: int, decimals: int, known: dict[bytes, int], refusals: _NumberRefusals
) -> int:
    """A positive decimal text as a number of units; `known` holds what texts read before meant."""
    if text is None:
        raise _UnacceptableError(refusals.missing, b"")
    number = known.get(text)
    if number is not None:
        return number
    try:
        number = parse_units(text, mantissa, decimals)
    except NotANumberError:
        raise _UnacceptableError(refusals.malformed, text) from None
    except OffUnitError:
        raise _UnacceptableError(refusals.off_unit, text) from None
    if not number:
        raise _UnacceptableError(refusals.malformed, text)
    return _keep(known, text, number)


def _keep(numbers: dict[bytes, int], text: bytes, number: int) -> int:
    """Remember what a sound text means, in a cache that is emptied when it is full."""
    if len(numbers) >= _NUMBERS_KEPT:
        numbers.clear()
    numbers[text] = number
    return number


def order_position(order_id: bytes | None, symbol_partition: str) -> int | None:
    """The position in an OrderID(37) `<symbol partition>-<position>`: None when absent, NO_ORDER for any other text."""
    if order_id is None:
        return None
    partition, _, position = order_id.rpartition(b"-")
    if partition.decode("latin-1") != symbol_partition or (position.startswith(b"0") and position != b"0"):
        return NO_ORDER
    return whole_number(position, DECIMAL_DIGITS)
