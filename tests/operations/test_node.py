"""`ordinal run`: starts in order, restarts what dies, stops in order, and never leaves a process behind."""

import os
import select
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from operations.venue_log import read_log
from tests.operations.running_demo import DEADLINE_S, RunningVenue, free_port_base, ordinal, running_demo
from tests.operations.venues import DEMO, write_demo


def test_a_venue_opens_prints_its_endpoints_and_stops_in_order(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        base = venue.port_base
        assert venue.stop() == 0
    assert venue.printed == (
        "demo is open\n"
        f"  FIX order entry  127.0.0.1:{base + 1}  (TargetCompID ORDINAL)\n"
        f"  metrics          http://127.0.0.1:{base + 80}/metrics\n"
        f"  health           http://127.0.0.1:{base + 80}/health/ready\n"
        f"  console          http://127.0.0.1:{base + 80}/\n"
        "Ctrl-C stops it\n"
    )
    started = [event["child"] for event in venue.events() if event["event"] == "process started"]
    assert started == [
        "sequencer", "clock-a", "clock-b", "matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "gateway-1",
        "monitor",
    ]  # fmt: skip
    stopped = [event["child"] for event in venue.events() if event["event"] == "process stopped"]
    assert [sorted(stopped[first:last]) for first, last in ((0, 1), (1, 3), (3, 5), (5, 7), (7, 8), (8, 9))] == [
        ["gateway-1"], ["partitioner-a", "partitioner-b"], ["matcher-a", "matcher-b"], ["clock-a", "clock-b"],
        ["monitor"], ["sequencer"],
    ]  # fmt: skip
    assert {event["how"] for event in venue.events() if event["event"] == "process stopped"} == {"exit code 0"}


def test_a_second_start_continues_from_the_data(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_demo(data) as venue:
        venue.stop(signal.SIGINT)
    ends = {name: partition.end for name, partition in read_log(data).partitions.items()}
    with running_demo(data) as venue:
        venue.stop()
        published = [event for event in venue.events() if event["event"] == "reference data published"]
    assert [(event["partition"], event["records"], event["end"]) for event in published] == [
        ("sym-1", 6, 6), ("sym-2", 6, 6), ("sym-1", 0, 6), ("sym-2", 0, 6),
    ]  # fmt: skip
    continued = read_log(data).partitions
    assert {name: partition.epochs for name, partition in continued.items()} == {
        name: [(1, 0), (2, end)] for name, end in ends.items()
    }
    assert all(continued[name].end > end for name, end in ends.items())


def test_changed_reference_data_is_refused_before_any_port_opens(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        venue.stop()
    changed = write_demo(tmp_path, ('tick = "0.01"', 'tick = "0.05"'))
    base = str(venue.port_base)
    refused = ordinal("run", str(changed), "--data", str(tmp_path / "data"), "--port-base", base)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines()[-1] == (
        f'{changed}: instrument[ALFA].tick: changed to "0.05"; allowed: as published, "0.01"'
    )
    assert "gateway-1" not in refused.stderr


def test_a_process_that_is_killed_is_started_again(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        before = venue.pids()
        for name in ("matcher-a", "sequencer", "gateway-1"):
            os.kill(before[name], signal.SIGKILL)
            while True:
                process = venue.processes()[name]
                if process["state"] == "running" and process["pid"] != before[name]:
                    break
            assert process["last_death"] == "signal SIGKILL"
        assert [name for name, pid in venue.pids().items() if pid != before[name]] == [
            "sequencer", "matcher-a", "gateway-1",
        ]  # fmt: skip


def test_every_process_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        watched = {os.pidfd_open(pid) for pid in venue.pids().values()}
        assert len(watched) == 9
        venue.process.kill()
        venue.process.wait()
        for process in watched:
            assert select.select([process], [], [], DEADLINE_S)[0] == [process]
            os.close(process)
    # The directory is free at once, lock and log and sockets.
    with running_demo(tmp_path / "data") as venue:
        assert venue.stop() == 0


def test_a_process_that_cannot_start_ends_the_run_with_its_name(tmp_path: Path) -> None:
    segment = tmp_path / "data" / "log" / "segment-00000000.log"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(b"no log of ours, and longer than a header")
    failed = ordinal("run", str(DEMO), "--data", str(tmp_path / "data"), "--port-base", str(free_port_base()))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.splitlines()[-1] == "sequencer: failed before the venue was open (exit code 1)"


@pytest.fixture(scope="module")
def venue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningVenue]:
    """An open venue for the tests that only look at it."""
    with running_demo(tmp_path_factory.mktemp("shared") / "data") as venue:
        yield venue


def test_a_data_directory_holds_one_venue(venue: RunningVenue) -> None:
    second = ordinal("run", str(DEMO), "--data", str(venue.data))
    assert (second.returncode, second.stderr) == (
        2, f"--data {venue.data}: a venue runs in it; allowed: a directory of its own\n",
    )  # fmt: skip


def test_a_process_runs_once(venue: RunningVenue) -> None:
    second = ordinal("process", str(DEMO), "matcher-a", "--data", str(venue.data))
    pid = venue.pids()["matcher-a"]
    assert (second.returncode, second.stderr) == (
        2, f"{DEMO}: matcher-a runs already, with pid {pid}; allowed: one of each process\n",
    )  # fmt: skip


def test_two_venues_never_share_a_port(venue: RunningVenue, tmp_path: Path) -> None:
    base = venue.port_base
    second = ordinal("run", str(DEMO), "--data", str(tmp_path / "data"), "--port-base", str(base))
    in_use = "address already in use; allowed: a free port (--port-base moves all)"
    assert (second.returncode, second.stderr.splitlines()) == (
        2,
        [
            f"{DEMO}: process.gateway-1.order_entry_port: {base + 1} on 127.0.0.1: {in_use}",
            f"{DEMO}: process.monitor.http_port: {base + 80} on 127.0.0.1: {in_use}",
        ],
    )


def test_sockets_and_configs_are_their_owner_s_alone(venue: RunningVenue) -> None:
    run = venue.data / "run"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    assert [path.name for path in run.iterdir() if stat.S_IMODE(path.stat().st_mode) != 0o600] == []
    assert sorted(path.name for path in run.glob("*.json")) == sorted(f"{name}.json" for name in venue.pids())
