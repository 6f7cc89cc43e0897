"""Every limit of the venue: a key of `[limits]`, its default, and which of two must be the smaller.

The pieces define their own limits beside the code that enforces them (architecture, rule 15); this gathers them.
"""

from dataclasses import fields
from typing import Any

from exchange.streams.limits import StreamLimits
from exchange.symbol_partition import cl_ord_ids
from exchange.symbol_partition.order_rules import LONGEST_PAYLOAD
from gateway.fix.limits import Limits as FixLimits

REMEMBERED_ORDERS = "remembered_orders"
"""The one limit that decoders obey: it reaches them as a record, never as config (architecture, rule 1)."""

_OF_STREAMS = {limit.name: limit.default for limit in fields(StreamLimits)}
_OF_MATCHERS = {REMEMBERED_ORDERS: cl_ord_ids.REMEMBERED_ORDERS}
_OF_FIX = {limit.name: limit.default for limit in fields(FixLimits)}
_OF_GATEWAYS = {"in_flight_orders": 10_000}
_OF_NODES = {"deaths_per_minute": 5, "stop_grace_ms": 10_000, "stale_after_ms": 2_000}


def _gathered(*sources: dict[str, Any]) -> dict[str, int]:
    gathered: dict[str, int] = {}
    for source in sources:
        assert not gathered.keys() & source.keys(), "one key would set two limits"
        gathered |= source
    return gathered


DEFAULTS: dict[str, int] = _gathered(_OF_STREAMS, _OF_MATCHERS, _OF_FIX, _OF_GATEWAYS, _OF_NODES)
"""Key of `[limits]` to default."""

ORDERED = (
    ("record_bytes", "block_bytes"),
    ("block_bytes", "frame_bytes"),
    ("block_bytes", "segment_bytes"),
    ("message_bytes", "record_bytes"),
    ("heart_bt_int_min_s", "heart_bt_int_max_s"),
)
"""Pairs of keys of which the first must not exceed the second: what one carries must fit into the other."""

LARGEST = {"identifier_bytes": LONGEST_PAYLOAD // 8}
"""Key to its largest value: three identifiers, two bytes for each of theirs at most, fit into what a matcher reads."""
