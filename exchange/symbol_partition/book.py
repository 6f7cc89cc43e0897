"""The order book of one instrument: price-time priority over integer ticks and lots.

Each side keeps a ring of orders per price, oldest first, and its prices in a sorted ladder with the best at its end.
Adding, removing and trading an order cost the same however many orders rest.

A ring closes on its level, which stands in it like an order that has no quantity, so that linking and unlinking need
no case for the first or the last. Whatever leaves the book is unlinked from it: no reference cycle survives, because
the process that runs a book does not collect cycles.

    book = Book("ALFA")
    order = Order(price=995, leaves=10)
    book.bids.add(order)
    for maker, lots in book.bids.take(990, 4): ...   # a sell of 4 at 990 or better
    book.bids.remove(order)
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import Any

LONGEST_RUN = 512
"""Prices in one run of a ladder before it is halved: bounds what one insertion moves."""


class Order:
    """A resting order. The book keeps `leaves` and `notional`; `terms` and `owner` are its caller's alone.

    `price` in ticks (None for a market order, which never rests), `leaves` in lots, `notional` the sum of price times
    quantity over its fills, in ticks times lots.
    `side` is where it rests, or rested last.
    """

    __slots__ = ("before", "behind", "leaves", "notional", "owner", "price", "side", "terms")

    before: Order
    behind: Order
    side: BookSide

    def __init__(
        self, price: int, leaves: int, notional: int = 0, terms: tuple[Any, ...] = (), owner: Any = None
    ) -> None:
        self.price = price
        self.leaves = leaves
        self.notional = notional
        self.terms = terms
        self.owner = owner


class Level(Order):
    """The ring of orders at one price: `behind` it stands the oldest, `before` it the newest."""

    __slots__ = ()

    def __init__(self, price: int) -> None:
        self.price = price
        self.before = self.behind = self


_NOWHERE = Level(0)
"""What an order outside a ring is linked to, so that it keeps nothing alive."""


class PriceLadder:
    """Distinct ints in ascending order, for as many as there are orders.

    One sorted list would move all that stands behind an insertion, which is felt from some ten thousand prices on;
    runs of bounded length keep it flat. Most ladders have one run.
    """

    __slots__ = ("_lowest", "last_run", "runs")

    def __init__(self) -> None:
        self.last_run: list[int] = []
        """Its last entry is the highest; it is empty only when the ladder is."""
        self.runs = [self.last_run]
        self._lowest = [0]
        """The lowest entry that belongs into each run; the first run takes anything below, too."""

    def insert(self, value: int) -> None:
        """Add a value that is not present."""
        runs = self.runs
        at = self._run_of(value) if len(runs) > 1 else 0
        run = runs[at]
        run.insert(bisect_left(run, value), value)
        if len(run) > LONGEST_RUN:
            self._halve(at)

    def delete(self, value: int) -> None:
        """Remove a value that is present."""
        runs = self.runs
        at = self._run_of(value) if len(runs) > 1 else 0
        run = runs[at]
        del run[bisect_left(run, value)]
        if not run and len(runs) > 1:
            del runs[at]
            del self._lowest[at]
            self.last_run = runs[-1]

    def _run_of(self, value: int) -> int:
        at = bisect_left(self._lowest, value + 1) - 1
        return max(at, 0)  # what is lower than all belongs to the first

    def _halve(self, at: int) -> None:
        run = self.runs[at]
        middle = len(run) // 2
        upper = run[middle:]
        del run[middle:]
        self.runs.insert(at + 1, upper)
        self._lowest.insert(at + 1, upper[0])
        self.last_run = self.runs[-1]

    def descending(self) -> Iterator[int]:
        """All values, highest first."""
        for run in reversed(self.runs):
            yield from reversed(run)


class BookSide:
    """The bids or the asks of one instrument.

    Prices are ranked by `sign * price`, so that the higher rank is the better price on either side and one piece of
    code serves both.
    """

    __slots__ = ("_ladder", "_levels", "sign", "symbol")

    def __init__(self, symbol: str, sign: int) -> None:
        self.symbol = symbol
        self.sign = sign
        """1 for bids, -1 for asks."""
        self._levels: dict[int, Level] = {}
        self._ladder = PriceLadder()

    def add(self, order: Order) -> None:
        """Let an order rest behind all others of its price."""
        price = order.price
        level = self._levels.get(price)
        if level is None:
            level = self._levels[price] = Level(price)
            rank = self.sign * price
            run = self._ladder.last_run
            if run and run[0] < rank and len(run) < LONGEST_RUN:
                insort(run, rank)  # near the best, as most are: what is above the last run's lowest belongs there
            else:
                self._ladder.insert(rank)
        newest = level.before
        order.side = self
        order.before = newest
        order.behind = level
        newest.behind = order
        level.before = order

    def remove(self, order: Order) -> None:
        """Take out an order that rests here. KeyError if it was alone at its price and rests no more."""
        before = order.before
        behind = order.behind
        order.before = order.behind = _NOWHERE
        if before is behind:  # only a level can be both neighbours: the order was alone
            price = order.price
            del self._levels[price]
            self._ladder.delete(self.sign * price)
        else:
            before.behind = behind
            behind.before = before

    def take(self, limit: int | None, quantity: int) -> Sequence[tuple[Order, int]]:
        """Trade up to `quantity` lots against this side, best price first and oldest order first within a price.

        `limit` is the worst price the taker accepts, None for any. Returns each order that traded with its lots, in
        order of trading; none occurs twice, so each shows its state after its own trade. An order whose `leaves` are 0
        has left the book; any other keeps its place, for a fill never changes priority.
        """
        sign = self.sign
        levels = self._levels
        ladder = self._ladder
        best = ladder.last_run
        if not best or (limit is not None and best[-1] < sign * limit):
            return ()
        fills: list[tuple[Order, int]] = []
        while True:
            price = sign * best[-1]
            level = levels[price]
            maker = level.behind
            while maker is not level:
                lots = maker.leaves
                if quantity < lots:
                    if quantity:
                        maker.leaves = lots - quantity
                        maker.notional += price * quantity
                        fills.append((maker, quantity))
                    level.behind = maker  # leaves out those before it, all filled
                    maker.before = level
                    return fills
                quantity -= lots
                maker.leaves = 0
                maker.notional += price * lots
                fills.append((maker, lots))
                following = maker.behind
                maker.before = maker.behind = _NOWHERE
                maker = following
            del levels[price]
            if len(best) > 1:
                best.pop()
            else:
                ladder.delete(sign * price)
                best = ladder.last_run
            if not quantity or not best or (limit is not None and best[-1] < sign * limit):
                return fills

    def best(self) -> int | None:
        """The best price in ticks, None when nothing rests."""
        run = self._ladder.last_run
        return self.sign * run[-1] if run else None

    def orders(self) -> Iterator[Order]:
        """All resting orders in the order in which they would trade."""
        for rank in self._ladder.descending():
            level = self._levels[self.sign * rank]
            order = level.behind
            while order is not level:
                yield order
                order = order.behind


class Book:
    """Both sides. Whoever enters an order takes from the other side first and rests the remainder."""

    __slots__ = ("asks", "bids")

    def __init__(self, symbol: str) -> None:
        self.bids = BookSide(symbol, 1)
        self.asks = BookSide(symbol, -1)
