"""A sequencer in this process on a real Unix socket, and what tests talk to it with."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from exchange.hosting.process_config import Access, SequencerAddress
from exchange.records.positions import End, Position, StreamEnd
from exchange.streams.access import AccessTable
from exchange.streams.block_reader import BlockReader, ReadRun
from exchange.streams.client import StreamClient
from exchange.streams.limits import StreamLimits
from exchange.streams.sequencer import Sequencer
from exchange.streams.sequencer_peer import Peer

ACCESS = (
    Access("writer", "sym-1", ("*",), ("tape", "orders/*")),
    Access("twin", "sym-1", ("*",), ("tape",)),
    Access("gateway", "sym-1", ("refdata",), ("orders/*",)),
    Access("observer", "sym-1", ("*",), ()),
)


def address(data_dir: Path) -> SequencerAddress:
    return SequencerAddress(unix_path=str(data_dir / "s.sock"))


@asynccontextmanager
async def sequencer(data_dir: Path, limits: StreamLimits | None = None) -> AsyncIterator[Sequencer]:
    """A running sequencer of the partition sym-1."""
    running = Sequencer(data_dir, ("sym-1",), AccessTable(ACCESS), limits or StreamLimits(), None)
    path = address(data_dir).unix_path
    assert path is not None
    Path(path).unlink(missing_ok=True)
    server = await asyncio.get_running_loop().create_unix_server(lambda: Peer(running), path)
    try:
        yield running
    finally:
        server.close()
        running.close()
        await asyncio.sleep(0)


class Recorder:
    """A reader that keeps everything, and can be waited for."""

    def __init__(self, level: int, first: Position | None = None, streams: tuple[str, ...] | None = None) -> None:
        self.level = level
        self.streams = streams
        self.block_reader = BlockReader("sym-1", first)
        self.records: list[tuple[int, str, int, bytes]] = []
        self.cuts: list[int] = []
        self.ends: dict[str, StreamEnd] = {}
        self._moved = asyncio.Event()

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        self.ends = ends
        self._moved.set()

    def cut(self, cut: Position) -> None:
        self.cuts.append(cut)
        self.records = [record for record in self.records if record[0] < cut]
        self.block_reader = BlockReader("sym-1", cut)

    def received(self, run: ReadRun) -> None:
        for offset, payload in enumerate(run.payloads):
            self.records.append((run.position + offset, run.stream, run.first + offset, payload))

    def level_passed(self, end: End) -> None:
        self._moved.set()

    async def until(self, count: int) -> list[tuple[int, str, int, bytes]]:
        """Everything received, once it is at least `count` records."""
        async with asyncio.timeout(10):
            while len(self.records) < count:
                self._moved.clear()
                await self._moved.wait()
        return self.records


@asynccontextmanager
async def client(data_dir: Path, process: str) -> AsyncIterator[StreamClient]:
    """A connected client."""
    connected = StreamClient(address(data_dir), process, StreamLimits())
    connected.start()
    try:
        yield connected
    finally:
        await connected.close()
        if connected.failed.done():
            connected.failed.exception()


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until the condition holds; ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for are plain attributes of the product's objects
            await asyncio.sleep(0.001)
