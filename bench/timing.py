"""CPU time per call, in rounds that take turns, so that a machine that gets slower does so for all.

CPU time of this process, not the wall's: what others run meanwhile is not charged to anybody.
"""

import gc
import statistics
import time
from collections.abc import Callable, Mapping

ROUNDS = 9
ROUND_NS = 60_000_000
PROBE_CALLS = 200


def microseconds_per_call(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The median round's microseconds per call by name, garbage collection off."""
    counts = {name: max(1, int(ROUND_NS / _round(call, PROBE_CALLS))) for name, call in calls.items()}
    rounds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            rounds[name].append(_round(call, counts[name]))
    return {name: round(statistics.median(figures) / 1000, 2) for name, figures in rounds.items()}


def _round(call: Callable[[], object], calls: int) -> float:
    """Nanoseconds per call."""
    numbers = range(calls)
    gc.collect()
    gc.disable()
    try:
        start = time.process_time_ns()
        for _ in numbers:
            call()
        return (time.process_time_ns() - start) / calls
    finally:
        gc.enable()
