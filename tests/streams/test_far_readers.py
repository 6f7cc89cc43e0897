"""Laws of readers that were away: they miss nothing and go back only when something was lost (rules 5 and 13)."""

import os
import threading
from pathlib import Path

import pytest

from exchange.records.positions import End, Epoch, Nanoseconds, Position, StreamPosition
from exchange.streams.appender import Appender
from exchange.streams.block import make_run
from exchange.streams.block_reader import BlockReader, ReadGapError
from exchange.streams.client import StreamClient
from exchange.streams.levels import COMMITTED_1, SEQUENCED
from exchange.streams.limits import StreamLimits
from exchange.streams.log_table import PartitionTable
from exchange.streams.stream_writer import StreamWriter
from tests.streams.venue_of_streams import Recorder, client, sequencer, until

TAPE = "tape"


async def test_a_reader_that_is_slow_while_a_segment_is_sealed_misses_nothing(tmp_path: Path) -> None:
    limits = StreamLimits(segment_bytes=2_000_000, recent_bytes=20_000, reader_buffer_bytes=40_000)
    async with (
        sequencer(tmp_path, limits) as running,
        client(tmp_path, "writer") as writer,
        client(tmp_path, "observer") as observer,
    ):
        tape = writer.writer("sym-1", TAPE, None)
        await publish(writer, tape, 150)  # most of the active segment
        reader = Recorder(COMMITTED_1, Position(0))
        observer.subscribe(reader)
        await reader.until(2)
        observer._transport.pause_reading()  # type: ignore[union-attr]
        await publish(writer, tape, 250)
        assert len(running.log.reader.segments) == 2
        observer._transport.resume_reading()  # type: ignore[union-attr]
        await until(lambda: reader.block_reader.end == 401)
        assert [record[2] for record in reader.records if record[1] == TAPE] == list(range(400))
        assert (observer.connections, running.refused_peers) == (1, 0)


