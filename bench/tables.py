"""Tables for the terminal."""

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

Cell = str | int | float


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """A titled table; every column but the first is set to the right."""
    made = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    for row in rows:
        made.add_row(*(_text(cell) for cell in row))
    return made


def _text(cell: Cell) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def cpu_table(title: str, cpu: Mapping[str, float], resident: Mapping[str, float] | None = None) -> Table:
    """CPU per order, and memory when known, by process."""
    memory = resident or {}
    columns = ["process", "CPU µs per order", "RSS MiB"] if memory else ["process", "CPU µs per order"]
    rows = [[name, used, *([memory.get(name, "")] if memory else [])] for name, used in cpu.items()]
    return table(title, columns, rows)
