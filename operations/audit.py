"""`ordinal audit`: what the copies of every decoder published, proved by deriving it again (architecture, rule 7).

A fresh decoder reads its input from the log, from position 0, and what it emits is compared byte for byte with what the
log holds at the same stream positions. The end of the log is a moment of a running venue: input whose consequences are
not written yet is counted, not judged. A record that no input caused is a difference.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from exchange.decoding.decoder import Decoder
from exchange.decoding.rederive import Derived, rederive
from exchange.records.record import Record
from exchange.records.trade_tape import STREAM as TAPE
from exchange.streams.log_reader import LogReader
from exchange.symbol_partition.matcher import Matcher
from exchange.symbol_partition.user_partitioner import UserPartitioner
from operations.failures import CheckFailedError
from operations.record_text import payload_text
from operations.venue import Venue
from operations.venue_log import check_partition, read_log

_REPORT_EVERY = 10_000


@dataclass(slots=True)
class AuditedStream:
    """How one stream fared: records that are equal, and derived ones that nobody has written yet."""

    partition: str
    stream: str
    source: str
    equal: int = 0
    unwritten: int = 0


class DifferenceError(CheckFailedError):
    """The first record that is not what its input says it must be."""

    def __init__(self, found: Record, partition: str, source: str, derived: bytes | None) -> None:
        said = "nothing: no input caused it" if derived is None else payload_text(derived)
        super().__init__(
            (
                f"{partition} position {found.position}: {found.stream}[{found.stream_position}] differs from {source}",
                f"  written: {payload_text(found.payload)}",
                f"  derived: {said}",
            )
        )


Progress = Callable[[str, int, int], None]
"""Told the partition, how many of its records have been compared or passed over, and how many it has."""


def audit_venue(venue: Venue, data_dir: Path, only: str | None, progress: Progress) -> list[AuditedStream]:
    """Audit one partition or all. Raises DifferenceError at the first difference, and as `read_log` does."""
    if only is not None:
        check_partition(venue, only)
    log = read_log(data_dir)
    audited = []
    for partition in venue.partitions if only is None else (only,):
        if partition not in log.partitions:
            continue  # nothing was ever sequenced in it
        if partition in venue.symbol_partitions:
            audit = _PartitionAudit(
                log, partition, [_Source(log, partition, partition, Matcher)], _matcher_of(partition)
            )
            audit.expect(TAPE, partition)
        else:
            sources = [_Source(log, name, partition, UserPartitioner) for name in venue.symbol_partitions]
            audit = _PartitionAudit(log, partition, sources, _symbol_partition_of)
        audited += audit.run(progress)
    return audited


def _matcher_of(partition: str) -> Callable[[str], str | None]:
    return lambda stream: partition if stream == TAPE else None


def _symbol_partition_of(stream: str) -> str | None:
    """`sym-1` of `sym-1/ACME`: who derives it. The stream that binds names to numbers is the appender's own."""
    source, slash, _ = stream.partition("/")
    return source if slash else None


class _Source:
    """One decoder over one input partition, derived as far as the comparison needs."""

    def __init__(self, log: LogReader, source: str, target: str, make: Callable[[str], Decoder]) -> None:
        self.name = source
        self._target = target
        records = log.records(source) if source in log.partitions else iter(())
        self._derived = rederive(lambda: make(source), records)
        self._waiting: dict[str, deque[Derived]] = {}

    def next_of(self, stream: str) -> Derived | None:
        """The next record that the decoder emits to `stream`; None when its input causes no more."""
        waiting = self._waiting.setdefault(stream, deque())
        while not waiting:
            if not self._derive_one():
                return None
        return waiting.popleft()

    def unwritten(self) -> dict[str, int]:
        """Derive to the end of the input; how many records of each stream were not asked for."""
        while self._derive_one():
            pass
        return {stream: len(waiting) for stream, waiting in self._waiting.items() if waiting}

    def _derive_one(self) -> bool:
        derived = next(self._derived, None)
        if derived is None:
            return False
        if derived.partition == self._target:
            self._waiting.setdefault(derived.stream, deque()).append(derived)
        return True


@dataclass(slots=True)
class _PartitionAudit:
    """The records of one partition, each against the decoder that must have emitted it."""

    log: LogReader
    partition: str
    sources: list[_Source]
    source_of: Callable[[str], str | None]
    """Which source derives a stream; None for a stream that no decoder writes."""
    streams: dict[str, AuditedStream] = field(default_factory=dict)

    def run(self, progress: Progress) -> list[AuditedStream]:
        by_name = {source.name: source for source in self.sources}
        end = self.log.partitions[self.partition].end
        for record in self.log.records(self.partition):
            if record.position % _REPORT_EVERY == 0:
                progress(self.partition, record.position, end)
            name = self.source_of(record.stream)
            if name is not None:
                self._compare(record, by_name.get(name), name)
        progress(self.partition, end, end)
        for source in self.sources:
            for stream, count in source.unwritten().items():
                self.expect(stream, source.name).unwritten = count
        return list(self.streams.values())

    def _compare(self, record: Record, source: _Source | None, name: str) -> None:
        derived = None if source is None else source.next_of(record.stream)
        same_place = derived is not None and derived.stream_position == record.stream_position
        if derived is None or not same_place or derived.payload != record.payload:
            raise DifferenceError(record, self.partition, name, None if derived is None else derived.payload)
        self.expect(record.stream, name).equal += 1

    def expect(self, stream: str, source: str) -> AuditedStream:
        """The account of a stream, begun if need be."""
        return self.streams.setdefault(stream, AuditedStream(self.partition, stream, source))
