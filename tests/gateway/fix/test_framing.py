"""Framing: BodyLength and CheckSum alone decide, and no sound frame is ever lost behind a garbled one."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.fix.framing import TRAILERS, Framing, OtherBeginString, checksum
from tests.gateway.fix.wire import framed, from_client, soh, text

HEARTBEAT = "8=FIX.4.4|9=50|35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000|10=165|"
"""Its length counted and its sum taken by other means: the anchor of the helpers that build all other frames."""


def read(data: bytes, piece: int = 0, message_bytes: int = 65_536, garbled: int = 10) -> tuple[list[str], int, str]:
    """(bodies, garbled count, failure) of bytes fed in pieces."""
    framing = Framing(b"FIX.4.4", message_bytes, garbled)
    bodies = []
    step = piece or max(1, len(data))
    for begin in range(0, len(data), step):
        framing.receive(data[begin : begin + step])
        while (body := framing.next_frame()) is not None:
            bodies.append(text(body) if isinstance(body, bytes) else f"{text(body.begin_string)}:{text(body.body)}")
    return bodies, framing.garbled, framing.failure


def body_of(frame: bytes) -> str:
    return text(frame[frame.index(b"35=") : -7])


@pytest.fixture(params=[0, 1, 2, 7, 64])
def piece(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_the_literal_frame_is_what_the_helpers_build() -> None:
    body = "35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000|"
    assert text(framed(body)) == HEARTBEAT


def test_a_frame_is_found_whole_in_pieces_and_before_trailing_bytes(piece: int) -> None:
    body = "35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000|"
    assert read(soh(HEARTBEAT), piece) == ([body], 0, "")
    assert read(soh(HEARTBEAT) + b"8=FIX.4.4\x019=5", piece) == ([body], 0, "")
    assert read(soh(HEARTBEAT) * 3, piece) == ([body] * 3, 0, "")


def test_body_length_may_be_padded(piece: int) -> None:
    begin = soh("8=FIX.4.4|9=0000050|35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000|")
    frame = begin + soh(f"10={sum(begin) % 256:03d}|")
    assert read(frame, piece) == (["35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000|"], 0, "")


def test_another_begin_string_is_a_sound_frame_of_its_own_kind(piece: int) -> None:
    assert read(framed("35=0|34=2|", "FIX.4.2"), piece) == (["FIX.4.2:35=0|34=2|"], 0, "")
    framing = Framing(b"FIX.4.4", 65_536, 10)
    framing.receive(framed("35=0|", "FIXT.1.1"))
    assert framing.next_frame() == OtherBeginString(b"FIXT.1.1", soh("35=0|"))


def test_b15_frame_end_comes_from_body_length_alone(piece: int) -> None:
    inner = text(framed("35=8|37=1|17=2|"))
    body = f"35=n|34=2|212={len(inner)}|213={inner}|"
    assert read(framed(body) + framed("35=0|34=3|"), piece) == ([body, "35=0|34=3|"], 0, "")


def test_b18_garbled_bytes_in_mid_stream_lose_no_sound_frame(piece: int) -> None:
    noise = bytes((17 * n + 3) % 251 for n in range(40))
    good = [from_client("0", number) for number in (2, 3, 4)]
    stream = good[0] + soh("8=FIX.4.4|9=0K2|") + good[1] + soh("8=FIX.4.4|9=|35=0|") + noise + good[2]
    began = time.process_time()
    assert read(stream, piece) == ([body_of(frame) for frame in good], 2, "")
    assert time.process_time() - began < 0.05


@pytest.mark.parametrize(
    ("bad", "garbled"),
    [
        ("8=FIX.4.4|9=5|35=0|49=CL1|56=XCHG|34=2|10=000|", 1),  # too short: cut before its trailer
        ("8=FIX.4.4|9=99|35=0|34=2|10=000|", 1),  # too long: believes the frames behind it to be its own
        ("8=FIX.4.4|9=10|35=0|34=2|10=000|", 1),  # sum wrong
        ("8=FIX.4.4|9=10|35=0|34=2|", 1),  # no trailer
        ("8=FIX.4.4|9=10|35=0|34=2|10=81|", 1),  # two digits
        ("8=FIX.4.4|9=10|35=0|34=2|10=0081|", 1),  # four
        ("8=FIX.4.4|9=10|34=2|35=0|10=151|", 1),  # MsgType not third
        ("8=FIX.4.4|9=9|35=0|34=210=027|", 1),  # no SOH before the trailer
        ("8=FIX.4.4|9=-1|35=0|10=000|", 1),
        ("8=FIX.4.4|35=0|9=5|10=000|", 1),
        ("8=FIX.4.4444444444444444|9=5|35=0|10=000|", 1),
        ("8=FIX.4.4|9=000000000000000000005|35=0|10=163|", 1),
        ("garbage", 1),
        ("garbage8=FIX.4.4|9=x|more", 2),
        ("8=FI", 1),
    ],
)
def test_b19_a_frame_without_the_right_length_and_sum_is_ignored(bad: str, garbled: int, piece: int) -> None:
    good = [from_client("0", number) for number in range(5, 10)]
    stream = soh(bad) + b"".join(good)
    assert read(stream, piece) == ([body_of(frame) for frame in good], garbled, "")


def test_checksums_that_only_look_right_are_summed_over_the_whole_frame() -> None:
    frame = framed("35=0|34=2|58=" + "x" * 400 + "|")
    for position in range(16, len(frame) - 8, 37):
        broken = frame[:position] + bytes([frame[position] ^ 1]) + frame[position + 1 :]
        bodies, garbled, _ = read(broken + from_client("0", 3))
        assert (bodies, garbled) == ([body_of(from_client("0", 3))], 1), position


def test_b19_a_true_sum_does_not_excuse_a_body_that_does_not_end_in_soh(piece: int) -> None:
    begin = soh("8=FIX.4.4|9=9|35=0|34=2")
    frame = begin + soh(f"10={sum(begin) % 256:03d}|")
    good = from_client("0", 3)
    assert read(frame + good, piece) == ([body_of(good)], 1, "")


def test_b25_a_message_above_the_limit_fails_by_name_and_one_at_the_limit_passes(piece: int) -> None:
    frame = framed("35=B|58=" + "x" * 500 + "|")
    assert read(frame, piece, message_bytes=len(frame)) == ([body_of(frame)], 0, "")
    failure = f"message longer than {len(frame) - 1} bytes"
    assert read(frame + HEARTBEAT.encode(), piece, message_bytes=len(frame) - 1) == ([], 0, failure)


def test_garbled_messages_are_bounded(piece: int) -> None:
    bad, good = soh("8=FIX.4.4|9=x|"), from_client("0", 2)
    assert read(bad * 3 + good, piece, garbled=3) == ([body_of(good)], 3, "")
    assert read(bad * 4 + good, piece, garbled=3) == ([], 4, "more than 3 garbled messages")
    assert read(good + bad * 4 + good, piece, garbled=3) == ([body_of(good)], 4, "more than 3 garbled messages")


def test_bytes_after_a_failure_are_not_kept() -> None:
    framing = Framing(b"FIX.4.4", 100, 0)
    framing.receive(b"garbage")
    assert framing.next_frame() is None
    assert framing.failure == "more than 0 garbled messages"
    framing.receive(b"x" * 1000)
    assert framing.unread_bytes < 10


def test_cost_does_not_grow_with_the_square_of_the_message() -> None:
    frame = framed("35=B|58=" + "x" * 60_000 + "|")
    began = time.process_time()
    assert len(read(frame * 2, 1)[0]) == 2
    assert len(read(frame * 200)[0]) == 200
    assert len(read(b"x" * 2_000_000, 1_000)[0]) == 0
    assert time.process_time() - began < 2


@given(st.binary(max_size=2_000))
@example(b"\xff" * 2_000)
@example(b"\xff" * 257)
def test_checksum_is_the_sum_of_all_bytes(data: bytes) -> None:
    assert checksum(data) == sum(data) % 256
    assert TRAILERS[checksum(data)] == b"10=%03d\x01" % (sum(data) % 256)


_FRAGMENTS = st.sampled_from(
    [
        b"8=FIX.4.4\x019=",
        b"8=FIX",
        b"8=",
        b"\x01",
        b"10=000\x01",
        b"35=0\x01",
        b"5",
        b"99999",
        b"=",
        from_client("0", 2),
        from_client("D", 3, "58=8=FIX.4.4|"),
        framed("35=0|34=1|", "FIX.4.2"),
        soh("8=FIX.4.4|9=300|35=0|"),
    ]
)


@settings(max_examples=300)
@given(st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=12)), max_size=25), st.integers(1, 50))
def test_any_bytes_in_any_pieces_give_the_same_frames_and_never_an_exception(parts: list[bytes], piece: int) -> None:
    stream = b"".join(parts)
    assert read(stream, piece, garbled=1_000) == read(stream, garbled=1_000)
    assert read(stream, 1, garbled=1_000) == read(stream, garbled=1_000)


class _SlowFraming(Framing):
    """Without the quick path: the obvious twin."""

    def next_frame(self) -> bytes | OtherBeginString | None:
        if self._later_bytes and not self._join():
            return None
        return self._next_frame_slowly()


@settings(max_examples=300)
@given(st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=12)), max_size=25))
def test_the_quick_path_finds_what_the_slow_one_finds(parts: list[bytes]) -> None:
    quick, slow = Framing(b"FIX.4.4", 400, 5), _SlowFraming(b"FIX.4.4", 400, 5)
    for part in parts:
        quick.receive(part)
        slow.receive(part)
        while True:
            frame = quick.next_frame()
            assert slow.next_frame() == frame
            assert (slow.garbled, slow.failure, slow.unread_bytes) == (
                quick.garbled,
                quick.failure,
                quick.unread_bytes,
            )
            if frame is None:
                break
