"""Part `book`: the order book against peers on one seeded program, and against its own size.

Every engine runs in a fresh process with garbage collection off, as matchers do; the times are CPU times. All
that report fills must report the same.
"""

import gc
import heapq
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, NamedTuple

from rich.table import Table

from bench.tables import table

EVENTS = 500_000
ADD_SHARE, CANCEL_SHARE = 0.6, 0.3
SEED = 1
MIDDLE, DEPTH = 10_000, 100
SIZES = (1_000, 100_000, 1_000_000)
SIZE_EVENTS = 100_000
SIZE_DEPTH = 2_000
BUY, SELL = 1, 2


class Event(NamedTuple):
    """An order (`limit` and `quantity` set) or the cancel of the order with this number."""

    number: int
    side: int
    limit: int
    quantity: int


Program = list[Event]


@dataclass(slots=True)
class Outcome:
    """How long, and what traded: proof that engines did the same work. None when an engine does not say."""

    seconds: float
    fills: int | None
    traded: int | None


def book_program(events: int, depth: int = DEPTH, seed: int = SEED) -> Program:
    """60 % adds that rest, 30 % cancels of a resting order, 10 % orders that sweep what keeps the book's size."""
    choice = random.Random(seed)
    program: Program = []
    model = _BookModel()
    number = 0
    for _ in range(events):
        draw = choice.random()
        if ADD_SHARE <= draw < ADD_SHARE + CANCEL_SHARE and model.live:
            program.append(Event(model.cancel_random(choice), 0, 0, 0))
            continue
        number += 1
        side = choice.choice((BUY, SELL))
        sign = 1 if side == BUY else -1
        if draw < ADD_SHARE + CANCEL_SHARE:
            event = Event(number, side, MIDDLE - sign * choice.randint(1, depth), choice.randint(1, 100))
        else:
            event = Event(number, side, MIDDLE + sign * depth, choice.randint(50, 250))
        model.enter(event)
        program.append(event)
    return program


class _BookModel:
    """Price-time priority by two heaps: slow, and written apart from every engine measured here."""

    def __init__(self) -> None:
        self.live: list[int] = []
        self._places: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._heaps: dict[int, list[tuple[int, int]]] = {BUY: [], SELL: []}

    def cancel_random(self, choice: random.Random) -> int:
        number = choice.choice(self.live)
        self._end(number)
        return number

    def enter(self, event: Event) -> None:
        opposite = self._heaps[SELL if event.side == BUY else BUY]
        sign = 1 if event.side == BUY else -1
        left = event.quantity
        while left and opposite and opposite[0][0] <= sign * event.limit:
            maker = opposite[0][1]
            lots = min(left, self._left.get(maker, 0))
            if lots:
                left -= lots
                self._left[maker] -= lots
            if not self._left.get(maker):
                heapq.heappop(opposite)
                if lots:
                    self._end(maker)
        if left:
            self._left[event.number] = left
            self._places[event.number] = len(self.live)
            self.live.append(event.number)
            heapq.heappush(self._heaps[event.side], (-sign * event.limit, event.number))

    def _end(self, number: int) -> None:
        del self._left[number]
        place = self._places.pop(number)
        last = self.live.pop()
        if last != number:
            self.live[place] = last
            self._places[last] = place


def measure() -> dict[str, Any]:
    """Thousand operations per second by engine, and nanoseconds per operation by resting orders."""
    outcomes = {name: _in_fresh_process(name, EVENTS) for name in RUNNERS}
    traded = {outcome.traded for outcome in outcomes.values() if outcome.traded is not None}
    fills = {outcome.fills for outcome in outcomes.values() if outcome.fills is not None}
    if len(traded) != 1 or len(fills) != 1:
        raise ValueError(f"engines disagree: {outcomes}")
    return {
        "events": EVENTS,
        "fills": fills.pop(),
        "traded": traded.pop(),
        "thousand_operations_per_second": {
            name: round(EVENTS / outcome.seconds / 1000) for name, outcome in outcomes.items()
        },
        "us_per_operation_by_resting_orders": {str(size): _fresh_size_run(size) for size in SIZES},
    }


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))


def _in_fresh_process(name: str, events: int) -> Outcome:
    with _pool() as pool:
        return pool.submit(run_engine, name, events).result()


def _fresh_size_run(size: int) -> float:
    with _pool() as pool:
        return pool.submit(run_size, size).result()


def run_engine(name: str, events: int) -> Outcome:
    """One engine through the program, in this process."""
    program = book_program(events)
    run = RUNNERS[name]
    gc.collect()
    gc.freeze()
    gc.disable()
    return run(program)


