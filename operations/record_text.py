"""Records for people and tools: a payload as the names and values that its kind says."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from exchange.records import order_entry, reference_data, trade_tape, user_feed
from exchange.records.codec import MalformedPayloadError, decode_fields
from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.record import Record
from exchange.records.refusals import Refusal

_CLASSES: Mapping[int, type[Any]] = {
    Kind.NEW_ORDER: order_entry.NewOrder,
    Kind.CANCEL_ORDER: order_entry.CancelOrder,
    Kind.UNACCEPTABLE_ORDER: order_entry.UnacceptableOrder,
    Kind.UNACCEPTABLE_CANCEL: order_entry.UnacceptableCancel,
    Kind.INSTRUMENT_ADDED: reference_data.InstrumentAdded,
    Kind.PARTICIPANT_ADDED: reference_data.ParticipantAdded,
    Kind.LIMIT_SET: reference_data.LimitSet,
    Kind.ORDER_ACCEPTED: trade_tape.OrderAccepted,
    Kind.ORDER_REFUSED: trade_tape.OrderRefused,
    Kind.TRADE: trade_tape.Trade,
    Kind.ORDER_CANCELED: trade_tape.OrderCanceled,
    Kind.CANCEL_REFUSED: trade_tape.CancelRefused,
    Kind.INPUT_REFUSED: trade_tape.InputRefused,
    Kind.FILL: user_feed.Fill,
    Kind.BEACON: user_feed.Beacon,
}
_ENUMERATIONS: Mapping[str, type[IntEnum]] = {
    "side": order_entry.Side,
    "order_type": order_entry.OrderType,
    "time_in_force": order_entry.TimeInForce,
    "refusal": Refusal,
    "reason": EndReason,
}
_NANOSECONDS = 1_000_000_000


def describe_payload(payload: bytes) -> tuple[str, dict[str, Any]]:
    """(name of the kind, fields by name). A payload that no version of ours wrote is `unreadable`, in hex."""
    try:
        fields = decode_fields(payload)
        kind = Kind(fields[0])
        if kind is Kind.TICK:
            return "tick", {}
        if kind is Kind.STREAM_BOUND:
            return "stream_bound", {"number": fields[1], "name": fields[2]}
        named = _CLASSES[kind](*fields)._asdict()
    except (MalformedPayloadError, ValueError, TypeError, IndexError):
        return "unreadable", {"bytes": payload.hex()}
    del named["kind"]
    for half in ("maker", "taker"):
        if half in named:
            named[half] = _trade_half(named[half])
    return kind.name.lower(), named


def _trade_half(fields: Any) -> Any:
    try:
        return trade_tape.TradeHalf(*fields)._asdict()
    except TypeError:
        return fields


def record_to_json(record: Record) -> str:
    """One line: positions, times in integer nanoseconds UTC, and the payload by name."""
    kind, payload = describe_payload(record.payload)
    return json.dumps(
        {
            "position": record.position,
            "stream": record.stream,
            "stream_position": record.stream_position,
            "kind": kind,
            "event_time": record.event_time,
            "sequencing_time": record.sequencing_time,
            "payload": payload,
        }
    )


def record_to_line(record: Record) -> str:
    """One line for a human: position, time, stream and its position, kind, values."""
    kind, payload = describe_payload(record.payload)
    values = " ".join(f"{name}={value_text(name, value)}" for name, value in payload.items())
    place = f"{record.stream}[{record.stream_position}]"
    return f"{record.position:>10}  {time_text(record.sequencing_time)}  {place:<28} {kind:<16} {values}".rstrip()


def payload_text(payload: bytes) -> str:
    """A payload alone, in one line."""
    kind, fields = describe_payload(payload)
    return " ".join([kind, *(f"{name}={value_text(name, value)}" for name, value in fields.items())])


def value_text(name: str, value: Any) -> str:
    """A value of a payload for a human: enumerations by name, all else exactly as it is."""
    if value is None:
        return "-"
    if isinstance(value, dict):
        return "{" + " ".join(f"{inner}={value_text(inner, item)}" for inner, item in value.items()) + "}"
    if isinstance(value, tuple | list):
        return ",".join(value_text("", item) for item in value)
    try:
        return _ENUMERATIONS[name](value).name
    except (KeyError, ValueError):
        return str(value)


def time_text(nanoseconds: int) -> str:
    """An instant as ISO 8601 UTC with microseconds."""
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
