"""What came early, and one question about what is missing."""

from gateway.fix.inbound_gap import InboundGap, ParkedMessage


def message(number: int) -> ParkedMessage:
    return ParkedMessage({b"34": b"%d" % number}, served=False)


def test_without_a_gap_there_is_nothing_to_ask() -> None:
    gap = InboundGap(3)
    assert not gap.ask_from(2, 10)
    assert (gap.asked_until, gap.highest) == (0, 0)


def test_a_gap_is_asked_for_once_until_it_is_closed() -> None:
    gap = InboundGap(3)
    gap.park(5, message(5))
    assert gap.ask_from(2, 10)
    assert (gap.asked_until, gap.highest, gap.progress_at) == (4, 5, 10)
    gap.park(6, message(6))
    assert not gap.ask_from(2, 11)
    gap.passed(3, 12)
    assert not gap.ask_from(3, 12)
    assert gap.progress_at == 12
    gap.passed(3, 13)
    assert gap.progress_at == 12
    assert (gap.take(4), gap.take(5), gap.take(5), gap.take(6)) == (None, message(5), None, message(6))
    gap.passed(7, 14)
    assert (gap.asked_until, gap.highest) == (0, 0)
    assert not gap.ask_from(7, 14)


def test_messages_beyond_the_limit_are_dropped_and_asked_for() -> None:
    gap = InboundGap(2)
    for number in (4, 5, 6, 5):
        gap.park(number, message(number))
    assert gap.ask_from(2, 10)
    assert gap.asked_until == 3
    assert [gap.take(number) for number in (4, 5, 6)] == [message(4), message(5), None]
    gap.passed(6, 11)
    assert (gap.asked_until, gap.highest) == (0, 6)
    assert gap.ask_from(6, 11)
    assert gap.asked_until == 6


def test_the_first_message_of_a_number_is_kept() -> None:
    gap = InboundGap(2)
    gap.park(4, message(4))
    gap.park(4, message(99))
    assert gap.take(4) == message(4)


def test_a_jump_forgets_what_it_covers() -> None:
    gap = InboundGap(5)
    for number in (4, 6, 9):
        gap.park(number, message(number))
    assert gap.ask_from(2, 10)
    gap.jumped(7)
    gap.passed(7, 11)
    assert [gap.take(number) for number in (4, 6, 9)] == [None, None, message(9)]
    assert gap.ask_from(7, 11)
    gap.jumped(20)
    gap.passed(20, 12)
    assert (gap.highest, gap.asked_until) == (0, 0)