async def test_a_far_reader_is_served_while_seals_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More segments are sealed than indexes are kept, and none of their files is there yet."""
    disk = threading.Event()
    disk.set()
    real = os.fsync

    def held(descriptor: int) -> None:
        disk.wait(8)
        real(descriptor)

    monkeypatch.setattr("exchange.streams.committer.os.fsync", held)
    limits = StreamLimits(segment_bytes=20_000, recent_bytes=10_000, prompt_sync_bytes=0)
    async with (
        sequencer(tmp_path, limits) as running,
        client(tmp_path, "writer") as writer,
        client(tmp_path, "observer") as observer,
    ):
        tape = writer.writer("sym-1", TAPE, None)
        await publish(writer, tape, 20)
        disk.clear()
        try:
            for _ in range(40):
                end = tape.next + 1
                writer.stage(tape, [b"y" * 9_000])
                await until(lambda: running.appenders["sym-1"].streams[1].end == end)  # noqa: B023 (awaited in the same turn)
            assert len(running.log.reader.segments) == 20
            settled = running.appenders["sym-1"].settled
            readers = [Recorder(COMMITTED_1, Position(0)) for _ in range(3)]
            for reader in readers:
                observer.subscribe(reader)
            await until(lambda: all(reader.block_reader.end == settled for reader in readers))
            assert running.refused_peers == 0
        finally:
            disk.set()
        await until(lambda: all(reader.block_reader.end == 61 for reader in readers))
        assert (observer.connections, running.refused_peers) == (1, 0)


async def publish(writer: StreamClient, stream: StreamWriter, count: int) -> None:
    """So many long records, a block each."""
    for _ in range(count):
        end = stream.next + 1
        writer.stage(stream, [b"y" * 9_000])
        await until(lambda: stream.settled == end)  # noqa: B023 (awaited in the same turn)


async def test_a_reader_of_an_old_stream_is_not_sent_back_when_nothing_was_lost(tmp_path: Path) -> None:
    """What it reads lies in the first epoch, what it is passed over in the second, and the third begins."""
    async with sequencer(tmp_path), client(tmp_path, "writer") as writer:
        tape = writer.writer("sym-1", TAPE, None)
        writer.stage(tape, [b"trade"])
        await until(lambda: tape.settled == 1)
        orders = writer.writer("sym-1", "orders/A/1", None)
        writer.stage(orders, [b"order"])
        await until(lambda: orders.settled == 1)
    async with client(tmp_path, "writer") as writer, client(tmp_path, "observer") as observer:
        reader = Recorder(COMMITTED_1, Position(0), streams=("orders/A/1",))
        async with sequencer(tmp_path):
            observer.subscribe(reader)
            tape = writer.writer("sym-1", TAPE, None, from_end=True)
            await writer.opened(tape)
            await publish(writer, tape, 5)
            await until(lambda: reader.block_reader.end == 9)
        await until(lambda: not observer.connected)
        async with sequencer(tmp_path):
            await until(lambda: observer.connected and observer.connections == 2)
            assert reader.cuts == []
            assert reader.block_reader.epoch == 3
            assert not observer.failed.done()
        assert [record for record in reader.records if record[1] != "streams"] == [(3, "orders/A/1", 0, b"order")]


def blocks_of(*streams: str) -> list[bytes]:
    """A block for each name, with the next record of that stream."""
    table = PartitionTable("sym-1", 1)
    table.epoch_starts(Epoch(1))
    appender = Appender(table, 1_000_000, 10)
    blocks = []
    for name in streams:
        stream = appender.bind(name, Nanoseconds(0))
        assert stream is not None
        appender.publish(stream, None, make_run(stream.number, StreamPosition(stream.end), Nanoseconds(0), [b"x"]))
        sealed = appender.seal(Nanoseconds(0), 0)
        assert sealed is not None
        blocks.append(sealed.block)
    return blocks


def test_a_reader_takes_only_the_next_record_of_each_stream_it_reads() -> None:
    first, second, third, fourth = blocks_of("a", "b", "a", "a")
    reader = BlockReader("sym-1", Position(0))
    reader.subscribed(Epoch(1), Position(0), [])
    assert [run[:3] for block in (first, second) for run in reader.read(block, Position(0))] == [
        ("streams", 0, 0), ("a", 1, 0), ("streams", 2, 1), ("b", 3, 0),
    ]  # fmt: skip
    with pytest.raises(ReadGapError, match="sym-1 a: 2 follows 1"):
        list(reader.read(fourth, Position(4)))  # as if the third held nothing of interest
    again = BlockReader("sym-1", Position(0))
    again.subscribed(Epoch(1), Position(0), [])
    for block in (first, second, third, fourth):
        list(again.read(block, again.end))  # type: ignore[arg-type]
    assert again.end == 6


def test_a_stream_bound_while_reading_begins_at_its_first_record() -> None:
    first, _, third = blocks_of("a", "b", "a")
    reader = BlockReader("sym-1", Position(0))
    reader.subscribed(Epoch(1), Position(0), [])
    bound_only = next(iter(reader.read(first, Position(0))))
    assert bound_only.stream == "streams"
    reader.subscribed(Epoch(1), Position(1), [(1, "a", End(0))])  # type: ignore[list-item]
    with pytest.raises(ReadGapError, match="sym-1 a: 1 follows 0"):
        list(reader.read(third, Position(1)))


async def test_a_peer_that_does_not_read_is_told_nothing_until_it_does(tmp_path: Path) -> None:
    async with (
        sequencer(tmp_path, StreamLimits(reader_buffer_bytes=1_000)) as running,
        client(tmp_path, "writer") as writer,
        client(tmp_path, "twin") as twin,
    ):
        tape = writer.writer("sym-1", TAPE, "a")
        reader = Recorder(SEQUENCED, Position(0))
        twin.subscribe(reader)
        copy = twin.writer("sym-1", TAPE, "b")
        await until(lambda: copy.number is not None and tape.number is not None)
        (peer,) = (peer for peer in running.peers if peer.process == "twin")
        twin._transport.pause_reading()  # type: ignore[union-attr]
        while not peer._paused:
            await publish(writer, tape, 1)
        buffered = peer._transport.get_write_buffer_size()  # type: ignore[union-attr]
        await publish(writer, tape, 5)
        await until(lambda: not running._progress_due)
        assert peer._transport.get_write_buffer_size() == buffered  # type: ignore[union-attr]
        twin._transport.resume_reading()  # type: ignore[union-attr]
        await until(lambda: reader.block_reader.end == tape.next + 1)
        await until(lambda: copy.settled == tape.next)
