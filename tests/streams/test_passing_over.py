"""What nothing concerns is not sent, what is far behind is served in shares, what nobody waits for is synced later."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from exchange.records.positions import End, Epoch, Position, StreamPosition
from exchange.streams.block_reader import BlockReader, ReadGapError
from exchange.streams.client import StreamClient
from exchange.streams.levels import COMMITTED_1, SEQUENCED
from exchange.streams.limits import StreamLimits
from exchange.streams.sequencer import Sequencer
from exchange.streams.wire import PROTOCOL_VERSION, FrameSplitter, FrameType, control_fields, control_frame
from tests.streams.venue_of_streams import Recorder, address, client, sequencer, until


class OrdersOnly(Recorder):
    """A reader of a whole partition that reads orders only, and counts how often it was told anything."""

    def __init__(self, level: int) -> None:
        super().__init__(level, Position(0))
        self.block_reader = BlockReader("sym-1", Position(0), wants=lambda stream: stream.startswith("orders/"))
        self.told: list[int] = []

    def level_passed(self, end: End) -> None:
        self.told.append(self.block_reader.end)
        super().level_passed(end)


class Raw:
    """A peer that speaks the protocol by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._splitter = FrameSplitter(1_000_000)
        self.frames: list[tuple[int, bytes]] = []

    @classmethod
    async def connect(cls, data_dir: Path) -> "Raw":
        raw = cls(*await asyncio.open_unix_connection(address(data_dir).unix_path))
        raw.writer.write(control_frame(FrameType.HELLO, PROTOCOL_VERSION, "observer", None))
        return raw

    async def until(self, kind: FrameType) -> tuple[Any, ...]:
        """The fields of the next frame of a kind; those before it stay in `frames`."""
        async with asyncio.timeout(10):
            while True:
                while self.frames:
                    found, body = self.frames.pop(0)
                    if found == kind:
                        return control_fields(body, 0) if kind != FrameType.BLOCK else (body,)
                self.frames += self._splitter.feed(await self._reader.read(65536))


@pytest.mark.parametrize("level", [SEQUENCED, COMMITTED_1])
async def test_a_reader_is_not_sent_blocks_of_streams_it_does_not_read(tmp_path: Path, level: int) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        tape, orders = (writer.writer("sym-1", name, None) for name in ("tape", "orders/A/1"))
        writer.stage(tape, [b"first"])
        writer.stage(orders, [b"first"])
        reader = OrdersOnly(level)
        writer.subscribe(reader)
        await reader.until(1)
        sent = count_blocks(writer)
        for place in range(10):
            writer.stage(tape, [b"%d" % place])
            await until(lambda place=place: tape.end == place + 2)
        await until(lambda: reader.block_reader.end == 14)
        assert sent == []
        writer.stage(orders, [b"second"])
        assert [(stream, n, payload) for _, stream, n, payload in await reader.until(2)] == [
            ("orders/A/1", 0, b"first"),
            ("orders/A/1", 1, b"second"),
        ]
        assert len(sent) == 1


def count_blocks(reading: StreamClient) -> list[bytes]:
    sent: list[bytes] = []
    handle = reading._handlers[FrameType.BLOCK]

    def counted(body: bytes) -> None:
        sent.append(body)
        handle(body)

    reading._handlers[FrameType.BLOCK] = counted
    return sent


