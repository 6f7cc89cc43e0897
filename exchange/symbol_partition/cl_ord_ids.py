"""Which ClOrdIDs a participant has used: those of live orders, and the latest of those that have ended.

Ids are a participant's own, whatever session uses them. They are remembered for orders that ended, for orders that
were refused and for cancel requests, so that a second use is seen (FIX 4.4 vol. 1, ClOrdID(11) is unique) and a late
cancel gets the order's true state.
"""

from exchange.records.order_entry import NO_ORDER
from exchange.symbol_partition.book import Order
from exchange.symbol_partition.instrument import EndedOrder

REMEMBERED_ORDERS = 100_000
"""How many ids at least are remembered per participant; the limit `remembered_orders`."""


class Generation:
    """Some of the remembered ids, in the order in which they came to be remembered."""

    __slots__ = ("ended", "positions")

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}
        """ClOrdID to order position, NO_ORDER for a refused order or a cancel request."""
        self.ended: dict[int, EndedOrder] = {}
        """Order position to what is known of that order."""


class ClOrdIds:
    """The ids of one participant.

    Remembered ids stand in two generations. When the younger holds the limit N, it becomes the older and the one that
    was older is dropped whole: N to 2N ids are remembered at the cost of one insertion each.
    """

    __slots__ = ("live", "live_positions", "older", "younger")

    def __init__(self) -> None:
        self.live: dict[str, Order] = {}
        self.live_positions: dict[int, Order] = {}
        self.younger = Generation()
        self.older = Generation()

    def knows(self, cl_ord_id: str) -> bool:
        """Whether an order or request of that id is live or remembered."""
        return cl_ord_id in self.live or cl_ord_id in self.younger.positions or cl_ord_id in self.older.positions

    def rest(self, cl_ord_id: str, order_position: int, order: Order) -> None:
        """An order has come to rest under an id that is not known yet."""
        self.live[cl_ord_id] = self.live_positions[order_position] = order

    def end(self, cl_ord_id: str, order_position: int, ended: EndedOrder, limit: int) -> None:
        """A live order has ended; `limit` as for `remember`."""
        del self.live[cl_ord_id]
        del self.live_positions[order_position]
        self.remember(cl_ord_id, order_position, ended, limit)

    def remember(self, cl_ord_id: str, order_position: int, ended: EndedOrder | None, limit: int) -> None:
        """Remember an id that is not known; `ended` is None when it named no order. `limit` is N."""
        younger = self.younger
        younger.positions[cl_ord_id] = order_position
        if ended is not None:
            younger.ended[order_position] = ended
        if len(younger.positions) >= limit:
            self.older = younger
            self.younger = Generation()

    def live_order(self, cl_ord_id: str, order_position: int | None) -> Order | None:
        """The live order of a position or, if that is None, of an id."""
        if order_position is None:
            return self.live.get(cl_ord_id)
        return self.live_positions.get(order_position)

    def ended_order(self, cl_ord_id: str, order_position: int | None) -> tuple[int, EndedOrder] | None:
        """The remembered order of a position or, if that is None, of an id: its position and how it ended."""
        for generation in (self.younger, self.older):
            position = generation.positions.get(cl_ord_id, NO_ORDER) if order_position is None else order_position
            ended = generation.ended.get(position)
            if ended is not None:
                return position, ended
        return None
