"""Frames from their parts: the bytes of the plain rule, whatever their length."""

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.fix.outbound_frames import FrameParts
from tests.gateway.fix.wire import NINE_O_CLOCK, from_venue, text

PARTS = FrameParts(b"FIX.4.4", b"XCHG", b"CL1")


@given(st.integers(0, 1_200), st.integers(1, 10**12), st.integers(0, 3_599))
@example(512 - 88, 2, 0)
@example(513 - 88, 2, 0)
def test_length_and_sum_are_those_of_the_plain_rule(length: int, number: int, seconds: int) -> None:
    body = f"58={'x' * length}|"
    frame = PARTS.frame(b"8", number, NINE_O_CLOCK + seconds * 1_000_000_000, body.replace("|", "\x01").encode())
    assert frame == from_venue("8", number, body, seconds)


def test_bytes_of_any_value_are_summed_whole() -> None:
    for length in (168, 200, 424, 425, 500, 1_000):
        body = f"58={chr(255) * length}|"
        frame = PARTS.frame(b"8", 2, NINE_O_CLOCK, b"58=" + b"\xff" * length + b"\x01")
        assert frame == from_venue("8", 2, body)


def test_a_frame_again_says_so_and_when_it_was_first_sent() -> None:
    frame = PARTS.frame_again(b"8", 5, NINE_O_CLOCK + 7_000_000_000, b"17=E\x01", NINE_O_CLOCK)
    assert frame == from_venue("8", 5, "43=Y|122=20260105-09:00:00.000000|17=E|", 7)


def test_a_gap_fill_covers_from_its_own_number() -> None:
    assert text(PARTS.gap_fill(5, 9, NINE_O_CLOCK)) == text(
        from_venue("4", 5, "43=Y|122=20260105-09:00:00.000000|123=Y|36=9|")
    )
