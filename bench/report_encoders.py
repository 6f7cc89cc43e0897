"""ExecutionReport(8) of a fill to bytes, for part `codec`: ours from the record, peers from ready field texts."""

from collections.abc import Callable

import quickfix
import simplefix
from fixcore.message.message import Message as FixcoreMessage

HEADER_TAGS = (8, 9, 35, 34, 49, 52, 56)
Pairs = list[tuple[int, str]]


def field_pairs(message: bytes) -> Pairs:
    """Tags and values in order, CheckSum left out."""
    pairs = [part.split(b"=", 1) for part in message.split(b"\x01")[:-2]]
    return [(int(tag), value.decode()) for tag, value in pairs]


def peers(pairs: Pairs) -> dict[str, Callable[[], bytes | str]]:
    """Each builds the message anew and serialises it, BodyLength and CheckSum computed."""

    def with_simplefix() -> bytes:
        message = simplefix.FixMessage()
        for tag, value in pairs:
            message.append_pair(tag, value)
        encoded: bytes = message.encode()
        return encoded

    def with_quickfix() -> str:
        message = quickfix.Message()
        header = message.getHeader()
        for tag, value in pairs:
            (header if tag in HEADER_TAGS else message).setField(tag, value)
        text: str = message.toString()
        return text

    def with_fixcore() -> bytes:
        message = FixcoreMessage()
        for tag, value in pairs:
            if tag in HEADER_TAGS:
                message.header.set(tag, value)
            else:
                message.set_field(tag, value)
        return message.encode()

    return {"simplefix": with_simplefix, "quickfix": with_quickfix, "fixcore-engine": with_fixcore}
