"""`python -m bench`: measure, print tables, write bench/out/latest.json."""

import json
import os
import platform
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.summary import summary
from bench.venue_config import ORDERS

OUT = Path(__file__).parent / "out"
LOAD_AT_START = round(os.getloadavg()[0], 2)
BUSY_LOAD = 0.5


@dataclass(frozen=True, slots=True)
class Part:
    """A module with `measure` and `tables`; `arguments` makes measure's from (orders, scratch directory)."""

    module: str
    arguments: Callable[[int, Path], tuple[Any, ...]]
    by_default: bool = True


PARTS = {
    "codec": Part("bench.codec", lambda orders, scratch: ()),
    "book": Part("bench.book", lambda orders, scratch: ()),
    "quickfix": Part("bench.against_quickfix", lambda orders, scratch: (orders,)),
    "venue": Part("bench.end_to_end", lambda orders, scratch: (orders, scratch)),
    "recovery": Part("bench.recovery", lambda orders, scratch: (scratch,)),
    "memory": Part("bench.memory", lambda orders, scratch: (scratch,), by_default=False),
}
DEFAULT = ",".join(name for name, part in PARTS.items() if part.by_default)


def run(
    only: Annotated[str, typer.Option(help=f"Parts to measure, of {', '.join(PARTS)}.")] = DEFAULT,
    orders: Annotated[int, typer.Option(min=1_000, help="Orders of the end-to-end run.")] = ORDERS,
    out: Annotated[Path, typer.Option(help="Directory of latest.json and, while they run, of the venues' data.")] = OUT,
) -> None:
    """Measure the venue and its peers on this machine, all in this run."""
    names = only.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise typer.BadParameter(f"no part {unknown[0]}; allowed: {', '.join(PARTS)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    console = Console()
    if LOAD_AT_START > BUSY_LOAD:
        console.print(f"others are busy here (load {LOAD_AT_START}): figures will be too low", style="yellow")
    results: dict[str, Any] = {}
    for name in names:
        console.print(f"measuring {name} ...", style="dim")
        part = PARTS[name]
        module = import_module(part.module)
        results[name] = module.measure(*part.arguments(orders, out))
        for made in module.tables(results[name]):
            console.print(made)
        _write(out, results)
    decisive = summary(results)
    if decisive.row_count:
        console.print(decisive)


def _write(out: Path, results: dict[str, Any]) -> None:
    """Whole or not at all, after each part: a run that is broken off keeps what it has."""
    machine = {
        "cpus": os.cpu_count(),
        "load_average_at_start": LOAD_AT_START,
        "platform": platform.platform(),
        "python": platform.python_version(),
    }
    document = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine, "parts": results}
    out.mkdir(parents=True, exist_ok=True)
    fresh = out / "latest.json.new"
    fresh.write_text(json.dumps(document, indent=1) + "\n")
    fresh.replace(out / "latest.json")


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(run)
    app()
