"""The book against what price-time priority means, and against leaving anything behind."""

import gc
from bisect import insort

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.symbol_partition.book import LONGEST_RUN, Book, BookSide, Order, PriceLadder


def rest(side: BookSide, name: str, price: int, quantity: int) -> Order:
    order = Order(price, quantity, owner=name)
    side.add(order)
    return order


def resting(side: BookSide) -> list[tuple[str, int, int]]:
    return [(order.owner, order.price, order.leaves) for order in side.orders()]


def taken(side: BookSide, limit: int | None, quantity: int) -> list[tuple[str, int]]:
    return [(order.owner, lots) for order, lots in side.take(limit, quantity)]


def test_better_price_first_then_earlier_arrival() -> None:
    book = Book("ALFA")
    for name, price in (("a", 10), ("b", 12), ("c", 11), ("d", 12)):
        rest(book.bids, name, price, 1)
        rest(book.asks, name, price, 1)
    assert taken(book.bids, None, 9) == [("b", 1), ("d", 1), ("c", 1), ("a", 1)]
    assert taken(book.asks, None, 9) == [("a", 1), ("c", 1), ("b", 1), ("d", 1)]


def test_no_trade_beyond_the_limit() -> None:
    book = Book("ALFA")
    for price in (10, 11, 12):
        rest(book.bids, f"b{price}", price, 5)
        rest(book.asks, f"s{price + 10}", price + 10, 5)
    assert taken(book.bids, 13, 99) == []
    assert taken(book.bids, 11, 99) == [("b12", 5), ("b11", 5)]
    assert taken(book.asks, 19, 99) == []
    assert taken(book.asks, 21, 99) == [("s20", 5), ("s21", 5)]
    assert (book.bids.best(), book.asks.best()) == (10, 22)


def test_an_exact_fill_touches_nobody_else() -> None:
    """B35: the loop ends when nothing is left to trade."""
    book = Book("ALFA")
    rest(book.asks, "first", 10, 5)
    second = rest(book.asks, "second", 10, 5)
    assert taken(book.asks, 12, 5) == [("first", 5)]
    assert (second.leaves, second.notional) == (5, 0)
    assert taken(book.asks, 12, 5) == [("second", 5)]
    assert resting(book.asks) == []
    assert book.asks.best() is None


def test_a_partial_fill_keeps_its_place() -> None:
    """B32."""
    book = Book("ALFA")
    rest(book.bids, "first", 5, 10)
    rest(book.bids, "second", 5, 10)
    assert taken(book.bids, 5, 4) == [("first", 4)]
    assert resting(book.bids) == [("first", 5, 6), ("second", 5, 10)]
    assert taken(book.bids, 5, 8) == [("first", 6), ("second", 2)]
    assert resting(book.bids) == [("second", 5, 8)]


def test_notional_is_the_sum_over_fills() -> None:
    book = Book("ALFA")
    order = rest(book.asks, "order", 7, 10)
    book.asks.take(7, 3)
    assert (order.leaves, order.notional) == (7, 21)
    book.asks.take(9, 99)
    assert (order.leaves, order.notional) == (0, 70)


def test_removal_from_any_place_leaves_the_others_in_order() -> None:
    for removed in range(3):
        book = Book("ALFA")
        orders = [rest(book.bids, f"o{number}", 5, 1) for number in range(3)]
        orders[removed].side.remove(orders[removed])
        names = [f"o{number}" for number in range(3) if number != removed]
        assert [name for name, _, _ in resting(book.bids)] == names
        rest(book.bids, "last", 5, 1)
        assert [name for name, _ in taken(book.bids, 5, 9)] == [*names, "last"]


