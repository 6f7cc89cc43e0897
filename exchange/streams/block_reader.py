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
    """Takes exactly the next position of the partition, and of each stream that is of interest.

    A sequencer passes over what is of no interest, so positions of the partition alone would not show a gap.
    `wants` says of a stream name whether its runs are of interest; the payloads of others are not even cut.
    `first` None means: from the end that the sequencer tells.
    """

    def __init__(self, partition: str, first: Position | None, wants: Callable[[str], bool] | None = None) -> None:
        self.partition = partition
        self.epoch = Epoch(0)
        self.next = first
        self._wants = wants
        self._names: dict[int, str] = {}
        self._ends: dict[int, int] = {}
        self.unread: dict[int, None] = {}
        """The numbers of the streams that are bound in this epoch and not of interest."""
        self._name(BINDING_NUMBER, BINDING_STREAM)

    def subscribed(self, epoch: Epoch, start: Position, streams: list[tuple[int, str, StreamEnd]]) -> None:
        """The sequencer's answer: from `start` on, in `epoch`, with the streams bound so far.

        What is read on this connection lies in this epoch or in what survived of those before: whatever block it is
        read from, the cut that matters later is the one that ends this epoch.
        """
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

    def read(self, block: bytes, since: Position) -> Iterator[ReadRun]:
        """The runs of the next block; nothing from `since` up to it is of interest.

        Raises ReadGapError when it is not the next, or a run in it is not the next of its stream.
        """
        header = parse_header(block)
        self.passed_over(since, header.first)
        assert self.next is not None
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
                if first != self._ends.get(run.stream, first):
                    raise ReadGapError(f"{self.partition} {name}: {first} follows {self._ends[run.stream]}")
                self._ends[run.stream] = first + len(payloads)
                yield ReadRun(name, position, first, run.event_time, header.sequencing_time, payloads)
        self.next = Position(header.end)

    def _bind(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            number, name = binding_of(payload)
            self._name(number, name)
            self._ends[number] = 0

    @property
    def end(self) -> End:
        """How far has been read."""
        return End(self.next or 0)
