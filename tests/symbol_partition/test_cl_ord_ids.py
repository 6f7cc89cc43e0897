"""What a participant's ids remember, and for how long."""

from exchange.symbol_partition.book import Order
from exchange.symbol_partition.cl_ord_ids import NO_ORDER, ClOrdIds
from exchange.symbol_partition.instrument import CANCELED, FILLED, EndedOrder

ENDED = EndedOrder("ALFA", 1, FILLED)


def test_n_to_2n_ids_are_remembered_the_latest_ones() -> None:
    ids = ClOrdIds()
    limit = 5
    for number in range(50):
        ids.remember(f"A{number}", number, ENDED, limit)
        known = [older for older in range(50) if ids.knows(f"A{older}")]
        assert known == list(range(number + 1))[-len(known) :]
        assert min(limit, number + 1) <= len(known) < 2 * limit
        assert [older for older in range(50) if ids.ended_order("", older)] == known
        assert [older for older in range(50) if ids.ended_order(f"A{older}", None)] == known


def test_a_smaller_limit_holds_from_the_next_id_on() -> None:
    ids = ClOrdIds()
    for number in range(10):
        ids.remember(f"A{number}", number, ENDED, 100)
    ids.remember("B", 10, ENDED, 2)
    ids.remember("C", 11, ENDED, 2)
    ids.remember("D", 12, ENDED, 2)
    assert [name for name in ("A9", "B", "C", "D") if ids.knows(name)] == ["C", "D"]


def test_an_order_is_found_by_either_name_while_it_lives_and_after() -> None:
    ids = ClOrdIds()
    order = Order(990, 10)
    ids.rest("A1", 7, order)
    assert ids.live_order("A1", None) is order
    assert ids.live_order("other", 7) is order
    assert ids.live_order("A1", 8) is None
    assert ids.ended_order("A1", None) is None
    ended = EndedOrder("ALFA", 2, CANCELED)
    ids.end("A1", 7, ended, 10)
    assert ids.live_order("A1", None) is ids.live_order("A1", 7) is None
    assert ids.ended_order("A1", None) == ids.ended_order("other", 7) == (7, ended)
    assert ids.ended_order("A1", 8) is None


def test_an_id_that_named_no_order_is_known_but_names_none() -> None:
    ids = ClOrdIds()
    ids.remember("F1", NO_ORDER, None, 10)
    assert ids.knows("F1")
    assert ids.ended_order("F1", None) is None
    assert ids.ended_order("F1", NO_ORDER) is None
