"""Payload bytes: msgpack arrays of ints, strings, bytes, bools, None and nested arrays (architecture, rule 8).

The first field is the kind.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgpack

from exchange.records.kinds import Kind


class MalformedPayloadError(ValueError):
    """A payload that no writer of ours produces. Decoders answer it with a record, never with an exception."""


encode: Callable[[Sequence[Any]], bytes] = msgpack.Packer(autoreset=True).pack
"""Canonical bytes of a record class from this package (a tuple whose first field is its kind).

The packer's own method, reused and without a call around it: it runs for every record.
"""


decode: Callable[[bytes], tuple[Any, ...]] = partial(msgpack.unpackb, use_list=False)
"""The fields of a payload that a decoder of ours wrote. Raises ValueError or a subclass for bytes that are not msgpack.

A call without one of ours around it: it runs for every report. Payloads from elsewhere go through `decode_fields`.
"""


def decode_fields(payload: bytes) -> tuple[Any, ...]:
    """The fields of a payload, kind first; the empty payload is a clock tick.

    Raises MalformedPayloadError for bytes that are not one msgpack array of two or more fields led by an int.
    """
    if not payload:
        return (int(Kind.TICK),)
    try:
        fields = msgpack.unpackb(payload, use_list=False)
    except Exception as error:  # msgpack raises a dozen kinds, UnicodeDecodeError and MemoryError-like sizes among them
        raise MalformedPayloadError(str(error)) from error
    if type(fields) is not tuple or len(fields) < 2 or type(fields[0]) is not int:
        raise MalformedPayloadError("not an array led by a kind")
    return fields
