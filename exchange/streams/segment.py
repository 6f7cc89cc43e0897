"""Segment files: a header, then blocks back to back; an index file beside each sealed one (architecture, streams).

A log offset counts bytes of blocks from the first segment on, whatever file they lie in.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgpack

from exchange.streams.block import (
    HEADER_SIZE,
    MAGIC,
    BlockHeader,
    DamagedBlockError,
    checked_header,
    parse_header,
)
from exchange.streams.log_table import LogTable, SegmentIndex

SEGMENT_VERSION = 1
_MAGIC = b"ORDINALS"
_HEADER = struct.Struct("<8sIIQ")
SEGMENT_HEADER_SIZE = _HEADER.size
_NAME = re.compile(r"segment-(\d{8})\.log")
_INDEX_CRC = struct.Struct("<I")
_CHUNK = 256 * 1024


class LogError(Exception):
    """A log that cannot be used, in one line that names the place."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment file; its first block lies at log offset `base`."""

    path: Path
    number: int
    base: int

    @property
    def index_path(self) -> Path:
        """The index beside a sealed segment."""
        return self.path.with_suffix(".index")

    def size(self) -> int:
        """Bytes of blocks in the file now."""
        return max(0, self.path.stat().st_size - SEGMENT_HEADER_SIZE)


def segment_path(directory: Path, number: int) -> Path:
    """The file of segment `number`."""
    return directory / f"segment-{number:08d}.log"


def segment_header(number: int, base: int) -> bytes:
    """The first bytes of a segment file."""
    return _HEADER.pack(_MAGIC, SEGMENT_VERSION, number, base)


def list_segments(directory: Path) -> list[Segment]:
    """The segments of a log in order. Raises LogError for a foreign or unknown file, or a missing number."""
    segments: list[Segment] = []
    for path in sorted(directory.glob("segment-*.log")):
        segment = _open_segment(path)
        if segment is None:
            continue
        if segments and segment.number != segments[-1].number + 1:
            raise LogError(f"{path}: segment {segments[-1].number + 1} is missing before it")
        segments.append(segment)
    return segments


def _open_segment(path: Path) -> Segment | None:
    """None for the file of a segment whose creation was cut short: it holds nothing."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise LogError(f"{path}: not a segment's name")
    with path.open("rb") as file:
        header = file.read(SEGMENT_HEADER_SIZE)
    if len(header) < SEGMENT_HEADER_SIZE:
        return None
    magic, version, number, base = _HEADER.unpack(header)
    if magic != _MAGIC:
        raise LogError(f"{path}: not a segment")
    if version != SEGMENT_VERSION:
        raise LogError(f"{path}: segment format version {version} is not {SEGMENT_VERSION}")
    if number != int(match[1]):
        raise LogError(f"{path}: the file says it is segment {number}")
    return Segment(path, number, base)


def read_blocks(segment: Segment, offset: int, stop: int | None = None) -> Iterator[tuple[int, BlockHeader, bytes]]:
    """(log offset, header, bytes) of the whole blocks from log offset `offset` (a block's) to `stop` or the file's end.

    Raises DamagedBlockError at the first bytes that are none, also when the last one is cut off.
    """
    with segment.path.open("rb") as file:
        file.seek(SEGMENT_HEADER_SIZE + offset - segment.base)
        buffer = file.read(_CHUNK)
        start = 0
        while stop is None or offset < stop:
            if len(buffer) - start < HEADER_SIZE:
                buffer, start = buffer[start:] + file.read(_CHUNK), 0
                if not buffer:
                    return
            size = parse_header(buffer, start).size
            if len(buffer) - start < size:
                buffer, start = buffer[start:] + file.read(max(_CHUNK, size)), 0
            header = checked_header(buffer, start)
            yield offset, header, buffer[start : start + size]
            start += size
            offset += size


def damage_is_torn_tail(segment: Segment, offset: int) -> bool:
    """Whether bytes that are no block at log offset `offset` can be a write that a crash cut short.

    They cannot when a whole block lies behind them that was sealed when more than `offset` was already on disk.
    """
    with segment.path.open("rb") as file:
        file.seek(SEGMENT_HEADER_SIZE + offset - segment.base)
        rest = file.read()
    found = rest.find(MAGIC, 1)
    while found >= 0:
        try:
            if checked_header(rest, found).synced > offset:
                return False
        except DamagedBlockError:
            pass
        found = rest.find(MAGIC, found + 1)
    return True


def encode_index(index: SegmentIndex, table: LogTable) -> bytes:
    """The bytes of an index file."""
    body: bytes = msgpack.packb([SEGMENT_VERSION, index.to_fields(), table.to_fields()])
    return _INDEX_CRC.pack(zlib.crc32(body)) + body


def load_index(segment: Segment) -> tuple[SegmentIndex, LogTable] | None:
    """The index and the table at the segment's end; None when there is no whole one (it can be made again)."""
    try:
        data = segment.index_path.read_bytes()
    except FileNotFoundError:
        return None
    body = data[_INDEX_CRC.size :]
    if len(data) < _INDEX_CRC.size or _INDEX_CRC.unpack_from(data)[0] != zlib.crc32(body):
        return None
    version, index, table = msgpack.unpackb(body, strict_map_key=False)
    if version != SEGMENT_VERSION:
        raise LogError(f"{segment.index_path}: index format version {version} is not {SEGMENT_VERSION}")
    return SegmentIndex.from_fields(index), LogTable.from_fields(table)
