"""`ordinal run`: every process of the venue on this node, started in order, watched, stopped in order."""

import asyncio
import fcntl
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exchange.hosting.facts import serve_facts
from exchange.hosting.log import logger
from exchange.hosting.process_config import ProcessConfig
from operations.child_process import command_line
from operations.failures import CheckFailedError, ConfigFaults, WrongUseError
from operations.process_plan import entry_module, plan_processes, run_dir, start_rank, stop_rank
from operations.reference_data import publish_reference_data
from operations.restarts import RestartPolicy
from operations.supervision import State, SupervisedProcess
from operations.venue import PORT_KEYS, Venue

NODE = "node"
"""The name of the supervisor's facts socket."""


async def run_venue(venue: Venue, data_dir: Path, announce: Callable[[Venue], None]) -> None:
    """Run the venue until SIGTERM or SIGINT; `announce` is called once every process is ready.

    Raises WrongUseError when another venue runs in `data_dir`, a port is taken or the reference data was changed,
    CheckFailedError when a process fails before the venue is open. Whatever happens, what was started has been stopped
    on return.
    """
    plan = plan_processes(venue, data_dir)
    with locked(data_dir):
        check_ports_free(venue)
        for config in plan.values():
            write_process_config(config)
        await _Node(venue, data_dir, plan).run(announce)


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Hold the data directory, made if need be: one venue in each. WrongUseError when another holds it."""
    directory = run_dir(data_dir)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(directory / "node.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise WrongUseError(f"--data {data_dir}: {error.strerror}; allowed: a directory that can be written") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise WrongUseError(f"--data {data_dir}: a venue runs in it; allowed: a directory of its own") from error
    try:
        yield
    finally:
        os.close(lock)


def check_ports_free(venue: Venue) -> None:
    """WrongUseError when a port is taken. Gateways share ports, so two venues would share theirs unnoticed."""
    faults = ConfigFaults(venue.file)
    for process in venue.processes.values():
        for key in PORT_KEYS:
            port = getattr(process, key)
            if port is None:
                continue
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((venue.host, port))
                except OSError as error:
                    what = f"{port} on {venue.host}: {(error.strerror or str(error)).lower()}"
                    faults.add(f"process.{process.name}.{key}", f"{what}; allowed: a free port (--port-base moves all)")
    faults.raise_if_any()


def config_path(config: ProcessConfig) -> Path:
    """Where a process finds what it is told."""
    return Path(config.run_dir) / f"{config.name}.json"


def write_process_config(config: ProcessConfig) -> Path:
    """Write the file that the process reads; mode 0600, since a gateway's holds password hashes."""
    path = config_path(config)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(".json.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(config.to_json())
    fresh.replace(path)  # a process that reads at this moment sees the whole of one of them
    return path


class _Node:
    """The venue's processes and the order among them."""

    def __init__(self, venue: Venue, data_dir: Path, plan: dict[str, ProcessConfig]) -> None:
        self._venue = venue
        self._data_dir = data_dir
        self._log = logger(venue=venue.name)
        self._processes = {name: self._supervised(config) for name, config in plan.items()}
        self._lives: list[asyncio.Task[None]] = []
        self._told_to_stop = asyncio.Event()
        self._hurry = asyncio.Event()

    def _supervised(self, config: ProcessConfig) -> SupervisedProcess:
        command = command_line(entry_module(self._venue.processes[config.name]), config_path(config))
        policy = RestartPolicy(self._venue.limits["deaths_per_minute"])
        return SupervisedProcess(config.name, command, config.facts_path, policy)

    async def run(self, announce: Callable[[Venue], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        path = run_dir(self._data_dir) / f"{NODE}.sock"
        server = await serve_facts(path, NODE, lambda: self._facts)
        opening = asyncio.ensure_future(self._open(announce))
        stopping = asyncio.ensure_future(self._told_to_stop.wait())
        try:
            await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                opening.result()
                await stopping
        finally:
            opening.cancel()
            stopping.cancel()
            await self._stop()
            server.close()
            path.unlink(missing_ok=True)

    @property
    def _facts(self) -> dict[str, Any]:
        return {"ready": True, "processes": [process.facts for process in self._processes.values()]}

    def _on_signal(self) -> None:
        if self._told_to_stop.is_set():
            self._hurry.set()  # told twice: do not wait for anybody
        self._told_to_stop.set()

    async def _open(self, announce: Callable[[Venue], None]) -> None:
        for group in self._ranked(start_rank):
            await asyncio.gather(*(self._start(process) for process in group))
            if self._venue.processes[group[0].name].family == "sequencer":
                await publish_reference_data(self._venue, self._data_dir)
        self._log.info("venue open", data=str(self._data_dir))
        announce(self._venue)

    async def _start(self, process: SupervisedProcess) -> None:
        self._lives.append(asyncio.ensure_future(process.keep_running()))
        ready = asyncio.ensure_future(process.became_ready.wait())
        gave_up = asyncio.ensure_future(process.gave_up.wait())
        try:
            await asyncio.wait((ready, gave_up), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            gave_up.cancel()
        if process.gave_up.is_set():
            raise CheckFailedError(f"{process.name}: failed before the venue was open ({process.last_death})")

    async def _stop(self) -> None:
        grace_s = self._venue.limits["stop_grace_ms"] / 1000
        self._log.info("venue stopping")
        for group in self._ranked(stop_rank):
            started = [process for process in group if process.state is not State.WAITING]
            await asyncio.gather(*(process.stop(grace_s, self._hurry) for process in started))
        await asyncio.gather(*self._lives)
        self._log.info("venue stopped")

    def _ranked(self, rank: Callable[..., int]) -> list[list[SupervisedProcess]]:
        """Groups of equal rank, lowest first."""
        ranks = {name: rank(self._venue.processes[name]) for name in self._processes}
        return [
            [process for name, process in self._processes.items() if ranks[name] == number]
            for number in sorted(set(ranks.values()))
        ]
