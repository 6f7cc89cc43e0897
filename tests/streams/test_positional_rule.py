"""The positional rule, exhaustively on a small space."""

import pytest

from exchange.records.positions import Count, StreamEnd, StreamPosition
from exchange.streams.positional_rule import Verdict, absorbed_count, judge


@pytest.mark.parametrize(
    ("end", "position", "verdict"),
    [
        (0, 0, Verdict.FILL),
        (0, 1, Verdict.GAP),
        (1, 0, Verdict.ABSORB),
        (1, 1, Verdict.FILL),
        (1, 2, Verdict.GAP),
        (5, 4, Verdict.ABSORB),
        (5, 5, Verdict.FILL),
        (5, 6, Verdict.GAP),
    ],
)
def test_a_position_is_filled_once_and_in_turn(end: int, position: int, verdict: Verdict) -> None:
    assert judge(StreamEnd(end), StreamPosition(position)) is verdict


def test_a_run_is_judged_as_its_records_are_one_by_one() -> None:
    for end in range(8):
        for first in range(8):
            for count in range(1, 8):
                verdicts, reached = [], end
                for position in range(first, first + count):
                    verdict = judge(StreamEnd(reached), StreamPosition(position))
                    verdicts.append(verdict)
                    reached += verdict is Verdict.FILL
                absorbed = absorbed_count(StreamEnd(end), StreamPosition(first), Count(count))
                if absorbed is None:
                    assert verdicts == [Verdict.GAP] * count
                else:
                    assert verdicts == [Verdict.ABSORB] * absorbed + [Verdict.FILL] * (count - absorbed)
