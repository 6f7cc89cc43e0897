"""The one log that all partitions of a sequencer share: repaired at start, appended, synced in groups, read back."""

import fcntl
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgpack

from exchange.records.positions import Count, Epoch, Nanoseconds, Position
from exchange.streams.block import HEADER_SIZE, BlockHeader, Run, parse_header, seal_block
from exchange.streams.committer import (
    Committed,
    Committer,
    Job,
    Seal,
    Write,
    sync_directory,
    write_all,
    write_file,
)
from exchange.streams.limits import StreamLimits
from exchange.streams.log_reader import LoadedLog, LogReader, TornTail, load_log, log_directory
from exchange.streams.log_table import PartitionTable
from exchange.streams.segment import (
    SEGMENT_HEADER_SIZE,
    LogError,
    Segment,
    encode_index,
    segment_header,
    segment_path,
)

_QUICK_SYNC_NS = 1_000_000
_SLOW_SYNCS = 3
"""So many syncs in a row that took longer say that the loop must not wait for this disk, until one is quick again."""


class Log:
    """Appends blocks and tells when they are on disk. Lives on the loop; the committer does the writing.

    `committed` is called on the loop, once per group, within `commit` or later, with the size of what is synced now or
    the error that stopped the log; after an error nothing is written again.
    """

    def __init__(
        self,
        data_dir: Path,
        limits: StreamLimits,
        call_soon_threadsafe: Callable[..., object],
        committed: Callable[[Committed | OSError], None],
    ) -> None:
        self._limits = limits
        directory = log_directory(data_dir)
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = lock_directory(directory)
        loaded = load_log(directory)
        self.torn = repair(loaded)
        if not loaded.segments:
            loaded.segments.append(create_segment(directory, 1, 0))
        self.reader = LogReader(loaded)
        self._index = loaded.active_index
        self.end = loaded.end
        self.synced = loaded.end
        self._submitted: list[Job] = []
        self._handed_over = loaded.end
        self._slow_syncs = 0
        self._committed = committed
        self._committer = Committer(
            self._active.path, lambda outcome: call_soon_threadsafe(self._on_committed, outcome)
        )

    @property
    def _active(self) -> Segment:
        return self.reader.segments[-1]

    @property
    def unsynced(self) -> int:
        """Bytes appended and not yet on disk."""
        return self.end - self.synced

    def begin_epochs(self, partitions: Sequence[str], now: Nanoseconds) -> None:
        """Start the next epoch of every partition, on disk before anything is appended in it, and start committing.

        An epoch's number is never used again, since it is durable before its first record (architecture, sessions).
        """
        blocks = []
        for name in partitions:
            table = self._table_for(name)
            epoch = Epoch(table.epochs[-1][0] + 1 if table.epochs else 1)
            blocks.append(self._epoch_block(table, epoch, now))
        descriptor = os.open(self._active.path, os.O_WRONLY | os.O_APPEND)
        try:
            write_all(descriptor, blocks)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.synced = self.reader.end = self._handed_over = self.end
        self._committer.start()

    def _table_for(self, name: str) -> PartitionTable:
        table = self.reader.table.named(name)
        if table is None:
            number = len(self.reader.table.partitions) + 1
            table = self.reader.table.partitions[number] = PartitionTable(name, number)
        return table

    def _epoch_block(self, table: PartitionTable, epoch: Epoch, now: Nanoseconds) -> bytes:
        block = seal_block(
            table.number, epoch, Position(table.end), now, Count(0), self.synced, msgpack.packb(table.name)
        )
        self._index.note(self.end, parse_header(block), [])
        table.epoch_starts(epoch)
        self.end += len(block)
        return block

    def append(self, block: bytes, header: BlockHeader, runs: Sequence[Run]) -> None:
        """Take a sealed block; `submit` sends it on its way. `runs` are the block's own, in order."""
        if self._index.block_count >= self._limits.segment_blocks or (
            self.end - self._active.base >= self._limits.segment_bytes
        ):
            self._seal()
        self.reader.table.apply(header, block[HEADER_SIZE:] if not runs else b"", runs)
        self._index.note(self.end, header, runs)
        self.end += len(block)
        self._submitted.append(Write(block))

    def _seal(self) -> None:
        sealed = self._active
        following = Segment(segment_path(sealed.path.parent, sealed.number + 1), sealed.number + 1, self.end)
        index = encode_index(self._index, self.reader.table)
        header = segment_header(following.number, following.base)
        self._submitted.append(Seal(sealed.index_path, index, following.path, header))
        self._index = self.reader.roll(following)

    def submit(self) -> None:
        """Hand what was appended to the committer."""
        if self._submitted:
            self._committer.submit(self._submitted)
            self._submitted = []
            self._handed_over = self.end

    @property
    def prompt(self) -> bool:
        """Whether what was appended is better committed here and now: it is little, and the disk idle and quick."""
        return (
            self._handed_over == self.synced
            and self.end - self.synced <= self._limits.prompt_sync_bytes
            and self._slow_syncs < _SLOW_SYNCS
        )

    def commit(self) -> None:
        """Have what was appended on disk soon: on return, when that is quick."""
        blocks = [job for job in self._submitted if isinstance(job, Write)]
        if not blocks or len(blocks) < len(self._submitted) or not self.prompt:
            self.submit()
            return
        self._submitted = []
        self._handed_over = self.end
        self._on_committed(self._committer.commit_here(blocks))

    def _on_committed(self, outcome: Committed | OSError) -> None:
        if isinstance(outcome, Committed):
            self.synced += outcome.size
            self._slow_syncs = 0 if outcome.sync_ns < _QUICK_SYNC_NS else self._slow_syncs + 1
            self.reader.end = self.synced
        self._committed(outcome)

    def close(self) -> None:
        """Write and sync what is left; release the directory."""
        self.submit()
        self._committer.stop()
        os.close(self._lock)


def lock_directory(directory: Path) -> int:
    """The lock that makes this the only appender of a directory. LogError when another process holds it."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise LogError(f"{directory}: another sequencer holds this log") from None
    return descriptor


def create_segment(directory: Path, number: int, base: int) -> Segment:
    """A new segment file with its header, durable."""
    path = segment_path(directory, number)
    write_file(path, segment_header(number, base))
    sync_directory(directory)
    return Segment(path, number, base)


def repair(loaded: LoadedLog) -> TornTail | None:
    """Cut a torn tail behind the last whole block, keeping the bytes aside, and sync what was found.

    What repair finds is on disk before anybody is told of it (architecture, sessions).
    """
    if not loaded.segments:
        return None
    segment, torn = loaded.segments[-1], loaded.torn
    with segment.path.open("r+b") as file:
        if torn is not None:
            cut = SEGMENT_HEADER_SIZE + torn.offset - segment.base
            file.seek(cut)
            write_file(segment.path.with_suffix(f".torn-{torn.offset}"), file.read())
            file.truncate(cut)
        os.fsync(file.fileno())
    sync_directory(segment.path.parent)
    return torn
