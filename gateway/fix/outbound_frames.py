"""A whole frame from its parts (FIX 4.4 vol. 2, standard header and trailer)."""

from zlib import adler32

from gateway.fix.dictionary import SEQUENCE_RESET
from gateway.fix.fields import timestamp_text
from gateway.fix.framing import TRAILERS, checksum


class FrameParts:
    """What all frames of one direction of a session have in common, rendered once."""

    __slots__ = ("_begin", "_comp_ids", "_sending_time", "_sending_time_text")

    def __init__(self, begin_string: bytes, sender_comp_id: bytes, target_comp_id: bytes) -> None:
        self._begin = b"8=" + begin_string + b"\x019=%d\x01%b"
        self._comp_ids = b"\x0149=" + sender_comp_id + b"\x0156=" + target_comp_id + b"\x0134="
        self._sending_time = -1
        self._sending_time_text = b""

    def frame(self, msg_type: bytes, msg_seq_num: int, sending_time: int, body: bytes) -> bytes:
        """One frame. `sending_time` in nanoseconds UTC, written in microseconds; `body` is everything behind 52.

        A body may begin with header fields (43, 122, 97): the order inside the header is free behind MsgType(35).
        """
        if sending_time != self._sending_time:
            self._sending_time = sending_time
            self._sending_time_text = timestamp_text(sending_time)
        message = b"35=%b%b%d\x0152=%b\x01%b" % (
            msg_type,
            self._comp_ids,
            msg_seq_num,
            self._sending_time_text,
            body,
        )
        frame = self._begin % (len(message), message)
        if len(frame) <= 512:
            # Two slices at most, without a loop: the usual size of a report.
            total = adler32(frame[:256]) + adler32(frame[256:]) - 2
            return frame + TRAILERS[total & 0xFF]
        return frame + TRAILERS[checksum(frame)]

    def frame_again(
        self, msg_type: bytes, msg_seq_num: int, sending_time: int, body: bytes, original_sending_time: int
    ) -> bytes:
        """One frame sent again: PossDupFlag(43)=Y and OrigSendingTime(122) (FIX 4.4 vol. 2, possible duplicates)."""
        header = b"43=Y\x01122=%b\x01" % timestamp_text(original_sending_time)
        return self.frame(msg_type, msg_seq_num, sending_time, header + body)

    def gap_fill(self, begin: int, following: int, sending_time: int) -> bytes:
        """SequenceReset-GapFill over [begin, following): its number is the first covered (FIX 4.4 vol. 2)."""
        return self.frame_again(SEQUENCE_RESET, begin, sending_time, b"123=Y\x0136=%d\x01" % following, sending_time)