def run_size(size: int) -> float:
    """Microseconds per operation (cancel, add, add, trade) of our book with so many orders resting."""
    from exchange.symbol_partition.book import Book, Order

    book = Book("BNCH")
    choice = random.Random(SEED)
    resting = []
    for number in range(size):
        order = Order(_resting_price(choice, number), 10)
        (book.bids if number % 2 else book.asks).add(order)
        resting.append(order)
    places = [choice.randrange(size) for _ in range(SIZE_EVENTS)]
    prices = [_resting_price(choice, place) for place in places]
    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.process_time()
    for place, price in zip(places, prices, strict=True):
        canceled = resting[place]
        side = canceled.side
        side.remove(canceled)
        order = resting[place] = Order(price, 10)
        side.add(order)
    for place, price in zip(places, prices, strict=True):
        side = book.bids if place % 2 else book.asks
        side.add(Order(price, 10))
        side.take(None, 10)
    return round((time.process_time() - start) / SIZE_EVENTS / 4 * 1e6, 3)


def _resting_price(choice: random.Random, number: int) -> int:
    """A bid for odd numbers, an ask for even ones."""
    return MIDDLE - (1 if number % 2 else -1) * choice.randint(1, SIZE_DEPTH)


def run_ordinal(program: Program) -> Outcome:
    """`exchange.symbol_partition.book`, the order numbers mapped to orders as a matcher does."""
    from exchange.symbol_partition.book import Book, Order

    book = Book("BNCH")
    bids, asks = book.bids, book.asks
    orders: dict[int, Order] = {}
    fills = traded = 0
    start = time.process_time()
    for number, side, limit, quantity in program:
        if not quantity:
            order = orders.pop(number, None)
            if order is not None:
                order.side.remove(order)
            continue
        own, opposite = (bids, asks) if side == BUY else (asks, bids)
        left = quantity
        for maker, lots in opposite.take(limit, quantity):
            fills += 1
            left -= lots
            if not maker.leaves:
                del orders[maker.owner]
        traded += quantity - left
        if left:
            order = orders[number] = Order(limit, left, owner=number)
            own.add(order)
    return Outcome(time.process_time() - start, fills, traded)


def run_lightmatchingengine(program: Program) -> Outcome:
    """`lightmatchingengine` as published; it leaves filled orders in its map, so a late cancel is kept from it."""
    from lightmatchingengine.lightmatchingengine import LightMatchingEngine

    engine = LightMatchingEngine()
    orders: dict[int, Any] = {}
    fills = traded = 0
    start = time.process_time()
    for number, side, limit, quantity in program:
        if not quantity:
            order = orders.pop(number, None)
            if order is not None and order.leaves_qty:
                engine.cancel_order(order.order_id, "BNCH")
            continue
        order, trades = engine.add_order("BNCH", limit, quantity, side)
        for trade in trades:
            if trade.trade_side != side:
                fills += 1
                traded += trade.trade_qty
        if order.leaves_qty:
            orders[number] = order
    return Outcome(time.process_time() - start, fills, traded)


def run_liquibook(program: Program) -> Outcome:
    """`liquibook` without a listener: nobody learns of a fill, which flatters it."""
    return _run_liquibook(program, listen=False)


def run_liquibook_listening(program: Program) -> Outcome:
    """`liquibook` with a Python listener that is told each fill, as a venue must be."""
    return _run_liquibook(program, listen=True)


def _run_liquibook(program: Program, listen: bool) -> Outcome:
    import liquibook

    book = liquibook.liquibook_book_OrderBook()
    book.set_symbol("BNCH")
    listener = _fill_listener(liquibook)
    if listen:
        book.set_order_listener(listener)
    orders: dict[int, Any] = {}
    make, add, cancel = liquibook.SimpleOrder, book.add, book.cancel
    start = time.process_time()
    for number, side, limit, quantity in program:
        if quantity:
            order = orders[number] = make(side == BUY, limit, quantity)
            add(order, 0)
        else:
            cancel(orders.pop(number))
    seconds = time.process_time() - start
    return Outcome(seconds, listener.fills if listen else None, listener.traded if listen else None)


def _fill_listener(liquibook: Any) -> Any:
    class FillListener(liquibook.OrderListener):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.fills = self.traded = 0

        def on_fill(self, maker: Any, taker: Any, quantity: int, cost: int) -> None:
            self.fills += 1
            self.traded += quantity

        def _nothing(self, *details: Any) -> None: ...

        on_accept = on_reject = on_cancel = on_cancel_reject = on_replace = on_replace_reject = _nothing

    return FillListener()


RUNNERS: dict[str, Callable[[Program], Outcome]] = {
    "ordinal": run_ordinal,
    "liquibook": run_liquibook,
    "liquibook, fills reported": run_liquibook_listening,
    "lightmatchingengine": run_lightmatchingengine,
}


def tables(result: dict[str, Any]) -> list[Table]:
    """Speed by engine, and cost by size."""
    speeds = result["thousand_operations_per_second"]
    sizes = result["us_per_operation_by_resting_orders"]
    title = f"Order book, {result['events']:,} events, {result['fills']:,} fills"
    return [
        table(title, ["engine", "thousand operations/s"], [[name, speed] for name, speed in speeds.items()]),
        table(
            "Our book by size", ["resting orders", "µs per operation"], [[f"{int(n):,}", us] for n, us in sizes.items()]
        ),
    ]
