"""`ordinal status`: what the venue's processes say of themselves, gathered once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from exchange.hosting.facts import Facts
from exchange.streams.log_reader import LogReader
from operations.facts_poller import FactsPoller, Polled
from operations.failures import UnreachableError
from operations.health import NODE
from operations.process_plan import run_dir
from operations.record_text import time_text
from operations.venue import Venue
from operations.venue_log import read_log

Status = dict[str, Any]


async def venue_status(venue: Venue, data_dir: Path) -> Status:
    """The status document. Of a stopped venue it has what the log says. UnreachableError when there is neither."""
    poller = FactsPoller(run_dir(data_dir), (*venue.processes, NODE))
    await poller.poll_once()
    answered = {name: polled.facts for name, polled in poller.latest.items() if polled.facts is not None}
    partitions = [_partition(entry) for facts in answered.values() for entry in facts.get("partitions", [])]
    return {
        "processes": _processes(venue, poller.latest),
        "partitions": partitions or _partitions_of_log(_log(data_dir, bool(answered))),
        "decoders": [_decoder(entry) for facts in answered.values() for entry in facts.get("decoders", [])],
        "sessions": [_session(name, entry) for name, facts in answered.items() for entry in facts.get("sessions", [])],
        "refused_logons": [entry for facts in answered.values() for entry in facts.get("refused_logons", [])],
        "health": _health(answered),
    }


def _log(data_dir: Path, something_runs: bool) -> LogReader | None:
    try:
        return read_log(data_dir)
    except UnreachableError:
        if something_runs:
            return None
        raise


def _processes(venue: Venue, latest: Mapping[str, Polled]) -> list[Facts]:
    node = latest[NODE].facts
    if node is not None:
        return list(node["processes"])
    return [_unsupervised(name, latest[name]) for name in venue.processes]


def _unsupervised(name: str, polled: Polled) -> Facts:
    if polled.facts is None:
        return {"name": name, "pid": None, "state": "stopped"}
    return {"name": name, "pid": polled.facts["pid"], "state": "running" if polled.facts.get("ready") else "starting"}


def _partition(entry: Facts) -> Facts:
    return {key: entry[key] for key in ("name", "epoch", "levels", "streams", "last_append")}


def _partitions_of_log(log: LogReader | None) -> list[Facts]:
    if log is None:
        return []
    return [
        {"name": name, "epoch": table.epochs[-1][0], "levels": {"sequenced": table.end, "committed:1": table.end}}
        for name, table in log.partitions.items()
    ]


def _decoder(entry: Facts) -> Facts:
    return {key: entry[key] for key in ("name", "tag", "partition", "position", "input_end", "rewinds", "build")}


def _session(gateway: str, entry: Facts) -> Facts:
    return {"gateway": gateway} | {
        key: entry[key] for key in ("name", "participant", "connected", "next_in", "next_out", "in_flight")
    }


def _health(answered: Mapping[str, Facts]) -> Facts:
    """The monitor's verdict: it alone watches positions move, which one look cannot tell."""
    for facts in answered.values():
        if "health" in facts:
            health: Facts = facts["health"]
            return health
    why = "the monitor does not run" if answered else "the venue does not run"
    return {"status": "failed", "checks": [], "reason": why}


def print_status(status: Status, console: Console) -> None:
    """The status for a human."""
    console.print(f"health: {status['health']['status']}", status["health"].get("reason", ""), highlight=False)
    for check in status["health"]["checks"]:
        if check["reason"]:
            console.print(f"  {check['name']}: {check['reason']}", highlight=False, markup=False)
    console.print(_table("processes", ("name", "pid", "state"), status["processes"]))
    partitions = [entry | entry["levels"] for entry in status["partitions"]]
    console.print(_table("partitions", ("name", "epoch", "sequenced", "committed:1"), partitions))
    decoders = [entry | {"behind": max(0, entry["input_end"] - entry["position"])} for entry in status["decoders"]]
    console.print(_table("decoders", ("name", "partition", "tag", "position", "behind"), decoders))
    sessions = ("name", "gateway", "connected", "next_in", "next_out", "in_flight")
    console.print(_table("sessions", sessions, status["sessions"]))
    refused = [entry | {"time": time_text(entry["time"])} for entry in status["refused_logons"]]
    if refused:
        console.print(_table("refused logons", ("time", "session", "reason"), refused))


def _table(title: str, columns: tuple[str, ...], rows: list[Facts]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.replace("_", " "))
    for row in rows:
        table.add_row(*("-" if row.get(column) is None else str(row[column]) for column in columns))
    return table
