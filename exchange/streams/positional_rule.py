"""The positional rule: what happens to a record published at a stream position (architecture, vocabulary).

Selected by position, never by content. The appender applies it when it writes, a reader when it skips what it has.
"""

from enum import Enum

from exchange.records.positions import Count, StreamEnd, StreamPosition


class Verdict(Enum):
    """What the rule says of one record."""

    FILL = "fill"
    ABSORB = "absorb"
    GAP = "gap"


def judge(end: StreamEnd, position: StreamPosition) -> Verdict:
    """The rule for one record published at `position` of a stream that ends at `end`."""
    if position < end:
        return Verdict.ABSORB
    return Verdict.GAP if position > end else Verdict.FILL


def absorbed_count(end: StreamEnd, first: StreamPosition, count: Count) -> Count | None:
    """The rule for a run of `count` records from `first`: how many leading ones are absorbed; None for a gap.

    The rest, if any, fill the stream from its end.
    """
    if first > end:
        return None
    return Count(min(count, end - first))
