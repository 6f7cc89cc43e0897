"""The sequencer over real sockets: twins, levels, epochs, rights, hostile peers, slow readers."""

import asyncio
import gc
from pathlib import Path

import pytest

from exchange.records.positions import Nanoseconds, Position, StreamPosition
from exchange.streams.block import make_run
from exchange.streams.client import StreamClientError
from exchange.streams.levels import COMMITTED_1, SEQUENCED
from exchange.streams.limits import StreamLimits
from exchange.streams.sequencer_peer import Peer
from exchange.streams.stream_writer import ForeignRecordsError
from exchange.streams.wire import (
    PROTOCOL_VERSION,
    FrameSplitter,
    FrameType,
    control_fields,
    control_frame,
    publish_frame,
)
from tests.streams.venue_of_streams import Recorder, address, client, sequencer, until

BINDING = (0, "streams", 0, b"\x93\x01\x01\xa4tape")


@pytest.mark.parametrize("level", [SEQUENCED, COMMITTED_1])
async def test_twins_write_one_stream_and_readers_get_it_once(tmp_path: Path, level: int) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as a, client(tmp_path, "twin") as b:
        recorder = Recorder(level, Position(0))
        a.subscribe(recorder)
        for place in range(50):
            for twin, tag in ((a, "a"), (b, "b")):
                twin.stage(twin.writer("sym-1", "tape", tag), [b"%d" % place, b"more"])
            await asyncio.sleep(0)
        records = await recorder.until(101)
    payloads = [payload for place in range(50) for payload in (b"%d" % place, b"more")]
    assert records == [BINDING] + [(n + 1, "tape", n, payload) for n, payload in enumerate(payloads)]


