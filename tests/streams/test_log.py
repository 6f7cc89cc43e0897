"""The log: what was synced is there after any crash, what was torn is cut, damage is refused."""

from pathlib import Path

import pytest

from exchange.records.positions import Count, End, Epoch, Nanoseconds, Position, StreamPosition
from exchange.streams.block import checked_header, make_run, parse_runs, place_run, seal_block
from exchange.streams.committer import Committed, Committer, Job, Write
from exchange.streams.limits import StreamLimits
from exchange.streams.log import Log
from exchange.streams.log_reader import LogReader, open_log
from exchange.streams.log_table import binding_payload
from exchange.streams.segment import SEGMENT_HEADER_SIZE, LogError, list_segments


class Scribe:
    """Appends to a log what an appender would, and remembers what the committer reported."""

    def __init__(self, data_dir: Path, limits: StreamLimits | None = None) -> None:
        self.outcomes: list[Committed | OSError] = []
        self.log = Log(data_dir, limits or StreamLimits(), lambda call, *args: call(*args), self.outcomes.append)
        self.log.begin_epochs(["sym-1"], Nanoseconds(1))
        self.table = self.log.reader.partitions["sym-1"]

    def write(self, stream: int, *payloads: bytes) -> None:
        end = self.table.streams[stream].end
        run = place_run(make_run(0, StreamPosition(end), Nanoseconds(5), payloads), stream, 0)
        first, epoch = Position(self.table.end), self.table.epochs[-1][0]
        block = seal_block(
            self.table.number, epoch, first, Nanoseconds(9), Count(len(payloads)), self.log.synced, run.data
        )
        self.log.append(block, checked_header(block), [run])

    def bind(self, number: int, name: str) -> None:
        self.write(0, binding_payload(number, name))

    def close(self) -> None:
        self.log.close()


def write_two(data_dir: Path) -> None:
    scribe = Scribe(data_dir)
    scribe.bind(1, "tape")
    scribe.write(1, b"A")
    scribe.log.submit()
    scribe.write(1, b"B", b"B again")
    scribe.close()


def tape_of(data_dir: Path) -> list[bytes]:
    return [record.payload for record in open_log(data_dir).records("sym-1") if record.stream == "tape"]


def test_what_was_written_is_read_back_record_by_record(tmp_path: Path) -> None:
    write_two(tmp_path)
    records = list(open_log(tmp_path).records("sym-1"))
    assert [tuple(record) for record in records] == [
        (0, "streams", 0, 5, 9, b"\x93\x01\x01\xa4tape"),
        (1, "tape", 0, 5, 9, b"A"),
        (2, "tape", 1, 5, 9, b"B"),
        (3, "tape", 2, 5, 9, b"B again"),
    ]
    assert [record.payload for record in open_log(tmp_path).records("sym-1", Position(2), End(3))] == [b"B"]


def test_a_torn_tail_is_cut_at_every_byte_and_what_follows_is_reachable(tmp_path: Path) -> None:
    write_two(tmp_path)
    (segment,) = list_segments(tmp_path / "log")
    whole = segment.path.read_bytes()
    last = len(whole) - len(_last_block(whole))
    for cut in range(last + 1, len(whole)):
        data_dir = tmp_path / f"cut-{cut}"
        (data_dir / "log").mkdir(parents=True)
        (data_dir / "log" / segment.path.name).write_bytes(whole[:cut])
        scribe = Scribe(data_dir)
        assert scribe.log.torn is not None
        scribe.write(1, b"C")
        scribe.write(1, b"D")
        scribe.close()
        assert tape_of(data_dir) == [b"A", b"C", b"D"]
        kept = [path.read_bytes() for path in (data_dir / "log").glob("*.torn-*")]
        assert kept == [whole[last:cut]]


def _last_block(whole: bytes) -> bytes:
    return whole[whole.rindex(b"ORDB") :]


def test_damage_below_what_was_synced_is_refused_and_named(tmp_path: Path) -> None:
    write_two(tmp_path)
    scribe = Scribe(tmp_path)
    scribe.write(1, b"later")
    scribe.close()
    (segment,) = list_segments(tmp_path / "log")
    whole = bytearray(segment.path.read_bytes())
    place = whole.index(b"A", whole.index(b"tape"))
    whole[place] ^= 1
    segment.path.write_bytes(whole)
    with pytest.raises(LogError, match=r"segment-00000001.log: damaged at log offset \d+: a block's checksum"):
        Scribe(tmp_path)


def test_an_unknown_segment_version_is_refused_in_one_line(tmp_path: Path) -> None:
    write_two(tmp_path)
    (segment,) = list_segments(tmp_path / "log")
    whole = bytearray(segment.path.read_bytes())
    whole[8] = 9
    segment.path.write_bytes(whole)
    with pytest.raises(LogError, match=r"segment-00000001.log: segment format version 9 is not 1$"):
        Scribe(tmp_path)


