"""Records of the streams `orders/<participant>/<session>`: what members ask for.

The stream's name says which participant and session ask; each record carries the session epoch and MsgSeqNum of the
FIX message it came from, which together name it for ever (architecture, sessions).
"""

from enum import IntEnum
from typing import NamedTuple

from exchange.records.kinds import Kind
from exchange.records.refusals import Refusal

NO_ORDER = -1
"""An order position that no order has: of an id that never named one, or of an OrderID(37) of no known form."""


class Side(IntEnum):
    """FIX Side(54)."""

    BUY = 1
    SELL = 2


class OrderType(IntEnum):
    """FIX OrdType(40)."""

    MARKET = 1
    LIMIT = 2


class TimeInForce(IntEnum):
    """FIX TimeInForce(59)."""

    DAY = 0
    GOOD_TILL_CANCEL = 1
    IMMEDIATE_OR_CANCEL = 3


class NewOrder(NamedTuple):
    """NewOrderSingle(D), converted. `quantity` in lots, `price` in ticks (None for a market order)."""

    kind: int
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    account: str | None
    symbol: str
    side: int
    order_type: int
    time_in_force: int
    quantity: int
    price: int | None


class CancelOrder(NamedTuple):
    """OrderCancelRequest(F). Names its order by `order_position` (from OrderID(37)) or by `orig_cl_ord_id`.

    `order_position` is None when OrderID(37) was absent; an OrderID of another partition or of no known form is
    NO_ORDER.
    """

    kind: int
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    orig_cl_ord_id: str
    order_position: int | None
    symbol: str
    side: int


class UnacceptableOrder(NamedTuple):
    """A NewOrderSingle(D) that the gateway could not route or convert; the matcher refuses it with `refusal`.

    Written to the session's home symbol partition, so that the refusal has ids, a copy and an audit.
    `symbol` and `detail` are the message's own text.
    """

    kind: int
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    account: str | None
    symbol: str
    side: int
    refusal: int
    detail: str


class UnacceptableCancel(NamedTuple):
    """An OrderCancelRequest(F) that the gateway could not route; the matcher refuses it with `refusal`."""

    kind: int
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    orig_cl_ord_id: str
    symbol: str
    side: int
    refusal: int
    detail: str


def new_order(
    session_epoch: int,
    msg_seq_num: int,
    cl_ord_id: str,
    account: str | None,
    symbol: str,
    side: int,
    order_type: int,
    time_in_force: int,
    quantity: int,
    price: int | None,
) -> NewOrder:
    """A NewOrder with its kind filled in."""
    return NewOrder(
        Kind.NEW_ORDER, session_epoch, msg_seq_num, cl_ord_id, account, symbol, side, order_type, time_in_force,
        quantity, price,
    )  # fmt: skip


def cancel_order(
    session_epoch: int,
    msg_seq_num: int,
    cl_ord_id: str,
    orig_cl_ord_id: str,
    order_position: int | None,
    symbol: str,
    side: int,
) -> CancelOrder:
    """A CancelOrder with its kind filled in."""
    return CancelOrder(
        Kind.CANCEL_ORDER, session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id, order_position, symbol, side
    )


def unacceptable_order(
    session_epoch: int,
    msg_seq_num: int,
    cl_ord_id: str,
    account: str | None,
    symbol: str,
    side: int,
    refusal: Refusal,
    detail: str,
) -> UnacceptableOrder:
    """An UnacceptableOrder with its kind filled in."""
    return UnacceptableOrder(
        Kind.UNACCEPTABLE_ORDER, session_epoch, msg_seq_num, cl_ord_id, account, symbol, side, int(refusal), detail
    )


def unacceptable_cancel(
    session_epoch: int,
    msg_seq_num: int,
    cl_ord_id: str,
    orig_cl_ord_id: str,
    symbol: str,
    side: int,
    refusal: Refusal,
    detail: str,
) -> UnacceptableCancel:
    """An UnacceptableCancel with its kind filled in."""
    return UnacceptableCancel(
        Kind.UNACCEPTABLE_CANCEL, session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id, symbol, side, int(refusal),
        detail,
    )  # fmt: skip


def order_stream(participant: str, session: str) -> str:
    """The order-entry stream of one FIX session."""
    return f"orders/{participant}/{session}"
