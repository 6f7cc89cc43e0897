"""The commands on a running venue and on what it left behind: what they print, and their exit codes."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.running_demo import DEADLINE_S, RunningVenue, http, ordinal, running_demo, wait_until_healthy
from tests.operations.venues import DEMO

CONFIG = str(DEMO)


@pytest.fixture(scope="module")
def venue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningVenue]:
    with running_demo(tmp_path_factory.mktemp("commands") / "data") as venue:
        yield venue


def client(venue: RunningVenue, session: str, lines: str) -> tuple[int, list[str]]:
    address = f"127.0.0.1:{venue.port_base + 1}"
    done = ordinal("client", address, "--session", session, "--password", "demo", stdin=lines)
    return done.returncode, [re.sub(r"sym-(\d)-\d+", r"sym-\1-N", line) for line in done.stdout.splitlines()]


def test_two_terminals_cross(venue: RunningVenue) -> None:
    assert client(venue, "ACME-1", "sell ALFA 100 @ 10.50 gtc\n") == (
        0,
        ["logged on as ACME-1; help shows the commands", "#1 accepted: sell 100 ALFA @ 10.50 gtc, OrderID sym-1-N"],
    )
    # The order of its own that is not matched is asked for last, so that the trade has been told when it is answered.
    assert client(venue, "BOLT-1", "buy ALFA 40 @ 10.50\nbuy ALFA 1 @ 1\ncancel 2\n") == (
        0,
        [
            "logged on as BOLT-1; help shows the commands",
            "#1 accepted: buy 40 ALFA @ 10.50 day, OrderID sym-1-N",
            "#1 traded: buy 40 ALFA @ 10.50, 0 left, average 10.5, ExecID sym-1-N-2",
            "#2 accepted: buy 1 ALFA @ 1.00 day, OrderID sym-1-N",
            "#2 canceled, 0 done, OrderID sym-1-N",
        ],
    )
    # The maker logs on again and is sent what it missed.
    assert client(venue, "ACME-1", "buy NOPE 1 @ 1\n") == (
        0,
        [
            "logged on as ACME-1; help shows the commands",
            "traded: sell 40 ALFA @ 10.50, 60 left, average 10.5, ExecID sym-1-N-1",
            "#1 refused: UNKNOWN_SYMBOL: Symbol(55) is no instrument of this venue (NOPE), OrderID sym-1-N",
        ],
    )


def test_a_wrong_password_ends_the_terminal(venue: RunningVenue) -> None:
    address = f"127.0.0.1:{venue.port_base + 1}"
    done = ordinal("client", address, "--session", "CRUX-1", "--password", "wrong", stdin="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("the venue ended the session: ")
    status = json.loads(ordinal("status", CONFIG, "--data", str(venue.data), "--json").stdout)
    assert "CRUX-1" in [refused["session"] for refused in status["refused_logons"]]


def test_nobody_listening_is_not_reached() -> None:
    done = ordinal("client", "127.0.0.1:1", "--session", "ACME-1", "--password", "demo", stdin="")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "127.0.0.1:1: Connection refused\n")


def test_status_has_processes_partitions_decoders_sessions_and_health(venue: RunningVenue) -> None:
    status = json.loads(ordinal("status", CONFIG, "--data", str(venue.data), "--json").stdout)
    assert sorted(status) == ["decoders", "health", "partitions", "processes", "refused_logons", "sessions"]
    assert [(process["name"], process["state"]) for process in status["processes"]] == [
        (name, "running")
        for name in (
            "sequencer", "clock-a", "clock-b", "matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "gateway-1",
            "monitor",
        )
    ]  # fmt: skip
    assert [(p["name"], p["epoch"], sorted(p["levels"])) for p in status["partitions"]] == [
        (name, 1, ["committed:1", "sequenced"]) for name in ("sym-1", "sym-2", "user-1", "user-2")
    ]
    assert sorted((d["name"], d["partition"], d["tag"]) for d in status["decoders"]) == sorted(
        (kind, partition, tag)
        for kind in ("matcher", "partitioner", "clock")
        for partition in ("sym-1", "sym-2")
        for tag in ("a", "b")
    )
    assert [(session["name"], session["gateway"]) for session in status["sessions"]] == [
        (name, "gateway-1") for name in ("ACME-1", "ACME-2", "BOLT-1", "CRUX-1", "CRUX-2")
    ]
    assert len(status["health"]["checks"]) == 4 + 12 + 1


def test_health_metrics_and_console_answer(venue: RunningVenue) -> None:
    status, live = http(venue.port_base + 80, "/health/live")
    assert (status, json.loads(live)) == (200, {"status": "ok"})
    wait_until_healthy(venue.port_base + 80)
    status, metrics = http(venue.port_base + 80, "/metrics")
    assert status == 200
    assert 'ordinal_decoder_position{decoder="matcher",partition="sym-1",tag="a"}' in metrics
    assert 'ordinal_position{level="committed:1",partition="user-2"}' in metrics
    assert 'ordinal_health{status="ok"} 1.0' in metrics
    status, console = http(venue.port_base + 80, "/")
    assert status == 200
    assert "<h1>demo: " in console


def test_tail_shows_records_and_ends_where_it_is_told(venue: RunningVenue) -> None:
    data = str(venue.data)
    lines = ordinal("tail", CONFIG, "sym-1", "--data", data, "--to", "7", "--json").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["position"] for record in records] == list(range(7))
    refdata = ordinal("tail", CONFIG, "sym-1", "--data", data, "--stream", "refdata", "--json").stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in refdata]
    assert kinds == ["limit_set", *["instrument_added"] * 2, *["participant_added"] * 3]
    live = ordinal("tail", CONFIG, "sym-1", "--data", data, "--level", "sequenced", "--to", "7", "--json")
    assert live.stdout.splitlines() == lines


def test_tail_of_a_stream_that_is_not_there_says_which_are(venue: RunningVenue) -> None:
    wrong = ordinal("tail", CONFIG, "sym-1", "--data", str(venue.data), "--stream", "nope")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("--stream: nope is no stream of sym-1; allowed: clock, ")


def test_tail_follows_what_is_sequenced_from_now_on(venue: RunningVenue) -> None:
    data = str(venue.data)
    end = 20
    followed = ordinal("tail", CONFIG, "sym-2", "--data", data, "--follow", "--to", str(end), "--json")
    assert [json.loads(line)["position"] for line in followed.stdout.splitlines()] == list(range(end))


def test_audit_holds_on_a_running_venue(venue: RunningVenue) -> None:
    done = ordinal("audit", CONFIG, "--data", str(venue.data))
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(":")[0] for line in done.stdout.splitlines()[:2]] == ["sym-1 tape", "sym-2 tape"]
    assert re.fullmatch(r"no difference in \d+ records", done.stdout.splitlines()[-1])


def test_a_stopped_venue_is_read_from_its_log(tmp_path: Path) -> None:
    with running_demo(tmp_path / "data") as venue:
        venue.stop()
    data = str(venue.data)
    status = json.loads(ordinal("status", CONFIG, "--data", data, "--json").stdout)
    assert {process["state"] for process in status["processes"]} == {"stopped"}
    assert status["health"] == {"status": "failed", "checks": [], "reason": "the venue does not run"}
    end = next(p["levels"]["committed:1"] for p in status["partitions"] if p["name"] == "sym-1")
    assert len(ordinal("tail", CONFIG, "sym-1", "--data", data).stdout.splitlines()) == end
    assert ordinal("audit", CONFIG, "--data", data).returncode == 0
    followed = ordinal("tail", CONFIG, "sym-1", "--data", data, "--follow")
    assert (followed.returncode, followed.stderr) == (
        3, f"{data}: the venue does not run, so there is nothing to follow\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["run", "none.toml"], 2, "none.toml: no such file or directory; allowed: a readable file"),
        (["nope"], 2, "ordinal: No such command 'nope'."),
        (["tail", CONFIG], 2, "ordinal: Missing argument 'PARTITION'."),
        (["tail", CONFIG, "sym-9"], 2, f"{CONFIG}: no partition sym-9; allowed: sym-1, sym-2, user-1, user-2"),
        (["tail", CONFIG, "sym-1", "--level", "x"], 2, "--level: x is not allowed; allowed: sequenced, committed:1"),
        (["tail", CONFIG, "sym-1", "--data", "none"], 3, "none: no venue has run here"),
        (["audit", CONFIG, "--data", "none"], 3, "none: no venue has run here"),
        (["status", CONFIG, "--data", "none"], 3, "none: no venue has run here"),
        (["client", "x", "--session", "A"], 2, "x is not allowed; allowed: HOST:PORT, such as 127.0.0.1:9001"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(arguments: list[str], code: int, line: str) -> None:
    done = ordinal(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"{line}\n")


def test_a_process_that_the_config_does_not_have_is_refused(tmp_path: Path) -> None:
    done = ordinal("process", CONFIG, "matcher-c", "--data", str(tmp_path))
    assert (done.returncode, done.stderr) == (
        2,
        f"{CONFIG}: no process matcher-c; allowed: sequencer, matcher-a, matcher-b, partitioner-a, partitioner-b, "
        "clock-a, clock-b, gateway-1, monitor, operator\n",
    )


def test_a_password_is_hashed() -> None:
    done = ordinal("hash-password", stdin="secret\n")
    assert done.returncode == 0
    assert re.fullmatch(r"\$argon2id\$v=19\$m=19456,t=2,p=1\$\S+\n", done.stdout)


@pytest.mark.parametrize("command", ["run", "process", "status", "tail", "audit", "client", "hash-password"])
def test_every_command_has_help_and_an_example(command: str) -> None:
    done = ordinal(command, "--help")
    assert done.returncode == 0
    assert f"Example: ordinal {command}" in done.stdout


def test_a_process_that_hangs_is_told_from_one_that_works(venue: RunningVenue) -> None:
    wait_until_healthy(venue.port_base + 80)
    hung = venue.pids()["matcher-a"]
    os.kill(hung, signal.SIGSTOP)
    try:
        # First its positions stand still, then its poll is given up.
        wait_for_reason(venue, "matcher:sym-1:a", "matcher-a did not answer within 2 s")
        status, answer = http(venue.port_base + 80, "/health/ready")
    finally:
        os.kill(hung, signal.SIGCONT)
    assert (status, json.loads(answer)["status"]) == (200, "degraded")
    wait_until_healthy(venue.port_base + 80)


def wait_for_reason(venue: RunningVenue, name: str, reason: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        checks = json.loads(http(venue.port_base + 80, "/health/ready")[1])["checks"]
        if reason in [check["reason"] for check in checks if check["name"] == name]:
            return
        assert time.monotonic() < deadline, checks
        time.sleep(0.05)
