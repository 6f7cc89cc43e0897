"""Random programs: the matcher says what the slow matcher says, after every step, and its book keeps the invariants."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.records.order_entry import CancelOrder, NewOrder, cancel_order, new_order, order_stream
from exchange.records.trade_tape import OrderAccepted, OrderCanceled, Trade
from tests.symbol_partition.oracle import SlowMatcher
from tests.symbol_partition.tape import BUY, EPOCH, SELL, SymbolPartition, time_of

LARGEST_ORDER = 30

# Few ids, prices and quantities, so that duplicates, crossings, exact fills and late cancels are the rule.
IDS = st.sampled_from([f"X{number}" for number in range(14)])
SYMBOLS = st.sampled_from(["ALFA"] * 8 + ["BETA", "NONE"])
SIDES = st.sampled_from([BUY, SELL])
SESSIONS = st.sampled_from(["ACME-1", "ACME-2", "BOLT-1", "BOLT-1", "NOBODY-1"])

limit_orders = st.tuples(
    IDS, st.sampled_from([None, "A1"]), SYMBOLS, SIDES, st.just(2), st.sampled_from([0, 0, 1, 1, 3]),
    st.integers(1, 12), st.integers(96, 104),
)  # fmt: skip
market_orders = st.tuples(
    IDS, st.none(), SYMBOLS, SIDES, st.just(1), st.sampled_from([0, 1, 3]), st.integers(1, 25), st.none()
)
odd_orders = st.tuples(
    IDS, st.none(), SYMBOLS, SIDES, st.integers(1, 3), st.integers(0, 4), st.integers(-1, 32),
    st.sampled_from([None, None, -1, 0, 1, 100]),
).filter(lambda order: order[4] != 1 or order[-1] is None)  # fmt: skip
orders = st.one_of(limit_orders, limit_orders, limit_orders, market_orders, odd_orders)
cancels = st.tuples(IDS, IDS, st.one_of(st.none(), st.integers(-1, 45)), SYMBOLS, SIDES)
steps = st.tuples(SESSIONS, st.one_of(orders, orders, cancels))


def run_step(partition: SymbolPartition, slow: SlowMatcher, session: str, step: tuple[Any, ...]) -> list[Any]:
    """One request through both; they agree."""
    participant = session.split("-")[0]
    position = partition.next_position
    request: NewOrder | CancelOrder
    if len(step) == 8:
        request = new_order(EPOCH, position, *step)
        expected = slow.new_order(position, time_of(position), participant, session, request)
    else:
        request = cancel_order(EPOCH, position, *step)
        expected = slow.cancel(position, time_of(position), participant, session, request)
    caused = partition.put(order_stream(participant, session), request)
    assert caused == expected
    return caused


def check_book(partition: SymbolPartition, slow: SlowMatcher) -> None:
    """The book holds the slow matcher's live orders in their priority, and never crosses."""
    for symbol in ("ALFA", "BETA"):
        sides = partition.matcher.instruments[symbol].book
        for side, resting in ((BUY, sides.bids), (SELL, sides.asks)):
            expected = [
                (order.position, order.request.price, order.leaves) for order in slow.side_of_book(symbol, side)
            ]
            assert [(order.terms[2], order.price, order.leaves) for order in resting.orders()] == expected
            assert resting.best() == (expected[0][1] if expected else None)
        bid, ask = sides.bids.best(), sides.asks.best()
        assert bid is None or ask is None or bid < ask


def check_quantities(tape: list[Any]) -> None:
    """Each order's OrderQty is what traded, what was canceled and what is left; no trade is empty (B35)."""
    quantity: dict[int, int] = {}
    traded: dict[int, int] = {}
    for record in tape:
        if isinstance(record, OrderAccepted):
            quantity[record.order_position] = record.quantity
            traded[record.order_position] = 0
        elif isinstance(record, Trade):
            assert record.quantity > 0
            assert record.maker.side != record.taker.side
            for half in (record.maker, record.taker):
                traded[half.order_position] += record.quantity
                assert half.cumulative == traded[half.order_position]
                assert half.cumulative + half.leaves == half.quantity == quantity[half.order_position]
        elif isinstance(record, OrderCanceled):
            assert record.cumulative == traded[record.order_position] < record.quantity


@given(st.lists(steps, max_size=45), st.sampled_from([1, 2, 5, 100]))
@settings(max_examples=400, deadline=None)
def test_the_matcher_says_what_the_oracle_says(program: list[tuple[str, tuple[Any, ...]]], remembered: int) -> None:
    partition = SymbolPartition(LARGEST_ORDER, remembered)
    slow = SlowMatcher(LARGEST_ORDER, remembered)
    tape = []
    for session, step in program:
        tape += run_step(partition, slow, session, step)
        check_book(partition, slow)
    check_quantities(tape)


@pytest.mark.parametrize("seed", range(6))
def test_a_long_program_says_what_the_oracle_says(seed: int) -> None:
    """Deep queues and long histories, which shrinking strategies seldom build."""
    choice = random.Random(seed)
    remembered = choice.choice((3, 20, 1000))
    partition = SymbolPartition(LARGEST_ORDER, remembered)
    slow = SlowMatcher(LARGEST_ORDER, remembered)
    tape = []
    for number in range(300):
        session = choice.choice(("ACME-1", "ACME-2", "BOLT-1", "CRUX-1"))
        cl_ord_id = f"N{number}" if choice.random() < 0.9 else f"N{choice.randrange(number + 1)}"
        side = choice.choice((BUY, SELL))
        step: tuple[Any, ...]
        if choice.random() < 0.3:
            order_position = choice.choice((None, choice.randrange(number + 6)))
            step = (cl_ord_id, f"N{choice.randrange(number + 1)}", order_position, "ALFA", side)
        elif choice.random() < 0.1:
            step = (cl_ord_id, None, "ALFA", side, 1, 0, choice.randrange(1, 30), None)
        else:
            time_in_force = choice.choice((0, 0, 1, 1, 1, 3))
            price = choice.randrange(94, 102) if side == BUY else choice.randrange(98, 106)
            step = (cl_ord_id, "A1", "ALFA", side, 2, time_in_force, choice.randrange(1, 20), price)
        tape += run_step(partition, slow, session, step)
        if number % 10 == 0:
            check_book(partition, slow)
    check_quantities(tape)
    assert {type(record).__name__ for record in tape} == {
        "OrderAccepted", "OrderRefused", "Trade", "OrderCanceled", "CancelRefused",
    }  # fmt: skip