def test_one_appender_per_directory(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    with pytest.raises(LogError, match="another sequencer holds this log"):
        Scribe(tmp_path)
    scribe.close()


def test_every_start_is_a_new_epoch_that_begins_at_the_surviving_end(tmp_path: Path) -> None:
    write_two(tmp_path)
    Scribe(tmp_path).close()
    assert open_log(tmp_path).partitions["sym-1"].epochs == [(Epoch(1), Position(0)), (Epoch(2), Position(4))]


def test_sealed_segments_are_found_by_their_index_and_read_from_any_position(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, StreamLimits(segment_bytes=2000))
    scribe.bind(1, "tape")
    for place in range(100):
        scribe.write(1, b"payload %d" % place)
    scribe.close()
    segments = list_segments(tmp_path / "log")
    assert len(segments) > 4
    assert [segment.index_path.exists() for segment in segments] == [True] * (len(segments) - 1) + [False]
    reader = open_log(tmp_path)
    for first in range(101):
        record = next(iter(reader.records("sym-1", Position(first))))
        assert record.position == first
        if first:
            assert record.payload == b"payload %d" % (first - 1)
            assert _stream_read(reader, first - 1) == record.payload


def _stream_read(reader: LogReader, place: int) -> bytes:
    for _, block in reader.stream_blocks(1, 1, StreamPosition(place)):
        for run in parse_runs(block, 48):
            if run.stream == 1 and run.first <= place < run.end:
                return run.payloads()[place - run.first]
    raise AssertionError(f"stream position {place} not found")


def test_a_lost_index_is_made_again(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, StreamLimits(segment_bytes=2000))
    scribe.bind(1, "tape")
    for place in range(100):
        scribe.write(1, b"payload %d" % place)
    scribe.close()
    for path in (tmp_path / "log").glob("*.index"):
        path.unlink()
    assert tape_of(tmp_path) == [b"payload %d" % place for place in range(100)]


def test_a_segment_is_damaged_when_a_block_in_the_middle_of_history_is(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, StreamLimits(segment_bytes=2000))
    scribe.bind(1, "tape")
    for place in range(100):
        scribe.write(1, b"payload %d" % place)
    scribe.close()
    path = list_segments(tmp_path / "log")[1].path
    whole = bytearray(path.read_bytes())
    whole[SEGMENT_HEADER_SIZE + 60] ^= 1
    path.write_bytes(whole)
    with pytest.raises(
        LogError, match=r"segment-00000002.log: damaged at log offset \d+: a block's checksum does not hold"
    ):
        tape_of(tmp_path)


def test_a_disk_that_takes_no_more_is_reported_and_nothing_is_tried_again() -> None:
    outcomes: list[Committed | OSError] = []
    committer = Committer(Path("/dev/full"), outcomes.append)
    committer.start()
    committer.submit([Write(b"x" * 100)])
    committer.stop()
    (outcome,) = outcomes
    assert isinstance(outcome, OSError)
    assert outcome.strerror == "No space left on device"


class Clock:
    """Says how long the next sync has taken."""

    def __init__(self) -> None:
        self.now = 0
        self.sync_ns = 1

    def perf_counter_ns(self) -> int:
        self.now += self.sync_ns
        return self.now


def test_a_small_group_is_committed_at_once_while_the_disk_is_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("exchange.streams.committer.time", clock)
    scribe = Scribe(tmp_path, StreamLimits(prompt_sync_bytes=1000))
    handed_over: list[list[Job]] = []
    monkeypatch.setattr(scribe.log._committer, "submit", handed_over.append)
    scribe.bind(1, "tape")
    for _ in range(3):
        clock.sync_ns = 5_000_000
        scribe.write(1, b"A")
        scribe.log.commit()
        assert scribe.log.synced == scribe.log.end
    assert len(scribe.outcomes) == 3
    scribe.write(1, b"after three slow syncs")
    scribe.log.commit()
    assert (len(scribe.outcomes), len(handed_over)) == (3, 1)
    outcome = Committed(scribe.log.end - scribe.log.synced, 1)
    scribe.log._on_committed(outcome)
    scribe.write(1, b"quick again, but large" * 100)
    scribe.log.commit()
    assert len(handed_over) == 2
    scribe.write(1, b"while the thread works")
    scribe.log.commit()
    assert len(handed_over) == 3


def test_an_error_of_a_prompt_commit_stops_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    scribe = Scribe(tmp_path)
    monkeypatch.setattr("exchange.streams.committer.os.fdatasync", full)
    synced = scribe.log.synced
    scribe.bind(1, "tape")
    scribe.log.commit()
    (outcome,) = scribe.outcomes
    assert isinstance(outcome, OSError)
    assert scribe.log.synced == synced
    assert not scribe.log.prompt
