"""What a decoder reads and writes: sequenced records in, drafts out (architecture, vocabulary)."""

from collections.abc import Sequence
from typing import NamedTuple

from exchange.records.positions import Nanoseconds, Position, StreamPosition


class Record(NamedTuple):
    """One sequenced message. Its stream name says who wrote it; its payload says everything else."""

    position: Position
    stream: str
    stream_position: StreamPosition
    event_time: Nanoseconds
    sequencing_time: Nanoseconds
    payload: bytes


class Draft(NamedTuple):
    """One output record of a decoder before it is published.

    It has no position: a draft's stream position is how many drafts its decoder has emitted to that stream
    before it (architecture, rule 2).
    """

    partition: str
    stream: str
    payload: bytes


Destination = tuple[str, str]
"""A partition and a stream in it."""

Outputs = Sequence[tuple[Destination, bytes]]
"""Drafts without an object for each: where it goes, and its payload."""
