"""Messages that came ahead of their turn, and what has been asked for (FIX 4.4 vol. 2, message recovery)."""

from typing import NamedTuple

from gateway.fix.fields import FieldFault, Fields


class ParkedMessage(NamedTuple):
    """A message kept for its turn. `served`: it was answered when it came, and only its number is still to pass."""

    parsed: Fields | FieldFault
    served: bool


class InboundGap:
    """The numbers missing before the highest one seen, on one connection."""

    __slots__ = ("_kept", "_parked", "_reached", "asked_until", "highest", "progress_at")

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._parked: dict[int, ParkedMessage] = {}
        self._reached = 0
        self.asked_until = 0
        """Last missing number of the outstanding ResendRequest; 0 when none is outstanding."""
        self.highest = 0
        """Highest number seen ahead of its turn; 0 when there is none."""
        self.progress_at = 0
        """When the request went out, or a number last arrived while it was outstanding (monotonic nanoseconds)."""

    def park(self, msg_seq_num: int, message: ParkedMessage) -> None:
        """Keep a message for its turn; when the limit is reached it is dropped, and will be asked for again."""
        self.highest = max(self.highest, msg_seq_num)
        if len(self._parked) < self._kept:
            self._parked.setdefault(msg_seq_num, message)

    def take(self, msg_seq_num: int) -> ParkedMessage | None:
        """The message whose turn has come, if it is kept."""
        return self._parked.pop(msg_seq_num, None)

    def passed(self, expected: int, now: int) -> None:
        """The next expected number has moved on, or stands still. `now` in monotonic nanoseconds."""
        if expected > self._reached:
            self._reached = expected
            self.progress_at = now
        if expected > self.highest:
            self._parked.clear()
            self.highest = 0
        if expected > self.asked_until:
            self.asked_until = 0

    def jumped(self, expected: int) -> None:
        """The next expected number has jumped over parked ones: a gap fill or a reset covers them."""
        for msg_seq_num in [number for number in self._parked if number < expected]:
            del self._parked[msg_seq_num]

    def ask_from(self, expected: int, now: int) -> bool:
        """Whether a ResendRequest from `expected` is due: one is outstanding at a time.

        `now` in monotonic nanoseconds.
        """
        if self.highest < expected or self.asked_until:
            return False
        self.asked_until = min(self._parked, default=self.highest + 1) - 1
        self.progress_at = now
        return True
