"""Re-derivation: what a decoder says a prefix of its input means, at the positions where it must stand.

The output of a pair is proved by this, not by comparing states (architecture, rule 7).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from exchange.decoding.decoder import Decoder
from exchange.records.positions import Position, StreamPosition
from exchange.records.record import Record


class Derived(NamedTuple):
    """One output record and the input position that caused it."""

    partition: str
    stream: str
    stream_position: StreamPosition
    payload: bytes
    cause: Position


def rederive(make_decoder: Callable[[], Decoder], records: Iterable[Record]) -> Iterator[Derived]:
    """The outputs of a fresh decoder over `records` from position 0 of its input, in the order it emits them."""
    decoder = make_decoder()
    emitted: dict[tuple[str, str], int] = {}
    for record in records:
        if not decoder.reads(record.stream):
            continue
        for partition, stream, payload in decoder.apply(record):
            place = emitted.get((partition, stream), 0)
            emitted[partition, stream] = place + 1
            yield Derived(partition, stream, StreamPosition(place), payload, record.position)
