"""The figures that decide, against the floors that the project holds itself to."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from bench.tables import table

ORDERS_PER_SECOND_FLOOR = 25_000
TIMES_QUICKFIX_FLOOR = 2.0
CPU_US_CEILING = 40.0
SINGLE_US_CEILING = 700.0
SINGLE_FDATASYNC_TIMES = 3.0
TRADING_AGAIN_MS_CEILING = 2_000.0
RESTART_S_CEILING = 2.0
PARSE_TIMES_FLOOR, ENCODE_TIMES_FLOOR = 8.0, 12.0
MEMORY_GROWTH_PERCENT_CEILING = 10.0

Row = list[str | int | float]


def summary(parts: Mapping[str, Any]) -> Table:
    """One row per figure whose part was measured in this run."""
    rows: list[Row] = []
    if "codec" in parts:
        rows.append(_floor("parse, times simplefix", parts["codec"]["parse_times_simplefix"], PARSE_TIMES_FLOOR))
        rows.append(_floor("encode, times simplefix", parts["codec"]["encode_times_simplefix"], ENCODE_TIMES_FLOOR))
    if "venue" in parts:
        rows += _venue_rows(parts["venue"], parts.get("quickfix"))
    if "recovery" in parts:
        rows += _recovery_rows(parts["recovery"])
    if "memory" in parts:
        growth = max(parts["memory"]["growth_percent"].values())
        rows.append(_ceiling("largest growth of a process, %", growth, MEMORY_GROWTH_PERCENT_CEILING))
    return table("Summary", ["figure", "measured", "must be", "met"], rows)


def _venue_rows(venue: Mapping[str, Any], quickfix: Mapping[str, Any] | None) -> list[Row]:
    run = venue["throughput"]
    single_ceiling = max(SINGLE_US_CEILING, SINGLE_FDATASYNC_TIMES * venue["fdatasync_us"]["p50"])
    rows = [
        _floor("orders/s", run["orders_per_second"], ORDERS_PER_SECOND_FLOOR),
        _ceiling("CPU µs per order, all processes", run["cpu_us_per_order"]["total"], CPU_US_CEILING),
        _ceiling("order to report one at a time, µs p50", venue["one_at_a_time_us"]["p50"], round(single_ceiling)),
    ]
    if quickfix is not None:
        times = run["orders_per_second"] / quickfix["throughput"]["orders_per_second"]
        rows.append(_floor("orders/s, times QuickFIX", round(times, 2), TIMES_QUICKFIX_FLOOR))
    return rows


def _recovery_rows(recovery: Mapping[str, Any]) -> list[Row]:
    again = max(kill["first_report_of_a_later_order_ms"] for kill in recovery["sequencer_kills"])
    restart = max(recovery["restart_s"].values())
    return [
        _ceiling("trading again after kill -9 of the sequencer, ms", again, TRADING_AGAIN_MS_CEILING),
        _ceiling("restart of a decoder, s", restart, RESTART_S_CEILING),
    ]


def _floor(name: str, value: float, floor: float) -> Row:
    return [name, value, f">= {floor:,}", "yes" if value >= floor else "NO"]


def _ceiling(name: str, value: float, ceiling: float) -> Row:
    return [name, value, f"<= {ceiling:,}", "yes" if value <= ceiling else "NO"]
