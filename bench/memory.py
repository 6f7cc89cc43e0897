"""Part `memory`: resident memory after many orders that have all ended. Long, so it runs only when asked for."""

from pathlib import Path
from typing import Any

import uvloop
from rich.table import Table

from bench.load_client import LoadClient
from bench.measured_run import MeasuredRun, run_window
from bench.order_program import OrderProgram, seeded_program
from bench.process_usage import resident_mib
from bench.tables import table
from bench.venue_config import COMP_IDS, WINDOW
from bench.venue_process import VenueProcess, running_venue

FIRST_ORDERS, LAST_ORDERS = 500_000, 2_000_000
BATCH_ORDERS = 100_000
Live = list[tuple[int, str, str, int, int]]


def measure(scratch: Path) -> dict[str, Any]:
    """RSS by process at both marks, MiB, and its growth from the first to the last in percent."""
    with running_venue(scratch) as venue:
        return uvloop.run(_measure(venue))


async def _measure(venue: VenueProcess) -> dict[str, Any]:
    await venue.wait_until_open()
    processes = await venue.processes()
    client = await LoadClient.connect(venue.host, venue.order_entry_port, COMP_IDS)
    marks: dict[str, dict[str, float]] = {}
    entered = batch = 0
    try:
        while entered < LAST_ORDERS:
            run = await _batch_that_ends(client, processes, batch)
            entered += run.reports.new_orders
            batch += 1
            if (entered >= FIRST_ORDERS and not marks) or entered >= LAST_ORDERS:
                marks[str(entered)] = resident_mib(processes)
    finally:
        await client.close()
    first, last = marks.values()
    growth = {name: round((last[name] / first[name] - 1) * 100, 1) for name in first if first[name]}
    return {"resident_mib_by_orders": marks, "growth_percent": growth}


async def _batch_that_ends(client: LoadClient, processes: dict[str, int], batch: int) -> MeasuredRun:
    """A batch of orders, then cancels for those that its interleaving left in the book."""
    sessions = len(COMP_IDS)
    run = await run_window(client, seeded_program(BATCH_ORDERS, sessions, batch + 1, f"b{batch}."), WINDOW, processes)
    if run.reports.live:
        await run_window(client, _cancels(run.reports.live, f"c{batch}."), WINDOW, processes)
    return run


def _cancels(live: Live, prefix: str) -> OrderProgram:
    program = OrderProgram(prefix, len(COMP_IDS))
    for session, cl_ord_id, symbol, side, leaves in live:
        program.add_cancel(session, cl_ord_id, symbol, side, leaves)
    return program


def tables(result: dict[str, Any]) -> list[Table]:
    """RSS by process at both marks."""
    marks = result["resident_mib_by_orders"]
    rows = [
        [name, *(mark[name] for mark in marks.values()), f"{growth:+}"]
        for name, growth in result["growth_percent"].items()
    ]
    return [
        table("Memory after orders that all ended, MiB", ["process", *(f"{int(n):,} orders" for n in marks), "%"], rows)
    ]
