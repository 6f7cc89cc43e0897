"""What a decoder takes from a partition's `refdata` stream.

A record that is malformed, or that names what already exists, changes nothing (architecture, rule 10: the operator's
commands are checked before they are published; a decoder only has to stay total).
"""

from typing import Any

from exchange.records.codec import MalformedPayloadError, decode_fields
from exchange.records.kinds import Kind
from exchange.records.reference_data import InstrumentAdded, LimitSet, ParticipantAdded
from exchange.symbol_partition.order_rules import LARGEST_INT, LONGEST_PAYLOAD

MOST_DECIMALS = 18
"""Digits behind the point of a tick or a lot, at most: 10**18 is the largest power of ten in a record's int."""


def decode_reference_data(payload: bytes) -> InstrumentAdded | ParticipantAdded | LimitSet | None:
    """The record in a payload of the `refdata` stream, None if it is none that an operator's command writes."""
    if len(payload) > LONGEST_PAYLOAD:
        return None
    try:
        fields = decode_fields(payload)
    except MalformedPayloadError:
        return None
    kind = fields[0]
    if kind == Kind.INSTRUMENT_ADDED and _is_instrument(fields):
        return InstrumentAdded(*fields)
    if kind == Kind.PARTICIPANT_ADDED and _is_participant(fields):
        return ParticipantAdded(*fields)
    if kind == Kind.LIMIT_SET and _is_limit(fields):
        return LimitSet(*fields)
    return None


def _is_instrument(fields: tuple[Any, ...]) -> bool:
    if tuple(map(type, fields)) != (int, str, tuple, int):
        return False
    _, symbol, units, largest_order = fields
    return (
        symbol != ""
        and tuple(map(type, units)) == (int, int, int, int)
        and all(0 < mantissa <= LARGEST_INT for mantissa in units[::2])
        and all(0 <= decimals <= MOST_DECIMALS for decimals in units[1::2])
        and 0 < largest_order <= LARGEST_INT
    )


def _is_participant(fields: tuple[Any, ...]) -> bool:
    # Streams are named after participants, so a name may not look like two.
    return tuple(map(type, fields)) == (int, str, str) and "" not in fields and "/" not in fields[1]


def _is_limit(fields: tuple[Any, ...]) -> bool:
    return tuple(map(type, fields)) == (int, str, int) and 0 < fields[2] <= LARGEST_INT
