"""Connected, caught up and current are three facts; health needs all three and reports each with its reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from operations.facts_poller import Polled
from operations.health import NODE, Check, Health, HealthJudge
from tests.operations.demo_facts import monitor_config, round_at

Round = dict[str, Polled]
Spoil = Callable[[Round, float], None]


def judged(spoil: Spoil, seconds: float = 10.0) -> Health:
    """The verdict after three good seconds and `seconds` more in which every round is spoilt."""
    judge = HealthJudge(monitor_config())
    now = 0.0
    while now <= 3.0:
        judge.judge(round_at(now), now)
        now += 0.5
    while True:
        answers = round_at(now)
        spoil(answers, now)
        health = judge.judge(answers, now)
        if now >= 3.0 + seconds:
            return health
        now += 0.5


def unwell(health: Health) -> list[Check]:
    return [check for check in health.checks if check.reason or not (check.alive and check.caught_up)]


def dies(*names: str) -> Spoil:
    """The processes are gone."""

    def spoil(answers: Round, now: float) -> None:
        for name in names:
            answers[name] = Polled(None, "does not run", 3.0)

    return spoil


def decoders_of(answers: Round, process: str) -> list[dict[str, Any]]:
    facts = answers[process].facts
    assert facts is not None
    decoders: list[dict[str, Any]] = facts["decoders"]
    return decoders


def test_a_quiet_venue_is_ok_with_a_check_for_each_partition_copy_and_gateway() -> None:
    health = judged(lambda answers, now: None)
    assert (health.status, unwell(health)) == ("ok", [])
    assert [check.name for check in health.checks] == [
        "sym-1", "sym-2", "user-1", "user-2",
        "matcher:sym-1:a", "matcher:sym-2:a", "matcher:sym-1:b", "matcher:sym-2:b",
        "partitioner:sym-1:a", "partitioner:sym-2:a", "partitioner:sym-1:b", "partitioner:sym-2:b",
        "clock:sym-1:a", "clock:sym-2:a", "clock:sym-1:b", "clock:sym-2:b",
        "gateway-1",
    ]  # fmt: skip


def test_losing_one_of_a_pair_is_degraded() -> None:
    health = judged(dies("matcher-a"))
    assert health.status == "degraded"
    assert unwell(health) == [
        Check("matcher:sym-1:a", False, False, False, 10.0, "matcher-a does not run"),
        Check("matcher:sym-2:a", False, False, False, 10.0, "matcher-a does not run"),
    ]


def test_losing_both_of_a_pair_is_failed() -> None:
    assert judged(dies("partitioner-a", "partitioner-b")).status == "failed"


def test_losing_one_of_each_pair_is_degraded() -> None:
    assert judged(dies("matcher-a", "partitioner-b", "clock-a")).status == "degraded"


def test_losing_the_sequencer_is_failed() -> None:
    health = judged(dies("sequencer"))
    assert health.status == "failed"
    assert health.checks[0] == Check("sym-1", False, False, False, 10.0, "sequencer does not run")


def test_losing_all_gateways_is_failed() -> None:
    health = judged(dies("gateway-1"))
    assert health.status == "failed"
    assert unwell(health) == [Check("gateway-1", False, False, False, 10.0, "gateway-1 does not run")]


def test_a_frozen_decoder_that_still_answers_is_stale() -> None:
    def freeze(answers: Round, now: float) -> None:
        for decoder in decoders_of(answers, "matcher-a"):
            decoder["position"] = 30

    health = judged(freeze)
    assert health.status == "degraded"
    assert unwell(health) == [
        Check(name, True, False, False, 10.0, "position 30 has not moved for 10.0 s; position 30 of 130")
        for name in ("matcher:sym-1:a", "matcher:sym-2:a")
    ]


def test_two_frozen_decoders_are_failed() -> None:
    def freeze(answers: Round, now: float) -> None:
        for process in ("matcher-a", "matcher-b"):
            for decoder in decoders_of(answers, process):
                decoder["position"] = 30

    assert judged(freeze).status == "failed"


def test_a_decoder_that_lags_is_not_caught_up_and_its_pair_still_trades() -> None:
    def lag(answers: Round, now: float) -> None:
        for process in ("partitioner-a", "partitioner-b"):
            for decoder in decoders_of(answers, process):
                decoder["position"] -= 25

    health = judged(lag)
    assert health.status == "degraded"
    assert unwell(health)[0] == Check("partitioner:sym-1:a", True, False, True, 0.0, "position 105 of 130")


def test_a_delay_below_the_limit_is_caught_up() -> None:
    def lag(answers: Round, now: float) -> None:
        for decoder in decoders_of(answers, "matcher-a"):
            decoder["position"] -= 19

    assert judged(lag).status == "ok"


def test_a_partition_without_ticks_is_failed_and_its_readers_are_not_to_blame() -> None:
    def stop_time(answers: Round, now: float) -> None:
        answers.update(round_at(3.0))

    health = judged(stop_time)
    assert health.status == "failed"
    assert [check for check in unwell(health) if not check.name.startswith("clock")] == [
        Check(name, True, True, False, 10.0, "nothing was sequenced for 10.0 s: no clock ticks reach it")
        for name in ("sym-1", "sym-2", "user-1", "user-2")
    ]


def test_a_log_that_failed_is_failed_with_its_reason() -> None:
    def fill_disk(answers: Round, now: float) -> None:
        facts = answers["sequencer"].facts
        assert facts is not None
        facts["log"]["failed"] = "No space left on device (log)"

    health = judged(fill_disk, seconds=0.5)
    assert health.status == "failed"
    assert health.checks[0] == Check("sym-1", True, True, False, 0.0, "the log failed: No space left on device (log)")


def test_a_nearly_full_disk_is_degraded() -> None:
    def fill_disk(answers: Round, now: float) -> None:
        facts = answers["sequencer"].facts
        assert facts is not None
        facts["log"] |= {"free_bytes_low": True, "free_bytes": 1024}

    health = judged(fill_disk)
    assert health.status == "degraded"
    assert health.checks[0] == Check("sym-1", True, True, True, 0.0, "the disk is nearly full: 1024 bytes free")


def test_twins_that_differ_are_failed() -> None:
    def differ(answers: Round, now: float) -> None:
        facts = answers["sequencer"].facts
        assert facts is not None
        facts["twin_differences"] = [{"partition": "sym-1", "stream": "tape", "stream_position": 7}]

    health = judged(differ)
    assert health.status == "failed"
    assert unwell(health) == [Check("sym-1", True, True, True, 0.0, "twins differ at tape 7")]


def test_a_process_cut_off_from_the_sequencer_is_not_connected() -> None:
    def cut_off(answers: Round, now: float) -> None:
        facts = answers["gateway-1"].facts
        assert facts is not None
        facts["sequencers"] = {"sequencer": {"connected": False, "reason": "connection lost"}}

    health = judged(cut_off)
    assert health.status == "failed"
    assert unwell(health) == [
        Check("gateway-1", False, False, False, 10.0, "not connected to sequencer: connection lost")
    ]


def test_a_process_given_up_says_so() -> None:
    def give_up(answers: Round, now: float) -> None:
        dies("clock-a")(answers, now)
        process = {"name": "clock-a", "pid": None, "state": "failed", "deaths": 5, "last_death": "exit code 1"}
        answers[NODE] = Polled({"processes": [process]}, "", now)

    health = judged(give_up)
    assert health.status == "degraded"
    assert {check.reason for check in unwell(health)} == {"clock-a is failed: exit code 1"}


def test_a_restarted_decoder_is_well_again_when_it_has_caught_up() -> None:
    judge = HealthJudge(monitor_config())
    statuses = []
    for step in range(40):
        now = step / 2
        answers = round_at(now)
        if 5 <= now < 10:
            dies("matcher-b")(answers, now)
        elif 10 <= now < 12:
            for decoder in decoders_of(answers, "matcher-b"):
                decoder["position"] = int((now - 10) * 60)  # replays from position 0
        statuses.append(judge.judge(answers, now).status)
    assert statuses[:10] == ["ok"] * 10
    assert statuses[10:20] == ["degraded"] * 10
    assert statuses[-10:] == ["ok"] * 10


def test_rounds_are_judged_by_the_monotonic_clock_alone() -> None:
    """The wall clock of no process is read: stepping every wall time by an hour changes nothing."""
    judge = HealthJudge(monitor_config())
    for step in range(20):
        answers = round_at(step / 2)
        if step > 10:
            for name, polled in answers.items():
                if polled.facts is not None:
                    answers[name] = replace(polled, facts=polled.facts | {"now": -3_600_000_000_000})
        assert judge.judge(answers, step / 2).status == "ok"