def test_a_level_ends_with_its_last_order_and_can_come_back() -> None:
    book = Book("ALFA")
    order = rest(book.asks, "a", 5, 1)
    rest(book.asks, "b", 6, 1)
    book.asks.remove(order)
    assert book.asks.best() == 6
    rest(book.asks, "c", 5, 1)
    assert resting(book.asks) == [("c", 5, 1), ("b", 6, 1)]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("rest"), st.integers(1, 6), st.integers(1, 5)),
            st.tuples(st.just("remove"), st.integers(0, 30), st.just(0)),
            st.tuples(st.just("take"), st.one_of(st.none(), st.integers(1, 6)), st.integers(1, 9)),
        ),
        max_size=60,
    ),
    st.sampled_from([1, -1]),
)
@settings(max_examples=200, deadline=None)
def test_a_side_is_a_sorted_list(program: list[tuple[str, int, int]], sign: int) -> None:
    side = BookSide("ALFA", sign)
    model: list[list[int]] = []  # [-rank, arrival, leaves]
    orders: dict[int, Order] = {}
    for arrival, (verb, number, quantity) in enumerate(program):
        if verb == "rest":
            orders[arrival] = Order(number, quantity, owner=arrival)
            side.add(orders[arrival])
            insort(model, [-sign * number, arrival, quantity])
        elif verb == "remove" and model:
            gone = model.pop(number % len(model))
            side.remove(orders[gone[1]])
        elif verb == "take":
            expected = []
            left = quantity
            while left and model and (number is None or -model[0][0] >= sign * number):
                lots = min(left, model[0][2])
                expected.append((model[0][1], lots))
                left -= lots
                model[0][2] -= lots
                if not model[0][2]:
                    del model[0]
            assert [(order.owner, lots) for order, lots in side.take(number, quantity)] == expected
        assert [(order.owner, order.leaves) for order in side.orders()] == [(row[1], row[2]) for row in model]
        assert side.best() == (-sign * model[0][0] if model else None)


def test_what_leaves_the_book_leaves_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        book = Book("ALFA")
        for number in range(1_000):
            order = rest(book.bids, "removed", number % 90 + 1, 5)
            rest(book.bids, "taken", number % 70 + 1, 5)
            rest(book.asks, "taken", number % 70 + 100, 5)
            if number % 2:
                book.bids.remove(order)
            book.asks.take(None, 3)
        book.bids.take(None, 10**9)
        book.asks.take(None, 10**9)
        assert (book.bids.best(), book.asks.best()) == (None, None)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_what_has_left_the_book_keeps_no_other_order_alive() -> None:
    book = Book("ALFA")
    orders = [rest(book.bids, "x", 5, 1) for _ in range(5)]
    book.bids.remove(orders[2])
    book.bids.take(None, 1)
    for gone in (orders[2], orders[0]):
        assert not any(order is kept for order in orders for kept in gc.get_referents(gone))
    book.bids.take(None, 2)
    alone = orders[4]
    assert resting(book.bids) == [("x", 5, 1)]
    book.bids.remove(alone)
    assert all(kept not in gc.get_referents(alone) for kept in orders)


def test_a_ladder_is_a_sorted_set_whose_runs_are_bounded() -> None:
    ladder = PriceLadder()
    model: list[int] = []
    for number in range(9_000):
        value = (number * 7_919) % 10_007
        ladder.insert(value)
        insort(model, value)
        if number % 3 == 2:
            gone = model.pop((number * 31) % len(model))
            ladder.delete(gone)
        assert ladder.last_run[-1] == model[-1]
        if number % 500 == 0:
            assert list(ladder.descending()) == model[::-1]
            assert max(map(len, ladder.runs)) <= LONGEST_RUN
    assert len(ladder.runs) > 10
    while model:
        ladder.delete(model.pop(len(model) // 3))
        assert not model or ladder.last_run[-1] == model[-1]
    assert list(ladder.descending()) == []
    ladder.insert(5)
    assert ladder.last_run == [5]


@pytest.mark.parametrize("sign", [1, -1])
def test_thousands_of_prices_stay_in_order_and_in_bounded_runs(sign: int) -> None:
    side = BookSide("ALFA", sign)
    prices = [number * 7_919 % 10_007 + 1 for number in range(6_000)]
    for price in prices:
        rest(side, "x", price, 1)
    prices.sort(reverse=sign == 1)
    for price in range(20_000, 20_000 + 2 * LONGEST_RUN):  # each at the very end of the ladder, or at its start
        rest(side, "y", price, 1)
        prices.insert(0 if sign == 1 else len(prices), price)
    assert [order.price for order in side.orders()] == prices
    assert max(map(len, side._ladder.runs)) <= LONGEST_RUN
    assert [order.price for order, _ in side.take(None, 5_000)] == prices[:5_000]
    assert side.best() == prices[5_000]
    assert [order.price for order in side.orders()] == prices[5_000:]


def test_best_prices_can_be_popped_through_many_runs() -> None:
    side = BookSide("ALFA", 1)
    for price in range(1, 3 * LONGEST_RUN):
        rest(side, "x", price, 1)
    assert [order.price for order, _ in side.take(None, 10**6)] == list(range(3 * LONGEST_RUN - 1, 0, -1))
    rest(side, "again", 7, 1)
    assert resting(side) == [("again", 7, 1)]
