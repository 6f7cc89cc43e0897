"""The connection of a process to a sequencer: publishes from its writers, reads for its readers, and comes back.

After every (re)connection the order is: greeting and hello; every reader subscribes from where it stands and learns
whether it has read past the end of its epoch; only then are writers opened, told the surviving end, and what is not
settled published again (architecture, sessions: epochs). One write per loop turn, one publish frame per partition.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, Protocol, cast

from exchange.hosting.log import logger
from exchange.hosting.process_config import SequencerAddress
from exchange.records.positions import End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition
from exchange.streams.block import HEADER_SIZE, Run, parse_header, parse_runs
from exchange.streams.block_reader import BlockReader, ReadRun
from exchange.streams.limits import StreamLimits
from exchange.streams.stream_writer import StreamWriter
from exchange.streams.wire import (
    BLOCK_BODY,
    PROTOCOL_VERSION,
    RECORDS_BODY,
    FrameSplitter,
    FrameType,
    ProtocolError,
    control_fields,
    control_frame,
    proof_of_secret,
    publish_frame,
)

_FIRST_RETRY_S = 0.02
_LAST_RETRY_S = 0.5
_REOPEN_S = 0.1
_LAST_WORDS_S = 2.0
log = logger()


class StreamClientError(Exception):
    """The sequencer refused what this process cannot do without, in one line."""


class Reader(Protocol):
    """What reads a partition through a client. `block_reader` says where it stands."""

    level: int
    streams: tuple[str, ...] | None
    block_reader: BlockReader

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """Reading begins (again); `ends` are the streams' ends as the sequencer has them now."""

    def cut(self, cut: Position) -> None:
        """The epoch read in ended at `cut`, below what was read: set `block_reader` to where to go on from."""

    def received(self, run: ReadRun) -> None:
        """Records, in order."""

    def level_passed(self, end: End) -> None:
        """The level this reader waits for has reached `end`."""


