"""The appender of one partition: assigns positions, builds blocks. Pure: time comes in, bytes go out.

It touches block headers and runs, never a payload (architecture, streams). It is the only reader of a clock on the path
from order to fill: the sequencing time handed to `seal` is the instant of every record in the block.
"""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from exchange.records.positions import Count, End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition
from exchange.streams.block import (
    BINDING_NUMBER,
    RUN_HEADER_SIZE,
    BlockHeader,
    Run,
    make_run,
    parse_header,
    place_run,
    seal_block,
    tail_of_run,
)
from exchange.streams.log_table import PartitionTable, binding_payload
from exchange.streams.positional_rule import absorbed_count

_CHECKSUMS_KEPT = 256
_COMPACT_FROM = 1024

Writer = object
"""Whoever holds a stream open: compared by identity only."""


@dataclass(slots=True, eq=False)
class Stream:
    """A stream of a live partition. `writers` maps each replica tag (None: untagged) to who writes under it.

    `checksums` are those of the newest runs that filled it, (record count, CRC) by first position; `differing_at` is
    the first position of the first run that a twin published with other bytes.
    """

    name: str
    number: int
    end: StreamEnd
    settled: StreamEnd
    writers: dict[str | None, Writer] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    absorbed: dict[str, int] = field(default_factory=dict)
    checksums: dict[int, tuple[int, int]] = field(default_factory=dict)
    differing_at: StreamPosition | None = None


class Gap(NamedTuple):
    """A run published beyond the end of its stream: refused, nothing written."""

    stream: Stream
    first: StreamPosition


class SealedBlock(NamedTuple):
    """A finished block: its bytes, its header, its runs as placed, and the end of each stream in it."""

    block: bytes
    header: BlockHeader
    runs: list[Run]


class NearBlock(NamedTuple):
    """A block as readers get it: its bytes, its end, and the streams it has records of; None: not looked into."""

    data: bytes
    end: End
    streams: frozenset[int] | None


_LET_GO = NearBlock(b"", End(0), None)


class RecentBlocks:
    """The newest blocks of a partition, so that readers near the edge are served from memory.

    Settled blocks are let go at `limit` bytes; unsettled ones never, since the log does not hold them yet. Blocks are
    found by partition position and by stream position without looking at the others (architecture, rule 14).
    """

    def __init__(self, limit: int, end: End) -> None:
        self._limit = limit
        self._size = 0
        self._firsts: list[int] = []
        self._blocks: list[NearBlock] = []
        self._head = 0
        self._dropped = 0
        self._places: dict[int, tuple[list[int], list[int]]] = {}
        self.first = Position(end)
        """Everything from this position on is here."""

    def add(self, header: BlockHeader, block: bytes, runs: Sequence[Run]) -> None:
        """Take the next block; `runs` are its own, in order."""
        serial = self._dropped + len(self._firsts)
        self._firsts.append(header.first)
        self._blocks.append(NearBlock(block, header.end, frozenset([run.stream for run in runs])))
        self._size += len(block)
        for run in runs:
            places = self._places.get(run.stream)
            if places is None:
                places = self._places[run.stream] = ([], [])
            stream_firsts, serials = places
            if not serials or serials[-1] < serial:
                stream_firsts.append(run.first)
                serials.append(serial)

    def release(self, settled: End) -> None:
        """Let the oldest settled blocks go while there are more than the limit."""
        while self._size > self._limit and self._head + 1 < len(self._firsts):
            following = self._firsts[self._head + 1]
            if following > settled:
                break
            self._size -= len(self._blocks[self._head].data)
            self._blocks[self._head] = _LET_GO
            self._head += 1
            self.first = Position(following)
        if self._head > _COMPACT_FROM and self._head * 2 > len(self._firsts):
            self._compact()

    def _compact(self) -> None:
        del self._firsts[: self._head], self._blocks[: self._head]
        self._dropped += self._head
        self._head = 0
        for stream, (stream_firsts, serials) in list(self._places.items()):
            gone = bisect_left(serials, self._dropped)
            del stream_firsts[:gone], serials[:gone]
            if not serials:
                del self._places[stream]

    def holding(self, position: Position) -> list[NearBlock]:
        """The blocks from the one that holds `position` on; `position` must not lie below `first`."""
        if self._firsts and self._firsts[-1] <= position:
            return self._blocks[-1:]
        return self._blocks[max(self._head, bisect_right(self._firsts, position, self._head) - 1) :]

    def of_stream(self, stream: int, position: StreamPosition) -> Iterator[bytes] | None:
        """The blocks with records of a stream, from the one that holds `position`; None when that lies further back."""
        stream_firsts, serials = self._places.get(stream, ((), ()))
        place = bisect_right(stream_firsts, position) - 1
        if place < 0 or serials[place] < self._dropped + self._head:
            return None
        return (self._blocks[serial - self._dropped].data for serial in serials[place:])

    def all_of_stream(self, stream: int) -> list[bytes]:
        """Every block here that has records of a stream."""
        _, serials = self._places.get(stream, ((), ()))
        start = self._dropped + self._head
        return [self._blocks[serial - self._dropped].data for serial in serials if serial >= start]


