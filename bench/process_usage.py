"""CPU and memory of processes from /proc."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_microseconds(pid: int) -> int:
    """utime + stime of a process; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) * 1_000_000 // _TICKS_PER_SECOND


def resident_bytes(pid: int) -> int:
    """RSS of a process; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


def cpu_of(processes: Mapping[str, int]) -> dict[str, int]:
    """CPU so far by process name."""
    return {name: cpu_microseconds(pid) for name, pid in processes.items()}


def resident_mib(processes: Mapping[str, int]) -> dict[str, float]:
    """RSS by process name, MiB."""
    return {name: round(resident_bytes(pid) / 2**20, 1) for name, pid in processes.items()}
