"""Frames on internal sockets."""

import pytest

from exchange.streams.wire import FrameSplitter, FrameType, ProtocolError, control_frame, publish_frame

FRAMES = control_frame(FrameType.HELLO, 1, "matcher-a", None) + publish_frame(3, 2, [b"runs", b"more"])
EXPECTED = [(FrameType.HELLO, b"\x93\x01\xa9matcher-a\xc0"), (FrameType.PUBLISH, b"\x03\x00\x02\x00\x00\x00runsmore")]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_frames_are_the_same_in_whatever_pieces_they_arrive(step: int) -> None:
    splitter = FrameSplitter(1000)
    frames = []
    for start in range(0, len(FRAMES), step):
        frames += splitter.feed(FRAMES[start : start + step])
    assert frames == EXPECTED


def test_a_frame_over_the_limit_is_refused_by_its_length_alone() -> None:
    with pytest.raises(ProtocolError, match="a frame of 1001 bytes is outside 1 to frame_bytes 1000"):
        FrameSplitter(1000).feed((1001).to_bytes(4, "little") + b"\x01")
    with pytest.raises(ProtocolError, match="a frame of 0 bytes is outside 1 to frame_bytes 1000"):
        FrameSplitter(1000).feed(bytes(5))
