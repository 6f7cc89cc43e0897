"""The orders of a run, from a seed: 50 % rest, 35 % trade, 15 % cancel.

A trade is an immediate-or-cancel order for what the best modelled order opposite has left, so that about every
resting order ends by a trade or a cancel and the book keeps its size. Nine of ten are one round lot, the others up to
five, so a trading order mostly meets one other. The model knows one interleaving only and the venue sees another, so
partial fills, missed trades and late cancels occur.
"""

import heapq
import random
from dataclasses import dataclass, field

from bench.fix_text import cancel_body, new_order_body, utc_timestamp

SYMBOLS = ("ALFA", "BETA", "GAMA", "DLTA")
BUY, SELL = 1, 2
MIDDLE_TICKS = 10_000
DEPTH_TICKS = 100
ROUND_LOT, ROUND_LOT_SHARE = 100, 0.9
DAY, IMMEDIATE_OR_CANCEL = 0, 3


@dataclass(slots=True)
class RestingOrder:
    """What the model remembers of an order in the book."""

    session: int
    cl_ord_id: str
    symbol: str
    side: int
    quantity: int
    live: bool = True


@dataclass(slots=True)
class OrderProgram:
    """`bodies[session]` in the order of sending; `turns` names the session of each request of the whole program.

    A request's ClOrdID ends in its index among its session's requests, six digits.
    """

    prefix: str
    sessions: int
    bodies: list[list[str]] = field(default_factory=list)
    kinds: list[bytearray] = field(default_factory=list)
    turns: bytearray = field(default_factory=bytearray)
    transact_time: str = field(default_factory=utc_timestamp)

    def __post_init__(self) -> None:
        self.bodies = [[] for _ in range(self.sessions)]
        self.kinds = [bytearray() for _ in range(self.sessions)]

    def __len__(self) -> int:
        return len(self.turns)

    def next_id(self, session: int) -> str:
        """ClOrdID of the session's next request."""
        return f"{self.prefix}{session}-{len(self.bodies[session]):06}"

    def add_order(self, session: int, symbol: str, side: int, quantity: int, ticks: int, time_in_force: int) -> str:
        """Append a limit order; its ClOrdID."""
        cl_ord_id = self.next_id(session)
        price = f"{ticks // 100}.{ticks % 100:02}"
        self._append(
            session, "D", new_order_body(cl_ord_id, symbol, side, quantity, price, time_in_force, self.transact_time)
        )
        return cl_ord_id

    def add_cancel(self, session: int, orig_cl_ord_id: str, symbol: str, side: int, quantity: int) -> None:
        """Append a cancel of an order that the session entered before."""
        body = cancel_body(self.next_id(session), orig_cl_ord_id, symbol, side, quantity, self.transact_time)
        self._append(session, "F", body)

    def _append(self, session: int, kind: str, body: str) -> None:
        self.bodies[session].append(body)
        self.kinds[session].append(ord(kind))
        self.turns.append(session)


class _ModelBook:
    """Resting orders by (symbol, side) in price-time order, and all of them for random cancels."""

    def __init__(self) -> None:
        self.sides: dict[tuple[str, int], list[tuple[int, int, RestingOrder]]] = {
            (symbol, side): [] for symbol in SYMBOLS for side in (BUY, SELL)
        }
        self.all: list[RestingOrder] = []
        self._arrivals = 0

    def add(self, order: RestingOrder, ticks: int) -> None:
        self._arrivals += 1
        rank = -ticks if order.side == BUY else ticks
        heapq.heappush(self.sides[order.symbol, order.side], (rank, self._arrivals, order))
        self.all.append(order)

    def take_best(self, symbol: str, side: int) -> RestingOrder | None:
        queue = self.sides[symbol, side]
        while queue:
            order = heapq.heappop(queue)[2]
            if order.live:
                order.live = False
                return order
        return None

    def take_random(self, choice: random.Random) -> RestingOrder | None:
        while self.all:
            place = choice.randrange(len(self.all))
            order = self.all[place]
            self.all[place] = self.all[-1]
            self.all.pop()
            if order.live:
                order.live = False
                return order
        return None


def seeded_program(orders: int, sessions: int, seed: int = 1, prefix: str = "a") -> OrderProgram:
    """The program of a load run."""
    choice = random.Random(seed)
    program = OrderProgram(prefix, sessions)
    book = _ModelBook()
    while len(program) < orders:
        draw = choice.random()
        if draw < 0.15 and (target := book.take_random(choice)) is not None:
            program.add_cancel(target.session, target.cl_ord_id, target.symbol, target.side, target.quantity)
        elif 0.15 <= draw < 0.5 and _add_taker(program, book, choice):
            pass
        else:
            _add_maker(program, book, choice)
    return program


def _add_maker(program: OrderProgram, book: _ModelBook, choice: random.Random) -> None:
    session = choice.randrange(program.sessions)
    symbol = choice.choice(SYMBOLS)
    side = choice.choice((BUY, SELL))
    quantity = ROUND_LOT if choice.random() < ROUND_LOT_SHARE else choice.randint(2, 5) * ROUND_LOT
    away = choice.randint(1, DEPTH_TICKS)
    ticks = MIDDLE_TICKS - away if side == BUY else MIDDLE_TICKS + away
    cl_ord_id = program.add_order(session, symbol, side, quantity, ticks, DAY)
    book.add(RestingOrder(session, cl_ord_id, symbol, side, quantity), ticks)


def _add_taker(program: OrderProgram, book: _ModelBook, choice: random.Random) -> bool:
    """An order that trades with the best of a side that has orders; False when the whole book is empty."""
    pairs = list(book.sides)
    start = choice.randrange(len(pairs))
    for symbol, side in pairs[start:] + pairs[:start]:
        target = book.take_best(symbol, side)
        if target is not None:
            taker_side = SELL if side == BUY else BUY
            ticks = MIDDLE_TICKS + (DEPTH_TICKS if taker_side == BUY else -DEPTH_TICKS)
            session = choice.randrange(program.sessions)
            program.add_order(session, symbol, taker_side, target.quantity, ticks, IMMEDIATE_OR_CANCEL)
            return True
    return False


def alternating_program(orders: int, session: int, sessions: int, prefix: str) -> OrderProgram:
    """One session's orders, each followed by its cancel: the book stays empty."""
    program = OrderProgram(prefix, sessions)
    for number in range(orders):
        symbol = SYMBOLS[number % len(SYMBOLS)]
        ticks = MIDDLE_TICKS - 1 - number % DEPTH_TICKS
        cl_ord_id = program.add_order(session, symbol, BUY, 100, ticks, DAY)
        program.add_cancel(session, cl_ord_id, symbol, BUY, 100)
    return program
