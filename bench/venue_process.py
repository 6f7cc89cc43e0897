"""A venue of our own for a part of the bench: `ordinal run bench/bench.toml` in a fresh data directory."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.loopback_ports import HOST, free_port_base
from bench.venue_config import CONFIG, ORDER_ENTRY_OFFSET, PORT_OFFSETS
from exchange.hosting.facts import Facts, ask_facts

OPEN_DEADLINE_S = 60.0
STOP_DEADLINE_S = 30.0
POLL_S = 0.05
LOG_TAIL_BYTES = 3_000


class VenueError(RuntimeError):
    """The venue did not start, or lost a process for good."""


class VenueProcess:
    """A running venue: its ports, its processes, their facts."""

    def __init__(self, supervisor: subprocess.Popen[bytes], data: Path, port_base: int, log: Path) -> None:
        self._supervisor = supervisor
        self.data = data
        self._log = log
        self.host = HOST
        self.order_entry_port = port_base + ORDER_ENTRY_OFFSET

    async def facts(self, process: str) -> Facts:
        """What a process tells of itself; OSError, TimeoutError or ValueError when it does not answer."""
        return await ask_facts(self.data / "run" / f"{process}.sock")

    async def processes(self) -> dict[str, int]:
        """Process ids by name, the supervisor `node` included."""
        found = {entry["name"]: entry["pid"] for entry in await self._supervised() if entry["pid"] is not None}
        return found | {"node": self._supervisor.pid}

    async def _supervised(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = (await self.facts("node"))["processes"]
        return entries

    async def wait_until_open(self) -> None:
        """Until every process is ready; VenueError with the end of the venue's log when it will not be."""
        end = time.monotonic() + OPEN_DEADLINE_S
        while time.monotonic() < end and self._supervisor.poll() is None:
            await asyncio.sleep(POLL_S)
            try:
                entries = await self._supervised()
            except (OSError, TimeoutError, ValueError):
                continue
            if all(entry["state"] == "running" for entry in entries):
                return
        raise VenueError(f"the venue is not open:\n{self.log_tail()}")

    def log_tail(self) -> str:
        """The end of what the venue printed."""
        return self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")

    def kill(self, pid: int) -> None:
        """kill -9 a process of the venue, as a crash would."""
        os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM, and SIGKILL to the whole group when it does not end."""
        self._supervisor.terminate()
        try:
            self._supervisor.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._supervisor.pid, signal.SIGKILL)
            self._supervisor.wait()


@contextmanager
def running_venue(scratch: Path, config: Path = CONFIG) -> Iterator[VenueProcess]:
    """Start a venue with its data below `scratch`; it is stopped and its data removed on leaving."""
    scratch.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="venue-", dir=scratch))
    try:
        with venue_on(root / "data", root / "venue.log", config) as venue:
            yield venue
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def venue_on(data: Path, log: Path, config: Path = CONFIG) -> Iterator[VenueProcess]:
    """Start a venue on a data directory, whatever it holds; it is stopped on leaving and its data stays."""
    port_base = free_port_base(PORT_OFFSETS)
    ordinal = Path(sys.executable).with_name("ordinal")
    command = [str(ordinal), "run", str(config), "--data", str(data), "--port-base", str(port_base)]
    with log.open("ab") as output:
        supervisor = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    venue = VenueProcess(supervisor, data, port_base, log)
    try:
        yield venue
    finally:
        venue.stop()
