"""What one group commit costs on this disk now: append a kilobyte, fdatasync."""

import os
import tempfile
import time
from pathlib import Path

APPENDS = 200
APPEND_BYTES = 1024
DEADLINE_S = 5.0


def fdatasync_delays(directory: Path) -> list[int]:
    """Nanoseconds of each append and fdatasync on the disk of `directory`."""
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
    return delays
