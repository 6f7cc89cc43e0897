"""The writer's side of one stream: keeps what it has published until it is settled. Pure.

On a new epoch it publishes again from the surviving end (architecture, rule 4), so that the death of an appender loses
nothing while its writers live.
"""

from collections import deque
from collections.abc import Sequence

from exchange.records.positions import Nanoseconds, StreamEnd, StreamPosition
from exchange.streams.block import Run, make_run, tail_of_run

_RUN_RECORDS = 4096
"""A run is cut here, so that no input, however much it causes, makes a run that no frame can carry."""


class LostRecordsError(AssertionError):
    """A stream ends below what this writer was told is settled: the log lost what it had promised."""


class ForeignRecordsError(AssertionError):
    """A stream with one writer ends beyond what that writer has published: somebody else has written to it."""


class StreamWriter:
    """Stages records at the next positions of one stream, and says which runs are to be sent.

    With `from_end` the writer numbers on from the end it finds when it first opens, and stages nothing before. Without
    a tag it is from then on the only one that writes the stream.
    A run made before the stream is open has no stream number yet; it is filled in when it is sent.
    """

    __slots__ = (
        "_alike",
        "_from_end",
        "_numbers_on",
        "_retained",
        "_unsent",
        "end",
        "name",
        "next",
        "number",
        "partition",
        "retained_bytes",
        "settled",
        "tag",
    )

    def __init__(self, partition: str, name: str, tag: str | None, from_end: bool = False) -> None:
        self._alike = False
        self._from_end = from_end
        self._numbers_on = False
        self.partition = partition
        self.name = name
        self.tag = tag
        self.number: int | None = None
        self.next = StreamPosition(0)
        self.end = StreamEnd(0)
        self.settled = StreamEnd(0)
        self.retained_bytes = 0
        self._retained: deque[Run] = deque()
        self._unsent: list[Run] = []

    @property
    def retained(self) -> int:
        """How many records are kept because they are not settled yet."""
        return self.next - self._retained[0].first if self._retained else 0

    def continue_from(self, position: StreamPosition) -> None:
        """Stage the next record at `position` and forget what was staged before.

        For a writer whose records are all alike: a clock.
        """
        self.restart()
        self._alike = True
        self.next = position

    def restart(self) -> None:
        """Forget everything staged: the decoder begins again from its first record."""
        self.next = StreamPosition(0)
        self._retained.clear()
        self._unsent = []
        self.retained_bytes = 0

    def stage(self, payloads: Sequence[bytes], event_time: Nanoseconds) -> None:
        """Take the next records. Those below the settled end would be absorbed and are not sent."""
        assert not self._from_end, "staged before the end was known"
        first = self.next
        self.next = StreamPosition(first + len(payloads))
        if self.next <= self.settled:
            return
        for start in range(0, len(payloads), _RUN_RECORDS):
            piece = payloads[start : start + _RUN_RECORDS]
            run = make_run(self.number or 0, StreamPosition(first + start), event_time, piece)
            self._retained.append(run)
            self._unsent.append(run)
            self.retained_bytes += len(run.data)

    def take_unsent(self) -> list[Run]:
        """The runs to send now; empty while the stream is not open."""
        if self.number is None or not self._unsent:
            return []
        unsent, self._unsent = self._unsent, []
        return unsent

    def opened(self, number: int, end: StreamEnd, settled: StreamEnd) -> None:
        """The stream is open at `end`: everything kept from there on is to be sent (again).

        Raises LostRecordsError when the end lies below what was settled, ForeignRecordsError when it lies beyond what
        the only writer has published.
        """
        if end < self.settled:
            raise LostRecordsError(f"{self.partition} {self.name} ends at {end}, below the settled end {self.settled}")
        if self._numbers_on and end > self.next:
            raise ForeignRecordsError(
                f"{self.partition} {self.name} ends at {end}, beyond its only writer's {self.next}"
            )
        self.number = number
        if self._alike and self._retained and self._retained[0].first > end:
            self._retained.clear()  # the next record at the end is as good as the ones before it that were lost
            self.retained_bytes = 0
        if self._from_end:
            self._from_end = False
            self._numbers_on = self.tag is None
            self.next = StreamPosition(end)
        self.progressed(end, settled)
        self._unsent = [_from(run, end) for run in self._retained if run.end > end]

    def closed(self) -> None:
        """The connection is gone; what is staged waits for the next one."""
        self.number = None

    def progressed(self, end: StreamEnd, settled: StreamEnd) -> None:
        """The appender told the stream's ends: what is settled need not be kept."""
        self.end = end
        self.settled = settled
        while self._retained and self._retained[0].end <= settled:
            self.retained_bytes -= len(self._retained.popleft().data)


def _from(run: Run, end: StreamEnd) -> Run:
    return tail_of_run(run, end - run.first) if run.first < end else run
