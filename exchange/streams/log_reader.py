"""Reading a log: the sequencer's own reads behind the edge, and read-only tools on a stopped or running venue.

`load_log` reads the last index and scans the segments behind it; everything else is a look-up and a forward read.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exchange.records.positions import End, Position, StreamPosition
from exchange.records.record import Record
from exchange.streams.block import HEADER_SIZE, BlockHeader, DamagedBlockError, parse_runs
from exchange.streams.log_table import LogTable, PartitionTable, SegmentIndex
from exchange.streams.segment import (
    LogError,
    Segment,
    damage_is_torn_tail,
    list_segments,
    load_index,
    read_blocks,
)

_INDEXES_CACHED = 8

_Look = Callable[[SegmentIndex], int | None]


@dataclass(frozen=True, slots=True)
class TornTail:
    """Bytes at the end of the last segment that are no whole block: from log offset `offset` on."""

    segment: Segment
    offset: int
    reason: str


@dataclass(slots=True)
class LoadedLog:
    """What was found: the table and end of the log, the active segment's index, and a torn tail if there is one."""

    table: LogTable
    segments: list[Segment]
    active_index: SegmentIndex
    end: int
    torn: TornTail | None


def log_directory(data_dir: Path) -> Path:
    """Where a sequencer's log lies in its data directory."""
    return data_dir / "log"


def load_log(directory: Path) -> LoadedLog:
    """Read a log's table without scanning sealed history. Raises LogError naming any damage that is no torn tail."""
    segments = list_segments(directory)
    loaded = LoadedLog(LogTable(), segments, SegmentIndex(), 0, None)
    known = _last_indexed(segments)
    if known is not None:
        place, loaded.table = known
        loaded.end = segments[place + 1].base if place + 1 < len(segments) else _end_of(segments[place])
    for segment in segments[known[0] + 1 if known else 0 :]:
        if loaded.torn is not None:
            raise LogError(f"{loaded.torn.segment.path}: damaged at log offset {loaded.torn.offset}, with more behind")
        loaded.active_index = SegmentIndex()
        _scan(segment, loaded)
    return loaded


def _last_indexed(segments: list[Segment]) -> tuple[int, LogTable] | None:
    """The last segment with a whole index; the very last one is active and has none that counts."""
    for place in range(len(segments) - 2, -1, -1):
        index = load_index(segments[place])
        if index is not None:
            return place, index[1]
    return None


def _end_of(segment: Segment) -> int:
    return segment.base + segment.size()


def _scan(segment: Segment, loaded: LoadedLog) -> None:
    if segment.base < loaded.end or segment.base > loaded.end:
        raise LogError(f"{segment.path}: begins at log offset {segment.base}, not at {loaded.end}")
    try:
        for offset, header, block in read_blocks(segment, segment.base):
            runs = list(parse_runs(block, HEADER_SIZE)) if header.record_count else []
            loaded.table.apply(header, block[HEADER_SIZE:], runs)
            loaded.active_index.note(offset, header, runs)
            loaded.end = offset + header.size
    except DamagedBlockError as error:
        if not damage_is_torn_tail(segment, loaded.end):
            raise LogError(f"{segment.path}: damaged at log offset {loaded.end}: {error}") from error
        loaded.torn = TornTail(segment, loaded.end, str(error))
    except ValueError as error:
        raise LogError(f"{segment.path}: at log offset {loaded.end}: {error}") from error


