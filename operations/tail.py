"""`ordinal tail`: the records of a partition, decoded, from a running venue or a stopped one."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exchange.hosting.process import stream_clients
from exchange.records.positions import End, Position, StreamEnd, StreamPosition
from exchange.records.record import Record
from exchange.streams.block_reader import BlockReader, ReadRun
from exchange.streams.client import StreamClientError
from exchange.streams.levels import SEQUENCED, parse_level
from operations.failures import CheckFailedError, UnreachableError, WrongUseError
from operations.process_plan import OBSERVER, peer_config
from operations.venue import Venue
from operations.venue_log import check_partition, level_end, read_log, sequencer_facts


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records: positions from `first` up to the end `end` (None: what is there), of one stream or of all."""

    partition: str
    first: int = 0
    end: int | None = None
    stream: str | None = None
    level: str = "committed:1"
    follow: bool = False


Show = Callable[[Record], None]


async def tail_partition(venue: Venue, data_dir: Path, wanted: Wanted, show: Show) -> None:
    """Show the wanted records in order; with `follow`, those to come too, until cancelled.

    Raises WrongUseError, UnreachableError when there is no venue, CheckFailedError when its log is damaged.
    """
    check_partition(venue, wanted.partition)
    try:
        level = parse_level(wanted.level)
    except ValueError as error:
        raise WrongUseError(f"--level: {wanted.level} is not allowed; allowed: sequenced, committed:1") from error
    facts = await sequencer_facts(venue, data_dir)
    if facts is None and wanted.follow:
        raise UnreachableError(f"{data_dir}: the venue does not run, so there is nothing to follow")
    if facts is None:
        _show_written(data_dir, wanted, None, show)
    elif wanted.follow or level == SEQUENCED:
        # What is at the live edge may not be on disk yet: the sequencer must be asked.
        stop = None if wanted.follow else level_end(facts, wanted.partition, wanted.level)
        await _Follower(venue, data_dir, wanted, level, stop, show).run()
    else:
        _show_written(data_dir, wanted, level_end(facts, wanted.partition, wanted.level), show)


def _show_written(data_dir: Path, wanted: Wanted, stop: End | None, show: Show) -> None:
    log = read_log(data_dir)
    if wanted.partition not in log.partitions:
        return  # the config has it, and nothing has been sequenced in it yet
    table = log.partitions[wanted.partition]
    if wanted.stream is not None and table.stream(wanted.stream) is None:
        names = ", ".join(sorted(stream.name for stream in table.streams.values()))
        raise WrongUseError(f"--stream: {wanted.stream} is no stream of {wanted.partition}; allowed: {names}")
    ends = [end for end in (stop, wanted.end) if end is not None]
    end = End(min(ends)) if ends else None
    for record in log.records(wanted.partition, Position(wanted.first), end):
        if wanted.stream in (None, record.stream):
            show(record)


class _Follower:
    """Reads a partition through the sequencer, as a peer that may read everything and write nothing."""

    def __init__(self, venue: Venue, data_dir: Path, wanted: Wanted, level: int, stop: End | None, show: Show) -> None:
        self.level = level
        self.streams: tuple[str, ...] | None = None
        self.block_reader = BlockReader(wanted.partition, Position(wanted.first))
        self._wanted = wanted
        ends = [end for end in (stop, wanted.end) if end is not None]
        self._stop = min(ends) if ends else None
        self._show = show
        self._client = stream_clients(peer_config(venue, data_dir, OBSERVER))[wanted.partition]
        self._over = asyncio.Event()

    async def run(self) -> None:
        self._client.subscribe(self)
        self._client.start()
        if self._stop is not None and self._wanted.first >= self._stop:
            self._over.set()
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((over, self._client.failed), return_when=asyncio.FIRST_COMPLETED)
            if self._client.failed.done():
                self._client.failed.result()
        except StreamClientError as error:
            raise CheckFailedError(str(error)) from error
        finally:
            over.cancel()
            await self._client.close()

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """Reading begins or goes on: nothing to prepare."""

    def cut(self, cut: Position) -> None:
        """What was shown from `cut` on did not survive its epoch; what took its place follows."""
        self.block_reader = BlockReader(self._wanted.partition, cut)

    def received(self, run: ReadRun) -> None:
        """Show the records that are wanted."""
        for record in _records(run):
            if self._over.is_set() or (self._stop is not None and record.position >= self._stop):
                return
            if self._wanted.stream in (None, record.stream):
                self._show(record)

    def level_passed(self, end: End) -> None:
        """The level stands at `end`, and everything below the reader's own end has been shown."""
        if self._stop is not None and self.block_reader.end >= self._stop:
            self._over.set()


def _records(run: ReadRun) -> Iterator[Record]:
    for offset, payload in enumerate(run.payloads):
        yield Record(
            Position(run.position + offset), run.stream, StreamPosition(run.first + offset), run.event_time,
            run.sequencing_time, payload,
        )  # fmt: skip
