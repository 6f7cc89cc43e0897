"""One load run with what it cost: CPU by process over exactly the run, memory after it."""

import asyncio
import gc
import os
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from bench.load_client import LoadClient
from bench.order_program import OrderProgram
from bench.process_usage import cpu_of, resident_mib
from bench.report_check import RunReports, check_run, percentile

GRACE_S, SLOWEST_ORDERS_PER_SECOND = 60.0, 500.0
"""A run that is slower than this has failed."""


@dataclass(slots=True)
class MeasuredRun:
    """Reports, checked, and CPU microseconds by process name, the load client's included."""

    reports: RunReports
    cpu: dict[str, int]
    resident: dict[str, float]

    def cpu_per_order(self) -> dict[str, float]:
        """CPU microseconds per request by process, and their `total`."""
        share = {name: round(used / self.reports.requests, 2) for name, used in self.cpu.items()}
        share["total"] = round(sum(self.cpu.values()) / self.reports.requests, 2)
        return share

    def figures(self) -> dict[str, Any]:
        """The run as numbers for the tables."""
        reports = self.reports
        return {
            "orders": reports.requests,
            "seconds": round(reports.seconds, 3),
            "orders_per_second": round(reports.orders_per_second),
            "reports": reports.reports,
            "trades": reports.trades,
            "refused": reports.refused,
            "cpu_us_per_order": self.cpu_per_order(),
            "answer_us": delays(reports),
        }


def delays(reports: RunReports) -> dict[str, float]:
    """p50 and p99 from NewOrderSingle(D) to its first report, microseconds."""
    return percentiles_us(reports.answer_delays)


def percentiles_us(nanoseconds: list[int]) -> dict[str, float]:
    """p50 and p99, microseconds."""
    return {
        "p50": round(percentile(nanoseconds, 0.5) / 1000, 1),
        "p99": round(percentile(nanoseconds, 0.99) / 1000, 1),
    }


async def run_window(
    client: LoadClient,
    program: OrderProgram,
    window: int,
    processes: Mapping[str, int],
    trades: bool = True,
) -> MeasuredRun:
    """A run against a window of unanswered requests, measured."""
    client.load(program, window)
    return await _measured(client, program, processes, trades, client.run_window(_deadline_s(program)))


async def run_rate(
    client: LoadClient,
    program: OrderProgram,
    rate: float,
    processes: Mapping[str, int],
    trades: bool = True,
) -> MeasuredRun:
    """An open-loop run, measured."""
    client.load(program, 0)
    return await _measured(
        client, program, processes, trades, client.run_rate(program.turns, rate, _deadline_s(program))
    )


def _deadline_s(program: OrderProgram) -> float:
    return GRACE_S + len(program) / SLOWEST_ORDERS_PER_SECOND


async def _measured(
    client: LoadClient,
    program: OrderProgram,
    processes: Mapping[str, int],
    trades: bool,
    run: Coroutine[Any, Any, None],
) -> MeasuredRun:
    everyone = dict(processes) | {"load client": os.getpid()}
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        before = cpu_of(everyone)
        await run
        after = cpu_of(everyone)
    finally:
        gc.enable()
        gc.unfreeze()
    resident = resident_mib(everyone)
    reports = await asyncio.to_thread(check_run, client, program, trades)
    used = {name: after[name] - before[name] for name in everyone}
    return MeasuredRun(reports, used, resident)
