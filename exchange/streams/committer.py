"""The committer: writes what it is given to the log and syncs it, group after group.

It has a thread: while a sync runs there, blocks gather, and the next sync takes all of them (group commit). A small
group on a quick disk is committed on the loop itself, since handing it over would take longer than the disk does.
The committer decides nothing: which file, which bytes and which index are decided on the loop, in order.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Write(NamedTuple):
    """Blocks to append to the active segment."""

    block: bytes


class Seal(NamedTuple):
    """Sync and close the active segment, write its index, begin the next one."""

    index_path: Path
    index_bytes: bytes
    next_path: Path
    next_header: bytes


class Committed(NamedTuple):
    """A group is on disk: how many bytes of blocks, and how long write and sync took."""

    size: int
    sync_ns: int


Job = Write | Seal
Report = Callable[[Committed | OSError], object]
_WRITEV_MAX = 512


class Committer:
    """Owns the active segment's descriptor from `start` on; `report` is called on the committer's thread."""

    def __init__(self, path: Path, report: Report) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._report = report
        self._jobs: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="committer", daemon=True)

    def start(self) -> None:
        """Begin to take jobs."""
        self._thread.start()

    def submit(self, jobs: list[Job]) -> None:
        """Queue jobs; they are done in order and synced together with whatever else waits."""
        self._jobs.put(jobs)

    def commit_here(self, blocks: Sequence[Write]) -> Committed | OSError:
        """Write and sync on the caller's thread: only while nothing submitted is unreported, never after an error."""
        try:
            return self._commit(blocks)
        except OSError as error:
            return error

    def stop(self) -> None:
        """Finish what is queued, sync and close."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        try:
            while not stopping:
                jobs, stopping = self._gather()
                if jobs:
                    self._report(self._commit(jobs))
        except OSError as error:
            # Nothing is retried on a descriptor whose write or sync has failed: what the kernel dropped
            # a second sync would call durable (architecture, streams).
            self._report(error)
        finally:
            os.close(self._descriptor)

    def _gather(self) -> tuple[list[Job], bool]:
        first = self._jobs.get()
        if first is None:
            return [], True
        jobs = list(first)
        while True:
            try:
                more = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
            if more is None:
                return jobs, True
            jobs += more

    def _commit(self, jobs: Sequence[Job]) -> Committed:
        started = time.perf_counter_ns()
        size = 0
        waiting: list[bytes] = []
        for job in jobs:
            if isinstance(job, Write):
                waiting.append(job.block)
                size += len(job.block)
            else:
                write_all(self._descriptor, waiting)
                waiting = []
                self._seal(job)
        write_all(self._descriptor, waiting)
        os.fdatasync(self._descriptor)
        return Committed(size, time.perf_counter_ns() - started)

    def _seal(self, job: Seal) -> None:
        os.fsync(self._descriptor)
        write_file(job.index_path, job.index_bytes)
        following = os.open(job.next_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC, 0o600)
        write_all(following, [job.next_header])
        os.fsync(following)
        sync_directory(job.next_path.parent)
        os.close(self._descriptor)
        self._descriptor = following


def write_all(descriptor: int, pieces: Sequence[bytes]) -> None:
    """Write every byte of every piece; OSError when the disk takes no more."""
    for start in range(0, len(pieces), _WRITEV_MAX):
        group = pieces[start : start + _WRITEV_MAX]
        written = os.writev(descriptor, group)
        rest = sum(map(len, group)) - written
        if rest:
            _write_rest(descriptor, b"".join(group)[-rest:])


def _write_rest(descriptor: int, rest: bytes) -> None:
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_file(path: Path, data: bytes) -> None:
    """A whole file or none: written aside, synced, renamed."""
    aside = path.with_suffix(".writing")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(descriptor, [data])
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    aside.replace(path)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
