"""The facts socket: every process tells what it knows of itself, as one JSON document per connection.

`<data>/run/<name>.sock`, mode 0600. A caller connects and reads to the end; it sends nothing. The monitor turns
facts into metrics and health, `ordinal status` into a page. A process that does not answer is not connected.
"""

import asyncio
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

Facts = dict[str, Any]


class FactsProtocol(asyncio.Protocol):
    """Writes the document and closes; ignores whatever arrives."""

    def __init__(self, facts: Callable[[], Facts]) -> None:
        self._facts = facts

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.WriteTransport, transport)
        transport.write(json.dumps(self._facts()).encode())
        transport.close()


async def serve_facts(path: Path, name: str, facts: Callable[[], Facts]) -> asyncio.Server:
    """Answer on `path` with the common facts (name, pid, times, memory, CPU) and those of `facts`."""
    started = time.time_ns()

    def document() -> Facts:
        return common_facts(name, started) | facts()

    path.unlink(missing_ok=True)
    server = await asyncio.get_running_loop().create_unix_server(lambda: FactsProtocol(document), str(path))
    path.chmod(0o600)
    return server


def common_facts(name: str, started: int) -> Facts:
    """What every process can say: times in nanoseconds UTC, resident memory in bytes, CPU in microseconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "name": name,
        "pid": os.getpid(),
        "started": started,
        "now": time.time_ns(),
        "rss_bytes": _resident_bytes(),
        "cpu_us": int((usage.ru_utime + usage.ru_stime) * 1_000_000),
    }


def _resident_bytes() -> int:
    with Path("/proc/self/statm").open() as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def ask_facts(path: Path, timeout_s: float = 2.0) -> Facts:
    """The facts of one process. OSError or TimeoutError when it does not answer, ValueError when not with JSON."""
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_unix_connection(str(path))
        try:
            document = await reader.read(-1)
        finally:
            writer.close()
    facts: Facts = json.loads(document)
    return facts
