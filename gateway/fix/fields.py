"""The fields of one message: bytes between `9=..|` and `10=` into {tag: value}, and the grammars of their values.

The quick path is a split; whatever it cannot vouch for (a data field, a group, a repeated tag, an empty value) goes
through the slow path, which reads field by field and says what is wrong. Both give the same answer where both may.
"""

from calendar import timegm
from datetime import UTC, datetime
from typing import NamedTuple

from gateway.fix.dictionary import DATA_TAGS, GROUPS, SessionRejectReason
from gateway.fix.instant import NANOSECONDS_PER_SECOND

Fields = dict[bytes, bytes]
"""Tag to value, both as they came. The members of repeating groups are checked and left out; the count stays."""

SOH = b"\x01"

_LAST_TAG = 956
"""FIX 4.4 ends here (vol. 6, fields by tag). Higher tags are other people's: taken by the slow path, and ignored."""
PLAIN_TAGS = (
    frozenset(b"%d" % tag for tag in range(1, _LAST_TAG + 1))
    .difference(DATA_TAGS, GROUPS)
    .difference((b"8", b"9", b"10"))
)
"""Tags whose value is just what stands up to the next SOH, with nothing that must follow."""
_TEXT = bytes(byte for byte in range(256) if byte not in b"=\x01")
_DELIMITERS = b"=\x01"
_FRAMING_TAGS = (b"8", b"9", b"35")


class FieldFault(NamedTuple):
    """A message with a faulty field. `fields` holds what was read, of a repeated tag the first value.

    `reason` is SessionRejectReason(373), or None for a garbled message, which is ignored and uses no number.
    """

    reason: int | None
    tag: bytes
    text: str
    fields: Fields


def split_fields(body: bytes) -> Fields | FieldFault:
    """The fields of a frame's body, which starts at 35= and ends with SOH.

    Never raises: a fault comes back as a value with its SessionRejectReason (FIX 4.4 vol. 2, Reject).
    """
    parts = body.replace(b"=", SOH).split(SOH)
    part = iter(parts)
    fields = dict(zip(part, part))  # noqa: B905 (one iterator twice pairs neighbours; the last part is empty)
    if (
        # What is left without the text shows that each = and each SOH stands where the pairing above took it to be.
        body.translate(None, _TEXT) == _DELIMITERS * len(fields)
        and all(fields.values())
        and PLAIN_TAGS.issuperset(fields)
    ):
        return fields
    return _read_fields(body)


