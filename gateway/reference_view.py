"""What the gateway knows of reference data: the `refdata` stream of each symbol partition, followed for ever."""

import asyncio
from collections.abc import Mapping

from exchange.hosting.log import logger
from exchange.records import reference_data
from exchange.records.codec import decode_fields
from exchange.records.kinds import Kind
from exchange.records.positions import End, Position, StreamEnd
from exchange.records.reference_data import Units
from exchange.streams.block_reader import BlockReader, ReadGapError, ReadRun
from exchange.streams.client import StreamClient
from exchange.streams.levels import COMMITTED_1

log = logger()


class ReferenceReader:
    """Reads one partition's `refdata` once it is settled, and keeps its instruments and participants."""

    def __init__(self, partition: str, client: StreamClient) -> None:
        self.level = COMMITTED_1
        self.streams: tuple[str, ...] | None = (reference_data.STREAM,)
        self._partition = partition
        self.block_reader = BlockReader(partition, Position(0))
        self.instruments: dict[str, Units] = {}
        self.participants: dict[str, str] = {}
        self.end = 0
        self.changed = asyncio.Event()
        client.subscribe(self)

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """Reading begins or goes on: nothing to prepare."""

    def cut(self, cut: Position) -> None:
        """Settled input survives: nothing that was read is ever cut."""
        raise AssertionError(f"{self._partition}: settled records cut at {cut}")

    def received(self, run: ReadRun) -> None:
        """Records of `refdata`, in order; records of the binding stream come along and are none of ours."""
        if run.stream != reference_data.STREAM:
            return
        if run.first != self.end:
            raise ReadGapError(f"{self._partition} {run.stream}: {run.first} follows {self.end}")
        for payload in run.payloads:
            fields = decode_fields(payload)
            if fields[0] == Kind.INSTRUMENT_ADDED:
                self.instruments.setdefault(fields[1], fields[2])
            elif fields[0] == Kind.PARTICIPANT_ADDED:
                self.participants.setdefault(fields[1], fields[2])
        self.end = run.first + len(run.payloads)
        self.changed.set()

    def level_passed(self, end: End) -> None:
        """How far the partition has come does not matter here."""


async def participants_known(readers: Mapping[str, ReferenceReader], participants: frozenset[str]) -> None:
    """Wait until every symbol partition's reference data names the participants: before that no port opens."""
    for partition, reader in readers.items():
        while not participants <= reader.participants.keys():
            missing = sorted(participants - reader.participants.keys())
            log.info("waiting for reference data", partition=partition, participants=missing)
            reader.changed.clear()
            await reader.changed.wait()
