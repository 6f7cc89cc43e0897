"""Now, as an argument: the session core reads no clock."""

from typing import NamedTuple


class Instant(NamedTuple):
    """One moment on both clocks, each in nanoseconds.

    `monotonic` measures intervals (heartbeats, timeouts) and never jumps. `wall` is UTC since 1970-01-01; it stamps
    SendingTime(52) and judges the peer's, and may be stepped by an operator without a session noticing.
    """

    monotonic: int
    wall: int


NANOSECONDS_PER_SECOND = 1_000_000_000