class _Faulty(Exception):  # noqa: N818 (control flow inside this file: the fault leaves as a value)
    def __init__(self, reason: int | None, tag: bytes, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.tag = tag
        self.text = text


def _read_fields(body: bytes) -> Fields | FieldFault:
    """The slow path: one field after the other, data by its length, groups by their count."""
    fields: Fields = {}
    fault: FieldFault | None = None
    at = 0
    while at < len(body):
        following = body.find(SOH, at) + 1 or len(body)
        try:
            at = _take_field(body, at, fields)
        except _Faulty as faulty:
            # The first fault is the one reported, and reading goes on: MsgSeqNum(34) may lie behind it. Only a garbled
            # message outranks it, unless lengths no longer tell fields from data.
            found = FieldFault(faulty.reason, faulty.tag, faulty.text, fields)
            if fault is None or (faulty.reason is None and fault.tag not in DATA_TAGS):
                fault = found
            at = following
    return fields if fault is None else fault


def _take_field(body: bytes, at: int, fields: Fields) -> int:
    """Add the field at `at`, with the data or the group that belongs to it. Where the next one starts."""
    tag, value, at = _read_field(body, at)
    if tag in fields or tag == b"8" or tag == b"9":
        # A second BeginString, BodyLength or MsgType garbles the message (FIX 4.4 vol. 2, message integrity).
        reason = None if tag in _FRAMING_TAGS else SessionRejectReason.TAG_APPEARS_MORE_THAN_ONCE
        raise _Faulty(reason, tag, "Tag appears more than once")
    fields[tag] = value
    if tag == b"10":
        raise _Faulty(SessionRejectReason.TAG_OUT_OF_ORDER, tag, "Tag specified out of required order")
    if tag in DATA_TAGS:
        data_tag, data, at = _read_data(body, at, tag, value)
        if data_tag in fields:
            raise _Faulty(SessionRejectReason.TAG_APPEARS_MORE_THAN_ONCE, data_tag, "Tag appears more than once")
        fields[data_tag] = data
    elif tag in GROUPS:
        at = _skip_group(body, at, tag, value)
    return at


def _read_field(body: bytes, at: int) -> tuple[bytes, bytes, int]:
    """(tag, value, where the next field starts). Raises _Faulty, leaving the caller to step over the field."""
    end = body.find(SOH, at)
    if end < 0:
        end = len(body)
    tag, equals, value = body[at:end].partition(b"=")
    if not equals or not tag.isdigit() or tag[0] == 0x30:
        raise _Faulty(
            SessionRejectReason.INVALID_TAG_NUMBER, tag if _is_tag_to_name(tag) else b"", "Invalid tag number"
        )
    if not value:
        raise _Faulty(SessionRejectReason.TAG_WITHOUT_VALUE, tag, "Tag specified without a value")
    return tag, value, end + 1


def _is_tag_to_name(tag: bytes) -> bool:
    """Whether a bad tag is at least a number that fits into RefTagID(371)."""
    return tag.isdigit() and len(tag) <= 9


def _read_data(body: bytes, at: int, length_tag: bytes, length: bytes) -> tuple[bytes, bytes, int]:
    """The data field announced by a length field: exactly so many bytes, then SOH (FIX 4.4 vol. 1, data)."""
    expected = DATA_TAGS[length_tag] + b"="
    if not body.startswith(expected, at):
        raise _Faulty(SessionRejectReason.TAG_OUT_OF_ORDER, length_tag, "Length field without its data field")
    begin = at + len(expected)
    end = begin + whole_number(length, 9)
    if end < begin or body[end : end + 1] != SOH:
        raise _Faulty(SessionRejectReason.INCORRECT_DATA_FORMAT, length_tag, "Length does not match the data")
    return expected[:-1], body[begin:end], end + 1


def _skip_group(body: bytes, at: int, count_tag: bytes, count: bytes) -> int:
    """Where a repeating group ends. Its first tag begins each entry, and no tag comes twice in one entry."""
    first_tag, members = GROUPS[count_tag]
    expected = whole_number(count, 5)
    if expected < 0:
        raise _Faulty(SessionRejectReason.INCORRECT_DATA_FORMAT, count_tag, "Count is not a whole number")
    seen: set[bytes] = set()
    entries = 0
    while at < len(body):
        tag = body[at : body.find(b"=", at)]
        if tag not in members:
            break
        tag, value, at = _read_field(body, at)
        if tag == first_tag:
            entries += 1
            seen.clear()
        elif not entries or tag in seen:
            raise _Faulty(SessionRejectReason.GROUP_FIELDS_OUT_OF_ORDER, tag, "Repeating group fields out of order")
        seen.add(tag)
        if tag in GROUPS:
            at = _skip_group(body, at, tag, value)
    if entries != expected:
        raise _Faulty(SessionRejectReason.GROUP_COUNT_MISMATCH, count_tag, "Incorrect NumInGroup count")
    return at


def whole_number(text: bytes, digits: int) -> int:
    """A plain non-negative int of at most so many digits, leading zeros allowed (as engines pad); else -1."""
    if text.isdigit() and len(text) <= digits:
        return int(text)
    return -1


_TIMESTAMP_CACHE_SECONDS = 1_024
_seconds_of_text: dict[bytes, int] = {}
_text_of_seconds: dict[int, bytes] = {}
_FRACTION_UNITS = {17: NANOSECONDS_PER_SECOND, 21: 1_000_000, 24: 1_000, 27: 1}
"""By the length of the whole text: what the last digit counts, in nanoseconds."""


def parse_timestamp(text: bytes) -> int:
    """Nanoseconds since 1970 UTC of `YYYYMMDD-HH:MM:SS` with 0, 3, 6 or 9 fraction digits; -1 if it is none.

    Second 60 is allowed (FIX 4.4 vol. 1, UTCTimestamp: leap seconds) and counts as the second after 59.
    """
    seconds = whole_seconds(text)
    if seconds < 0:
        return -1
    return seconds * NANOSECONDS_PER_SECOND + int(text[18:] or b"0") * _FRACTION_UNITS[len(text)]


def whole_seconds(text: bytes) -> int:
    """The whole seconds of what `parse_timestamp` takes; -1 for what it does not take."""
    seconds = _seconds_of_text.get(text[:17])
    if seconds is None:
        seconds = _parse_seconds(text[:17])
    length = len(text)
    if length == 17 or (length in _FRACTION_UNITS and text[17] == 0x2E and text[18:].isdigit()):
        return seconds
    return -1


def _parse_seconds(text: bytes) -> int:
    digits = text[:8] + text[9:11] + text[12:14] + text[15:17]
    if len(text) != 17 or not digits.isdigit() or text[8] != 0x2D or text[11] != 0x3A or text[14] != 0x3A:
        return -1
    try:
        day = datetime(int(text[:4]), int(text[4:6]), int(text[6:8]), tzinfo=UTC)
    except ValueError:
        return -1
    hour, minute, second = int(text[9:11]), int(text[12:14]), int(text[15:17])
    if hour > 23 or minute > 59 or second > 60 or day.year < 1970:
        return -1
    seconds = timegm(day.timetuple()) + hour * 3600 + minute * 60 + second
    if len(_seconds_of_text) >= _TIMESTAMP_CACHE_SECONDS:
        _seconds_of_text.clear()
    _seconds_of_text[text] = seconds
    return seconds


def timestamp_text(nanoseconds: int) -> bytes:
    """UTCTimestamp in microseconds, rounded down."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS_PER_SECOND)
    text = _text_of_seconds.get(seconds)
    if text is None:
        text = _render_seconds(seconds)
    return b"%b%06d" % (text, rest // 1_000)


def _render_seconds(seconds: int) -> bytes:
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.strftime("%Y%m%d-%H:%M:%S.").encode("ascii")
    if len(_text_of_seconds) >= _TIMESTAMP_CACHE_SECONDS:
        _text_of_seconds.clear()
    _text_of_seconds[seconds] = text
    return text


DECIMAL_DIGITS = 18
"""Longest decimal number read: so many digits. Longer ones are not numbers of this venue."""


LARGEST_UNITS = 2**63 - 1
"""Most ticks or lots that a record carries."""

LARGEST_DECIMALS = 30
"""Most decimals a unit may have."""

_POWERS_OF_TEN: tuple[int, ...] = tuple(int(10**power) for power in range(LARGEST_DECIMALS + 1))


class NotANumberError(ValueError):
    """Text that is not digits with at most one point, or has too many digits."""


class OffUnitError(ValueError):
    """A number that is not a whole multiple of its unit."""


def parse_units(text: bytes, mantissa: int, decimals: int) -> int:
    """How many units of mantissa / 10**decimals a decimal text is, exactly (architecture, rule 9).

    Raises NotANumberError for anything but ASCII digits with at most one point, for more than DECIMAL_DIGITS digits and
    for more than LARGEST_UNITS; OffUnitError for a number between two units.
    """
    whole, _, fraction = text.partition(b".")
    digits = whole + fraction
    if not digits.isdigit() or len(digits) > DECIMAL_DIGITS:
        raise NotANumberError(text)
    value = int(digits)
    places = len(fraction)
    if places < decimals:
        value *= _POWERS_OF_TEN[decimals - places]
    elif places > decimals:
        # Trailing zeros beyond the unit's decimals change nothing; any other digit is between two units.
        value, between = divmod(value, _POWERS_OF_TEN[places - decimals])
        if between:
            raise OffUnitError(text)
    units, between = divmod(value, mantissa)
    if units > LARGEST_UNITS:
        raise NotANumberError(text)
    if between:
        raise OffUnitError(text)
    return units


def decimal_text(value: int, decimals: int) -> bytes:
    """value / 10**decimals as decimal text with all its decimals: (1005, 2) is 10.05 and (1000, 2) is 10.00."""
    if not decimals:
        return b"%d" % value
    whole, fraction = divmod(abs(value), _POWERS_OF_TEN[decimals])
    return b"%b%d.%0*d" % (b"-" if value < 0 else b"", whole, decimals, fraction)
