"""Blocks and runs: the unit that travels and is written (architecture, streams).

A block is a header and runs; a run is a header, a table of payload lengths, and the payloads of consecutive records of
one stream. The bytes of a block are the same in the log and on every reader's socket, and the bytes of a run are the
same from its publisher on, but for the two fields that the appender fills in. All numbers are little-endian.
"""

import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from exchange.records.positions import Count, End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition

assert sys.byteorder == "little", "length tables are read in place"

FORMAT_VERSION = 1
BINDING_STREAM = "streams"
BINDING_NUMBER = 0
"""Stream 0 of every partition holds the records that bind stream numbers to names."""

MAGIC = b"ORDB"
_HEADER = struct.Struct("<4sBxHIQqIIQI")
HEADER_SIZE = _HEADER.size
_CRC_OFFSET = HEADER_SIZE - 4
_CRC = struct.Struct("<I")
_RUN = struct.Struct("<IIQqII")
RUN_HEADER_SIZE = _RUN.size
_PLACE = struct.Struct("<II")


class BlockHeader(NamedTuple):
    """`record_count` records of `partition` from `first` on, sequenced at one time. No records: the start of an epoch.

    `synced` is the log offset known to be on disk when the block was sealed: damage below it is damage, damage at or
    above it may be a torn tail.
    """

    partition: int
    epoch: Epoch
    first: Position
    sequencing_time: Nanoseconds
    record_count: Count
    body_size: int
    synced: int

    @property
    def end(self) -> End:
        """One more than the last position in the block."""
        return End(self.first + self.record_count)

    @property
    def size(self) -> int:
        """Bytes of the whole block."""
        return HEADER_SIZE + self.body_size


class Run(NamedTuple):
    """Consecutive records of one stream, `offset` being the first one's place in its block.

    `data` is the whole run's bytes, header and all.
    """

    stream: int
    offset: int
    first: StreamPosition
    event_time: Nanoseconds
    record_count: Count
    data: bytes

    @property
    def end(self) -> StreamEnd:
        """One more than the run's last stream position."""
        return StreamEnd(self.first + self.record_count)

    def payloads(self) -> list[bytes]:
        """The payloads, cut by the length table."""
        data = self.data
        start = RUN_HEADER_SIZE + 4 * self.record_count
        payloads = []
        for length in memoryview(data)[RUN_HEADER_SIZE:start].cast("I"):
            payloads.append(data[start : start + length])
            start += length
        return payloads


class DamagedBlockError(ValueError):
    """Bytes that are not a block of this version, or whose checksum does not hold."""


class MalformedRunError(ValueError):
    """Bytes in a publish that are not runs."""


def make_run(stream: int, first: StreamPosition, event_time: Nanoseconds, payloads: Sequence[bytes]) -> Run:
    """A run of `payloads`, its place in a block still open."""
    count = len(payloads)
    lengths = struct.pack(f"<{count}I", *map(len, payloads))
    body = b"".join(payloads)
    data = b"".join((_RUN.pack(stream, 0, first, event_time, count, len(lengths) + len(body)), lengths, body))
    return Run(stream, 0, first, event_time, Count(count), data)


def place_run(run: Run, stream: int, offset: int) -> Run:
    """The same run with its stream number and its place in a block filled in."""
    data = _PLACE.pack(stream, offset) + run.data[_PLACE.size :]
    return Run(stream, offset, run.first, run.event_time, run.record_count, data)


def tail_of_run(run: Run, skip: int) -> Run:
    """The run without its first `skip` records, cut by lengths; no payload is looked at."""
    table = RUN_HEADER_SIZE + 4 * run.record_count
    skipped = sum(memoryview(run.data)[RUN_HEADER_SIZE : RUN_HEADER_SIZE + 4 * skip].cast("I"))
    lengths = run.data[RUN_HEADER_SIZE + 4 * skip : table]
    body = run.data[table + skipped :]
    offset, first = run.offset + skip, StreamPosition(run.first + skip)
    count = Count(run.record_count - skip)
    header = _RUN.pack(run.stream, offset, first, run.event_time, count, len(lengths) + len(body))
    return Run(run.stream, offset, first, run.event_time, count, b"".join((header, lengths, body)))


def parse_runs(data: bytes, start: int = 0) -> Iterator[Run]:
    """The runs that fill `data` from `start` to its end. Raises MalformedRunError when they do not."""
    size = len(data)
    while start < size:
        if start + RUN_HEADER_SIZE > size:
            raise MalformedRunError("a run header is cut off")
        stream, offset, first, event_time, count, body_size = _RUN.unpack_from(data, start)
        body = start + RUN_HEADER_SIZE
        stop = body + body_size
        if count == 0 or body_size < 4 * count or stop > size:
            raise MalformedRunError(f"a run of {count} records in {body_size} bytes does not fit")
        if sum(memoryview(data)[body : body + 4 * count].cast("I")) != body_size - 4 * count:
            raise MalformedRunError("the lengths of a run do not add up to its size")
        yield Run(stream, offset, first, event_time, count, data[start:stop])
        start = stop


def seal_block(
    partition: int,
    epoch: Epoch,
    first: Position,
    sequencing_time: Nanoseconds,
    count: Count,
    synced: int,
    body: bytes,
) -> bytes:
    """The bytes of a block with its checksum."""
    header = _HEADER.pack(MAGIC, FORMAT_VERSION, partition, epoch, first, sequencing_time, count, len(body), synced, 0)[
        :_CRC_OFFSET
    ]
    return b"".join((header, _CRC.pack(zlib.crc32(body, zlib.crc32(header))), body))


def parse_header(data: bytes, start: int = 0) -> BlockHeader:
    """The header at `start`. Raises DamagedBlockError when it is none of this version."""
    if len(data) - start < HEADER_SIZE:
        raise DamagedBlockError("a block header is cut off")
    magic, version, partition, epoch, first, time, count, body_size, synced, _ = _HEADER.unpack_from(data, start)
    if magic != MAGIC:
        raise DamagedBlockError("no block begins here")
    if version != FORMAT_VERSION:
        raise DamagedBlockError(f"block format version {version} is not {FORMAT_VERSION}")
    return BlockHeader(partition, epoch, first, time, count, body_size, synced)


def checked_header(data: bytes, start: int = 0) -> BlockHeader:
    """The header of the whole block at `start`, its checksum verified. Raises DamagedBlockError."""
    header = parse_header(data, start)
    body = start + HEADER_SIZE
    if len(data) - start < header.size:
        raise DamagedBlockError("a block is cut off")
    view = memoryview(data)
    crc = zlib.crc32(view[body : body + header.body_size], zlib.crc32(view[start : start + _CRC_OFFSET]))
    if crc != _CRC.unpack_from(data, start + _CRC_OFFSET)[0]:
        raise DamagedBlockError("a block's checksum does not hold")
    return header


def narrow_block(block: bytes, streams: frozenset[int]) -> bytes | None:
    """The block with the runs of `streams` only, at the same positions; None when it has none of them."""
    header = parse_header(block)
    runs = [run for run in parse_runs(block, HEADER_SIZE) if run.stream in streams]
    if not runs:
        return None
    return seal_block(
        header.partition, header.epoch, header.first, header.sequencing_time, header.record_count, header.synced,
        b"".join(run.data for run in runs),
    )  # fmt: skip
