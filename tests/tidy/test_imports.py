"""The direction of imports: operations imports gateway imports exchange; drivers do I/O, cores do not."""

import subprocess
import sys

import pytest

from tests.tidy.sources import imports, modules, within

MAY_NOT_IMPORT = {
    "exchange": ("gateway", "operations"),
    "gateway": ("operations",),
    # What a record is depends on nothing; what a stream is does not depend on what flows in it.
    "exchange.records": ("exchange.streams", "exchange.decoding", "exchange.hosting", "exchange.symbol_partition"),
    "exchange.streams": (
        "exchange.decoding",
        "exchange.symbol_partition",
        "exchange.records.order_entry",
        "exchange.records.trade_tape",
        "exchange.records.user_feed",
        "exchange.records.reference_data",
        "exchange.records.clock",
    ),
    "exchange.symbol_partition": ("exchange.streams", "exchange.hosting"),
    # Bytes and now in, events and bytes out.
    "gateway.fix": ("asyncio", "socket", "time", "uvloop", "exchange.hosting", "exchange.streams"),
}


@pytest.mark.parametrize("package", MAY_NOT_IMPORT)
def test_imports_go_one_way(package: str) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules().items()
        if within(name, package)
        for imported in sorted(imports(path))
        if within(imported, *MAY_NOT_IMPORT[package])
    ]
    assert wrong == []


CORES = (
    "exchange.records",
    "exchange.symbol_partition",
    "exchange.decoding.decoder",
    "exchange.decoding.runner",
    "exchange.decoding.rederive",
    "exchange.streams.positional_rule",
    "exchange.streams.block",
    "exchange.streams.block_reader",
    "exchange.streams.stream_writer",
    "exchange.streams.appender",
    "gateway.fix",
    "operations.health",
    "operations.metrics",
    "operations.restarts",
)


def test_asyncio_lives_in_drivers_not_in_cores() -> None:
    wrong = [
        name
        for name, path in modules().items()
        if within(name, *CORES) and any(within(imported, "asyncio", "uvloop", "socket") for imported in imports(path))
    ]
    assert wrong == []


@pytest.mark.parametrize("entry", ["exchange.hosting.run_decoders", "exchange.hosting.run_sequencer"])
def test_a_hot_process_imports_no_cli_validation_or_http_library(entry: str) -> None:
    program = f"import sys, {entry}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    banned = {
        "typer", "click", "rich", "pydantic", "aiohttp", "prometheus_client", "argon2", "tomllib", "gateway",
        "operations",
    }  # fmt: skip
    assert banned & set(loaded) == set()


def test_structlog_comes_through_the_one_module_that_keeps_rich_out() -> None:
    users = [name for name, path in modules().items() if any(within(i, "structlog") for i in imports(path))]
    assert users == ["exchange.hosting.log"]


ENTRY_MODULES = {"exchange.hosting.run_sequencer", "exchange.hosting.run_decoders", "gateway.run_gateway"} | {
    "operations.run_monitor",
    "operations.cli",
}


def test_no_module_is_dead() -> None:
    used = {imported for path in modules().values() for imported in imports(path)}
    assert [name for name in modules() if name not in used | ENTRY_MODULES] == []
