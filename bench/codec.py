"""Part `codec`: FIX bytes to fields and ExecutionReports to bytes, ours and the peers', microseconds per message."""

from collections.abc import Callable
from typing import Any

import quickfix
import simplefix
from fixcore.message.message import Message as FixcoreMessage
from rich.table import Table

from bench import report_encoders
from bench.fix_text import VENUE, frame, new_order_body
from bench.tables import table
from bench.timing import microseconds_per_call
from gateway.fix.fields import FieldFault, split_fields
from gateway.fix.framing import Framing
from gateway.fix.layouts import Layout, Layouts

ORDER_BYTES = 171
MESSAGE_BYTES_LIMIT = 4096
READ_TAGS = (1, 11, 38, 40, 44, 54, 55, 59)
"""What a venue needs of an order: read out of every parsed message."""


def order_message() -> bytes:
    """A NewOrderSingle(D) of ORDER_BYTES bytes."""
    sending_time = "20260102-03:04:05.678"
    for length in range(1, 20):
        cl_ord_id = "o" * length
        body = new_order_body(cl_ord_id, "ALFA", 1, 100, "99.95", 0, sending_time)
        message = frame("D", "ACME-1", 1234, sending_time, body)
        if len(message) == ORDER_BYTES:
            return message
    raise ValueError(f"no ClOrdID makes the message {ORDER_BYTES} bytes long")


def measure() -> dict[str, Any]:
    """Both tables, and how many times faster than simplefix ours is."""
    parsing = microseconds_per_call(parsers(order_message()))
    encoders = report_encoders.encoders()
    report = encoders["fixcore-engine"]()
    encoding = microseconds_per_call(encoders)
    encoding["ordinal"] = round(encoding["ordinal"] / report_encoders.REPORTS_AT_ONCE, 2)
    return {
        "order_bytes": ORDER_BYTES,
        "report_bytes": len(report),
        "parse_us": parsing,
        "encode_us": encoding,
        "parse_times_simplefix": round(parsing["simplefix"] / parsing["ordinal"], 1),
        "encode_times_simplefix": round(encoding["simplefix"] / encoding["ordinal"], 1),
    }


def parsers(message: bytes) -> dict[str, Callable[[], Any]]:
    """Each takes the bytes of one message and reads READ_TAGS; proved before anything is timed."""
    framing = Framing(b"FIX.4.4", MESSAGE_BYTES_LIMIT, 10)
    layouts = _learned_layouts(message)
    simplefix_parser = simplefix.FixParser()
    text = message.decode()
    byte_tags = [b"%d" % tag for tag in READ_TAGS]

    def ordinal() -> list[bytes]:
        framing.receive(message)
        ((layout, match),) = framing.matched_frames(layouts)
        fields = dict(zip(layout.tags, match.groups(), strict=True))
        return [fields[tag] for tag in byte_tags]

    def with_simplefix() -> list[bytes]:
        simplefix_parser.append_buffer(message)
        parsed = simplefix_parser.get_message()
        return [parsed.get(tag) for tag in READ_TAGS]

    def with_quickfix() -> list[str]:
        parsed = quickfix.Message(text, True)
        return [parsed.getField(tag) for tag in READ_TAGS]

    def with_fixcore() -> list[str]:
        parsed = FixcoreMessage.decode(message)
        return [parsed.get_field(tag) for tag in READ_TAGS]

    calls: dict[str, Callable[[], Any]] = {
        "ordinal": ordinal,
        "simplefix": with_simplefix,
        "quickfix": with_quickfix,
        "fixcore-engine": with_fixcore,
    }
    expected = [dict(report_encoders.field_pairs(message))[tag] for tag in READ_TAGS]
    for name, call in calls.items():
        values = [value.decode() if isinstance(value, bytes) else value for value in call()]
        if values != expected:
            raise ValueError(f"{name} reads {values} instead of {expected}")
    return calls


def _learned_layouts(message: bytes) -> list[Layout]:
    """What a session has learned of a member that has sent a few such orders."""
    framing = Framing(b"FIX.4.4", MESSAGE_BYTES_LIMIT, 10)
    layouts = Layouts(b"FIX.4.4", {b"49": b"ACME-1", b"56": VENUE.encode()})
    while not layouts.learned:
        framing.receive(message)
        body = framing.next_frame()
        assert isinstance(body, bytes)
        fields = split_fields(body)
        assert not isinstance(fields, FieldFault)
        layouts.seen(fields, b"60")
    return layouts.learned


def tables(result: dict[str, Any]) -> list[Table]:
    """Microseconds by engine."""
    rows = [[name, result["parse_us"][name], result["encode_us"][name]] for name in result["parse_us"]]
    title = f"FIX codec, µs per message (order {result['order_bytes']} B, report {result['report_bytes']} B)"
    columns = ["engine", "parse and read an order", f"encode a report (ours {report_encoders.REPORTS_AT_ONCE} at once)"]
    return [table(title, columns, rows)]
