"""The reader's side of one partition: follows positions and stream names through blocks. Pure."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from exchange.records.positions import End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition
from exchange.streams.block import BINDING_NUMBER, BINDING_STREAM, HEADER_SIZE, parse_header, parse_runs
from exchange.streams.log_table import binding_of


class ReadRun(NamedTuple):
    """Consecutive records of one stream as a reader gets them."""

    stream: str
    position: Position
    first: StreamPosition
    event_time: Nanoseconds
    sequencing_time: Nanoseconds
    payloads: list[bytes]


class ReadGapError(Exception):
    """A block or run that is not the next one: the reader stops and says why (architecture, rule 13)."""


class BlockReader:
    """Takes exactly the next position of the partition, and of each stream when it is sent only some of them.

    `wants` says of a stream name whether its runs are of interest; the payloads of others are not even cut.
    `first` None means: from the end that the sequencer tells.
    """

    def __init__(
        self, partition: str, first: Position | None, whole: bool = True, wants: Callable[[str], bool] | None = None
    ) -> None:
        self.partition = partition
        self.epoch = Epoch(0)
        self.next = first
        self._whole = whole
        self._wants = wants
        self._names: dict[int, str] = {}
        self.unread: dict[int, None] = {}
        """The numbers of the streams that are bound in this epoch and not of interest."""
        self._name(BINDING_NUMBER, BINDING_STREAM)

    def subscribed(self, epoch: Epoch, start: Position, streams: list[tuple[int, str, StreamEnd]]) -> None:
        """The sequencer's answer: from `start` on, in `epoch`, with the streams bound so far."""
        self.epoch = epoch
        self.next = start
        self.unread = {}
        for number, name, _ in streams:
            self._name(number, name)

    def _name(self, number: int, name: str) -> None:
        wanted = self._wants is None or self._wants(name)
        self._names[number] = name if wanted else ""
        if not wanted and number != BINDING_NUMBER:
            self.unread[number] = None

    def passed_over(self, since: Position, end: Position) -> None:
        """From `since` to `end` nothing is of interest. Raises ReadGapError when `since` is not next."""
        assert self.next is not None
        if since > self.next:
            raise ReadGapError(f"{self.partition}: passed over from {since} follows {self.next}")
        self.next = max(self.next, end)

    def read(self, block: bytes, since: Position | None = None) -> Iterator[ReadRun]:
        """The runs of the next block; nothing from `since` up to it is of interest.

        Raises ReadGapError when it is not the next.
        """
        header = parse_header(block)
        if since is not None:
            self.passed_over(since, header.first)
        assert self.next is not None
        if header.first > self.next and self._whole:
            raise ReadGapError(f"{self.partition}: block at {header.first} follows {self.next}")
        skip_below = self.next
        for run in parse_runs(block, HEADER_SIZE):
            name = self._names[run.stream]
            if not name and run.stream != BINDING_NUMBER:
                continue
            position, first, payloads = Position(header.first + run.offset), run.first, run.payloads()
            if position < skip_below:
                skip = min(skip_below - position, len(payloads))
                position, first, payloads = Position(position + skip), StreamPosition(first + skip), payloads[skip:]
            if run.stream == BINDING_NUMBER:
                self._bind(payloads)
            if payloads and name:
                yield ReadRun(name, position, first, run.event_time, header.sequencing_time, payloads)
        self.epoch = header.epoch
        self.next = Position(header.end)

    def _bind(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            self._name(*binding_of(payload))

    @property
    def end(self) -> End:
        """How far has been read."""
        return End(self.next or 0)
