"""Levels: how far a partition has come for a reader (architecture, vocabulary)."""

SEQUENCED = 0
"""The live edge: everything the appender has assigned a position to."""

COMMITTED_1 = 1
"""Everything that one committer has on disk."""


def level_name(level: int) -> str:
    """`sequenced` or `committed:K`."""
    return f"committed:{level}" if level else "sequenced"


def parse_level(text: str) -> int:
    """The level of a name. ValueError for any other text."""
    levels = {level_name(level): level for level in (SEQUENCED, COMMITTED_1)}
    if text not in levels:
        raise ValueError(f"{text!r} is none of {', '.join(levels)}")
    return levels[text]
