"""What each process is told, and what it may do: the least that its roles need."""

from pathlib import Path

import pytest

from exchange.hosting.process_config import Access, ProcessConfig, SequencerAddress
from operations.config import load_venue
from operations.failures import ConfigError
from operations.process_plan import access_table, peer_config, plan_processes, start_rank, stop_rank
from tests.operations.venues import demo_venue, write_demo

DATA = Path("/venue")


def test_processes_may_read_and_write_what_their_roles_need() -> None:
    of_gateway_and_matcher = [row for row in access_table(demo_venue()) if row.process in ("gateway-1", "matcher-a")]
    assert of_gateway_and_matcher == [
        Access("matcher-a", "sym-1", ("*",), ("tape",)),
        Access("matcher-a", "sym-2", ("*",), ("tape",)),
        Access("gateway-1", "sym-1", ("refdata",), ("orders/*",)),
        Access("gateway-1", "sym-2", ("refdata",), ("orders/*",)),
        Access("gateway-1", "user-1", ("*",), ()),
        Access("gateway-1", "user-2", ("*",), ()),
    ]
    assert [row for row in access_table(demo_venue()) if row.process in ("partitioner-b", "clock-b")] == [
        Access("partitioner-b", "sym-1", ("*",), ()),
        Access("partitioner-b", "user-1", (), ("sym-1/*", "sym-2/*")),
        Access("partitioner-b", "user-2", (), ("sym-1/*", "sym-2/*")),
        Access("partitioner-b", "sym-2", ("*",), ()),
        Access("clock-b", "sym-1", (), ("clock",)),
        Access("clock-b", "sym-2", (), ("clock",)),
    ]


def test_no_process_but_a_matcher_writes_a_tape_and_no_gateway_reads_one() -> None:
    rows = access_table(demo_venue())
    assert {row.process for row in rows if "tape" in row.writes or "*" in row.writes} == {"matcher-a", "matcher-b"}
    symbol_readers = {row.process for row in rows if row.partition.startswith("sym-") and "*" in row.reads}
    assert symbol_readers == {
        "matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "operator", "observer",
    }  # fmt: skip


def test_the_operator_writes_reference_data_and_the_observer_nothing() -> None:
    assert [row for row in access_table(demo_venue()) if row.process in ("operator", "observer")] == [
        Access(process, partition, ("*",), writes if process == "operator" else ())
        for partition, writes in (
            ("sym-1", ("refdata",)), ("sym-2", ("refdata",)), ("user-1", ()), ("user-2", ()),
        )
        for process in ("operator", "observer")
    ]  # fmt: skip


def test_only_the_sequencer_is_told_the_access_of_others() -> None:
    plan = plan_processes(demo_venue(), DATA)
    told = {name: {row.process for row in config.access} for name, config in plan.items()}
    assert told["sequencer"] >= {"gateway-1", "matcher-a", "operator", "observer"}
    assert all(processes <= {name} for name, processes in told.items() if name != "sequencer")


def test_only_a_gateway_is_told_password_hashes() -> None:
    plan = plan_processes(demo_venue(), DATA)
    assert [name for name, config in plan.items() if "argon2" in config.to_json()] == ["gateway-1"]


def test_a_config_survives_the_file_it_is_written_to() -> None:
    for config in plan_processes(demo_venue(), DATA).values():
        assert ProcessConfig.from_json(config.to_json()) == config


def test_starting_and_stopping_have_an_order() -> None:
    processes = demo_venue().processes
    assert sorted(processes, key=lambda name: start_rank(processes[name])) == [
        "sequencer", "clock-a", "clock-b", "matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "gateway-1",
        "monitor",
    ]  # fmt: skip
    assert sorted(processes, key=lambda name: stop_rank(processes[name])) == [
        "gateway-1", "partitioner-a", "partitioner-b", "matcher-a", "matcher-b", "clock-a", "clock-b", "monitor",
        "sequencer",
    ]  # fmt: skip


def test_a_process_of_several_roles_starts_with_its_first_and_stops_with_its_last(tmp_path: Path) -> None:
    file = write_demo(
        tmp_path,
        ('"matcher:sym-1:a", "matcher:sym-2:a"', '"matcher:sym-1:a", "matcher:sym-2:a", "clock:sym-1:a"'),
        ('"clock:sym-1:a", "clock:sym-2:a"', '"clock:sym-2:a"'),
    )
    processes = load_venue(file).processes
    assert start_rank(processes["matcher-a"]) == start_rank(processes["clock-b"])
    assert stop_rank(processes["matcher-a"]) == stop_rank(processes["clock-b"])


def test_a_data_directory_too_deep_for_a_socket_is_refused() -> None:
    deep = Path("/" + "d" * 90)
    with pytest.raises(ConfigError) as caught:
        plan_processes(demo_venue(), deep)
    assert caught.value.lines == (
        f"--data {deep}: its sockets' paths are 11 bytes too long; allowed: a directory nearer the root",
    )


def test_a_process_reaches_the_sequencer_by_socket_or_by_tcp_with_the_secret(tmp_path: Path) -> None:
    file = write_demo(
        tmp_path,
        ('runs = ["sequencer"]', 'runs = ["sequencer"]\nstreams_port = 9010'),
        ('runs = ["gateway"]', 'runs = ["gateway"]\nreach_sequencer = "tcp"'),
    )
    secret = "s" * 32
    with (tmp_path / "demo.credentials.toml").open("a") as credentials:
        credentials.write(f'\n[secrets]\nsequencer = "{secret}"\n')
    plan = plan_processes(load_venue(file, port_base=9100), DATA)
    unix = "/venue/run/sequencer.streams.sock"
    assert plan["sequencer"].sequencers["sequencer"] == SequencerAddress(unix, "127.0.0.1", 9110, secret)
    assert plan["gateway-1"].sequencers["sequencer"] == SequencerAddress(None, "127.0.0.1", 9110, secret)
    assert plan["matcher-a"].sequencers["sequencer"] == SequencerAddress(unix)
    assert peer_config(load_venue(file), DATA, "operator").sequencers["sequencer"] == SequencerAddress(unix)
