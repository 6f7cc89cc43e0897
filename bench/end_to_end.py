"""Part `venue`: orders over loopback FIX through sequencer, matcher pair, partitioner pair and back as reports."""

from pathlib import Path
from typing import Any

import uvloop
from rich.table import Table

from bench.disk_sync import fdatasync_delays
from bench.load_client import LoadClient
from bench.measured_run import delays, percentiles_us, run_rate, run_window
from bench.order_program import alternating_program, seeded_program
from bench.tables import cpu_table, table
from bench.venue_config import COMP_IDS, SEED, WINDOW
from bench.venue_process import VenueProcess, running_venue

WARM_UP_ORDERS = 4_000
SINGLE_ORDERS = 1_000
RATE = 2_000.0
RATE_SECONDS = 5


def measure(orders: int, scratch: Path) -> dict[str, Any]:
    """Throughput, CPU by process, latency one at a time and at a rate, memory; the disk's fdatasync beside it."""
    with running_venue(scratch) as venue:
        return uvloop.run(_measure(venue, orders, scratch))


async def _measure(venue: VenueProcess, orders: int, scratch: Path) -> dict[str, Any]:
    await venue.wait_until_open()
    processes = await venue.processes()
    sessions = len(COMP_IDS)
    client = await LoadClient.connect(venue.host, venue.order_entry_port, COMP_IDS)
    try:
        await run_window(client, seeded_program(WARM_UP_ORDERS, sessions, prefix="w"), WINDOW, processes)
        syncs = fdatasync_delays(scratch)
        single = await run_window(client, alternating_program(SINGLE_ORDERS, 0, sessions, "s"), 1, processes)
        syncs += fdatasync_delays(scratch)
        at_rate = await run_rate(
            client, seeded_program(int(RATE * RATE_SECONDS), sessions, prefix="r"), RATE, processes
        )
        throughput = await run_window(client, seeded_program(orders, sessions, SEED, "t"), WINDOW, processes)
        syncs += fdatasync_delays(scratch)
    finally:
        await client.close()
    return {
        "throughput": throughput.figures(),
        "one_at_a_time_us": delays(single.reports),
        "at_rate_us": delays(at_rate.reports),
        "rate": RATE,
        "fdatasync_us": percentiles_us(syncs),
        "resident_mib": throughput.resident,
    }


def tables(result: dict[str, Any]) -> list[Table]:
    """Throughput, delays, and CPU and memory by process."""
    run = result["throughput"]
    rows = [
        ["orders/s, window " + str(WINDOW), run["orders_per_second"]],
        ["orders, reports, trades", f"{run['orders']:,}, {run['reports']:,}, {run['trades']:,}"],
        ["order to report under that load, ms, p50 / p99", _pair(run["answer_us"], 1000)],
        ["order to report one at a time, µs, p50 / p99", _pair(result["one_at_a_time_us"])],
        [f"order to report at {result['rate']:.0f} orders/s, µs, p50 / p99", _pair(result["at_rate_us"])],
        ["append and fdatasync on this disk, µs, p50 / p99", _pair(result["fdatasync_us"])],
    ]
    return [
        table("Venue, end to end over loopback FIX", ["what", "figure"], rows),
        cpu_table("Venue, by process", run["cpu_us_per_order"], result["resident_mib"]),
    ]


def _pair(figures: dict[str, float], unit: int = 1) -> str:
    return f"{figures['p50'] / unit:.0f} / {figures['p99'] / unit:.0f}"
