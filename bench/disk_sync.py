"""What one group commit costs on this disk now: append a kilobyte, fdatasync."""

import os
import tempfile
import time
from pathlib import Path

from bench.report_check import percentile

APPENDS = 300
APPEND_BYTES = 1024
DEADLINE_S = 5.0


def fdatasync_us(directory: Path) -> dict[str, float]:
    """p50 and p99 of append and fdatasync, microseconds, on the disk of `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    block = b"\x5a" * APPEND_BYTES
    delays: list[int] = []
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        end = time.monotonic() + DEADLINE_S
        while len(delays) < APPENDS and time.monotonic() < end:
            start = time.perf_counter_ns()
            file.write(block)
            os.fdatasync(file.fileno())
            delays.append(time.perf_counter_ns() - start)
    return {"p50": round(percentile(delays, 0.5) / 1000, 1), "p99": round(percentile(delays, 0.99) / 1000, 1)}
