"""The appender: positions, blocks, twins."""

from exchange.records.positions import End, Epoch, Nanoseconds, Position, StreamEnd, StreamPosition
from exchange.streams.appender import Appender, Gap
from exchange.streams.block import HEADER_SIZE, make_run, parse_runs
from exchange.streams.log_table import PartitionTable


def appender_at(end: int = 0, recent_bytes: int = 1_000_000) -> Appender:
    table = PartitionTable("sym-1", 3, End(end))
    table.epoch_starts(Epoch(1))
    return Appender(table, recent_bytes, streams_limit=3)


def run(first: int, *payloads: bytes) -> object:
    return make_run(0, StreamPosition(first), Nanoseconds(5), payloads)


def test_twins_fill_a_stream_once_and_the_second_copy_is_absorbed() -> None:
    appender = appender_at()
    tape = appender.bind("tape", Nanoseconds(1))
    assert tape is not None
    assert appender.publish(tape, "a", run(0, b"x", b"y")) is None
    assert appender.publish(tape, "b", run(0, b"x", b"y", b"z")) is None
    assert appender.publish(tape, "a", run(2, b"z")) is None
    sealed = appender.seal(Nanoseconds(77), 0)
    assert sealed is not None
    runs = list(parse_runs(sealed.block, HEADER_SIZE))
    assert [(r.stream, r.offset, r.first, r.payloads()) for r in runs] == [
        (0, 0, 0, [b"\x93\x01\x01\xa4tape"]),
        (1, 1, 0, [b"x", b"y"]),
        (1, 3, 2, [b"z"]),
    ]
    assert sealed.header.first == 0
    assert sealed.header.end == 4
    assert sealed.header.sequencing_time == 77
    assert (tape.end, tape.filled, tape.absorbed) == (3, {"a": 2, "b": 1}, {"a": 1, "b": 2})


def test_a_gap_writes_nothing() -> None:
    appender = appender_at()
    tape = appender.bind("tape", Nanoseconds(1))
    assert tape is not None
    appender.seal(Nanoseconds(1), 0)
    assert appender.publish(tape, None, run(1, b"x")) == Gap(tape, StreamPosition(1))
    assert appender.seal(Nanoseconds(2), 0) is None
    assert (appender.end, tape.end) == (1, 0)


def test_a_stream_is_settled_when_its_block_is() -> None:
    appender = appender_at()
    tape = appender.bind("tape", Nanoseconds(1))
    assert tape is not None
    appender.publish(tape, None, run(0, b"x", b"y"))
    first = appender.seal(Nanoseconds(1), 0)
    appender.publish(tape, None, run(2, b"z"))
    second = appender.seal(Nanoseconds(2), 0)
    assert first is not None
    assert second is not None
    assert (appender.settled, tape.settled) == (0, 0)
    appender.settle(first)
    assert (appender.settled, tape.settled) == (3, 2)
    appender.settle(second)
    assert (appender.settled, tape.settled) == (4, 3)


def test_a_partition_has_room_for_so_many_streams_and_no_more() -> None:
    appender = appender_at()
    names = [appender.bind(name, Nanoseconds(1)) for name in ("a", "b", "c", "d", "a")]
    assert [stream and stream.number for stream in names] == [1, 2, 3, None, 1]


def test_recent_blocks_are_let_go_only_when_settled() -> None:
    appender = appender_at(recent_bytes=1)
    tape = appender.bind("tape", Nanoseconds(1))
    assert tape is not None
    sealed = []
    for place in range(4):
        appender.publish(tape, None, run(place, b"x"))
        sealed.append(appender.seal(Nanoseconds(place), 0))
        appender.release()
    assert appender.recent.first == 0
    assert sealed[1] is not None
    appender.settle(sealed[1])
    appender.release()
    assert appender.recent.first == 3
    assert [len(appender.recent.holding(Position(p))) for p in (3, 4)] == [2, 1]


def test_an_appender_goes_on_where_the_log_ends() -> None:
    table = PartitionTable("sym-1", 3, End(40))
    table.epoch_starts(Epoch(1))
    table.epoch_starts(Epoch(2))
    table.streams[0].end = StreamEnd(1)
    appender = Appender(table, 1000, 10)
    assert (appender.epoch, appender.sequenced, appender.settled) == (2, 40, 40)
    assert table.cut_after(Epoch(1)) == 40
    assert table.cut_after(Epoch(2)) is None


def test_twins_that_publish_other_bytes_at_one_position_are_noticed() -> None:
    appender = appender_at()
    tape = appender.bind("tape", Nanoseconds(1))
    assert tape is not None
    appender.publish(tape, "a", run(0, b"x", b"y"))
    appender.publish(tape, "b", run(0, b"x", b"y"))
    appender.publish(tape, "b", run(2, b"z"))
    appender.publish(tape, "a", run(2, b"z", b"more"))
    assert tape.differing_at is None
    appender.publish(tape, "b", run(3, b"other"))
    assert tape.differing_at is None, "a run with other bounds is not compared"
    appender.publish(tape, "a", run(4, b"q"))
    appender.publish(tape, "b", run(4, b"p"))
    assert tape.differing_at == 4