class Appender:
    """One partition's sequence in one epoch."""

    def __init__(self, table: PartitionTable, recent_bytes: int, streams_limit: int) -> None:
        self.name = table.name
        self.number = table.number
        self.epoch: Epoch = table.epochs[-1][0]
        self.end = table.end
        self.settled = table.end
        self.recent = RecentBlocks(recent_bytes, table.end)
        self._streams_limit = streams_limit
        self.streams = [
            Stream(stream.name, stream.number, stream.end, stream.end)
            for stream in sorted(table.streams.values(), key=lambda stream: stream.number)
        ]
        self._by_name = {stream.name: stream for stream in self.streams}
        self._open_first = Position(table.end)
        self.sequencing_time = table.sequencing_time
        self._runs: list[Run] = []
        self.open_size = 0

    @property
    def sequenced(self) -> End:
        """The end of the last sealed block: what readers at the live edge may have."""
        return End(self._open_first)

    def stream(self, name: str) -> Stream | None:
        """The stream of that name, if it is bound."""
        return self._by_name.get(name)

    def bind(self, name: str, now: Nanoseconds) -> Stream | None:
        """The stream of that name, bound now if it was not; None when the partition has no room for another name."""
        stream = self._by_name.get(name)
        if stream is not None:
            return stream
        number = len(self.streams)
        if number > self._streams_limit:
            return None
        bindings = self.streams[BINDING_NUMBER]
        first = StreamPosition(bindings.end)
        self._fill(bindings, make_run(BINDING_NUMBER, first, now, [binding_payload(number, name)]))
        stream = Stream(name, number, StreamEnd(0), StreamEnd(0))
        self.streams.append(stream)
        self._by_name[name] = stream
        return stream

    def publish(self, stream: Stream, tag: str | None, run: Run) -> Gap | None:
        """Apply the positional rule to a run and append what fills."""
        absorbed = absorbed_count(stream.end, run.first, run.record_count)
        if absorbed is None:
            return Gap(stream, run.first)
        filled = run.record_count - absorbed
        if filled:
            self._fill(stream, tail_of_run(run, absorbed) if absorbed else run)
        if tag is not None:
            _compare(stream, run, absorbed)
            stream.filled[tag] = stream.filled.get(tag, 0) + filled
            stream.absorbed[tag] = stream.absorbed.get(tag, 0) + absorbed
        return None

    def _fill(self, stream: Stream, unplaced: Run) -> None:
        run = place_run(unplaced, stream.number, self.end - self._open_first)
        self._runs.append(run)
        self.open_size += len(run.data)
        self.end = End(self.end + run.record_count)
        stream.end = run.end

    def seal(self, sequencing_time: Nanoseconds, synced: int) -> SealedBlock | None:
        """Close the open block; None when nothing was appended since the last."""
        if not self._runs:
            return None
        runs, first = self._runs, self._open_first
        self.sequencing_time = sequencing_time
        block = seal_block(
            self.number, self.epoch, first, sequencing_time, Count(self.end - first), synced,
            b"".join([run.data for run in runs]),
        )  # fmt: skip
        self._runs = []
        self.open_size = 0
        self._open_first = Position(self.end)
        header = parse_header(block)
        self.recent.add(header, block, runs)
        return SealedBlock(block, header, runs)

    def settle(self, sealed: SealedBlock) -> None:
        """A block is on disk: so far is settled, stream by stream."""
        self.settled = sealed.header.end
        for run in sealed.runs:
            self.streams[run.stream].settled = run.end

    def release(self) -> None:
        """Free memory below what is settled."""
        self.recent.release(self.settled)


def _compare(stream: Stream, run: Run, absorbed: int) -> None:
    """The cheap alarm of a pair: a run absorbed whole must have the bytes of the run that filled its place.

    Twins publish once per input block, so their runs have the same bounds; a run with other bounds is not compared.
    """
    if not absorbed:
        stream.checksums[run.first] = (run.record_count, zlib.crc32(memoryview(run.data)[RUN_HEADER_SIZE:]))
        if len(stream.checksums) > _CHECKSUMS_KEPT:
            del stream.checksums[next(iter(stream.checksums))]
    elif absorbed == run.record_count and run.first in stream.checksums and stream.differing_at is None:
        count, checksum = stream.checksums[run.first]
        if count == run.record_count and checksum != zlib.crc32(memoryview(run.data)[RUN_HEADER_SIZE:]):
            stream.differing_at = run.first
