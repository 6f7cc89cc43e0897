"""Metrics: positions as gauges so that lag is a subtraction, and label sets that no traffic can grow."""

from prometheus_client import CollectorRegistry, generate_latest

from operations.facts_poller import Polled
from operations.health import HealthJudge
from operations.metrics import VenueCollector
from tests.operations.demo_facts import monitor_config, round_at


def scraped(answers: dict[str, Polled]) -> dict[str, float]:
    """Sample to value after one round."""
    collector = VenueCollector()
    collector.observe(answers, HealthJudge(monitor_config()).judge(answers, 1.0))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_positions_are_ends_by_partition_and_level_and_by_decoder() -> None:
    samples = scraped(round_at(100.0))
    assert samples['ordinal_position{level="sequenced",partition="sym-1"}'] == 1000.0
    assert samples['ordinal_position{level="committed:1",partition="user-2"}'] == 1000.0
    assert samples['ordinal_decoder_position{decoder="matcher",partition="sym-1",tag="a"}'] == 1000.0
    assert samples['ordinal_decoder_position{decoder="partitioner",partition="sym-2",tag="b"}'] == 1000.0


def test_streams_are_counted_by_who_writes_them() -> None:
    samples = scraped(round_at(1.0))
    assert {
        name: value for name, value in samples.items() if name.startswith(("ordinal_fills", "ordinal_absorbed"))
    } == {
        'ordinal_fills_total{partition="sym-1",tag="a",writer="matcher"}': 5.0,
        'ordinal_fills_total{partition="sym-1",tag="b",writer="matcher"}': 3.0,
        'ordinal_fills_total{partition="sym-1",tag="",writer="gateway"}': 9.0,
        'ordinal_absorbed_total{partition="sym-1",tag="a",writer="matcher"}': 3.0,
        'ordinal_absorbed_total{partition="sym-1",tag="b",writer="matcher"}': 5.0,
    }


def test_traffic_adds_no_series() -> None:
    quiet, busy = round_at(1.0), round_at(1.0)
    facts = busy["sequencer"].facts
    assert facts is not None
    facts["fills"]["sym-1"] |= {f"orders/M{n}/M{n}-1": {"null": n} for n in range(500)}
    gateway = busy["gateway-1"].facts
    assert gateway is not None
    gateway["refused_logons"] = [{"time": n, "session": f"X{n}", "reason": "unknown session"} for n in range(100)]
    assert scraped(busy).keys() == scraped(quiet).keys()


def test_metrics_and_health_agree() -> None:
    answers = round_at(1.0)
    answers["clock-b"] = Polled(None, "does not run", None)
    samples = scraped(answers)
    assert samples['ordinal_health{status="degraded"}'] == 1.0
    assert samples['ordinal_health{status="ok"}'] == 0.0
    assert samples['ordinal_check{check="clock:sym-1:b",fact="connected"}'] == 0.0
    assert samples['ordinal_process_up{process="clock-b"}'] == 0.0
