"""What a log says: partitions, their epochs and streams, and where in a segment to look (architecture, streams).

The table is a fold over blocks. A sealed segment's index file carries the table as it stood at its end, so that a start
reads the last index and the active segment, whatever the age of the log.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgpack

from exchange.records.kinds import Kind
from exchange.records.positions import End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition
from exchange.streams.block import BINDING_NUMBER, BINDING_STREAM, BlockHeader, Run

INDEX_GRAIN = 64 * 1024
"""An index has at most one entry per partition or stream in this many bytes of log."""


@dataclass(slots=True)
class StreamTable:
    """A stream: its name, its number in the partition, its end."""

    name: str
    number: int
    end: StreamEnd


@dataclass(slots=True)
class PartitionTable:
    """A partition: its end, its epochs as (epoch, first position), its streams by number, its last sequencing time."""

    name: str
    number: int
    end: End = End(0)
    epochs: list[tuple[Epoch, Position]] = field(default_factory=list)
    streams: dict[int, StreamTable] = field(default_factory=dict)
    sequencing_time: Nanoseconds = Nanoseconds(0)

    def stream(self, name: str) -> StreamTable | None:
        """The stream of that name, or None."""
        return next((stream for stream in self.streams.values() if stream.name == name), None)

    def epoch_starts(self, epoch: Epoch) -> None:
        """A new epoch begins at the present end."""
        self.epochs.append((epoch, Position(self.end)))
        if BINDING_NUMBER not in self.streams:
            self.streams[BINDING_NUMBER] = StreamTable(BINDING_STREAM, BINDING_NUMBER, StreamEnd(0))

    def cut_after(self, epoch: Epoch) -> Position | None:
        """Where the epoch after `epoch` began: what was read in `epoch` at or above it did not survive."""
        return next((start for number, start in self.epochs if number > epoch), None)


class TableError(ValueError):
    """A block that cannot follow the ones before it: the log is not one this program wrote."""


class LogTable:
    """All partitions of a log, by number."""

    def __init__(self) -> None:
        self.partitions: dict[int, PartitionTable] = {}

    def named(self, name: str) -> PartitionTable | None:
        """The partition of that name, or None."""
        return next((table for table in self.partitions.values() if table.name == name), None)

    def apply(self, header: BlockHeader, body: bytes, runs: Iterable[Run]) -> None:
        """Fold one block in. Raises TableError when it does not follow."""
        if header.record_count == 0:
            self._apply_epoch(header, body)
            return
        partition = self.partitions.get(header.partition)
        if partition is None or header.first > partition.end or header.first < partition.end:
            raise TableError(f"block at position {header.first} of partition {header.partition} does not follow")
        for run in runs:
            self._apply_run(partition, run)
        partition.end = header.end
        partition.sequencing_time = header.sequencing_time

    def _apply_epoch(self, header: BlockHeader, body: bytes) -> None:
        partition = self.partitions.get(header.partition)
        if partition is None:
            partition = PartitionTable(str(msgpack.unpackb(body)), header.partition)
            self.partitions[header.partition] = partition
        partition.epoch_starts(header.epoch)

    def _apply_run(self, partition: PartitionTable, run: Run) -> None:
        stream = partition.streams.get(run.stream)
        if stream is None or stream.end < run.first or stream.end > run.first:
            raise TableError(f"run at stream position {run.first} of stream {run.stream} does not follow")
        stream.end = run.end
        if run.stream == BINDING_NUMBER:
            for payload in run.payloads():
                number, name = binding_of(payload)
                partition.streams[number] = StreamTable(name, number, StreamEnd(0))

    def to_fields(self) -> list[Any]:
        """The table as msgpack-able arrays."""
        return [
            [
                table.name,
                table.number,
                table.end,
                table.epochs,
                [[stream.name, stream.number, stream.end] for stream in table.streams.values()],
                table.sequencing_time,
            ]
            for table in self.partitions.values()
        ]

    @classmethod
    def from_fields(cls, fields: Any) -> LogTable:
        """The table back from `to_fields`."""
        table = cls()
        for name, number, end, epochs, streams, time in fields:
            table.partitions[number] = PartitionTable(
                name,
                number,
                End(end),
                [(Epoch(epoch), Position(start)) for epoch, start in epochs],
                {place: StreamTable(stream, place, StreamEnd(last)) for stream, place, last in streams},
                Nanoseconds(time),
            )
        return table


def binding_payload(number: int, name: str) -> bytes:
    """The record that binds a stream number to a name."""
    payload: bytes = msgpack.packb((int(Kind.STREAM_BOUND), number, name))
    return payload


def binding_of(payload: bytes) -> tuple[int, str]:
    """(number, name) of a binding record."""
    _, number, name = msgpack.unpackb(payload)
    return number, name


class _Places:
    """Ascending places and the log offsets to look from."""

    __slots__ = ("offsets", "places")

    def __init__(self, places: array[int] | None = None, offsets: array[int] | None = None) -> None:
        self.places = places if places is not None else array("Q")
        self.offsets = offsets if offsets is not None else array("Q")

    def note(self, place: int, offset: int) -> None:
        if not self.offsets or self.offsets[-1] // INDEX_GRAIN != offset // INDEX_GRAIN:
            self.places.append(place)
            self.offsets.append(offset)

    def offset_for(self, place: int) -> int | None:
        index = bisect_right(self.places, place) - 1
        return self.offsets[index] if index >= 0 else None


class SegmentIndex:
    """Where to begin looking in one segment: by partition position and by stream position, sparse."""

    def __init__(self) -> None:
        self._partitions: dict[int, _Places] = {}
        self._streams: dict[tuple[int, int], _Places] = {}
        self.block_count = 0

    def note(self, offset: int, header: BlockHeader, runs: Iterable[Run]) -> None:
        """Take the block at log offset `offset` in."""
        self.block_count += 1
        places = self._partitions.get(header.partition)
        if places is None:
            places = self._partitions[header.partition] = _Places()
        places.note(header.first, offset)
        for run in runs:
            key = (header.partition, run.stream)
            places = self._streams.get(key)
            if places is None:
                places = self._streams[key] = _Places()
            places.note(run.first, offset)

    def position_offset(self, partition: int, position: Position) -> int | None:
        """A log offset at or before the block that holds `position`; None when it lies before this segment."""
        places = self._partitions.get(partition)
        return None if places is None else places.offset_for(position)

    def stream_offset(self, partition: int, stream: int, position: StreamPosition) -> int | None:
        """A log offset at or before the block that holds the stream position; None when before this segment."""
        places = self._streams.get((partition, stream))
        return None if places is None else places.offset_for(position)

    def to_fields(self) -> list[Any]:
        """The index as msgpack-able arrays."""
        return [
            self.block_count,
            [[key, p.places.tobytes(), p.offsets.tobytes()] for key, p in self._partitions.items()],
            [[*key, p.places.tobytes(), p.offsets.tobytes()] for key, p in self._streams.items()],
        ]

    @classmethod
    def from_fields(cls, fields: Any) -> SegmentIndex:
        """The index back from `to_fields`."""
        index = cls()
        index.block_count, partitions, streams = fields
        for number, places, offsets in partitions:
            index._partitions[number] = _Places(array("Q", places), array("Q", offsets))
        for number, stream, places, offsets in streams:
            index._streams[number, stream] = _Places(array("Q", places), array("Q", offsets))
        return index
