"""Whole frames from their parts (FIX 4.4 vol. 2, standard header and trailer)."""

from collections.abc import Iterable
from typing import NamedTuple
from zlib import adler32

from gateway.fix.dictionary import SEQUENCE_RESET
from gateway.fix.fields import timestamp_text
from gateway.fix.framing import SUMMED_AT_ONCE, TRAILERS, checksum

_BEGINS_KEPT = 4_096


class _Summed(NamedTuple):
    """A part that many frames share, and the sum of its bytes."""

    text: bytes
    total: int


class FrameParts:
    """What all frames of one direction of a session have in common, rendered and summed once."""

    __slots__ = ("_begin_string", "_begins", "_comp_ids", "_heads", "_sending_time", "_sent")

    def __init__(self, begin_string: bytes, sender_comp_id: bytes, target_comp_id: bytes) -> None:
        self._begin_string = begin_string
        self._comp_ids = b"\x0149=%b\x0156=%b\x0134=" % (sender_comp_id, target_comp_id)
        self._begins: dict[int, _Summed] = {}
        self._heads: dict[bytes, _Summed] = {}
        self._sending_time = -1
        self._sent = _Summed(b"", 0)

    def add_frames(
        self, out: list[bytes], msg_seq_num: int, sending_time: int, messages: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Append the pieces of the frames of (MsgType, body) pairs, numbered from `msg_seq_num` on.

        `sending_time` in nanoseconds UTC, written in microseconds; a body is everything behind 52. It may begin with
        header fields (43, 122, 97): the order inside the header is free behind MsgType(35).
        """
        if sending_time != self._sending_time:
            self._sending_time = sending_time
            self._sent = _summed(b"\x0152=%b\x01" % timestamp_text(sending_time))
        sent, sent_total = self._sent
        begins, heads, sent_size = self._begins, self._heads, len(sent)
        sent_total -= 1  # what adler32 adds to the sum of a number
        for msg_type, body in messages:
            head, head_total = heads.get(msg_type) or self._head(msg_type)
            number = b"%d" % msg_seq_num
            size = len(body)
            length = len(head) + len(number) + sent_size + size
            begin, begin_total = begins.get(length) or self._begin(length)
            # The sum of a frame is the sum of its parts.
            body_total = adler32(body) - 1 if size <= SUMMED_AT_ONCE else checksum(body)
            total = begin_total + head_total + sent_total + body_total + adler32(number)
            out += (begin, head, number, sent, body, TRAILERS[total & 0xFF])
            msg_seq_num += 1

    def frame(self, msg_type: bytes, msg_seq_num: int, sending_time: int, body: bytes) -> bytes:
        """One frame, as `add_frames` makes it."""
        pieces: list[bytes] = []
        self.add_frames(pieces, msg_seq_num, sending_time, ((msg_type, body),))
        return b"".join(pieces)

    def frame_again(
        self, msg_type: bytes, msg_seq_num: int, sending_time: int, body: bytes, original_sending_time: int
    ) -> bytes:
        """One frame sent again: PossDupFlag(43)=Y and OrigSendingTime(122) (FIX 4.4 vol. 2, possible duplicates)."""
        header = b"43=Y\x01122=%b\x01" % timestamp_text(original_sending_time)
        return self.frame(msg_type, msg_seq_num, sending_time, header + body)

    def gap_fill(self, begin: int, following: int, sending_time: int) -> bytes:
        """SequenceReset-GapFill over [begin, following): its number is the first covered (FIX 4.4 vol. 2)."""
        return self.frame_again(SEQUENCE_RESET, begin, sending_time, b"123=Y\x0136=%d\x01" % following, sending_time)

    def _head(self, msg_type: bytes) -> _Summed:
        head = self._heads[msg_type] = _summed(b"35=%b%b" % (msg_type, self._comp_ids))
        return head

    def _begin(self, length: int) -> _Summed:
        if len(self._begins) >= _BEGINS_KEPT:
            self._begins.clear()
        begin = self._begins[length] = _summed(b"8=%b\x019=%d\x01" % (self._begin_string, length))
        return begin


def _summed(text: bytes) -> _Summed:
    return _Summed(text, checksum(text))
