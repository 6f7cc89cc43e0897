"""When a process that died is started again, and when it is given up."""

from collections import deque

FIRST_DELAY_S = 0.1
LONGEST_DELAY_S = 5.0
_WINDOW_S = 60.0


class RestartPolicy:
    """Restart after 0.1 s, doubling to 5 s; `deaths_per_minute` deaths within a minute are failed.

    A life of a minute or more counts as mended: the delay starts over. Times are monotonic seconds.
    """

    def __init__(self, deaths_per_minute: int) -> None:
        self._deaths_per_minute = deaths_per_minute
        self._deaths: deque[float] = deque()
        self._delay_s = FIRST_DELAY_S

    def delay_after_death(self, started: float, died: float) -> float | None:
        """Seconds to wait before the next start; None when the process has failed."""
        if died - started >= _WINDOW_S:
            self._delay_s = FIRST_DELAY_S
        self._deaths.append(died)
        while died - self._deaths[0] >= _WINDOW_S:
            self._deaths.popleft()
        if len(self._deaths) >= self._deaths_per_minute:
            return None
        delay, self._delay_s = self._delay_s, min(self._delay_s * 2, LONGEST_DELAY_S)
        return delay
