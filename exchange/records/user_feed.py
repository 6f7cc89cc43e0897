"""Records of the streams `<symbol partition>/<participant>` in a user partition: what a participant is told.

OrderAccepted, OrderRefused, OrderCanceled and CancelRefused arrive as they stand on the tape; a Trade arrives as one
Fill per own half, without the counterparty.
"""

from typing import NamedTuple

from exchange.records.kinds import Kind
from exchange.records.reference_data import Units


class Liquidity:
    """FIX LastLiquidityInd(851): which side of a trade an order was."""

    ADDED = 1
    REMOVED = 2


class Fill(NamedTuple):
    """One order's half of a trade, with the order's state after it; see TradeHalf for the units."""

    kind: int
    cause: int
    ordinal: int
    transact_time: int
    participant: str
    session: str
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
    cumulative: int
    leaves: int
    notional: int
    last_price: int
    last_quantity: int
    liquidity: int
    trade_number: int


class Beacon(NamedTuple):
    """A clock tick of the symbol partition, seen downstream: everything below `symbol_position` has been delivered."""

    kind: int
    tick: int
    symbol_position: int
    sequencing_time: int


def beacon(tick: int, symbol_position: int, sequencing_time: int) -> Beacon:
    """A Beacon with its kind filled in."""
    return Beacon(Kind.BEACON, tick, symbol_position, sequencing_time)


def user_stream(symbol_partition: str, participant: str) -> str:
    """The stream that carries one symbol partition's records to one participant (and its ApplID)."""
    return f"{symbol_partition}/{participant}"