async def test_a_reader_may_begin_at_any_position_and_at_the_end(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", None)
        writer.stage(tape, [b"%d" % place for place in range(10)])
        first = Recorder(SEQUENCED, Position(0))
        writer.subscribe(first)
        await first.until(11)
        for begin in range(1, 11):
            recorder = Recorder(SEQUENCED, Position(begin))
            writer.subscribe(recorder)
            assert await recorder.until(11 - begin) == first.records[begin:]
        at_end = Recorder(SEQUENCED, None)
        writer.subscribe(at_end)
        await until(lambda: at_end.ends)
        assert at_end.ends == {"streams": 1, "tape": 10}
        writer.stage(tape, [b"new"])
        assert await at_end.until(1) == [(11, "tape", 10, b"new")]


async def test_a_reader_of_named_streams_gets_those_and_no_others(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        recorder = Recorder(SEQUENCED, Position(0), ("orders/A/1",))
        writer.subscribe(recorder)
        for place in range(3):
            writer.stage(writer.writer("sym-1", "tape", None), [b"t%d" % place])
            writer.stage(writer.writer("sym-1", "orders/A/1", None), [b"o%d" % place])
            await asyncio.sleep(0.01)
        records = await recorder.until(5)
    assert [(stream, place, payload) for _, stream, place, payload in records if stream != "streams"] == [
        ("orders/A/1", place, b"o%d" % place) for place in range(3)
    ]


async def test_reading_and_writing_need_rights(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "gateway") as gateway:
        gateway.subscribe(Recorder(SEQUENCED, Position(0), ("tape",)))
        with pytest.raises(StreamClientError, match=r"gateway may not read \('tape',\) of sym-1"):
            await gateway.failed
    async with sequencer(tmp_path), client(tmp_path, "gateway") as gateway:
        gateway.subscribe(Recorder(SEQUENCED, Position(0)))
        with pytest.raises(StreamClientError, match="gateway may not read all of sym-1"):
            await gateway.failed
    async with sequencer(tmp_path), client(tmp_path, "gateway") as gateway:
        gateway.writer("sym-1", "tape", None)
        with pytest.raises(StreamClientError, match="gateway may not write sym-1 tape"):
            await gateway.failed
    async with sequencer(tmp_path), client(tmp_path, "stranger") as stranger:
        with pytest.raises(StreamClientError, match="refused this process: process 'stranger' is not of this venue"):
            await stranger.failed


async def test_an_untagged_stream_has_one_live_writer(tmp_path: Path) -> None:
    async with sequencer(tmp_path) as running, client(tmp_path, "writer") as first:
        writer = first.writer("sym-1", "orders/A/1", None, from_end=True)
        recorder = Recorder(SEQUENCED, Position(0))
        first.subscribe(recorder)
        await until(lambda: writer.number is not None)
        first.stage(writer, [b"first"])
        await recorder.until(2)
        async with client(tmp_path, "gateway") as second:
            waiting = second.writer("sym-1", "orders/A/1", None, from_end=True)
            await until(lambda: running.refused_requests)
            assert waiting.number is None
            await first.close()
            await until(lambda: waiting.number is not None)
            assert waiting.next == 1


async def test_a_reader_far_behind_is_served_from_the_log(tmp_path: Path) -> None:
    limits = StreamLimits(recent_bytes=1, segment_bytes=4000, reader_buffer_bytes=500)
    async with sequencer(tmp_path, limits) as running, client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", None)
        for place in range(200):
            writer.stage(tape, [b"%d" % place])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await until(lambda: tape.settled >= 200)
        assert running.appenders["sym-1"].recent.first > 0
        recorder = Recorder(COMMITTED_1, Position(0))
        writer.subscribe(recorder)
        assert await recorder.until(201) == [BINDING] + [(n + 1, "tape", n, b"%d" % n) for n in range(200)]
        runs, last = await writer.read_stream("sym-1", "tape", StreamPosition(150))
        found = [payload for _, payloads in runs for payload in payloads]
        assert found == [b"%d" % n for n in range(150, 150 + len(found))]
        assert last is (len(found) == 50)


async def test_writers_publish_again_what_a_new_epoch_has_not_got(tmp_path: Path) -> None:
    async with client(tmp_path, "writer") as writer:
        recorder = Recorder(SEQUENCED, Position(0))
        writer.subscribe(recorder)
        tape = writer.writer("sym-1", "tape", "a")
        async with sequencer(tmp_path):
            writer.stage(tape, [b"0", b"1", b"2"])
            await recorder.until(4)
            await until(lambda: tape.settled >= 3)
        await until(lambda: not writer.connected)
        writer.stage(tape, [b"3"])
        async with sequencer(tmp_path):
            records = await recorder.until(5)
            assert recorder.cuts == []
            assert recorder.block_reader.epoch == 2
    assert records == [BINDING] + [(n + 1, "tape", n, b"%d" % n) for n in range(4)]


async def test_a_reader_past_the_end_of_its_epoch_is_told_the_cut(tmp_path: Path) -> None:
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", "a")
        writer.stage(tape, [b"0", b"1"])
        recorder = Recorder(SEQUENCED, Position(0))
        writer.subscribe(recorder)
        await recorder.until(3)
        await until(lambda: tape.settled >= 2)
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        # As if it had read records in epoch 1 that no disk ever held.
        ahead = Recorder(SEQUENCED, Position(9))
        ahead.block_reader.epoch = recorder.block_reader.epoch
        ahead.records = [*recorder.records, (3, "tape", 2, b"lost")]
        writer.subscribe(ahead)
        await until(lambda: ahead.cuts)
        assert ahead.cuts == [3]
        assert ahead.records == recorder.records


async def raw_exchange(data_dir: Path, sent: bytes) -> list[tuple[int, bytes]]:
    """What the sequencer answers to raw bytes until it closes."""
    reader, writer = await asyncio.open_unix_connection(address(data_dir).unix_path)
    writer.write(sent)
    answer = await asyncio.wait_for(reader.read(-1), 10)
    writer.close()
    return FrameSplitter(1_000_000).feed(answer)


HELLO = control_frame(FrameType.HELLO, PROTOCOL_VERSION, "writer", None)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\xff\xff\xff\x7f\x01", "a frame of 2147483647 bytes is outside 1 to frame_bytes 16777216"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 542393671 bytes is outside 1 to frame_bytes 16777216"),
        (control_frame(FrameType.HELLO, 1, "writer", None), "protocol version 1 is not 2"),
        (control_frame(FrameType.HELLO, PROTOCOL_VERSION, "nobody", None), "process 'nobody' is not of this venue"),
        (control_frame(FrameType.OPEN, 1, "sym-1", "tape", None), "the first frame is not a hello"),
        (b"\x02\x00\x00\x00\x01\xc1", "a control frame is not msgpack: FormatError"),
        (HELLO + b"\x01\x00\x00\x00\x09", "frame type 9 is not a request"),
        (HELLO + publish_frame(1, 1, [b"garbage"]), "a run header is cut off"),
        (HELLO + publish_frame(9, 1, []), "partition number 9 is not homed here"),
        (HELLO + publish_frame(1, 7, []), "a publish made under epoch 7 reached epoch 1"),
        (HELLO + control_frame(FrameType.OPEN, 1, "sym-9", "tape", None), "partition 'sym-9' is not homed here"),
        (HELLO + control_frame(FrameType.SUBSCRIBE, 1, "sym-1", 0, 7, None, 0), "level 7 is not kept here"),
        (
            HELLO + control_frame(FrameType.SUBSCRIBE, 1, "sym-1", "0", 0, None, 0),
            "field 2 of a control frame is a str",
        ),
        (
            HELLO + control_frame(FrameType.SUBSCRIBE, 1, "sym-1", -1, 0, None, 0),
            "field 2 of a control frame is negative",
        ),
        (
            HELLO + control_frame(FrameType.SUBSCRIBE, 1, "sym-1", 0, 0, [["tape"]], 0),
            "a subscription names a stream that is no text",
        ),
        (HELLO + control_frame(FrameType.READ, 1, "sym-1", "tape", 1.5), "field 3 of a control frame is a float"),
        (
            HELLO + control_frame(FrameType.OPEN, None, "sym-1", "tape", None),
            "field 0 of a control frame is a NoneType",
        ),
    ],
)
async def test_a_peer_that_breaks_the_protocol_is_refused_with_a_reason_and_nobody_else_notices(
    tmp_path: Path, sent: bytes, reason: str
) -> None:
    async with sequencer(tmp_path) as running, client(tmp_path, "writer") as writer:
        recorder = Recorder(SEQUENCED, Position(0))
        writer.subscribe(recorder)
        tape = writer.writer("sym-1", "tape", "a")
        writer.stage(tape, [b"before"])
        await recorder.until(2)
        frames = await raw_exchange(tmp_path, sent)
        assert frames[-1][0] == FrameType.REFUSED
        assert control_fields(frames[-1][1], 1) == (reason,)
        assert running.refused_peers == 1
        writer.stage(tape, [b"after"])
        assert (await recorder.until(3))[1:] == [(1, "tape", 0, b"before"), (2, "tape", 1, b"after")]
        assert writer.connections == 1


