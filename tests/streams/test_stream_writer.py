"""The writer's side: nothing is forgotten before it is settled, nothing is sent that would only be absorbed."""

import pytest

from exchange.records.positions import Nanoseconds, StreamEnd, StreamPosition
from exchange.streams.block import Run
from exchange.streams.stream_writer import ForeignRecordsError, LostRecordsError, StreamWriter

NOW = Nanoseconds(1)


def opened_writer(end: int = 0, settled: int = 0) -> StreamWriter:
    writer = StreamWriter("sym-1", "tape", "a")
    writer.opened(4, StreamEnd(end), StreamEnd(settled))
    return writer


def sent(runs: list[Run]) -> list[tuple[int, list[bytes]]]:
    return [(run.first, run.payloads()) for run in runs]


def test_what_is_staged_before_the_stream_is_open_is_sent_once_it_is() -> None:
    writer = StreamWriter("sym-1", "tape", "a")
    writer.stage([b"x"], NOW)
    assert writer.take_unsent() == []
    writer.opened(4, StreamEnd(0), StreamEnd(0))
    assert sent(writer.take_unsent()) == [(0, [b"x"])]
    assert writer.take_unsent() == []


def test_on_a_new_epoch_everything_behind_the_surviving_end_is_sent_again() -> None:
    writer = opened_writer()
    writer.stage([b"a", b"b"], NOW)
    writer.stage([b"c", b"d"], NOW)
    writer.take_unsent()
    writer.progressed(StreamEnd(4), StreamEnd(1))
    writer.closed()
    writer.stage([b"e"], NOW)
    writer.opened(9, StreamEnd(3), StreamEnd(3))
    assert sent(writer.take_unsent()) == [(3, [b"d"]), (4, [b"e"])]


def test_settled_records_are_forgotten_run_by_run() -> None:
    writer = opened_writer()
    writer.stage([b"a", b"b"], NOW)
    writer.stage([b"c"], NOW)
    writer.progressed(StreamEnd(3), StreamEnd(1))
    assert writer.retained == 3
    writer.progressed(StreamEnd(3), StreamEnd(2))
    assert writer.retained == 1
    writer.progressed(StreamEnd(3), StreamEnd(3))
    assert (writer.retained, writer.retained_bytes) == (0, 0)


def test_a_decoder_that_starts_over_sends_only_what_is_not_settled() -> None:
    writer = opened_writer(end=5, settled=3)
    writer.stage([b"0", b"1"], NOW)
    writer.stage([b"2", b"3"], NOW)
    writer.stage([b"4", b"5"], NOW)
    assert sent(writer.take_unsent()) == [(2, [b"2", b"3"]), (4, [b"4", b"5"])]
    writer.restart()
    writer.stage([b"0", b"1", b"2", b"3"], NOW)
    assert sent(writer.take_unsent()) == [(0, [b"0", b"1", b"2", b"3"])]


def test_a_single_writer_numbers_on_from_the_end_it_finds() -> None:
    writer = StreamWriter("sym-1", "orders/ACME/ACME-1", None, from_end=True)
    writer.opened(4, StreamEnd(7), StreamEnd(6))
    writer.stage([b"x"], NOW)
    assert sent(writer.take_unsent()) == [(7, [b"x"])]
    writer.closed()
    writer.opened(4, StreamEnd(7), StreamEnd(7))
    assert sent(writer.take_unsent()) == [(7, [b"x"])]


def test_a_log_that_lost_what_it_had_promised_is_not_written_on() -> None:
    writer = opened_writer(end=5, settled=5)
    writer.closed()
    with pytest.raises(LostRecordsError, match="sym-1 tape ends at 4, below the settled end 5"):
        writer.opened(4, StreamEnd(4), StreamEnd(4))


def test_a_clock_goes_on_from_any_end_without_keeping_ticks() -> None:
    writer = opened_writer(end=3, settled=3)
    writer.continue_from(StreamPosition(3))
    writer.stage([b""], NOW)
    writer.continue_from(StreamPosition(4))
    writer.stage([b""], NOW)
    assert sent(writer.take_unsent()) == [(4, [b""])]


def test_a_clock_whose_tick_was_lost_goes_on_at_the_surviving_end() -> None:
    writer = opened_writer(end=3, settled=3)
    for position in (3, 4):
        writer.continue_from(StreamPosition(position))
        writer.stage([b""], NOW)
    writer.closed()
    writer.opened(4, StreamEnd(3), StreamEnd(3))
    assert sent(writer.take_unsent()) == []
    writer.continue_from(StreamPosition(3))
    writer.stage([b""], NOW)
    assert sent(writer.take_unsent()) == [(3, [b""])]


def test_what_one_input_causes_is_cut_into_runs_that_a_frame_can_carry() -> None:
    writer = opened_writer()
    payloads = [b"%d" % place for place in range(10_000)]
    writer.stage(payloads, NOW)
    runs = writer.take_unsent()
    assert [(run.first, run.record_count) for run in runs] == [(0, 4096), (4096, 4096), (8192, 1808)]
    assert [payload for run in runs for payload in run.payloads()] == payloads


def test_a_single_writer_does_not_write_on_behind_records_of_somebody_else() -> None:
    writer = StreamWriter("sym-1", "orders/A/1", None, from_end=True)
    writer.opened(4, StreamEnd(7), StreamEnd(7))
    writer.stage([b"7"], Nanoseconds(1))
    writer.closed()
    writer.opened(4, StreamEnd(8), StreamEnd(7))
    writer.closed()
    with pytest.raises(ForeignRecordsError, match="sym-1 orders/A/1 ends at 9, beyond its only writer's 8"):
        writer.opened(4, StreamEnd(9), StreamEnd(8))
    assert writer.number is None
