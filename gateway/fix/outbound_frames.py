"""A whole frame from its parts (FIX 4.4 vol. 2, standard header and trailer)."""

from gateway.fix.dictionary import SEQUENCE_RESET
from gateway.fix.fields import timestamp_text
from gateway.fix.framing import TRAILERS, checksum


class FrameParts:
    """What all frames of one direction of a session have in common, rendered once."""

    __slots__ = ("_begin", "_comp_ids")

    def __init__(self, begin_string: bytes, sender_comp_id: bytes, target_comp_id: bytes) -> None:
        self._begin = b"8=" + begin_string + b"\x019=%d\x01%b"
        self._comp_ids = b"\x0149=" + sender_comp_id + b"\x0156=" + target_comp_id + b"\x0134="

    def frame(self, msg_type: bytes, msg_seq_num: int, sending_time: int, body: bytes) -> bytes:
        """One frame. `sending_time` in nanoseconds UTC, written in microseconds; `body` is everything behind 52.

        A body may begin with header fields (43, 122, 97): the order inside the header is free behind MsgType(35).
        """
        message = b"35=%b%b%d\x0152=%b\x01%b" % (
            msg_type,
            self._comp_ids,
            msg_seq_num,
            timestamp_text(sending_time),
            body,
        )
        frame = self._begin % (len(message), message)
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
