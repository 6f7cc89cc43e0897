"""One supervised process of the venue: started, watched, started again when it dies, stopped when told."""

import asyncio
import time
from enum import StrEnum
from pathlib import Path
from typing import Any

from exchange.hosting.facts import ask_facts
from exchange.hosting.log import logger
from operations.child_process import ChildProcess, describe_exit
from operations.restarts import RestartPolicy

_READY_POLL_S = 0.02


class State(StrEnum):
    """What `status` and the monitor tell of a process."""

    WAITING = "waiting"
    """Its turn to start has not come."""
    STARTING = "starting"
    """It runs and has not yet said that it is ready."""
    RUNNING = "running"
    RESTARTING = "restarting"
    """It died and will be started again."""
    FAILED = "failed"
    """It died too often and is left alone."""
    STOPPING = "stopping"
    STOPPED = "stopped"


class SupervisedProcess:
    """Keeps one process running. `became_ready` is set at its first readiness, `gave_up` when it has failed."""

    def __init__(self, name: str, command: list[str], facts_path: Path, policy: RestartPolicy) -> None:
        self.name = name
        self.state = State.WAITING
        self.deaths = 0
        self.last_death: str | None = None
        self.became_ready = asyncio.Event()
        self.gave_up = asyncio.Event()
        self._command = command
        self._facts_path = facts_path
        self._policy = policy
        self._child: ChildProcess | None = None
        self._stop = asyncio.Event()
        self._log = logger(child=name)

    @property
    def facts(self) -> dict[str, Any]:
        """Name, pid (None while none runs), state, deaths so far and how it last died."""
        pid = self._child.pid if self._child is not None else None
        return {
            "name": self.name,
            "pid": pid,
            "state": str(self.state),
            "deaths": self.deaths,
            "last_death": self.last_death,
        }

    async def keep_running(self) -> None:
        """Start it, and start it again whenever it dies, until it is stopped or has failed."""
        while not self._stop.is_set():
            started = time.monotonic()
            code = await self._live_once()
            if self._stop.is_set():
                break
            self.deaths += 1
            self.last_death = describe_exit(code)
            delay = self._policy.delay_after_death(started, time.monotonic())
            if delay is None:
                self._fail()
                return
            self.state = State.RESTARTING
            self._log.warning("process died", how=self.last_death, restart_in_s=delay)
            await _first_of(self._stop.wait(), asyncio.sleep(delay))
        self.state = State.STOPPED

    async def stop(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Ask it to stop; end it after `grace_s`, or as soon as `hurry` is set. Returns when it has ended."""
        self._stop.set()
        child = self._child
        if child is None:
            return
        self.state = State.STOPPING
        child.terminate()
        gone = asyncio.ensure_future(child.exited())
        await _first_of(asyncio.shield(gone), hurry.wait(), asyncio.sleep(grace_s))
        if not gone.done():
            self._log.warning("process killed", reason="it did not stop in time")
            child.kill()
        self._log.info("process stopped", how=describe_exit(await gone))

    async def _live_once(self) -> int:
        self.state = State.STARTING
        try:
            child = ChildProcess(self._command)
        except OSError as error:
            self._log.error("process not started", reason=str(error))
            return 1
        self._child = child
        self._log.info("process started", pid=child.pid)
        ready = asyncio.ensure_future(self._announce_ready(child))
        try:
            return await child.exited()
        finally:
            ready.cancel()
            self._child = None

    async def _announce_ready(self, child: ChildProcess) -> None:
        while not await is_ready(self._facts_path, child.pid):  # noqa: ASYNC110 # another process cannot set an Event
            await asyncio.sleep(_READY_POLL_S)
        if not self._stop.is_set():
            self.state = State.RUNNING
            self.became_ready.set()
            self._log.info("process ready", pid=child.pid)

    def _fail(self) -> None:
        self.state = State.FAILED
        self.gave_up.set()
        self._log.error("process failed", how=self.last_death, deaths=self.deaths)


async def is_ready(facts_path: Path, pid: int) -> bool:
    """Whether the process with that pid answers its facts and says that it is ready."""
    try:
        facts = await ask_facts(facts_path)
    except (OSError, ValueError):
        return False
    return bool(facts.get("ready")) and facts["pid"] == pid


async def pid_of(facts_path: Path) -> int | None:
    """The pid of the process that answers on a facts socket; None when none does."""
    try:
        return int((await ask_facts(facts_path))["pid"])
    except (OSError, ValueError):
        return None


async def _first_of(*awaitables: Any) -> None:
    """Wait until one is done and cancel the others."""
    tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
