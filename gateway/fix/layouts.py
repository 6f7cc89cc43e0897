"""The layouts of a peer's messages: which tags it writes, in which order.

An engine writes one kind of message with the same tags each time. Once a few such messages have been read field by
field, their layout becomes one pattern that splits and checks the next ones in a single step. What a pattern does not
take is read field by field again: a layout changes how fast a message is read, never what it says.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from gateway.fix.fields import PLAIN_TAGS, Fields

_LEARNED_AFTER = 4
"""So many messages of one layout are read field by field before it is learned."""
_LAYOUTS = 8
"""Most layouts learned of one peer; messages of others are read field by field for good."""
_TAGS = 64
"""A message with more tags is not learned; nor is one with a group or a data field, whose lengths are checked."""
_COUNTED = 64


class Layout(NamedTuple):
    """`match`, at some place of some bytes, finds a frame from 8= to the SOH before 10=, with a group for each tag.

    BodyLength, CheckSum and what `pick` fetches of the groups (MsgSeqNum, SendingTime and the timestamp of the body)
    are left to be checked; the rest of what makes a message plain holds for every message that matches.
    """

    msg_type: bytes
    tags: tuple[bytes, ...]
    match: Callable[[bytes, int], re.Match[bytes] | None]
    pick: Callable[[Sequence[bytes]], tuple[bytes, bytes, bytes]]


class Layouts:
    """The layouts of one session's messages. `fixed` are the header fields that are the same in each of them."""

    __slots__ = ("_begin", "_counts", "_fixed", "learned")

    def __init__(self, begin_string: bytes, fixed: Mapping[bytes, bytes]) -> None:
        self._begin = b"8=" + re.escape(begin_string) + rb"\x019=\d{1,6}\x01"
        self._fixed = fixed
        self._counts: dict[tuple[bytes, ...], int] = {}
        self.learned: list[Layout] = []

    def seen(self, fields: Fields, timestamp_tag: bytes) -> None:
        """A plain message of these fields, in the order in which they came, has been read field by field."""
        if len(self.learned) >= _LAYOUTS or len(fields) > _TAGS or not PLAIN_TAGS.issuperset(fields):
            return
        tags = (fields[b"35"], *fields)
        count = self._counts[tags] = self._counts.get(tags, 0) + 1
        if count == _LEARNED_AFTER and not self._knows(tags):
            self.learned.append(self._layout(fields, timestamp_tag))
        elif len(self._counts) > _COUNTED:
            self._counts.clear()

    def _knows(self, tags: tuple[bytes, ...]) -> bool:
        # A message of a known layout is read field by field when it comes behind a gap, for one.
        return any((layout.msg_type, *layout.tags) == tags for layout in self.learned)

    def _layout(self, fields: Fields, timestamp_tag: bytes) -> Layout:
        msg_type, tags = fields[b"35"], tuple(fields)
        parts = [b"%b=(%b)\x01" % (tag, self._value_pattern(tag, msg_type)) for tag in tags]
        pick = itemgetter(tags.index(b"34"), tags.index(b"52"), tags.index(timestamp_tag))
        return Layout(msg_type, tags, re.compile(self._begin + b"".join(parts)).match, pick)

    def _value_pattern(self, tag: bytes, msg_type: bytes) -> bytes:
        if tag == b"35":
            return re.escape(msg_type)
        if tag == b"34":
            return rb"\d{1,18}"
        return re.escape(self._fixed[tag]) if tag in self._fixed else rb"[^\x01]+"
