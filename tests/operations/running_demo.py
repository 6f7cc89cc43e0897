"""The demo venue run by `ordinal run` as a user runs it, in a process of its own."""

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exchange.hosting.facts import ask_facts
from tests.operations.venues import DEMO

DEADLINE_S = 30
ORDINAL = str(Path(sys.executable).with_name("ordinal"))
_LAST_LINE = "Ctrl-C stops it\n"


def free_port_base() -> int:
    """A base whose ports of the demo venue are free."""
    for base in range(20_000 + os.getpid() % 300 * 100, 64_000, 100):
        if all(_is_free(base + offset) for offset in (1, 80)):
            return base
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class RunningVenue:
    """One `ordinal run`, its output in files beside its data."""

    def __init__(self, data: Path, config: Path = DEMO) -> None:
        self.data = data
        self.config = config
        self.port_base = free_port_base()
        self.printed = ""
        self.log = data.with_name(f"{data.name}.log")
        with self.log.open("ab") as log:
            command = [ORDINAL, "run", str(config), "--data", str(data), "--port-base", str(self.port_base)]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)

    def wait_until_open(self) -> str:
        """What it printed, once it has printed every endpoint."""
        assert self.process.stdout is not None
        text = ""
        while not text.endswith(_LAST_LINE):
            ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE_S)
            assert ready, f"not open within {DEADLINE_S} s"
            piece = os.read(self.process.stdout.fileno(), 65536).decode()
            assert piece, f"ended with {self.process.wait()}:\n{self.log.read_text()}"
            text += piece
        return text

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it with a signal; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def events(self) -> list[dict[str, Any]]:
        """What it has logged."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def processes(self) -> dict[str, dict[str, Any]]:
        """What the supervisor says of each process."""
        facts = asyncio.run(ask_facts(self.data / "run" / "node.sock"))
        return {process["name"]: process for process in facts["processes"]}

    def pids(self) -> dict[str, int]:
        """Process name to pid."""
        return {name: process["pid"] for name, process in self.processes().items()}


@contextmanager
def running_demo(data: Path, config: Path = DEMO) -> Iterator[RunningVenue]:
    """An open venue, stopped at the end if the test has not done so."""
    venue = RunningVenue(data, config)
    try:
        venue.printed = venue.wait_until_open()
        yield venue
    finally:
        if venue.process.poll() is None:
            venue.stop()
        assert venue.process.stdout is not None
        venue.process.stdout.close()


def ordinal(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run `ordinal` to its end."""
    return subprocess.run(
        [ORDINAL, *arguments], input=stdin, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


def http(port: int, path: str) -> tuple[int, str]:
    """Status and text of what a monitor answers; 0 when it does not listen."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def wait_until_healthy(port: int) -> None:
    """Ask a monitor until it says ok: its first rounds have seen nothing move."""
    deadline = time.monotonic() + DEADLINE_S
    status, answer = http(port, "/health/ready")
    while status != 200 or json.loads(answer)["status"] != "ok":
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
        status, answer = http(port, "/health/ready")
