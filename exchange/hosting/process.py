"""How a role becomes a process: config, logs, loop, facts socket, signals, exit code."""

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import uvloop

from exchange.hosting.facts import Facts, serve_facts
from exchange.hosting.log import logger, set_up_logging
from exchange.hosting.process_config import ProcessConfig, load_process_config
from exchange.streams.client import StreamClient
from exchange.streams.limits import StreamLimits

log = logger()


class Stop:
    """What ends a process: a signal, or something it cannot survive."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.requested: asyncio.Future[None] = self._loop.create_future()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._request)

    def _request(self) -> None:
        if not self.requested.done():
            self.requested.set_result(None)

    async def wait(self, failures: Iterable[asyncio.Future[None]]) -> None:
        """Return on a signal; raise when one of the failures has happened first."""
        await asyncio.wait((self.requested, *failures), return_when=asyncio.FIRST_COMPLETED)
        for failure in failures:
            if failure.done():
                failure.result()


Body = Callable[[ProcessConfig, Stop], Awaitable[int]]


def run_process(body: Body) -> None:
    """Run one process to its end. The only argument is the path of its config, written by `ordinal`."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m {body.__module__} PROCESS_CONFIG.json")
    try:
        config = load_process_config(Path(sys.argv[1]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{sys.argv[1]}: not a process config: {error}")
    set_up_logging(config.name)
    # A committer's thread must not wait for the loop's thread longer than a group of records takes.
    sys.setswitchinterval(0.0005)
    sys.exit(uvloop.run(_to_its_end(body, config)))


async def _to_its_end(body: Body, config: ProcessConfig) -> int:
    try:
        return await body(config, Stop())
    except Exception:
        log.exception("process failed")
        return 1


def freeze_memory() -> None:
    """Leave what start-up made to no collector, and collect no more: hot processes make no reference cycles."""
    gc.collect()
    gc.freeze()
    gc.disable()


def stream_limits(config: ProcessConfig) -> StreamLimits:
    """The limits of streams out of all the limits of the venue."""
    names = StreamLimits.__dataclass_fields__
    return StreamLimits(**{name: value for name, value in config.limits.items() if name in names})


def stream_clients(config: ProcessConfig) -> dict[str, StreamClient]:
    """A client for every partition: one connection per sequencer, shared by the partitions homed on it."""
    limits = stream_limits(config)
    by_sequencer = {name: StreamClient(address, config.name, limits) for name, address in config.sequencers.items()}
    return {home.name: by_sequencer[home.sequencer] for home in config.partitions}


def sequencer_facts(config: ProcessConfig, clients: dict[str, StreamClient]) -> Facts:
    """Whether each sequencer is connected, and why not."""
    return {
        home.sequencer: {"connected": clients[home.name].connected, "reason": clients[home.name].reason}
        for home in config.partitions
    }


async def serve(config: ProcessConfig, facts: Callable[[], Facts]) -> asyncio.Server:
    """Answer on the process's facts socket."""
    return await serve_facts(config.facts_path, config.name, facts)
