"""The runner core and re-derivation, with a decoder small enough to see through."""

from collections.abc import Sequence

from exchange.decoding.rederive import Derived, rederive
from exchange.decoding.runner import Output, Runner
from exchange.records.positions import End, Nanoseconds, Position, StreamPosition
from exchange.records.record import Destination, Draft, Record
from exchange.streams.block_reader import ReadRun


class Echo:
    """Emits each record to `even` or `odd` of another partition, with a count of all it has seen."""

    kind = "echo"
    build = "test"

    def __init__(self) -> None:
        self.seen = 0

    def reads(self, stream: str) -> bool:
        return stream == "in"

    def apply(self, record: Record) -> Sequence[Draft]:
        return [Draft(*destination, payload) for destination, payload in self.outputs(*record)]

    def outputs(
        self, position: int, stream: str, stream_position: int, event_time: int, sequencing_time: int, payload: bytes
    ) -> Sequence[tuple[Destination, bytes]]:
        self.seen += 1
        if payload == b"quiet":
            return ()
        return ((("user-1", "odd" if position % 2 else "even"), b"%d %s" % (self.seen, payload)),)

    def snapshot(self) -> bytes:
        return b"%d" % self.seen

    def restore(self, snapshot: bytes) -> None:
        self.seen = int(snapshot)


def run(position: int, first: int, *payloads: bytes) -> ReadRun:
    return ReadRun("in", Position(position), StreamPosition(first), Nanoseconds(1), Nanoseconds(2), list(payloads))


def test_an_output_position_counts_what_was_emitted_to_that_stream() -> None:
    runner = Runner(Echo)
    runner.receive(run(0, 0, b"a", b"b", b"quiet", b"d"))
    assert runner.to_publish() == [
        Output("user-1", "even", StreamPosition(0), [b"1 a"]),
        Output("user-1", "odd", StreamPosition(0), [b"2 b", b"4 d"]),
    ]
    assert runner.to_publish() == []
    runner.receive(run(9, 4, b"e"))
    assert runner.to_publish() == [Output("user-1", "odd", StreamPosition(2), [b"5 e"])]


def test_output_positions_do_not_depend_on_how_input_was_cut_into_runs() -> None:
    payloads = [b"%d" % place for place in range(20)]
    whole = Runner(Echo)
    whole.receive(run(0, 0, *payloads))
    expected = placed(whole)
    for size in (1, 3, 7):
        runner = Runner(Echo)
        outputs: dict[tuple[str, int], bytes] = {}
        for start in range(0, 20, size):
            runner.receive(run(start, start, *payloads[start : start + size]))
            outputs |= placed(runner)
        assert outputs == expected


def placed(runner: Runner) -> dict[tuple[str, int], bytes]:
    return {
        (output.stream, output.first + offset): payload
        for output in runner.to_publish()
        for offset, payload in enumerate(output.payloads)
    }


def test_a_rewound_runner_emits_the_same_again_from_its_first_record() -> None:
    runner = Runner(Echo)
    runner.receive(run(0, 0, b"a", b"b"))
    runner.passed(End(2))
    first = runner.to_publish()
    runner.receive(run(2, 2, b"lost with its epoch"))
    runner.rewind()
    assert (runner.applied, runner.to_publish()) == (0, [])
    runner.receive(run(0, 0, b"a", b"b"))
    assert runner.to_publish() == first


def test_rederivation_skips_what_the_decoder_does_not_read_and_names_the_cause() -> None:
    def record(position: int, stream: str, payload: bytes) -> Record:
        return Record(Position(position), stream, StreamPosition(0), Nanoseconds(1), Nanoseconds(2), payload)

    records = [record(0, "in", b"a"), record(1, "out", b"x"), record(2, "in", b"c"), record(3, "in", b"d")]
    assert list(rederive(Echo, records)) == [
        Derived("user-1", "even", StreamPosition(0), b"1 a", Position(0)),
        Derived("user-1", "even", StreamPosition(1), b"2 c", Position(2)),
        Derived("user-1", "odd", StreamPosition(0), b"3 d", Position(3)),
    ]