class LogReader:
    """Forward reads from any position of any partition or stream. Holds few indexes of sealed segments at a time."""

    def __init__(self, loaded: LoadedLog) -> None:
        self.table = loaded.table
        self.segments = loaded.segments
        self.active_index = loaded.active_index
        self.end = loaded.end
        self._indexes: OrderedDict[int, SegmentIndex] = OrderedDict()

    @property
    def partitions(self) -> dict[str, PartitionTable]:
        """The partitions by name."""
        return {table.name: table for table in self.table.partitions.values()}

    def blocks(self, partition: int, first: Position) -> Iterator[tuple[BlockHeader, bytes]]:
        """The blocks of a partition from the one that holds `first` to the end of what is written."""
        start = self._find(lambda index: index.position_offset(partition, first))
        for header, block in self._forward(start):
            if header.partition == partition and header.record_count and header.end > first:
                yield header, block

    def stream_blocks(self, partition: int, stream: int, first: StreamPosition) -> Iterator[tuple[BlockHeader, bytes]]:
        """The blocks of a partition from the one that holds the stream position `first` on; later ones unfiltered."""
        start = self._find(lambda index: index.stream_offset(partition, stream, first))
        for header, block in self._forward(start):
            if header.partition == partition and header.record_count:
                yield header, block

    def records(self, partition: str, first: Position = Position(0), end: End | None = None) -> Iterator[Record]:
        """The records of a partition from `first` to `end`, with their stream names. KeyError: no such partition."""
        table = self.partitions[partition]
        names = {stream.number: stream.name for stream in table.streams.values()}
        stop = table.end if end is None else min(end, table.end)
        for header, block in self.blocks(table.number, first):
            for record in records_of(header, block, names):
                if record.position >= stop:
                    return
                if record.position >= first:
                    yield record

    def _find(self, look: _Look) -> int:
        """The last segment that holds the place says where to begin; 0 when none does."""
        for place in range(len(self.segments) - 1, -1, -1):
            if self.segments[place].base >= self.end:
                continue  # nothing of it is on disk, and its file may not be there yet
            offset = look(self._index(place))
            if offset is not None:
                return offset
        return self.segments[0].base if self.segments else 0

    def roll(self, following: Segment) -> SegmentIndex:
        """The active segment is sealed and `following` becomes active; returns its index, empty yet.

        The sealed one's index stays at hand: its file is not written before the committer's turn.
        """
        self._indexes[len(self.segments) - 1] = self.active_index
        self.segments.append(following)
        self._drop_indexes()
        self.active_index = SegmentIndex()
        return self.active_index

    def _index(self, place: int) -> SegmentIndex:
        if place == len(self.segments) - 1:
            return self.active_index
        index = self._indexes.get(place)
        if index is None:
            index = self._indexes[place] = _load_or_make_index(self.segments[place], self.segments[place + 1].base)
            self._drop_indexes()
        else:
            self._indexes.move_to_end(place)
        return index

    def _drop_indexes(self) -> None:
        while len(self._indexes) > _INDEXES_CACHED:
            place = next(iter(self._indexes))
            if self.segments[place + 1].base >= self.end:
                break  # not written yet: it could not be had again
            del self._indexes[place]

    def _forward(self, offset: int) -> Iterator[tuple[BlockHeader, bytes]]:
        # As the log is now: a segment that is sealed meanwhile would end elsewhere than where reading it stopped.
        for place, segment in enumerate(tuple(self.segments)):
            stop = min(self.segments[place + 1].base, self.end) if place + 1 < len(self.segments) else self.end
            start = max(offset, segment.base)
            if start >= stop:
                continue
            for _, header, block in sound_blocks(segment, start, stop):
                yield header, block


def _load_or_make_index(segment: Segment, stop: int) -> SegmentIndex:
    loaded = load_index(segment)
    if loaded is not None:
        return loaded[0]
    index = SegmentIndex()
    for offset, header, block in sound_blocks(segment, segment.base, stop):
        index.note(offset, header, list(parse_runs(block, HEADER_SIZE)) if header.record_count else [])
    return index


def sound_blocks(segment: Segment, offset: int, stop: int) -> Iterator[tuple[int, BlockHeader, bytes]]:
    """The blocks of history that must be whole. Raises LogError naming the place of the first that is not."""
    sound_to = offset
    try:
        for place, header, block in read_blocks(segment, offset, stop):
            yield place, header, block
            sound_to = place + header.size
    except DamagedBlockError as error:
        raise LogError(f"{segment.path}: damaged at log offset {sound_to}: {error}") from error


def records_of(header: BlockHeader, block: bytes, names: dict[int, str]) -> Iterator[Record]:
    """The records of one block in position order."""
    for run in parse_runs(block, HEADER_SIZE):
        position, stream_position = header.first + run.offset, int(run.first)
        for payload in run.payloads():
            yield Record(
                Position(position), names[run.stream], StreamPosition(stream_position), run.event_time,
                header.sequencing_time, payload,
            )  # fmt: skip
            position += 1
            stream_position += 1


def open_log(data_dir: Path) -> LogReader:
    """A read-only reader of a venue's log. Raises LogError; FileNotFoundError when there is none."""
    directory = log_directory(data_dir)
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory}: no log here")
    return LogReader(load_log(directory))
