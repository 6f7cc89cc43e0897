"""The rules a request must pass, without state: what a gateway writes, and what an order may ask for.

Refusals are named in the order of `Refusal`'s members: of several that hold, the first is given (architecture,
rule 10).
"""

from typing import Any, Protocol

from msgpack import unpackb

from exchange.records.order_entry import OrderType, TimeInForce
from exchange.records.refusals import Refusal

LARGEST_INT = 2**63 - 1
"""No int in a record is larger, so that any reader can keep it in 64 bits, signed."""

LONGEST_PAYLOAD = 8192
"""Bytes of one input payload. A longer one is refused unread: no text in a record can be longer than its payload."""

MARKET = int(OrderType.MARKET)
LIMIT = int(OrderType.LIMIT)
IMMEDIATE_OR_CANCEL = int(TimeInForce.IMMEDIATE_OR_CANCEL)

_TIMES_IN_FORCE = tuple(int(time_in_force) for time_in_force in TimeInForce)
_REFUSAL_NUMBERS = tuple(int(refusal) for refusal in Refusal)
_NOTHING = (0,)


class Limits(Protocol):
    """What an instrument says of the orders it takes: `largest_price` in ticks, `largest_order` in lots."""

    largest_price: int
    largest_order: int


def decode_input(payload: bytes) -> tuple[Any, ...]:
    """The fields of a payload of an order stream, (0,) for anything that is not an array with a first field."""
    if len(payload) > LONGEST_PAYLOAD:
        return _NOTHING
    try:
        fields = unpackb(payload, use_list=False)
    except Exception:  # msgpack raises a dozen kinds; none is more than "malformed"
        return _NOTHING
    return fields if type(fields) is tuple and fields else _NOTHING


# The types of fields are compared exactly: a bool is no int here.


def is_new_order(fields: tuple[Any, ...]) -> bool:
    """Whether the fields are those of a NewOrder that a gateway can have written."""
    if len(fields) != 11:
        return False
    kind, session_epoch, msg_seq_num, cl_ord_id, account, symbol, side, order_type, time_in_force, quantity, price = (
        fields
    )
    return (
        type(kind) is int
        and type(session_epoch) is int
        and type(msg_seq_num) is int
        and type(cl_ord_id) is str
        and (account is None or type(account) is str)
        and type(symbol) is str
        and type(side) is int
        and type(order_type) is int
        and type(time_in_force) is int
        and type(quantity) is int
        and (price is None or type(price) is int)
        and 0 <= session_epoch <= LARGEST_INT
        and 0 <= msg_seq_num <= LARGEST_INT
        and 1 <= side <= 2
    )


def is_cancel_order(fields: tuple[Any, ...]) -> bool:
    """Whether the fields are those of a CancelOrder that a gateway can have written."""
    if len(fields) != 8:
        return False
    kind, session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id, order_position, symbol, side = fields
    return (
        type(kind) is int
        and type(session_epoch) is int
        and type(msg_seq_num) is int
        and type(cl_ord_id) is str
        and type(orig_cl_ord_id) is str
        and (order_position is None or type(order_position) is int)
        and type(symbol) is str
        and type(side) is int
        and 0 <= session_epoch <= LARGEST_INT
        and 0 <= msg_seq_num <= LARGEST_INT
        and 1 <= side <= 2
    )


def is_unacceptable_order(fields: tuple[Any, ...]) -> bool:
    """Whether the fields are those of an UnacceptableOrder that a gateway can have written."""
    types = tuple(map(type, fields))
    return (
        types[:4] == (int, int, int, str)
        and types[4:5] in ((str,), (type(None),))
        and types[5:] == (str, int, int, str)
        and _has_proper_ints(fields)
    )


def is_unacceptable_cancel(fields: tuple[Any, ...]) -> bool:
    """Whether the fields are those of an UnacceptableCancel that a gateway can have written."""
    return tuple(map(type, fields)) == (int, int, int, str, str, str, int, int, str) and _has_proper_ints(fields)


def _has_proper_ints(fields: tuple[Any, ...]) -> bool:
    # The side is the message's own here and may be none of ours; it is only passed on.
    return all(0 <= fields[at] <= LARGEST_INT for at in (1, 2, 6)) and fields[7] in _REFUSAL_NUMBERS


def refusal_of_terms(
    order_type: int, time_in_force: int, price: int | None, quantity: int, limits: Limits
) -> Refusal | None:
    """Why an order for a known instrument is refused, None if it is not.

    `price` in ticks, `quantity` in lots. A market order's price is not looked at: it has none.
    """
    if order_type == LIMIT:
        if time_in_force not in _TIMES_IN_FORCE:
            return Refusal.UNSUPPORTED_TIME_IN_FORCE
        if price is None:
            return Refusal.PRICE_MISSING
        if not 0 < price <= limits.largest_price:
            return Refusal.PRICE_MALFORMED
    elif order_type != MARKET:
        return Refusal.UNSUPPORTED_ORDER_TYPE
    elif time_in_force not in _TIMES_IN_FORCE:
        return Refusal.UNSUPPORTED_TIME_IN_FORCE
    if quantity <= 0:
        return Refusal.QUANTITY_MALFORMED
    if quantity > limits.largest_order:
        return Refusal.QUANTITY_TOO_LARGE
    return None
