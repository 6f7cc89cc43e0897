"""Logs with what a test says, sequenced by the real sequencer in this process."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from exchange.hosting.process_config import Access, SequencerAddress
from exchange.streams.access import AccessTable
from exchange.streams.client import StreamClient
from exchange.streams.limits import StreamLimits
from exchange.streams.sequencer import Sequencer
from exchange.streams.sequencer_peer import Peer
from tests.operations.venues import demo_venue

Writes = Sequence[tuple[str, str, str | None, list[bytes]]]
"""(partition, stream, replica tag, payloads), in the order in which they are to be sequenced."""


async def write_log(data_dir: Path, writes: Writes) -> None:
    """A log in which each write follows the one before it."""
    access = [Access("author", name, ("*",), ("*",)) for name in demo_venue().partitions]
    sequencer = Sequencer(data_dir, tuple(demo_venue().partitions), AccessTable(access), StreamLimits(), None)
    path = data_dir / "s.sock"
    server = await asyncio.get_running_loop().create_unix_server(lambda: Peer(sequencer), str(path))
    client = StreamClient(SequencerAddress(unix_path=str(path)), "author", StreamLimits())
    client.start()
    try:
        for partition, stream, tag, payloads in writes:
            writer = client.writer(partition, stream, tag)
            client.stage(writer, payloads)
            async with asyncio.timeout(30):
                while writer.settled < writer.next:  # noqa: ASYNC110 - told by the sequencer, announced by nobody
                    await asyncio.sleep(0.001)
    finally:
        await client.close()
        server.close()
        sequencer.close()
        await asyncio.sleep(0)
