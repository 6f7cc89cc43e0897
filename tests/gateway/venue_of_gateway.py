"""A venue in this process: sequencer, matcher, partitioner and gateway, each on real sockets, in one loop.

One matcher and one partitioner per symbol partition; no clock, so that positions are what the test makes them. The
parts can be stopped and started one by one, and the disk can be held.
"""

import asyncio
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import argon2
import uvloop

from exchange.decoding.drive import DecoderDriver
from exchange.hosting.process_config import (
    Access,
    GatewayEntry,
    PartitionHome,
    ProcessConfig,
    SequencerAddress,
    SessionEntry,
)
from exchange.records import reference_data
from exchange.records.codec import encode
from exchange.records.record import Record
from exchange.records.reference_data import instrument_added, participant_added
from exchange.streams import committer
from exchange.streams.access import AccessTable
from exchange.streams.client import StreamClient
from exchange.streams.levels import COMMITTED_1, SEQUENCED
from exchange.streams.limits import StreamLimits
from exchange.streams.log_reader import log_directory
from exchange.streams.segment import SEGMENT_HEADER_SIZE, list_segments
from exchange.streams.sequencer import Sequencer
from exchange.streams.sequencer_peer import Peer
from exchange.symbol_partition.matcher import Matcher
from exchange.symbol_partition.user_partitioner import UserPartitioner
from gateway.fix_connection import FixConnection
from gateway.order_entry_session import OrderEntrySession
from gateway.run_gateway import Gateway
from operations.limits import DEFAULTS
from tests.gateway.fix_client import FixClient

SYMBOL_PARTITIONS = ("sym-1", "sym-2")
PARTITIONS = (*SYMBOL_PARTITIONS, "user-1", "user-2")
SYMBOLS = {"sym-1": "ALFA", "sym-2": "GAMA"}
USER_PARTITIONS = {"ACME": "user-1", "BOLT": "user-2", "CRUX": "user-1"}
CENTS = (1, 2, 1, 0)
_PASSWORD_HASH = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("demo")


def access() -> list[Access]:
    """Who may do what; the gateway's part is that of the demo venue's."""
    rows = []
    for name in SYMBOL_PARTITIONS:
        rows += [
            Access("operator", name, (), ("refdata", "clock")),
            Access("matcher", name, ("*",), ("tape",)),
            Access("partitioner", name, ("*",), ()),
            Access("gateway-1", name, ("refdata",), ("orders/*",)),
        ]
    for name in ("user-1", "user-2"):
        rows += [Access("partitioner", name, (), ("sym-1/*", "sym-2/*")), Access("gateway-1", name, ("*",), ())]
    return rows


class RecordedAccess(AccessTable):
    """The access table, with a memory of what was asked."""

    def __init__(self, entries: Iterable[Access]) -> None:
        super().__init__(entries)
        self.asked: list[tuple[str, str, str, Any]] = []

    def may_write(self, process: str, partition: str, stream: str) -> bool:
        self.asked.append((process, "write", partition, stream))
        return super().may_write(process, partition, stream)

    def may_read(self, process: str, partition: str, streams: Iterable[str] | None) -> bool:
        self.asked.append((process, "read", partition, None if streams is None else tuple(streams)))
        return super().may_read(process, partition, streams)


class HeldDisk:
    """Syncs wait while `held` says so; nothing is lost by it until the machine crashes."""

    def __init__(self) -> None:
        self.held: Callable[[], bool] = lambda: False
        self.released = threading.Event()

    def fdatasync(self, descriptor: int) -> None:
        if self.held():
            self.released.wait(30)
        os.fdatasync(descriptor)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


