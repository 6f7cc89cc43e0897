"""What each outbound number stood for: references to messages, not the messages (architecture, sessions)."""

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ADMINISTRATIVE = -1
"""Stream of a number that carried a session message, which is never sent again (FIX 4.4 vol. 2, Resend Request)."""


class OutboundReference(NamedTuple):
    """An application message's number, where its record lies, and when it was first sent (nanoseconds, UTC)."""

    msg_seq_num: int
    stream: int
    position: int
    sending_time: int


class OutboundReferences:
    """The newest `kept` outbound numbers in 28 bytes each. Numbers are added in order, from `first` on."""

    __slots__ = (
        "_first",
        "_kept",
        "_last_application",
        "_last_applications",
        "_positions",
        "_sending_times",
        "_streams",
    )

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.clear()

    def clear(self) -> None:
        """Forget everything: numbers begin again at 1."""
        self._first = 1
        self._streams = array("i")
        self._positions = array("q")
        self._sending_times = array("q")
        self._last_application = 0
        self._last_applications = array("q")

    def add(self, stream: int, position: int, sending_time: int) -> None:
        """The next number carried this; ADMINISTRATIVE for a session message."""
        self._streams.append(stream)
        self._positions.append(position)
        self._sending_times.append(sending_time)
        if stream != ADMINISTRATIVE:
            self._last_application = self._first + len(self._streams) - 1
        self._last_applications.append(self._last_application)
        if len(self._streams) >= 2 * self._kept:
            self._drop_oldest()

    def add_applications(self, stream: int, positions: Sequence[int], sending_time: int) -> None:
        """The next numbers carried application messages of one stream, all sent at one time."""
        first = self.last + 1
        count = len(positions)
        self._last_application = first + count - 1
        self._streams.extend((stream,) * count)
        self._positions.extend(positions)
        self._sending_times.extend((sending_time,) * count)
        self._last_applications.extend(range(first, first + count))
        if len(self._streams) >= 2 * self._kept:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        # Half at a time, so that an addition costs the same however long the session lives.
        surplus = len(self._streams) - self._kept
        del self._streams[:surplus]
        del self._positions[:surplus]
        del self._sending_times[:surplus]
        del self._last_applications[:surplus]
        self._first += surplus

    @property
    def last(self) -> int:
        """The newest number; 0 when there is none."""
        return self._first + len(self._streams) - 1

    @property
    def oldest(self) -> int:
        """The oldest number that is still known."""
        return max(self._first, self.last - self._kept + 1)

    def last_application(self, begin: int, end: int) -> int:
        """The last number from `begin` to `end`, both included, that carried an application message; 0 for none.

        Numbers that are no longer kept count as none.
        """
        if end < self._first:
            return 0
        last = self._last_applications[end - self._first]
        return last if last >= max(begin, self._first) else 0

    def applications(self, begin: int) -> Iterator[OutboundReference]:
        """The application messages from number `begin` on that are kept, in order."""
        for msg_seq_num in range(max(begin, self.oldest), self.last + 1):
            reference = self.at(msg_seq_num)
            if reference is not None:
                yield reference

    def at(self, msg_seq_num: int) -> OutboundReference | None:
        """The application message of a known number; None when it carried a session message."""
        index = msg_seq_num - self._first
        stream = self._streams[index]
        if stream == ADMINISTRATIVE:
            return None
        return OutboundReference(msg_seq_num, stream, self._positions[index], self._sending_times[index])
