"""The peer's ResendRequests on their way to full cover (FIX 4.4 vol. 2, Resend Request)."""

from collections import deque
from typing import NamedTuple

from gateway.fix.outbound_references import OutboundReference, OutboundReferences


class GapFill(NamedTuple):
    """Numbers [begin, following) that are not sent again."""

    begin: int
    following: int


class Resends:
    """Ranges to cover, one after the other: application messages again, every other run as one gap fill.

    Numbers only move forward inside a range. `fetched` runs ahead of `covered`, because records are fetched in chunks.
    """

    __slots__ = ("_covered", "_end", "_fetched", "_last_application", "_ranges", "_references")

    def __init__(self, references: OutboundReferences) -> None:
        self._references = references
        self._ranges: deque[tuple[int, int]] = deque()
        self._covered = 0
        self._fetched = 0
        self._end = 0
        self._last_application = 0

    @property
    def active(self) -> bool:
        """Whether application messages are still to be sent again."""
        return self._last_application > 0

    @property
    def waiting(self) -> int:
        """How many ranges wait behind the one being covered."""
        return len(self._ranges)

    @property
    def lost(self) -> bool:
        """Whether the next number to fetch is no longer kept: more was sent meanwhile than is remembered."""
        return self.active and self._fetched <= self._last_application and self._fetched < self._references.oldest

    def clear(self) -> None:
        """Nobody waits any more: the connection is gone, or the numbers began again."""
        self._ranges.clear()
        self._last_application = 0

    def add(self, begin: int, end: int) -> list[GapFill]:
        """One more range, both ends included and known. Gap fills that can go out now."""
        self._ranges.append((begin, end))
        return [] if self.active else self._next_ranges()

    def fetch(self, count: int) -> list[OutboundReference]:
        """The next application messages of the present range, at most `count`."""
        fetched: list[OutboundReference] = []
        while self.active and self._fetched <= self._last_application and len(fetched) < count:
            reference = self._references.at(self._fetched)
            if reference is not None:
                fetched.append(reference)
            self._fetched += 1
        return fetched

    def before(self, msg_seq_num: int) -> list[GapFill]:
        """The gap fill that must precede this application message, if any. It was fetched and comes in order."""
        if not self._covered <= msg_seq_num < self._fetched:
            raise ValueError(f"message {msg_seq_num} is not the next one to send again")
        gap = [GapFill(self._covered, msg_seq_num)] if msg_seq_num > self._covered else []
        self._covered = msg_seq_num + 1
        return gap

    def behind(self, msg_seq_num: int) -> list[GapFill]:
        """The gap fills that follow this application message: the rest of its range, and ranges without any."""
        if msg_seq_num < self._last_application:
            return []
        self._last_application = 0
        rest = [GapFill(self._covered, self._end + 1)] if self._covered <= self._end else []
        return rest + self._next_ranges()

    def _next_ranges(self) -> list[GapFill]:
        fills = []
        while self._ranges:
            begin, end = self._ranges.popleft()
            last = self._references.last_application(begin, end)
            if last:
                self._covered = self._fetched = begin
                self._end = end
                self._last_application = last
                break
            fills.append(GapFill(begin, end + 1))
        return fills
