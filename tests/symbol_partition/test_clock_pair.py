"""Two clocks are as harmless as one."""

from exchange.records.positions import StreamEnd
from exchange.symbol_partition.clock_pair import Clock


def test_a_clock_that_has_learned_no_end_does_not_tick() -> None:
    assert Clock().tick() is None


def test_twins_tick_at_one_position_although_one_sees_the_other_s_tick_first() -> None:
    first, second = Clock(), Clock()
    for clock in (first, second):
        clock.between_ticks(StreamEnd(7))
    assert first.tick() == 7
    # The first one's tick has filled position 7 and the second has been told so just before its own tick.
    assert second.tick() == 7


def test_a_clock_that_fell_behind_goes_on_where_its_twin_is() -> None:
    clock = Clock()
    clock.between_ticks(StreamEnd(7))
    assert clock.tick() == 7
    clock.between_ticks(StreamEnd(40))
    assert clock.tick() == 40
