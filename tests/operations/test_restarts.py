"""A process that dies is started again after 0.1 s doubling to 5 s, and given up after five deaths in a minute."""

from operations.restarts import RestartPolicy


def delays(lives: list[tuple[float, float]], deaths_per_minute: int = 5) -> list[float | None]:
    policy = RestartPolicy(deaths_per_minute)
    return [policy.delay_after_death(started, died) for started, died in lives]


def test_delays_double_to_five_seconds() -> None:
    spaced = [(20.0 * n, 20.0 * n + 0.5) for n in range(8)]
    assert delays(spaced) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_five_deaths_in_a_minute_are_failed() -> None:
    assert delays([(float(n), n + 0.5) for n in range(5)]) == [0.1, 0.2, 0.4, 0.8, None]


def test_the_minute_is_counted_from_each_death() -> None:
    assert delays([(0, 1), (2, 3), (4, 5), (6, 7), (8, 61.0)]) == [0.1, 0.2, 0.4, 0.8, 1.6]


def test_a_life_of_a_minute_is_mended() -> None:
    assert delays([(0, 1), (2, 3), (4, 64), (65, 66)]) == [0.1, 0.2, 0.1, 0.2]


def test_how_many_deaths_are_failed_is_a_limit() -> None:
    assert delays([(float(n), n + 0.5) for n in range(3)], deaths_per_minute=3) == [0.1, 0.2, None]