async def test_damaged_history_refuses_who_reads_it_with_the_place_and_nobody_else(tmp_path: Path) -> None:
    limits = StreamLimits(recent_bytes=1, segment_bytes=4000)
    async with sequencer(tmp_path, limits), client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", None)
        for place in range(200):
            writer.stage(tape, [b"%d" % place])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await until(lambda: tape.settled == 200)
        damage(tmp_path / "log" / "segment-00000002.log")
        async with client(tmp_path, "observer") as observer:
            observer.subscribe(Recorder(COMMITTED_1, Position(0)))
            with pytest.raises(StreamClientError, match=r"segment-00000002.log: damaged at log offset \d+: a block's"):
                await observer.failed
        edge = Recorder(COMMITTED_1, None)
        writer.subscribe(edge)
        await until(lambda: edge.ends)
        writer.stage(tape, [b"new"])
        assert await edge.until(1) == [(201, "tape", 200, b"new")]
        assert writer.connections == 1


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x40
    path.write_bytes(data)


async def test_a_read_near_the_edge_looks_at_the_blocks_of_its_stream_only(tmp_path: Path) -> None:
    async with sequencer(tmp_path) as running, client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", "tape", None)
        other = writer.writer("sym-1", "orders/A/1", None)
        for place in range(50):
            writer.stage(tape if place % 10 == 0 else other, [b"%d" % place])
            await asyncio.sleep(0.001)
        await until(lambda: tape.settled == 5)
        number = running.appenders["sym-1"].stream("tape")
        assert number is not None
        found = running.appenders["sym-1"].recent.of_stream(number.number, StreamPosition(3))
        assert found is not None
        assert len(list(found)) == 2
        assert await writer.read_stream("sym-1", "tape", StreamPosition(3)) == ([(3, [b"30"]), (4, [b"40"])], True)


async def test_a_peer_that_is_gone_is_forgotten_without_a_collector(tmp_path: Path) -> None:
    async with sequencer(tmp_path) as running:
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                async with client(tmp_path, "writer") as writer:
                    writer.subscribe(Recorder(SEQUENCED, Position(0)))
                    await until(lambda: writer.connected)
                await until(lambda: not running.peers)
            await asyncio.sleep(0)
            assert [item for item in gc.get_objects() if type(item) is Peer] == []
        finally:
            gc.enable()


async def test_a_process_stops_when_somebody_else_has_written_its_stream(tmp_path: Path) -> None:
    async with sequencer(tmp_path) as running, client(tmp_path, "writer") as writer:
        orders = writer.writer("sym-1", "orders/A/1", None, from_end=True)
        await writer.opened(orders)
        appender = running.appenders["sym-1"]
        stream = appender.stream("orders/A/1")
        assert stream is not None
        foreign = make_run(stream.number, StreamPosition(0), Nanoseconds(1), [b"foreign"])
        assert appender.publish(stream, None, foreign) is None
        assert writer._transport is not None
        writer._transport.abort()
        with pytest.raises(ForeignRecordsError, match="orders/A/1 ends at 1, beyond its only writer's 0"):
            await writer.failed