async def test_a_stream_bound_later_is_passed_over_too(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        reader = OrdersOnly(SEQUENCED)
        writer.subscribe(reader)
        tape = writer.writer("sym-1", "tape", None)
        writer.stage(tape, [b"0"])
        await until(lambda: reader.block_reader.end == 2)
        await writer.state("sym-1")  # what the reader has said about the new stream has arrived
        sent = count_blocks(writer)
        writer.stage(tape, [b"1"])
        await until(lambda: reader.block_reader.end == 3)
        assert sent == []
        assert reader.records == []


def test_a_reader_takes_no_block_when_it_has_missed_what_was_before() -> None:
    reader = BlockReader("sym-1", Position(0))
    reader.subscribed(Epoch(1), Position(5), [])
    reader.passed_over(Position(5), Position(8))
    reader.passed_over(Position(3), Position(7))
    assert reader.end == 8
    with pytest.raises(ReadGapError, match="sym-1: passed over from 9 follows 8"):
        reader.passed_over(Position(9), Position(10))


@pytest.mark.parametrize(
    ("number", "streams", "reason"),
    [
        (7, [0], "there is no subscription 7"),
        (1, [9], "a stream to pass over is none of sym-1"),
        (1, ["tape"], "a stream to pass over is none of sym-1"),
    ],
)
async def test_only_what_there_is_can_be_passed_over(
    tmp_path: Path, number: int, streams: list[object], reason: str
) -> None:
    async with sequencer(tmp_path):
        raw = await Raw.connect(tmp_path)
        raw.writer.write(control_frame(FrameType.SUBSCRIBE, 1, "sym-1", 0, SEQUENCED, None, 0))
        raw.writer.write(control_frame(FrameType.PASS_OVER, number, streams))
        assert await raw.until(FrameType.REFUSED) == (reason,)
        raw.writer.close()


async def test_a_subscription_has_a_number_that_its_frames_can_carry(tmp_path: Path) -> None:
    async with sequencer(tmp_path):
        raw = await Raw.connect(tmp_path)
        raw.writer.write(control_frame(FrameType.SUBSCRIBE, 2**32, "sym-1", None, SEQUENCED, None, 0))
        assert await raw.until(FrameType.REFUSED) == ("subscription 4294967296 is above 4294967295",)
        raw.writer.close()


async def written(running: Sequencer, writer: StreamClient, count: int) -> None:
    """A long tape, read from the log alone, with one order at its end."""
    tape = writer.writer("sym-1", "tape", None)
    for place in range(count):
        writer.stage(tape, [b"%d" % place])
        await until(lambda place=place: tape.end == place + 1)
    order = writer.writer("sym-1", "orders/A/1", None)
    writer.stage(order, [b"order"])
    writer.stage(tape, [b"last"])
    await until(lambda: tape.settled == count + 1)
    assert running.appenders["sym-1"].recent.first > 0


async def test_nobody_waits_for_a_reader_that_finds_nothing_in_a_long_log(tmp_path: Path) -> None:
    limits = StreamLimits(recent_bytes=1, reader_buffer_bytes=300, level_interval_ms=1)
    async with sequencer(tmp_path, limits) as running, client(tmp_path, "writer") as writer:
        await written(running, writer, 100)
        raw = await Raw.connect(tmp_path)
        await raw.until(FrameType.WELCOME)
        raw.writer.write(control_frame(FrameType.SUBSCRIBE, 1, "sym-1", 0, COMMITTED_1, ["orders/A/1"], 0))
        raw.writer.write(control_frame(FrameType.STATE, 2, "sym-1"))
        await raw.until(FrameType.STATE_IS)
        (peer,) = (peer for peer in running.peers if peer.process == "observer")
        (subscription,) = peer._subscriptions.values()
        assert subscription.resting
        assert subscription.next < 60
        while b"order" not in (await raw.until(FrameType.BLOCK))[0]:
            pass
        raw.writer.close()


async def test_a_read_of_a_sparse_stream_is_answered_in_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exchange.streams.sequencer_peer._TURN_BYTES", 300)
    limits = StreamLimits(recent_bytes=1, level_interval_ms=1)
    async with sequencer(tmp_path, limits) as running, client(tmp_path, "writer") as writer:
        order = writer.writer("sym-1", "orders/A/1", None)
        writer.stage(order, [b"first"])
        await until(lambda: order.end == 1)
        await written(running, writer, 30)
        runs, last = await writer.read_stream("sym-1", "orders/A/1", StreamPosition(0))
        assert (runs, last) == ([(0, [b"first"])], False)
        runs, last = await writer.read_stream("sym-1", "orders/A/1", StreamPosition(1))
        assert (runs, last) == ([(1, [b"order"])], True)


async def test_what_nobody_waits_for_is_synced_with_what_somebody_does(
    tmp_path: Path,
) -> None:
    limits = StreamLimits(level_interval_ms=60_000)
    async with sequencer(tmp_path, limits) as running, client(tmp_path, "writer") as writer:
        orders, tape = (writer.writer("sym-1", name, None) for name in ("orders/A/1", "tape"))
        reader = Recorder(COMMITTED_1, Position(0), ("tape",))
        writer.subscribe(reader)
        await until(lambda: reader.ends and tape.number is not None and orders.number is not None)
        ordered = running.appenders["sym-1"].stream("orders/A/1")
        assert ordered is not None
        writer.stage(orders, [b"order"])
        await until(lambda: ordered.end == 1)
        await writer.state("sym-1")
        assert ordered.settled == 0
        writer.stage(tape, [b"trade"])
        await until(lambda: b"trade" in [payload for *_, payload in reader.records])
        assert ordered.settled == 1


async def test_what_nobody_waits_for_is_synced_all_the_same(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", None)
        writer.stage(tape, [b"trade"])
        await until(lambda: tape.settled == 1)
