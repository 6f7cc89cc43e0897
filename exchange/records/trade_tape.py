"""Records of the `tape` stream: everything a symbol partition's matcher decided.

Each names its cause (the partition position of the input record) and an ordinal among the reports of that cause, which
together make the ExecID; `transact_time` is the cause's sequencing time. OrderPosition is the position of the order's
own input record, which makes the OrderID. Records that answer a request carry the request's session, epoch and
MsgSeqNum. All but Trade travel to the participant unchanged.
"""

from typing import NamedTuple

from exchange.records.reference_data import Units

STREAM = "tape"


class OrderAccepted(NamedTuple):
    """An order was taken. Nothing is filled yet: it trades at once, rests or ends in the records that follow.

    The first FIX fields of a report on the order follow; `quantity` in lots, `price` in ticks or None.
    """

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    participant: str
    session: str
    session_epoch: int
    msg_seq_num: int
    order_position: int
    cl_ord_id: str
    account: str | None
    symbol: str
    units: Units
    side: int
    order_type: int
    time_in_force: int
    quantity: int
    price: int | None


class OrderRefused(NamedTuple):
    """An order was not taken. `order_position` is the cause's own: a refused order has an id too."""

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    participant: str
    session: str
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    account: str | None
    symbol: str
    side: int
    refusal: int
    detail: str


class TradeHalf(NamedTuple):
    """One order's side of a trade, with the order's state after it.

    `cumulative` and `leaves` in lots; `notional` is the sum of price times quantity over the order's fills, in ticks
    times lots, so that AvgPx is exact.
    """

    participant: str
    session: str
    order_position: int
    cl_ord_id: str
    account: str | None
    side: int
    order_type: int
    time_in_force: int
    quantity: int
    price: int | None
    cumulative: int
    leaves: int
    notional: int


class Trade(NamedTuple):
    """Two orders crossed: `maker` rested, `taker` is the cause. `number` counts the trades of this cause from 1.

    `ordinal` is the maker's report, `ordinal + 1` the taker's. `price` in ticks is the maker's, `quantity` in lots.
    """

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    number: int
    symbol: str
    units: Units
    price: int
    quantity: int
    maker: TradeHalf
    taker: TradeHalf


class OrderCanceled(NamedTuple):
    """An order ended before it was filled.

    `requester` is the session that asked, with the epoch and MsgSeqNum of its request and the request's ClOrdID in
    `cl_ord_id`; all four are None when nobody asked (`reason` says why it ended). `session` entered the order.
    """

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    participant: str
    session: str
    requester: str | None
    session_epoch: int | None
    msg_seq_num: int | None
    cl_ord_id: str | None
    order_position: int
    order_cl_ord_id: str
    account: str | None
    symbol: str
    units: Units
    side: int
    order_type: int
    time_in_force: int
    quantity: int
    price: int | None
    cumulative: int
    notional: int
    reason: int


class CancelRefused(NamedTuple):
    """A cancel changed nothing. `order_position` and `order_state` are None when the order is not known.

    `order_state` is the FIX OrdStatus(39) of the order as an int: 0 new, 1 partly filled, 2 filled, 4 canceled.
    """

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    participant: str
    session: str
    session_epoch: int
    msg_seq_num: int
    cl_ord_id: str
    orig_cl_ord_id: str
    order_position: int | None
    order_state: int | None
    refusal: int
    detail: str


class InputRefused(NamedTuple):
    """A record in an order stream was none that a gateway writes. Nobody is told but the tape's readers."""

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    stream: str
    detail: str
