"""Asks every process for its facts, again and again, each in its own time: one that hangs holds up no other."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from exchange.hosting.facts import Facts, ask_facts

INTERVAL_S = 0.5
TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Polled:
    """The last answer of one process. `facts` is None when the last poll was not answered, and `reason` says why."""

    facts: Facts | None
    reason: str
    answered_at: float | None
    """Monotonic seconds of the last answer; None when there was none."""


NEVER = Polled(None, "not asked yet", None)


class FactsPoller:
    """Polls processes' facts sockets in `run_dir`; `latest` holds what each said last."""

    def __init__(self, run_dir: Path, names: Iterable[str]) -> None:
        self.latest: dict[str, Polled] = dict.fromkeys(names, NEVER)
        self._run_dir = run_dir

    async def poll_for_ever(self) -> None:
        """Poll until cancelled."""
        async with asyncio.TaskGroup() as group:
            for name in self.latest:
                group.create_task(self._poll_one_for_ever(name))

    async def poll_once(self) -> None:
        """One round; for tools that ask once."""
        await asyncio.gather(*(self._poll(name) for name in self.latest))

    async def _poll_one_for_ever(self, name: str) -> None:
        while True:
            await self._poll(name)
            await asyncio.sleep(INTERVAL_S)

    async def _poll(self, name: str) -> None:
        try:
            facts = await ask_facts(self._run_dir / f"{name}.sock", TIMEOUT_S)
        except (OSError, ValueError) as error:
            self.latest[name] = Polled(None, _reason(error), self.latest[name].answered_at)
        else:
            self.latest[name] = Polled(facts, "", time.monotonic())


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"did not answer within {TIMEOUT_S:g} s"
    if isinstance(error, FileNotFoundError | ConnectionError):
        return "does not run"
    return f"does not answer: {error}"
