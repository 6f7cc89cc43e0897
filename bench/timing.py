"""Time per call, as the median of rounds with garbage collection off."""

import gc
import statistics
import time
from collections.abc import Callable

ROUNDS = 7


def microseconds_per_call(call: Callable[[], object], calls: int) -> float:
    """The median round's microseconds per call."""
    rounds = []
    numbers = range(calls)
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            start = time.perf_counter_ns()
            for _ in numbers:
                call()
            rounds.append((time.perf_counter_ns() - start) / calls / 1000)
            gc.collect()
    finally:
        gc.enable()
    return round(statistics.median(rounds), 2)
