"""`ordinal run`: starts in order, restarts what dies, stops in order, and never leaves a process behind."""

import os
import select
import signal
import stat
from pathlib import Path

from tests.operations.running_demo import DEADLINE_S, RunningVenue, ordinal, running_demo
from tests.operations.venues import DEMO, write_demo


def test_a_venue_opens_prints_its_endpoints_and_stops_in_order(tmp_path: Path) -> None:
    venue = RunningVenue(tmp_path / "data")
    base = venue.port_base
    assert venue.wait_until_open() == (
        "demo is open\n"
        f"  FIX order entry  127.0.0.1:{base + 1}  (TargetCompID ORDINAL)\n"
        f"  metrics          http://127.0.0.1:{base + 80}/metrics\n"
        f"  health           http://127.0.0.1:{base + 80}/health/ready\n"
        f"  console          http://127.0.0.1:{base + 80}/\n"
        "Ctrl-C stops it\n"
    )
    assert venue.stop() == 0
    assert venue.process.stdout is not None
    venue.process.stdout.close()
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
    with running_demo(tmp_path / "data") as venue:
        assert [(p["name"], p["epoch"]) for p in venue.status()["partitions"]] == [
            ("sym-1", 1), ("sym-2", 1), ("user-1", 1), ("user-2", 1),
        ]  # fmt: skip
        venue.stop(signal.SIGINT)
        ends = {partition["name"]: partition["levels"]["committed:1"] for partition in venue.status()["partitions"]}
    with running_demo(tmp_path / "data") as venue:
        status = venue.status()
        assert [(p["name"], p["epoch"]) for p in status["partitions"]] == [
            ("sym-1", 2), ("sym-2", 2), ("user-1", 2), ("user-2", 2),
        ]  # fmt: skip
        assert all(p["levels"]["committed:1"] >= ends[p["name"]] for p in status["partitions"])
        published = [event for event in venue.events() if event["event"] == "reference data published"]
        assert [(event["partition"], event["records"], event["end"]) for event in published] == [
            ("sym-1", 6, 6), ("sym-2", 6, 6), ("sym-1", 0, 6), ("sym-2", 0, 6),
        ]  # fmt: skip


def test_a_data_directory_holds_one_venue(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data"):
        second = ordinal("run", str(DEMO), "--data", str(tmp_path / "data"))
        assert (second.returncode, second.stderr) == (
            2, f"--data {tmp_path}/data: a venue runs in it; allowed: a directory of its own\n",
        )  # fmt: skip
        one = ordinal("process", str(DEMO), "matcher-a", "--data", str(tmp_path / "data"))
        assert (one.returncode, one.stderr.partition(" with pid")[0]) == (2, f"{DEMO}: matcher-a runs already,")


def test_changed_reference_data_is_refused_before_any_port_opens(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        venue.stop()
    changed = write_demo(tmp_path, ('tick = "0.01"', 'tick = "0.05"'))
    refused = ordinal("run", str(changed), "--data", str(tmp_path / "data"), "--port-base", "23000")
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
                processes = {process["name"]: process for process in venue.status()["processes"]}
                if processes[name]["state"] == "running" and processes[name]["pid"] != before[name]:
                    break
            assert processes[name]["last_death"] == "signal SIGKILL"
        assert [name for name, pid in venue.pids().items() if pid != before[name]] == [
            "sequencer", "matcher-a", "gateway-1",
        ]  # fmt: skip


def test_every_process_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        watched = {os.pidfd_open(pid) for pid in venue.pids().values()}
        venue.process.kill()
        venue.process.wait()
        for process in watched:
            assert select.select([process], [], [], DEADLINE_S)[0] == [process]
            os.close(process)
    with running_demo(tmp_path / "data") as venue:
        assert len(venue.pids()) == 9


def test_sockets_and_configs_are_their_owner_s_alone(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        run = venue.data / "run"
        assert stat.S_IMODE(run.stat().st_mode) == 0o700
        open_to_others = [path.name for path in run.iterdir() if stat.S_IMODE(path.stat().st_mode) != 0o600]
        assert open_to_others == []
        assert sorted(path.name for path in run.glob("*.json")) == sorted(f"{name}.json" for name in venue.pids())


def test_a_process_that_cannot_start_ends_the_run_with_its_name(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        taken = ordinal("run", str(DEMO), "--data", str(tmp_path / "other"), "--port-base", str(venue.port_base))
        assert (taken.returncode, taken.stdout) == (1, "")
        assert taken.stderr.splitlines()[-1] == "gateway-1: failed before the venue was open (exit code 1)"