class StreamClient(asyncio.Protocol):
    """One per process and sequencer. `failed` ends with the error that this process must die of."""

    def __init__(self, address: SequencerAddress, process: str, limits: StreamLimits) -> None:
        self._address = address
        self._process = process
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self.reason = "not connected yet"
        self.connections = 0
        self._closing = False
        self._transport: asyncio.Transport | None = None
        self._lost: asyncio.Future[None] | None = None
        self._splitter = FrameSplitter(limits.frame_bytes)
        self._partitions: dict[str, tuple[int, Epoch]] = {}
        self._writers: dict[tuple[str, str], StreamWriter] = {}
        self._open_writers: dict[tuple[int, int], StreamWriter] = {}
        self._readers: dict[int, Reader] = {}
        self._subscribing: set[int] = set()
        self._passing_over: dict[int, int] = {}
        self._waiting: dict[int, Callable[[FrameType, Any], None]] = {}
        self._opening: dict[tuple[str, str], asyncio.Future[None]] = {}
        self._requests = 0
        self._flush_due = False
        self._dirty: dict[str, list[StreamWriter]] = {}
        self._task: asyncio.Task[None] | None = None
        self._handlers: dict[int, Callable[[bytes], None]] = {
            FrameType.BLOCK: self._block,
            FrameType.PROGRESS: self._progress,
            FrameType.LEVELS: self._levels,
            FrameType.RECORDS: self._records,
            FrameType.GREETING: self._greeting,
            FrameType.WELCOME: self._welcome,
            FrameType.OPENED: lambda body: self._answer(FrameType.OPENED, body),
            FrameType.SUBSCRIBED: lambda body: self._answer(FrameType.SUBSCRIBED, body),
            FrameType.STATE_IS: lambda body: self._answer(FrameType.STATE_IS, body),
            FrameType.FAILED: lambda body: self._answer(FrameType.FAILED, body),
            FrameType.GAP: self._gap,
            FrameType.REFUSED: self._refused,
        }

    # --- what the process asks for

    @property
    def connected(self) -> bool:
        """Whether the sequencer has welcomed this process and every reader is subscribed."""
        return bool(self._partitions) and not self._subscribing

    def start(self) -> None:
        """Connect, and connect again whenever the connection is lost."""
        self._task = self._loop.create_task(self._stay_connected())

    async def close(self) -> None:
        """Send what is staged, disconnect, stay away."""
        self._closing = True
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._transport is not None:
            self._flush()
            self._transport.close()
            if self._lost is not None:
                await asyncio.wait((self._lost,), timeout=_LAST_WORDS_S)
            if self._transport is not None:
                self._transport.abort()

    def writer(self, partition: str, stream: str, tag: str | None, from_end: bool = False) -> StreamWriter:
        """The writer of a stream, opened now or with the next connection, and again with every later one."""
        writer = self._writers.get((partition, stream))
        if writer is None:
            writer = self._writers[partition, stream] = StreamWriter(partition, stream, tag, from_end)
            if self.connected:
                self._open(writer)
        return writer

    async def opened(self, writer: StreamWriter) -> None:
        """Wait until the stream is open for the first time, so that its writer knows where to number on from."""
        if writer.number is None:
            waiting = self._opening.setdefault((writer.partition, writer.name), self._loop.create_future())
            await asyncio.shield(waiting)

    def stage(self, writer: StreamWriter, payloads: list[bytes], event_time: Nanoseconds | None = None) -> None:
        """Publish the next records of a stream at the end of this loop turn."""
        writer.stage(payloads, Nanoseconds(time.time_ns()) if event_time is None else event_time)
        self._staged(writer)

    def _staged(self, writer: StreamWriter) -> None:
        self._dirty.setdefault(writer.partition, []).append(writer)
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def subscribe(self, reader: Reader) -> None:
        """Read a partition for ever, from where `reader.block_reader` stands."""
        number = self._request()
        self._readers[number] = reader
        if self._partitions:
            self._subscribe(number, reader)

    async def read_stream(
        self, partition: str, stream: str, first: StreamPosition
    ) -> tuple[list[tuple[StreamPosition, list[bytes]]], bool]:
        """Some records of one stream from `first` on, and whether they reach its present end.

        ConnectionError when the sequencer is away; StreamClientError when it refuses.
        """
        kind, body = await self._ask(FrameType.READ, partition, stream, first)
        if kind == FrameType.FAILED:
            raise StreamClientError(body[2])
        last, blocks = body
        return _runs_from(blocks, first), last

    async def state(
        self, partition: str
    ) -> tuple[End, End, list[tuple[Epoch, Position]], list[tuple[int, str, int, int]]]:
        """(sequenced end, committed end, epochs, streams as (number, name, end, settled)) of a partition."""
        kind, fields = await self._ask(FrameType.STATE, partition)
        if kind == FrameType.FAILED:
            raise StreamClientError(fields[2])
        _, sequenced, committed, epochs, streams = fields
        return sequenced, committed, epochs, streams

    async def _ask(self, kind: FrameType, *fields: Any) -> tuple[FrameType, Any]:
        if self._transport is None or not self._partitions:
            raise ConnectionError(self.reason)
        request = self._request()
        answer: asyncio.Future[tuple[FrameType, Any]] = self._loop.create_future()

        def answered(kind: FrameType, body: Any) -> None:
            if not answer.done():
                answer.set_result((kind, body))

        self._waiting[request] = answered
        self._transport.write(control_frame(kind, request, *fields))
        lost = self._lost
        assert lost is not None
        await asyncio.wait((answer, lost), return_when=asyncio.FIRST_COMPLETED)
        self._waiting.pop(request, None)
        if not answer.done():
            raise ConnectionError(self.reason)
        return answer.result()

    def _request(self) -> int:
        self._requests += 1
        return self._requests

    # --- the connection

    async def _stay_connected(self) -> None:
        retry_s, told = _FIRST_RETRY_S, ""
        while True:
            try:
                self._lost = self._loop.create_future()
                await self._connect()
                await self._lost
                retry_s, told = _FIRST_RETRY_S, ""
            except (OSError, TimeoutError) as error:
                self.reason = f"{type(error).__name__}: {error}"
                if self.reason != told:
                    log.warning("sequencer not reached", reason=self.reason)
                    told = self.reason
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, _LAST_RETRY_S)

    async def _connect(self) -> None:
        address = self._address
        if address.unix_path is not None:
            await self._loop.create_unix_connection(lambda: self, address.unix_path)
        else:
            assert address.tcp_host is not None
            assert address.tcp_port is not None
            await self._loop.create_connection(lambda: self, address.tcp_host, address.tcp_port)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        self._transport = transport
        self._splitter = FrameSplitter(self._limits.frame_bytes)
        self.connections += 1

    def connection_lost(self, error: Exception | None) -> None:
        self.reason = f"connection lost: {error}" if error else "connection lost"
        if not self._closing:
            log.warning("sequencer lost", reason=self.reason)
        self._transport = None
        self._partitions = {}
        self._open_writers = {}
        self._subscribing = set()
        self._waiting = {}
        for writer in self._writers.values():
            writer.closed()
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        try:
            for kind, body in self._splitter.feed(data):
                self._handlers[kind](body)
        except Exception as error:
            # A reader that cannot go on stops this process, loudly; its supervisor starts it afresh.
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Something this process cannot survive."""
        if not self.failed.done():
            self.failed.set_exception(error)
        if self._transport is not None:
            self._transport.abort()

    def _greeting(self, body: bytes) -> None:
        version, nonce = control_fields(body, 2)[:2]
        if version != PROTOCOL_VERSION:
            raise ProtocolError(f"the sequencer speaks protocol version {version}, not {PROTOCOL_VERSION}")
        secret = self._address.secret
        proof = None if secret is None else proof_of_secret(secret, nonce, self._process)
        assert self._transport is not None
        self._transport.write(control_frame(FrameType.HELLO, PROTOCOL_VERSION, self._process, proof))

    def _welcome(self, body: bytes) -> None:
        (rows,) = control_fields(body, 1)[:1]
        self._partitions = {name: (number, epoch) for name, number, epoch in rows}
        self.reason = ""
        log.info("sequencer connected", epochs={name: epoch for name, _, epoch in rows})
        for number, reader in self._readers.items():
            self._subscribe(number, reader)
        self._open_when_subscribed()

    def _refused(self, body: bytes) -> None:
        raise StreamClientError(f"the sequencer refused this process: {control_fields(body, 1)[0]}")

    def _answer(self, kind: FrameType, body: bytes) -> None:
        fields = control_fields(body, 2)
        answered = self._waiting.pop(fields[0], None)
        if answered is not None:
            answered(kind, fields)

    # --- reading

    def _subscribe(self, number: int, reader: Reader) -> None:
        assert self._transport is not None
        self._subscribing.add(number)
        self._waiting[number] = lambda kind, fields: self._subscribed(number, reader, kind, fields)
        place = reader.block_reader
        self._transport.write(
            control_frame(
                FrameType.SUBSCRIBE, number, place.partition, place.next, reader.level, reader.streams, place.epoch
            )
        )

    def _subscribed(self, number: int, reader: Reader, kind: FrameType, fields: Any) -> None:
        if kind == FrameType.FAILED:
            raise StreamClientError(fields[2])
        _, _, epoch, cut, start, streams = fields
        if cut is not None:
            log.warning("read past the end of an epoch", partition=reader.block_reader.partition, cut=cut)
            reader.cut(cut)
            reader.block_reader.epoch = epoch
            self._subscribe(number, reader)
            return
        reader.block_reader.subscribed(epoch, start, streams)
        reader.subscribed({name: end for _, name, end in streams})
        self._subscribing.discard(number)
        self._passing_over[number] = 0
        self._pass_over(number, reader.block_reader)
        self._open_when_subscribed()

    def _block(self, body: bytes) -> None:
        number, since = BLOCK_BODY.unpack_from(body)
        reader = self._readers[number]
        place = reader.block_reader
        for run in place.read(body[BLOCK_BODY.size :], since):
            reader.received(run)
        reader.level_passed(place.end)
        if len(place.unread) > self._passing_over[number]:
            self._pass_over(number, place)

    def _pass_over(self, number: int, place: BlockReader) -> None:
        """Say which streams are not read, so that this process need not wake up for blocks of nothing else."""
        unread = list(place.unread)[self._passing_over[number] :]
        self._passing_over[number] += len(unread)
        if unread and self._transport is not None:
            self._transport.write(control_frame(FrameType.PASS_OVER, number, unread))

    def _levels(self, body: bytes) -> None:
        (rows,) = control_fields(body, 1)[:1]
        for number, end, since, place in rows:
            reader = self._readers[number]
            reader.block_reader.passed_over(since, place)
            reader.level_passed(end)

    def _records(self, body: bytes) -> None:
        request, last = RECORDS_BODY.unpack_from(body)
        answered = self._waiting.pop(request, None)
        if answered is not None:
            answered(FrameType.RECORDS, (bool(last), body[RECORDS_BODY.size :]))

    # --- writing

    def _open_when_subscribed(self) -> None:
        if self.connected:
            for writer in self._writers.values():
                if writer.number is None:
                    self._open(writer)

    def _open(self, writer: StreamWriter) -> None:
        if self._transport is None or writer.partition not in self._partitions:
            return
        request = self._request()
        self._waiting[request] = lambda kind, fields: self._opened(writer, kind, fields)
        self._transport.write(control_frame(FrameType.OPEN, request, writer.partition, writer.name, writer.tag))

    def _opened(self, writer: StreamWriter, kind: FrameType, fields: Any) -> None:
        if kind == FrameType.FAILED and fields[1] == "writer_alive":
            log.warning("stream not opened yet", partition=writer.partition, stream=writer.name, reason=fields[2])
            self._loop.call_later(_REOPEN_S, self._open, writer)
            return
        if kind == FrameType.FAILED:
            raise StreamClientError(fields[2])
        _, number, _, end, settled = fields
        writer.opened(number, end, settled)
        self._open_writers[self._partitions[writer.partition][0], number] = writer
        self._staged(writer)
        waiting = self._opening.pop((writer.partition, writer.name), None)
        if waiting is not None:
            waiting.set_result(None)

    def _flush(self) -> None:
        self._flush_due = False
        if self._transport is None:
            self._dirty.clear()
            return
        frames = []
        for partition, writers in self._dirty.items():
            runs = [_numbered(run, writer) for writer in writers for run in writer.take_unsent()]
            if runs:
                number, epoch = self._partitions[partition]
                frames += publish_frames(number, epoch, runs, self._limits.frame_bytes)
        self._dirty.clear()
        if frames:
            self._transport.write(b"".join(frames))

    def _progress(self, body: bytes) -> None:
        partition, _, rows = control_fields(body, 3)[:3]
        for number, end, settled in rows:
            writer = self._open_writers.get((partition, number))
            if writer is not None:
                writer.progressed(end, settled)

    def _gap(self, body: bytes) -> None:
        partition, number, first, end = control_fields(body, 4)[:4]
        raise StreamClientError(
            f"published at {first} beyond the end {end} of stream {number} of partition {partition}"
        )


def _numbered(run: Run, writer: StreamWriter) -> bytes:
    assert writer.number is not None
    return run.data if run.stream == writer.number else writer.number.to_bytes(4, "little") + run.data[4:]


def publish_frames(partition: int, epoch: int, runs: list[bytes], frame_bytes: int) -> list[bytes]:
    """As few PUBLISH frames as hold the runs, each below half the limit unless one run alone is longer."""
    frames: list[bytes] = []
    gathered: list[bytes] = []
    size = 0
    for run in runs:
        if gathered and size + len(run) > frame_bytes // 2:
            frames.append(publish_frame(partition, epoch, gathered))
            gathered, size = [], 0
        gathered.append(run)
        size += len(run)
    frames.append(publish_frame(partition, epoch, gathered))
    return frames


def _runs_from(blocks: bytes, first: StreamPosition) -> list[tuple[StreamPosition, list[bytes]]]:
    runs, start = [], 0
    while start < len(blocks):
        header = parse_header(blocks, start)
        for run in parse_runs(blocks[start : start + header.size], HEADER_SIZE):
            skip = max(0, first - run.first)
            if skip < run.record_count:
                runs.append((StreamPosition(run.first + skip), run.payloads()[skip:]))
        start += header.size
    return runs
