"""Records of a symbol partition's `refdata` stream.

An instrument's identity is its creation order (architecture, time and reference data).
"""

from typing import NamedTuple

from exchange.records.kinds import Kind

STREAM = "refdata"

Units = tuple[int, int, int, int]
"""(tick mantissa, tick decimals, lot mantissa, lot decimals): a tick of 0.05 and a lot of 1 are (5, 2, 1, 0)."""


class InstrumentAdded(NamedTuple):
    """An instrument begins to trade in this partition. `largest_order` in lots."""

    kind: int
    symbol: str
    units: Units
    largest_order: int


class ParticipantAdded(NamedTuple):
    """A participant may trade in this partition; its reports go to `user_partition`."""

    kind: int
    participant: str
    user_partition: str


class LimitSet(NamedTuple):
    """A limit of the matcher takes a value from this position on. `name` is the key in `[limits]` of the config."""

    kind: int
    name: str
    value: int


def instrument_added(symbol: str, units: Units, largest_order: int) -> InstrumentAdded:
    """An InstrumentAdded with its kind filled in."""
    return InstrumentAdded(Kind.INSTRUMENT_ADDED, symbol, units, largest_order)


def participant_added(participant: str, user_partition: str) -> ParticipantAdded:
    """A ParticipantAdded with its kind filled in."""
    return ParticipantAdded(Kind.PARTICIPANT_ADDED, participant, user_partition)


def limit_set(name: str, value: int) -> LimitSet:
    """A LimitSet with its kind filled in."""
    return LimitSet(Kind.LIMIT_SET, name, value)