class Venue:
    """What runs, by name; `port` is the gateway's."""

    def __init__(self, directory: Path, limits: dict[str, int]) -> None:
        self.directory = directory
        self.limits = limits
        self.access = RecordedAccess(access())
        self.disk = HeldDisk()
        self.port = 0
        self._address = SequencerAddress(unix_path=str(directory / "s.sock"))
        self._clients: dict[str, StreamClient] = {}
        self._members: list[FixClient] = []

    # --- the sequencer

    async def start_sequencer(self) -> None:
        path = self._address.unix_path
        assert path is not None
        Path(path).unlink(missing_ok=True)
        named = StreamLimits.__dataclass_fields__
        held_apart = {"prompt_sync_bytes": 0}  # a disk that is held must hold a thread, not the loop of the test
        given = {name: value for name, value in self.limits.items() if name in named}
        stream_limits = StreamLimits(**(held_apart | given))
        self.sequencer = Sequencer(self.directory, PARTITIONS, self.access, stream_limits, None)
        self._server = await asyncio.get_running_loop().create_unix_server(lambda: Peer(self.sequencer), path)

    async def stop_sequencer(self) -> None:
        self._server.close()
        self.sequencer.close()
        await self._until_lost()

    async def _until_lost(self) -> None:
        for client in (*self._clients.values(), *self.gateway_clients):
            await until(lambda client=client: not client.connected)

    def settled(self, partition: str) -> list[Record]:
        """The records of a partition that are on disk."""
        return list(self.sequencer.log.reader.records(partition))

    def hold_disk(self, partition: str) -> None:
        """From the next record of the partition on, nothing is settled."""
        appender = self.sequencer.appenders[partition]
        end = appender.end
        self.disk.released.clear()
        self.disk.held = lambda: appender.end > end

    async def crash(self) -> None:
        """The machine of the sequencer goes down: what was not settled is lost, but for some bytes of a torn block."""
        self._server.close()
        synced = self.sequencer.log.synced
        for peer in list(self.sequencer.peers):
            peer.close()
        await self._until_lost()
        self.disk.held = lambda: False
        self.disk.released.set()
        self.sequencer.log.close()
        (segment,) = list_segments(log_directory(self.directory))
        kept = SEGMENT_HEADER_SIZE + synced + 20
        assert segment.path.stat().st_size > kept
        os.truncate(segment.path, kept)

    # --- decoders

    def _client(self, process: str) -> StreamClient:
        client = self._clients[process] = StreamClient(self._address, process, StreamLimits())
        client.start()
        return client

    def start_matcher(self) -> None:
        client = self._client("matcher")
        for name in SYMBOL_PARTITIONS:
            DecoderDriver(lambda name=name: Matcher(name), name, "a", SEQUENCED, {name: client})

    def start_partitioner(self) -> None:
        client = self._client("partitioner")
        clients = dict.fromkeys(PARTITIONS, client)
        for name in SYMBOL_PARTITIONS:
            DecoderDriver(lambda name=name: UserPartitioner(name), name, "a", COMMITTED_1, clients)

    async def stop_client(self, process: str) -> None:
        client = self._clients.pop(process)
        await client.close()
        if client.failed.done():
            client.failed.exception()

    async def publish_reference_data(self) -> None:
        operator = self._client("operator")
        for name in SYMBOL_PARTITIONS:
            writer = operator.writer(name, reference_data.STREAM, None, from_end=True)
            await operator.opened(writer)
            records = [encode(instrument_added(SYMBOLS[name], CENTS, 1_000_000))]
            records += [encode(participant_added(*entry)) for entry in USER_PARTITIONS.items()]
            operator.stage(writer, records)
            await until(lambda writer=writer: writer.settled == writer.next)

    # --- the gateway

    def config(self) -> ProcessConfig:
        sessions = tuple(
            SessionEntry(f"{participant}-{number}", participant, "order_entry", "sym-1", _PASSWORD_HASH)
            for participant in USER_PARTITIONS
            for number in (1, 2)
        )
        return ProcessConfig(
            name="gateway-1",
            venue="ordinal",
            data_dir=str(self.directory),
            run_dir=str(self.directory),
            roles=("gateway",),
            partitions=tuple(PartitionHome(name, "sequencer") for name in PARTITIONS),
            sequencers={"sequencer": self._address},
            access=(),
            settle_level=1,
            limits=DEFAULTS | self.limits,
            gateway=GatewayEntry("ORDINAL", "127.0.0.1", 0, sessions, SYMBOL_PARTITIONS, USER_PARTITIONS),
        )

    async def start_gateway(self) -> None:
        config = self.config()
        assert config.gateway is not None
        self.gateway = Gateway(config, config.gateway)
        self.gateway.start()
        async with asyncio.timeout(20):
            self.port = await self.gateway.open()

    async def connect(self, comp_id: str = "ACME-1", number: int = 1, receive_buffer: int | None = None) -> FixClient:
        """A member's connection that has said nothing; `number` is what it will say first."""
        member = await FixClient.connect(self.port, comp_id, number, receive_buffer)
        self._members.append(member)
        return member

    async def logged_on(
        self, comp_id: str = "ACME-1", heart_bt_int: int = 30, receive_buffer: int | None = None
    ) -> FixClient:
        """A member logged on with 141=Y, the answer taken. With `receive_buffer` the kernel takes in little for it."""
        member = await self.connect(comp_id, receive_buffer=receive_buffer)
        await member.log_on(f"98=0|108={heart_bt_int}|141=Y|554=demo|")
        answer = f"35=A|49=ORDINAL|56={comp_id}|34=1|52=T|98=0|108={heart_bt_int}|141=Y|"
        assert await member.frames(1) == [answer]
        if receive_buffer is not None:
            ours = self.connection(comp_id).transport.get_extra_info("socket")
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, receive_buffer)
        return member

    async def again(self, before: FixClient, expected: int) -> FixClient:
        """A member logged on again without a reset, once its last connection is gone; `expected` is our Logon's 34."""
        await self.released(before.comp_id)
        member = await self.connect(before.comp_id, before.number)
        await member.log_on()
        answer = f"35=A|49=ORDINAL|56={before.comp_id}|34={expected}|52=T|98=0|108=30|"
        assert await member.frames(1) == [answer]
        return member

    @property
    def gateway_clients(self) -> list[StreamClient]:
        return list(self.gateway._distinct)

    def session(self, name: str = "ACME-1") -> OrderEntrySession:
        """The gateway's side of a session."""
        return self.gateway.sessions[name]

    def connection(self, name: str = "ACME-1") -> FixConnection:
        """The gateway's end of the connection that has a session."""
        found = self.session(name).connection
        assert isinstance(found, FixConnection)
        return found

    async def released(self, name: str = "ACME-1") -> None:
        """Until no connection has the session."""
        await until(lambda: self.session(name).connection is None)

    async def stop_gateway(self) -> None:
        await self.gateway.close()
        for failure in self.gateway.failures:
            if failure.done():
                failure.exception()

    async def close(self) -> None:
        self.disk.held = lambda: False
        self.disk.released.set()
        for member in self._members:
            member.close()
        await self.stop_gateway()
        for process in list(self._clients):
            await self.stop_client(process)
        self._server.close()
        self.sequencer.close()


@asynccontextmanager
async def venue(**limits: int) -> AsyncIterator[Venue]:
    """A running venue with these `[limits]`."""
    directory = Path(tempfile.mkdtemp(prefix="ordinal-"))
    running = Venue(directory, limits)
    committer.os = running.disk  # type: ignore[assignment]  # the disk of this venue
    try:
        await running.start_sequencer()
        await running.publish_reference_data()
        running.start_matcher()
        running.start_partitioner()
        await running.start_gateway()
        yield running
        for failure in running.gateway.failures:
            assert not failure.done(), failure.exception()
    finally:
        await running.close()
        committer.os = os
        shutil.rmtree(directory, ignore_errors=True)


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until the condition holds; twenty seconds at most."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what is waited for are plain attributes of the product's objects
            await asyncio.sleep(0.001)


def on_uvloop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on the loop that the processes run on."""

    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        uvloop.run(test(*arguments, **named))

    return run
