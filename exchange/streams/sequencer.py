"""The sequencer: the appenders of the partitions homed here, one shared log, and the peers that publish and read.

A turn of the loop takes what arrived from every peer, then seals at most a few blocks, sends them to the readers at the
live edge and has them written and synced, on the spot or by the committer's thread (decision 10). When a group is on
disk, what it holds is settled and goes to the readers of COMMITTED.
"""

import asyncio
import os
import statistics
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from exchange.hosting.facts import Facts
from exchange.hosting.log import logger
from exchange.records.positions import End, Nanoseconds
from exchange.streams.access import AccessTable
from exchange.streams.appender import Appender, SealedBlock
from exchange.streams.committer import Committed
from exchange.streams.levels import COMMITTED_1, SEQUENCED, level_name
from exchange.streams.limits import StreamLimits
from exchange.streams.log import Log
from exchange.streams.sequencer_peer import Peer
from exchange.streams.subscription import Subscription

_SYNCS_REMEMBERED = 1024
log = logger()


class Sequencer:
    """Owns everything that assigns positions on this node. One instance per data directory."""

    def __init__(
        self,
        data_dir: Path,
        partitions: tuple[str, ...],
        access: AccessTable,
        limits: StreamLimits,
        secret: str | None,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.access = access
        self.limits = limits
        self.secret = secret
        self._loop = asyncio.get_running_loop()
        self._wall_clock = wall_clock
        self.log = Log(data_dir, limits, self._loop.call_soon_threadsafe, self._on_committed)
        self.log.begin_epochs(partitions, Nanoseconds(wall_clock()))
        tables = self.log.reader.partitions
        self.appenders = {
            name: Appender(tables[name], limits.recent_bytes, limits.streams_per_partition) for name in partitions
        }
        self.by_number = {appender.number: appender for appender in self.appenders.values()}
        self._now = max(table.sequencing_time for table in tables.values())
        self.peers: dict[Peer, None] = {}
        self.refused_peers = 0
        self.refused_requests = 0
        self.failed: str | None = None
        self.stopped: asyncio.Future[int] = self._loop.create_future()
        self._unsettled: deque[tuple[int, Appender, SealedBlock]] = deque()
        self._readers: dict[tuple[int, int], list[Subscription]] = {
            (number, level): [] for number in self.by_number for level in (SEQUENCED, COMMITTED_1)
        }
        self._sealed: dict[Appender, None] = {}
        self._flush_due = False
        self._awaited = False
        self._progress_due = False
        self._full = False
        self._sync_ns: deque[int] = deque(maxlen=_SYNCS_REMEMBERED)
        self._report_start()

    def _report_start(self) -> None:
        if self.log.torn is not None:
            log.warning("torn tail cut", segment=str(self.log.torn.segment.path), log_offset=self.log.torn.offset)
        for appender in self.appenders.values():
            log.info("epoch begins", partition=appender.name, epoch=appender.epoch, position=appender.end)

    def now(self) -> Nanoseconds:
        """The wall clock, which never goes backwards inside the log, whatever the machine's does."""
        self._now = Nanoseconds(max(self._now, self._wall_clock()))
        return self._now

    def appended(self, appender: Appender) -> None:
        """Something was appended: it is sealed at the end of this turn, or at once when the block is full."""
        if appender.open_size >= self.limits.block_bytes:
            self._seal(appender)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Seal what is open, start it on its way to disk, and send it to the readers at the live edge."""
        self._flush_due = False
        if self.failed is not None:
            return
        for appender in self.appenders.values():
            if appender.open_size:
                self._seal(appender)
        sealed, self._sealed = self._sealed, {}
        if not self.log.prompt:
            self.log.submit()
        for appender in sealed:
            self._deliver(appender, SEQUENCED)
        # Readers at the live edge have it by now, and work while the disk does.
        if sealed:
            self._commit()
        self._hold_publishers()

    def _commit(self) -> None:
        """To disk with what somebody waits for; what nobody waits for may go with it, or with the next progress.

        An order waits for its tape in that way: whom it concerns reads it at the live edge.
        """
        if self._awaited or not self.log.prompt:
            self._awaited = False
            self.log.commit()
        else:
            self.progress_soon()

    def _seal(self, appender: Appender) -> None:
        sealed = appender.seal(self.now(), self.log.synced)
        if sealed is not None:
            self.log.append(sealed.block, sealed.header, sealed.runs)
            self._unsettled.append((self.log.end, appender, sealed))
            self._sealed[appender] = None
            self._awaited = self._awaited or self._is_awaited(appender, sealed)

    def _is_awaited(self, appender: Appender, sealed: SealedBlock) -> bool:
        streams = frozenset([run.stream for run in sealed.runs])
        for reader in self._readers[appender.number, COMMITTED_1]:  # noqa: SIM110 - a generator costs more than the loop
            if reader.concerned_by(streams):
                return True
        return False

    def subscribed(self, subscription: Subscription) -> None:
        """A reader is to be sent what passes its level from now on."""
        self._readers[subscription.appender.number, subscription.level].append(subscription)

    def unsubscribed(self, subscription: Subscription) -> None:
        """That reader is gone."""
        self._readers[subscription.appender.number, subscription.level].remove(subscription)

    def _deliver(self, appender: Appender, level: int) -> None:
        readers = self._readers[appender.number, level]
        # Whoever is served first answers first, so the order turns round each time and the twins of a pair take turns.
        readers.reverse()
        for subscription in tuple(readers):
            subscription.peer.deliver(subscription)

    def _on_committed(self, outcome: Committed | OSError) -> None:
        if isinstance(outcome, OSError):
            self._fail(outcome)
            return
        self._sync_ns.append(outcome.sync_ns)
        settled: dict[Appender, None] = {}
        while self._unsettled and self._unsettled[0][0] <= self.log.synced:
            _, appender, sealed = self._unsettled.popleft()
            appender.settle(sealed)
            settled[appender] = None
            for run in sealed.runs:
                for writer in appender.streams[run.stream].writers.values():
                    assert isinstance(writer, Peer)
                    writer.progressed(appender, run.stream)
        for appender in settled:
            self._deliver(appender, COMMITTED_1)
            appender.release()
        self.progress_soon()
        self._hold_publishers()

    def _hold_publishers(self) -> None:
        """At the limit of the unsettled tail publishers are not read; from half of it on they are again."""
        if not self._full and self.log.unsynced > self.limits.unsettled_tail_bytes:
            self._full = True
            log.warning("publishers held", limit="unsettled_tail_bytes", unsettled=self.log.unsynced)
        elif self._full and self.log.unsynced <= self.limits.unsettled_tail_bytes // 2:
            self._full = False
            log.info("publishers released", unsettled=self.log.unsynced)
        else:
            return
        for peer in self.peers:
            peer.hold(self._full)

    @property
    def holding(self) -> bool:
        """Whether publishers are not read at present."""
        return self._full or self.failed is not None

    def progress_soon(self) -> None:
        """Ends and levels are told at most every `level_interval_ms`, and what nobody waits for is committed before."""
        if not self._progress_due:
            self._progress_due = True
            self._loop.call_later(self.limits.level_interval_ms / 1000, self._tell_progress)

    def _tell_progress(self) -> None:
        self._progress_due = False
        if self.failed is None:
            self.log.commit()
        for peer in self.peers:
            peer.tell_progress()

    def _fail(self, error: OSError) -> None:
        """The log takes no more: stop appending, loudly, and stay to answer readers and facts until there is room."""
        self.failed = f"{error.strerror} ({error.filename or 'log'})"
        log.error("log failed, appending stopped", reason=self.failed, unsettled=self.log.unsynced)
        for peer in self.peers:
            peer.hold(True)
        self._wait_for_room()

    def _wait_for_room(self) -> None:
        """With room again the process ends, to be started afresh: only a repair from disk says what is durable."""
        if self.free_bytes() >= self.limits.log_free_bytes:
            if not self.stopped.done():
                self.stopped.set_result(1)
        else:
            self._loop.call_later(1.0, self._wait_for_room)

    def free_bytes(self) -> int:
        """Free disk where the log lies."""
        disk = os.statvfs(self.log.reader.segments[-1].path.parent)
        return disk.f_bavail * disk.f_frsize

    def peer_refused(self, reason: str, process: str | None) -> None:
        """A peer broke the protocol or its rights: counted and logged, nobody else notices."""
        self.refused_peers += 1
        log.warning("peer refused", peer=process, reason=reason)

    def close(self) -> None:
        """Tell the peers, write and sync what is left, release the directory."""
        self.flush()
        for peer in list(self.peers):
            peer.close()
        if self.failed is None:
            self.log.close()

    def facts(self) -> Facts:
        """What the facts socket answers."""
        syncs = sorted(self._sync_ns)
        return {
            "ready": True,
            "partitions": [_partition_facts(appender) for appender in self.appenders.values()],
            "fills": {name: _by_tag(appender, "filled") for name, appender in self.appenders.items()},
            "absorbed": {name: _by_tag(appender, "absorbed") for name, appender in self.appenders.items()},
            "twin_differences": [
                {"partition": appender.name, "stream": stream.name, "stream_position": stream.differing_at}
                for appender in self.appenders.values()
                for stream in appender.streams
                if stream.differing_at is not None
            ],
            "log": {
                "segments": len(self.log.reader.segments),
                "bytes": self.log.end,
                "unsettled_bytes": self.log.unsynced,
                "free_bytes": self.free_bytes(),
                "free_bytes_low": self.free_bytes() < self.limits.log_free_bytes,
                "sync_us_p50": statistics.median(syncs) // 1000 if syncs else 0,
                "failed": self.failed,
            },
            "refused_peers": self.refused_peers,
            "refused_requests": self.refused_requests,
            "connections": len(self.peers),
        }


def _partition_facts(appender: Appender) -> Facts:
    levels: dict[str, End] = {level_name(SEQUENCED): appender.sequenced, level_name(COMMITTED_1): appender.settled}
    return {
        "name": appender.name,
        "epoch": appender.epoch,
        "levels": levels,
        "streams": len(appender.streams),
        "last_append": appender.sequencing_time,
    }


def _by_tag(appender: Appender, what: str) -> dict[str, dict[str, int]]:
    return {stream.name: dict(getattr(stream, what)) for stream in appender.streams if getattr(stream, what)}
