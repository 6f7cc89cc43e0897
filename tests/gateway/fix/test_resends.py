"""Ranges to send again: gap fills and items in one order, whatever the chunks."""

import pytest

from gateway.fix.outbound_references import ADMINISTRATIVE, OutboundReferences
from gateway.fix.resends import GapFill, Resends


def resends(kinds: str, kept: int = 100) -> tuple[Resends, OutboundReferences]:
    references = OutboundReferences(kept)
    for number, kind in enumerate(kinds, 1):
        references.add(ADMINISTRATIVE if kind == "a" else 0, number, 0)
    return Resends(references), references


def test_a_range_without_application_messages_is_one_gap_fill() -> None:
    queue, _ = resends("aa8a")
    assert queue.add(1, 2) == [GapFill(1, 3)]
    assert not queue.active
    assert queue.fetch(5) == []


def test_a_range_is_covered_in_order() -> None:
    queue, _ = resends("aa8a8aa")
    assert queue.add(1, 7) == []
    assert queue.active
    assert [item.msg_seq_num for item in queue.fetch(1)] == [3]
    assert queue.before(3) == [GapFill(1, 3)]
    assert queue.behind(3) == []
    assert [item.msg_seq_num for item in queue.fetch(5)] == [5]
    assert queue.fetch(5) == []
    assert queue.before(5) == [GapFill(4, 5)]
    assert queue.behind(5) == [GapFill(6, 8)]
    assert not queue.active


def test_ranges_wait_and_those_without_items_follow_at_once() -> None:
    queue, _ = resends("a8a")
    assert [queue.add(2, 2), queue.add(3, 3), queue.add(2, 3), queue.add(1, 1)] == [[], [], [], []]
    assert queue.waiting == 3
    queue.fetch(1)
    assert (queue.before(2), queue.behind(2)) == ([], [GapFill(3, 4)])
    assert (queue.active, queue.waiting) == (True, 1)
    queue.fetch(1)
    assert (queue.before(2), queue.behind(2)) == ([], [GapFill(3, 4), GapFill(1, 2)])
    assert (queue.active, queue.waiting) == (False, 0)


def test_an_item_that_was_not_fetched_or_is_out_of_order_is_an_error() -> None:
    queue, _ = resends("888")
    queue.add(1, 3)
    queue.fetch(2)
    with pytest.raises(ValueError, match="message 3 is not the next one"):
        queue.before(3)
    queue.before(2)
    with pytest.raises(ValueError, match="message 1 is not the next one"):
        queue.before(1)


def test_what_is_forgotten_meanwhile_is_known() -> None:
    queue, references = resends("888", kept=3)
    queue.add(1, 3)
    assert not queue.lost
    references.add(0, 4, 0)
    assert queue.lost
    queue.clear()
    assert not queue.lost
    assert not queue.active
