"""Part `recovery`: kill -9 under load, and how long anybody notices.

Orders go on at a rate through all kills, and in the end each has been answered exactly once.
"""

import asyncio
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import uvloop
from rich.table import Table

from bench.load_client import LoadClient
from bench.measured_run import run_rate, run_window
from bench.order_program import seeded_program
from bench.report_check import RunReports
from bench.tables import table
from bench.venue_config import COMP_IDS, WINDOW
from bench.venue_process import VenueError, VenueProcess, running_venue

RATE = 2_000.0
SPACING_S = 3.0
SEQUENCER_KILLS = ("sequencer",) * 3
DECODER_KILLS = ("matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "clock-a")
RESTARTED = ("matcher-a", "partitioner-a")
HISTORY_ORDERS = 50_000
RESTART_DEADLINE_S = 60.0
BEFORE_S = 1.0
"""How long before a kill the pauses are measured that it is compared with; the last kill is over by then."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Which process was killed, and when."""

    name: str
    at: int


def measure(scratch: Path) -> dict[str, Any]:
    """Times to trade again, longest pauses, restart times of decoders."""
    with running_venue(scratch) as venue:
        return uvloop.run(_measure(venue))


async def _measure(venue: VenueProcess) -> dict[str, Any]:
    await venue.wait_until_open()
    client = await LoadClient.connect(venue.host, venue.order_entry_port, COMP_IDS)
    try:
        sequencer = await _kill_under_load(client, venue, SEQUENCER_KILLS, "q")
        decoders = await _kill_under_load(client, venue, DECODER_KILLS, "d")
        history = seeded_program(HISTORY_ORDERS, len(COMP_IDS), prefix="h")
        await run_window(client, history, WINDOW, {})
        restarts = {name: await _restart_seconds(venue, name) for name in RESTARTED}
    finally:
        await client.close()
    return {
        "rate": RATE,
        "sequencer_kills": sequencer,
        "decoder_kills": decoders,
        "restart_s": restarts,
        "restart_after_orders": HISTORY_ORDERS
        + int(RATE * SPACING_S * (len(SEQUENCER_KILLS) + len(DECODER_KILLS) + 2)),
    }


async def _kill_under_load(
    client: LoadClient, venue: VenueProcess, victims: tuple[str, ...], prefix: str
) -> list[dict[str, Any]]:
    seconds = SPACING_S * (len(victims) + 1)
    program = seeded_program(int(RATE * seconds), len(COMP_IDS), prefix=prefix)
    kills: list[Kill] = []
    killing = asyncio.create_task(_kill_in_turn(venue, victims, kills))
    try:
        run = await run_rate(client, program, RATE, {})
        await killing
    finally:
        killing.cancel()
    await venue.wait_until_open()
    return [_consequence(kill, run.reports) for kill in kills]


async def _kill_in_turn(venue: VenueProcess, victims: tuple[str, ...], kills: list[Kill]) -> None:
    start = time.monotonic()
    for number, name in enumerate(victims, 1):
        await asyncio.sleep(start + SPACING_S * number - time.monotonic())
        pid = (await venue.processes())[name]
        kills.append(Kill(name, time.perf_counter_ns()))
        venue.kill(pid)


def _consequence(kill: Kill, reports: RunReports) -> dict[str, Any]:
    """What members saw from the kill to the next one."""
    until = kill.at + int(SPACING_S * 1e9)
    after = [answered for sent, answered in reports.answers if sent >= kill.at]
    return {
        "killed": kill.name,
        "first_report_of_a_later_order_ms": round((min(after) - kill.at) / 1e6, 1),
        "longest_pause_ms": _longest_pause_ms(reports, kill.at, until),
        "longest_pause_before_ms": _longest_pause_ms(reports, kill.at - int(BEFORE_S * 1e9), kill.at),
    }


def _longest_pause_ms(reports: RunReports, begin: int, end: int) -> float:
    """The longest time without any report inside the interval."""
    inside = [arrived for arrived in sorted(reports.arrivals) if begin < arrived < end]
    return round(max(later - earlier for earlier, later in pairwise([begin, *inside, end])) / 1e6, 1)


async def _restart_seconds(venue: VenueProcess, name: str) -> float:
    """From kill -9 of an idle decoder to its successor having read everything; the supervisor's delay is in it."""
    killed = (await venue.processes())[name]
    venue.kill(killed)
    start = time.monotonic()
    while time.monotonic() - start < RESTART_DEADLINE_S:
        await asyncio.sleep(0.01)
        try:
            facts = await venue.facts(name)
        except (OSError, TimeoutError, ValueError):
            continue
        if facts["pid"] != killed and facts.get("ready"):
            return round(time.monotonic() - start, 3)
    raise VenueError(f"{name} is not ready {RESTART_DEADLINE_S:.0f} s after its kill:\n{venue.log_tail()}")


def tables(result: dict[str, Any]) -> list[Table]:
    """What each kill did, and restart times."""
    kills = [
        [
            kill["killed"],
            kill["first_report_of_a_later_order_ms"],
            kill["longest_pause_ms"],
            kill["longest_pause_before_ms"],
        ]
        for kill in result["sequencer_kills"] + result["decoder_kills"]
    ]
    title = f"kill -9 at {result['rate']:.0f} orders/s, ms"
    restarts = [[name, seconds] for name, seconds in result["restart_s"].items()]
    return [
        table(title, ["killed", "first report of a later order", "longest pause", "longest pause before"], kills),
        table(f"Restart after {result['restart_after_orders']:,} orders, s", ["process", "killed to ready"], restarts),
    ]
