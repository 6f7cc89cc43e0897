"""Frames on internal sockets: a length, a type, a body (architecture, streams).

Control frames carry one msgpack array; PUBLISH, BLOCK and RECORDS carry runs and blocks as they are.
"""

import hashlib
import hmac
import struct
from enum import IntEnum
from typing import Any

import msgpack

PROTOCOL_VERSION = 2
_FRAME = struct.Struct("<IB")
FRAME_HEADER_SIZE = _FRAME.size
_PUBLISH = struct.Struct("<IBHI")
_BLOCK = struct.Struct("<IBIQ")
_RECORDS = struct.Struct("<IBIB")
PUBLISH_BODY = struct.Struct("<HI")
BLOCK_BODY = struct.Struct("<IQ")
RECORDS_BODY = struct.Struct("<IB")


class FrameType(IntEnum):
    """Requests below 64 go to the sequencer, answers from 64 come back."""

    HELLO = 1
    OPEN = 2
    PUBLISH = 3
    SUBSCRIBE = 4
    READ = 5
    STATE = 6
    PASS_OVER = 7

    GREETING = 64
    WELCOME = 65
    OPENED = 66
    SUBSCRIBED = 67
    BLOCK = 68
    PROGRESS = 69
    LEVELS = 70
    RECORDS = 71
    GAP = 72
    FAILED = 73
    REFUSED = 74
    STATE_IS = 75


class ProtocolError(ValueError):
    """What a peer sent is not this protocol. The peer is refused with the text; nobody else notices."""


def control_frame(kind: FrameType, *fields: Any) -> bytes:
    """A frame whose body is one msgpack array."""
    body: bytes = msgpack.packb(fields)
    return _FRAME.pack(1 + len(body), kind) + body


def publish_frame(partition: int, epoch: int, runs: list[bytes]) -> bytes:
    """A PUBLISH frame: runs for one partition, made under `epoch`."""
    body = b"".join(runs)
    return _PUBLISH.pack(7 + len(body), FrameType.PUBLISH, partition, epoch) + body


def block_frame(subscription: int, since: int, block: bytes) -> bytes:
    """A BLOCK frame. From position `since` up to the block nothing concerns this reader."""
    return _BLOCK.pack(13 + len(block), FrameType.BLOCK, subscription, since) + block


def records_frame(request: int, last: bool, blocks: bytes) -> bytes:
    """A RECORDS frame: narrowed blocks that answer a READ; `last` when nothing more is there now."""
    return _RECORDS.pack(6 + len(blocks), FrameType.RECORDS, request, last) + blocks


def control_fields(body: bytes, least: int) -> tuple[Any, ...]:
    """The fields of a control frame. ProtocolError when it is not an array of at least `least` fields."""
    try:
        fields = msgpack.unpackb(body, use_list=False)
    except Exception as error:  # msgpack raises many kinds, all of which mean the same here
        raise ProtocolError(f"a control frame is not msgpack: {type(error).__name__}") from error
    if type(fields) is not tuple or len(fields) < least:
        raise ProtocolError("a control frame has too few fields")
    return fields


def typed_fields(body: bytes, *types: type | tuple[type, ...]) -> tuple[Any, ...]:
    """The first fields of a control frame, one for each of `types`. ProtocolError when one is of another type.

    Ints count something here and must not be negative.
    """
    fields = control_fields(body, len(types))[: len(types)]
    for place, (value, allowed) in enumerate(zip(fields, types, strict=True)):
        if type(value) not in (allowed if isinstance(allowed, tuple) else (allowed,)):
            raise ProtocolError(f"field {place} of a control frame is a {type(value).__name__}")
        if type(value) is int and value < 0:
            raise ProtocolError(f"field {place} of a control frame is negative")
    return fields


class FrameSplitter:
    """Cuts a byte stream into frames, whatever pieces it arrives in."""

    def __init__(self, frame_bytes: int) -> None:
        self._limit = frame_bytes
        self._parts: list[bytes] = []
        self._have = 0
        self._need = FRAME_HEADER_SIZE

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The (type, body) of every frame completed by `data`. ProtocolError for a frame over the limit."""
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        buffer = b"".join(self._parts) if len(self._parts) > 1 else data
        frames = []
        start, size = 0, len(buffer)
        self._need = FRAME_HEADER_SIZE
        while size - start >= FRAME_HEADER_SIZE:
            length, kind = _FRAME.unpack_from(buffer, start)
            if not 1 <= length <= self._limit:
                raise ProtocolError(f"a frame of {length} bytes is outside 1 to frame_bytes {self._limit}")
            stop = start + 4 + length
            if stop > size:
                self._need = 4 + length
                break
            frames.append((kind, buffer[start + FRAME_HEADER_SIZE : stop]))
            start = stop
        self._parts = [buffer[start:]] if start < size else []
        self._have = size - start
        return frames


def proof_of_secret(secret: str, nonce: bytes, process: str) -> bytes:
    """What a peer shows on TCP instead of the shared secret itself."""
    return hmac.new(secret.encode(), nonce + process.encode(), hashlib.sha256).digest()
