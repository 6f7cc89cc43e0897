"""Part `quickfix`: the load client of part `venue` against a QuickFIX acceptor that only acknowledges."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvloop
from rich.table import Table

from bench.load_client import LoadClient
from bench.loopback_ports import HOST, free_port_base
from bench.measured_run import delays, run_window
from bench.order_program import alternating_program, seeded_program
from bench.tables import cpu_table, table
from bench.venue_config import COMP_IDS, WINDOW

WARM_UP_ORDERS = 2_000
TARGET_SECONDS = 12.0
SINGLE_ORDERS = 500


@contextmanager
def quickfix_acceptor(port: int) -> Iterator[int]:
    """The acceptor in its own process while inside; its process id."""
    command = [sys.executable, "-m", "bench.quickfix_acceptor", str(port), *COMP_IDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != b"ready":
                raise RuntimeError("the QuickFIX acceptor did not start")
            yield process.pid
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def measure(orders: int) -> dict[str, Any]:
    """Orders/s and CPU per order, as many of the `orders` as fit in the time."""
    port = free_port_base((1,)) + 1
    with quickfix_acceptor(port) as pid:
        return uvloop.run(_measure(port, pid, orders))


async def _measure(port: int, pid: int, orders: int) -> dict[str, Any]:
    processes = {"quickfix acceptor": pid}
    client = await LoadClient.connect(HOST, port, COMP_IDS)
    try:
        warm_up = seeded_program(WARM_UP_ORDERS, len(COMP_IDS), prefix="w")
        first = await run_window(client, warm_up, WINDOW, processes, trades=False)
        scaled = min(orders, max(WARM_UP_ORDERS, int(first.reports.orders_per_second * TARGET_SECONDS)))
        run = await run_window(
            client, seeded_program(scaled, len(COMP_IDS), prefix="t"), WINDOW, processes, trades=False
        )
        single_program = alternating_program(SINGLE_ORDERS, 0, len(COMP_IDS), "s")
        single = await run_window(client, single_program, 1, processes, trades=False)
        return {"throughput": run.figures(), "one_at_a_time_us": delays(single.reports)}
    finally:
        await client.close()


def tables(result: dict[str, Any]) -> list[Table]:
    """Speed and CPU of the acceptor."""
    run, single = result["throughput"], result["one_at_a_time_us"]
    rows = [
        [f"orders/s, window {WINDOW}", run["orders_per_second"]],
        ["orders", f"{run['orders']:,}"],
        ["order to report one at a time, µs, p50 / p99", f"{single['p50']:.0f} / {single['p99']:.0f}"],
    ]
    return [
        table("QuickFIX acceptor that only acknowledges, same client", ["what", "figure"], rows),
        cpu_table("QuickFIX, by process", run["cpu_us_per_order"]),
    ]
