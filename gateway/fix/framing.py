"""A byte stream into frames, on BodyLength and CheckSum alone (FIX 4.4 vol. 2, message integrity)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import adler32

from gateway.fix.fields import SOH
from gateway.fix.layouts import Layout

_BEGIN = b"8=FIX"
_BEGIN_STRING_BYTES = 16
"""Longest BeginString(8) read."""
_BEGINS_KEPT = 1_024
_BODY_LENGTH_DIGITS = 20
"""Longest BodyLength(9) read, padding included."""
_TRAILER_BYTES = 7
"""`10=nnn` and SOH."""
SUMMED_AT_ONCE = 256
"""So many bytes sum to at most 65,280, which adler32's modulus of 65,521 leaves whole."""

TRAILERS = tuple(b"10=%03d\x01" % total for total in range(256))
"""The trailer for each CheckSum: always three digits."""


def checksum(data: bytes) -> int:
    """The sum of all bytes modulo 256 (FIX 4.4 vol. 2, CheckSum).

    adler32 keeps one plus the plain sum in its low half: exact on slices this short. Only its lowest byte counts here.
    """
    if len(data) <= SUMMED_AT_ONCE:
        return (adler32(data) - 1) & 0xFF
    total = 0
    for at in range(0, len(data), SUMMED_AT_ONCE):
        total += adler32(data[at : at + SUMMED_AT_ONCE]) - 1
    return total & 0xFF


class OtherBeginString(NamedTuple):
    """A sound frame of another FIX version than the connection's."""

    begin_string: bytes
    body: bytes


class _Candidate(NamedTuple):
    """What looks like a frame's start: where its body begins and ends, and its BeginString."""

    begin_string: bytes
    body_at: int
    end: int


