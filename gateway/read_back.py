"""Records of a user partition, read back for one session: a stretch of each stream at a time."""

import asyncio
from typing import Protocol

from exchange.records.positions import StreamPosition
from exchange.streams.block_reader import ReadGapError
from exchange.streams.client import StreamClient

_NOTHING: tuple[StreamPosition, list[bytes]] = (StreamPosition(0), [])


class ReadPartition(Protocol):
    """A partition that is being read all along."""

    partition: str

    def next_move(self) -> asyncio.Future[None]:
        """Done when the partition has been subscribed to again or has brought another block."""


class ReadBack:
    """The stretch read last is kept for each stream: records are asked for in order, a few streams in turns."""

    def __init__(self, client: StreamClient, read: ReadPartition) -> None:
        self._client = client
        self._read = read
        self._stretches: dict[str, tuple[StreamPosition, list[bytes]]] = {}

    def held(self, stream: str, position: StreamPosition) -> bytes | None:
        """The payload at a position of a stretch that is kept, else None."""
        start, payloads = self._stretches.get(stream, _NOTHING)
        return payloads[position - start] if start <= position < start + len(payloads) else None

    async def records(self, stream: str, first: StreamPosition, count: int) -> list[bytes]:
        """Up to `count` payloads from `first` on, at least one."""
        if self.held(stream, first) is None:
            self._stretches[stream] = first, await self._stretch_from(stream, first)
        start, payloads = self._stretches[stream]
        return payloads[first - start : first - start + count]

    async def _stretch_from(self, stream: str, first: StreamPosition) -> list[bytes]:
        """Outlives a sequencer: waits for the next one, and for records that a new epoch has not brought back yet.

        A report that was sent before is never gap-filled (architecture, sessions).
        """
        while True:
            moved = self._read.next_move()
            try:
                runs, _ = await self._client.read_stream(self._read.partition, stream, first)
            except ConnectionError:
                runs = []
            if runs:
                if runs[0][0] != first:
                    raise ReadGapError(f"{self._read.partition} {stream}: {runs[0][0]} read at {first}")
                return [payload for _, payloads in runs for payload in payloads]
            await asyncio.wait((moved,))
