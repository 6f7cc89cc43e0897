"""Metrics from polled facts. Labels come from the config and the code, never from traffic, so their number is fixed."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from exchange.hosting.facts import Facts
from operations.facts_poller import Polled
from operations.health import DEGRADED, FAILED, NODE, OK, Health

_NANOSECONDS = 1_000_000_000
_MICROSECONDS = 1_000_000

Samples = Iterable[tuple[tuple[str, ...], float]]


class VenueCollector(Collector):
    """Renders the round that was told last; a scrape asks no process anything."""

    def __init__(self) -> None:
        self._polled: Mapping[str, Polled] = {}
        self._health: Health | None = None

    def observe(self, polled: Mapping[str, Polled], health: Health) -> None:
        """Take a round of polled facts and the verdict on it."""
        self._polled, self._health = dict(polled), health

    def collect(self) -> Iterator[Metric]:
        """The metric families of the last round."""
        if self._health is None:
            return
        answered = {name: polled.facts for name, polled in self._polled.items() if polled.facts is not None}
        yield from _health_metrics(self._health)
        yield from _process_metrics(self._polled, answered)
        sequencers = {name: facts for name, facts in answered.items() if "log" in facts}
        yield from _partition_metrics(sequencers)
        yield from _log_metrics(sequencers)
        yield from _decoder_metrics(answered.values())
        yield from _gateway_metrics({name: facts for name, facts in answered.items() if "sessions" in facts})


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"ordinal_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _counter(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    family = CounterMetricFamily(f"ordinal_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _health_metrics(health: Health) -> Iterator[Metric]:
    yield _gauge(
        "health", "1 for the venue's present status.", ("status",),
        (((status,), float(status == health.status)) for status in (OK, DEGRADED, FAILED)),
    )  # fmt: skip
    yield _gauge(
        "check", "1 where a fact of a health check holds.", ("check", "fact"),
        (
            ((check.name, fact), float(getattr(check, fact)))
            for check in health.checks
            for fact in ("connected", "caught_up", "current")
        ),
    )  # fmt: skip


def _process_metrics(polled: Mapping[str, Polled], answered: Mapping[str, Facts]) -> Iterator[Metric]:
    processes = {name: facts for name, facts in answered.items() if name != NODE}
    label = ("process",)
    yield _gauge(
        "process_up", "1 for a process that answered the last poll.", label,
        (((name,), float(answer.facts is not None)) for name, answer in polled.items() if name != NODE),
    )  # fmt: skip
    yield _gauge(
        "process_resident_bytes", "Resident memory.", label,
        (((name,), facts["rss_bytes"]) for name, facts in processes.items()),
    )  # fmt: skip
    yield _counter(
        "process_cpu_seconds", "CPU time used.", label,
        (((name,), facts["cpu_us"] / _MICROSECONDS) for name, facts in processes.items()),
    )  # fmt: skip
    yield _gauge(
        "process_start_time_seconds", "When the process started, in seconds UTC.", label,
        (((name,), facts["started"] / _NANOSECONDS) for name, facts in processes.items()),
    )  # fmt: skip
    supervised: list[Facts] = answered[NODE]["processes"] if NODE in answered else []
    yield _counter(
        "process_deaths", "Deaths since the venue was started on this node.", label,
        (((process["name"],), process["deaths"]) for process in supervised),
    )  # fmt: skip


def _partition_metrics(sequencers: Mapping[str, Facts]) -> Iterator[Metric]:
    partitions = [partition for facts in sequencers.values() for partition in facts["partitions"]]
    label = ("partition",)
    yield _gauge(
        "position", "End of a partition at a level: a count of records.", ("partition", "level"),
        (((p["name"], level), end) for p in partitions for level, end in p["levels"].items()),
    )  # fmt: skip
    yield _gauge("epoch", "The partition's present epoch.", label, (((p["name"],), p["epoch"]) for p in partitions))
    yield _gauge("streams", "Streams bound in it.", label, (((p["name"],), p["streams"]) for p in partitions))
    labels = ("partition", "writer", "tag")
    for fact, text in (("fills", "Records of a copy that filled."), ("absorbed", "Records of a copy absorbed.")):
        yield _counter(fact, text, labels, _by_writer(sequencers, fact).items())


def _by_writer(sequencers: Mapping[str, Facts], fact: str) -> dict[tuple[str, ...], float]:
    """Counts by partition, kind of writer and tag: a stream's name may hold a member's, so streams are summed."""
    counts: dict[tuple[str, ...], float] = {}
    for facts in sequencers.values():
        for partition, streams in facts[fact].items():
            for stream, by_tag in streams.items():
                writer = _writer_of(stream)
                for tag, count in by_tag.items():
                    key = (partition, writer, tag if tag in ("a", "b") else "")
                    counts[key] = counts.get(key, 0) + count
    return counts


def _writer_of(stream: str) -> str:
    known = {"tape": "matcher", "clock": "clock", "refdata": "operator"}
    if stream in known:
        return known[stream]
    return "gateway" if stream.startswith("orders/") else "partitioner"


def _log_metrics(sequencers: Mapping[str, Facts]) -> Iterator[Metric]:
    label = ("sequencer",)
    for key, text in (
        ("segments", "Segments of the log."),
        ("bytes", "Bytes of the log."),
        ("unsettled_bytes", "Bytes appended and not yet synced."),
        ("free_bytes", "Free bytes on the log's disk."),
    ):
        samples = [((name,), facts["log"][key]) for name, facts in sequencers.items()]
        yield _gauge(f"log_{key}", text, label, samples)
    yield _gauge(
        "log_sync_seconds_median", "Median time of the last syncs.", label,
        (((name,), facts["log"]["sync_us_p50"] / _MICROSECONDS) for name, facts in sequencers.items()),
    )  # fmt: skip
    yield _counter(
        "refused_peers", "Peers refused for their protocol or their rights.", label,
        (((name,), facts["refused_peers"]) for name, facts in sequencers.items()),
    )  # fmt: skip
    yield _counter(
        "twin_differences", "Streams whose twins wrote different bytes at one position.", label,
        (((name,), len(facts["twin_differences"])) for name, facts in sequencers.items()),
    )  # fmt: skip


def _decoder_metrics(answered: Iterable[Facts]) -> Iterator[Metric]:
    decoders = [decoder for facts in answered for decoder in facts.get("decoders", [])]
    labels = ("decoder", "partition", "tag")
    keys = [(decoder["kind"], decoder["partition"], decoder["tag"]) for decoder in decoders]
    yield _gauge(
        "decoder_position", "How far a decoder has read its partition (a clock: its stream); an end.", labels,
        ((key, decoder["position"]) for key, decoder in zip(keys, decoders, strict=True)),
    )  # fmt: skip
    yield _counter(
        "decoder_rewinds", "Times a decoder went back because an epoch ended below what it had read.", labels,
        ((key, decoder["rewinds"]) for key, decoder in zip(keys, decoders, strict=True)),
    )  # fmt: skip


def _gateway_metrics(gateways: Mapping[str, Facts]) -> Iterator[Metric]:
    rows = [(name, session) for name, facts in gateways.items() for session in facts["sessions"]]
    labels = ("gateway", "session")
    for key, text in (
        ("connected", "1 for a session that is logged on."),
        ("in_flight", "Orders sequenced for a session and not yet answered."),
        ("next_in", "The next number expected from the session's peer."),
        ("next_out", "The next number that the session is sent."),
    ):
        yield _gauge(f"session_{key}", text, labels, (((name, row["name"]), float(row[key])) for name, row in rows))
    yield _gauge(
        "gateway_position", "How far a gateway has read a user partition; an end.", ("gateway", "partition"),
        (
            ((name, partition), reading["position"])
            for name, facts in gateways.items()
            for partition, reading in facts["user_partitions"].items()
        ),
    )  # fmt: skip
    yield _counter(
        "gateway_events", "What a gateway counts, by the name that its code gives it.", ("gateway", "event"),
        (((name, event), n) for name, facts in gateways.items() for event, n in facts.get("counters", {}).items()),
    )  # fmt: skip