class Framing:
    """Bytes of one connection on their way to frames.

    `receive` only stores; `next_frame` returns the body of the next sound frame (from 35= to the SOH before 10=), or
    None when more bytes are needed. Garbled bytes are skipped up to the next `8=FIX` behind the place that failed, so
    that no sound frame is lost; `garbled` counts the places. `failure` is not empty when no more frames will come, and
    says why: a frame above `message_bytes`, or more than `garbled_messages` garbled ones. How the bytes were cut into
    pieces changes neither frames nor counts.
    """

    __slots__ = (
        "_at",
        "_begins",
        "_buffer",
        "_garbled_messages",
        "_in_garbage",
        "_later",
        "_later_bytes",
        "_message_bytes",
        "_missing_bytes",
        "_prefix",
        "begin_string",
        "failure",
        "garbled",
    )

    def __init__(self, begin_string: bytes, message_bytes: int, garbled_messages: int) -> None:
        self.begin_string = begin_string
        self.garbled = 0
        self.failure = ""
        self._prefix = b"8=" + begin_string + b"\x019="
        self._message_bytes = message_bytes
        self._garbled_messages = garbled_messages
        self._begins: dict[int, bytes] = {}
        self._buffer = b""
        self._at = 0
        self._later: list[bytes] = []
        self._later_bytes = 0
        self._missing_bytes = 0
        self._in_garbage = False

    @property
    def unread_bytes(self) -> int:
        """How many bytes wait to become frames."""
        return len(self._buffer) - self._at + self._later_bytes

    def receive(self, data: bytes) -> None:
        """Store bytes. They are joined once, when the frame they belong to is whole, however small the pieces."""
        if not self.failure:
            self._later.append(data)
            self._later_bytes += len(data)

    def next_frame(self) -> bytes | OtherBeginString | None:
        """The body of the next sound frame. None: more bytes are needed, or `failure` says why there is none."""
        if self._later_bytes and not self._join():
            return None
        # The usual case, in as few steps as it takes; everything that is not usual is decided below.
        buffer = self._buffer
        at = self._at
        if buffer.startswith(self._prefix, at):
            digits_at = at + len(self._prefix)
            body_at = buffer.find(SOH, digits_at, digits_at + 7) + 1
            if body_at and buffer[digits_at : body_at - 1].isdigit():
                end = body_at + int(buffer[digits_at : body_at - 1])
                behind = end + _TRAILER_BYTES
                if (
                    behind - at <= self._message_bytes
                    and buffer[end:behind] == TRAILERS[checksum(buffer[at:end])]
                    and buffer.startswith(b"35=", body_at)
                    and buffer[end - 1] == 1
                    and not self.failure
                ):
                    self._at = behind
                    self._in_garbage = False
                    return buffer[body_at:end]
        return self._next_frame_slowly()

    def matched_frames(self, layouts: Sequence[Layout]) -> Iterator[tuple[Layout, re.Match[bytes]]]:
        """The next sound frames, each consumed, as long as each matches one of `layouts` whole.

        The end says nothing of the frame that comes then: `next_frame` does. Nothing else may be called before it.
        """
        if self.failure or (self._later_bytes and not self._join()):
            return
        buffer, at, begins = self._buffer, self._at, self._begins
        while True:
            for layout in layouts:
                match = layout.match(buffer, at)
                if match is None:
                    continue
                end = match.end()
                size = end - at
                frame = buffer[at:end]
                total = adler32(frame) - 1 if size <= SUMMED_AT_ONCE else checksum(frame)
                if (
                    frame.startswith(begins.get(size) or self._begin_of(size))
                    and buffer[end : end + _TRAILER_BYTES] == TRAILERS[total & 0xFF]
                    and size + _TRAILER_BYTES <= self._message_bytes
                ):
                    break
            else:
                return
            self._at = at = end + _TRAILER_BYTES
            self._in_garbage = False
            yield layout, match

    def _begin_of(self, size: int) -> bytes:
        """BeginString and BodyLength of a frame of `size` bytes before its trailer: they follow from the size.

        When no frame has that size, something that none begins with.
        """
        for digits in range(1, len(str(size)) + 1):
            begin = b"%b%d\x01" % (self._prefix, size - len(self._prefix) - digits - 1)
            if len(begin) == len(self._prefix) + digits + 1:
                if len(self._begins) >= _BEGINS_KEPT:
                    self._begins.clear()
                self._begins[size] = begin
                return begin
        return b"\x00"

    def count_garbled(self) -> None:
        """One more garbled message: found here, or by a reader of a frame (a second MsgType, for one)."""
        self.garbled += 1
        if self.garbled > self._garbled_messages and not self.failure:
            self.failure = f"more than {self._garbled_messages} garbled messages"

    def _join(self) -> bool:
        """Make one buffer of the pieces, once it can hold what is missing."""
        if self._later_bytes < self._missing_bytes:
            return False
        if self._at < len(self._buffer):
            self._later.insert(0, self._buffer[self._at :])
        self._buffer = self._later[0] if len(self._later) == 1 else b"".join(self._later)
        self._at = 0
        self._later = []
        self._later_bytes = 0
        self._missing_bytes = 0
        return True

    def _next_frame_slowly(self) -> bytes | OtherBeginString | None:
        while not self.failure and self._go_to_begin():
            at = self._at
            candidate = self._read_start(at)
            if type(candidate) is _Candidate:
                begin_string, body_at, end = candidate
                behind = end + _TRAILER_BYTES
                if behind - at > self._message_bytes:
                    self.failure = f"message longer than {self._message_bytes} bytes"
                    break
                if behind > len(self._buffer):
                    self._missing_bytes = behind - len(self._buffer)
                    break
                if self._is_sound(at, body_at, end):
                    self._at = behind
                    body = self._buffer[body_at:end]
                    return body if begin_string == self.begin_string else OtherBeginString(begin_string, body)
            elif candidate is None:
                self._missing_bytes = 1
                break
            # Garbled: ignored, and the search goes on just behind the bad start, because its BodyLength is not to be
            # believed and the frames behind it are (FIX 4.4 vol. 2, garbled messages).
            self.count_garbled()
            self._at = at + 1
            self._in_garbage = True
        return None

    def _go_to_begin(self) -> bool:
        """Skip garbage up to the next `8=FIX`; False: it is not there yet."""
        buffer = self._buffer
        begin = buffer.find(_BEGIN, self._at)
        if begin < 0:
            # The end of the buffer may be the start of a frame.
            begin = len(buffer) - next(
                n for n in range(len(_BEGIN) - 1, -1, -1) if buffer.endswith(_BEGIN[:n], self._at)
            )
            self._missing_bytes = 1
        if begin > self._at:
            if not self._in_garbage:
                self.count_garbled()
            self._in_garbage = True
            self._at = begin
        if self.failure or not buffer.startswith(_BEGIN, begin):
            return False
        self._in_garbage = False
        return True

    def _read_start(self, at: int) -> _Candidate | bool | None:
        """BeginString and BodyLength at `8=FIX`. None: more bytes are needed. False: they are garbled."""
        buffer = self._buffer
        begin_string_at = at + 2
        begin_string_end = buffer.find(SOH, begin_string_at, begin_string_at + _BEGIN_STRING_BYTES + 1)
        if begin_string_end < 0:
            return None if len(buffer) - begin_string_at <= _BEGIN_STRING_BYTES else False
        tag = buffer[begin_string_end + 1 : begin_string_end + 3]
        if tag != b"9=":
            return None if len(tag) < 2 else False
        digits_at = begin_string_end + 3
        digits_end = buffer.find(SOH, digits_at, digits_at + _BODY_LENGTH_DIGITS + 1)
        if digits_end < 0:
            return None if len(buffer) - digits_at <= _BODY_LENGTH_DIGITS else False
        digits = buffer[digits_at:digits_end]
        if not digits.isdigit():
            return False
        body_at = digits_end + 1
        return _Candidate(buffer[begin_string_at:begin_string_end], body_at, body_at + int(digits))

    def _is_sound(self, at: int, body_at: int, end: int) -> bool:
        """Whether BodyLength ends at a trailer with the right sum, and MsgType is the third tag (FIX 4.4 vol. 2)."""
        buffer = self._buffer
        return (
            buffer.startswith(b"35=", body_at)
            and buffer[end - 1] == 1
            and buffer[end : end + _TRAILER_BYTES] == TRAILERS[checksum(buffer[at:end])]
        )
