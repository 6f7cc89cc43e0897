"""Health: connected, caught up and current are three facts, each judged for itself (architecture, rule 12). Pure.

What the processes say of themselves comes in, one verdict per partition, decoder copy and gateway goes out. A process
that answers proves only that it lives, so every verdict rests on positions: where they stand against where the venue
stood a moment ago, and whether they move while ticks come every 100 ms.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from exchange.hosting.facts import Facts
from exchange.hosting.process_config import ProcessConfig, Role
from operations.facts_poller import NEVER, Polled

OK, DEGRADED, FAILED = "ok", "degraded", "failed"
NODE = "node"


@dataclass(frozen=True, slots=True)
class Check:
    """One verdict. `age_s`: seconds since its position last moved. `reason` is empty when all is well."""

    name: str
    connected: bool
    caught_up: bool
    current: bool
    age_s: float
    reason: str

    @property
    def alive(self) -> bool:
        """Whether it does its work, late or not: what a pair needs one of."""
        return self.connected and self.current


@dataclass(frozen=True, slots=True)
class Health:
    """`ok`; `degraded`: redundancy or time is lost, trading goes on; `failed`: it does not."""

    status: str
    checks: tuple[Check, ...]

    def to_json(self) -> dict[str, Any]:
        """What `/health/ready` answers."""
        return {"status": self.status, "checks": [asdict(check) for check in self.checks]}


class _Track:
    """One position over time: when it last moved, and where it stood `stale_after_s` ago."""

    def __init__(self, stale_after_s: float) -> None:
        self._stale_after_s = stale_after_s
        self._past: deque[tuple[float, int]] = deque()
        self.end = -1
        self.moved_at: float | None = None

    def observe(self, end: int, now: float) -> None:
        if end != self.end:
            self.end, self.moved_at = end, now
        self._past.append((now, end))
        while len(self._past) > 1 and self._past[1][0] <= now - self._stale_after_s:
            self._past.popleft()

    def stale(self, now: float) -> bool:
        return self.moved_at is None or now - self.moved_at > self._stale_after_s

    @property
    def a_moment_ago(self) -> int:
        """Where it stood `stale_after_s` ago, or at the first observation since."""
        return self._past[0][1] if self._past else 0

    def age_s(self, now: float) -> float:
        return 0.0 if self.moved_at is None else round(now - self.moved_at, 3)


class HealthJudge:
    """Judges rounds of polled facts. `config` is the monitor's own: it names all that there should be."""

    def __init__(self, config: ProcessConfig) -> None:
        assert config.monitor is not None
        self._stale_after_s = config.limits["stale_after_ms"] / 1000
        self._homes = {home.name: home.sequencer for home in config.partitions}
        self._copies = [
            (process, Role.parse(role)) for process, roles in config.monitor.decoder_roles.items() for role in roles
        ]
        others = {*self._homes.values(), *config.monitor.decoder_roles, config.name}
        self.gateways = [name for name in config.monitor.processes if name not in others]
        self._tracks: dict[str, _Track] = {}

    def judge(self, polled: Mapping[str, Polled], now: float) -> Health:
        """The verdict on a round; `now` in monotonic seconds. Rounds must come in order of time."""
        node = _node_reasons(polled.get(NODE, NEVER).facts)
        partitions = {name: self._partition(name, polled, node, now) for name in self._homes}
        copies = [(role, self._copy(process, role, polled, node, now)) for process, role in self._copies]
        gateways = [self._gateway(name, polled, node, now) for name in self.gateways]
        checks = (*partitions.values(), *(check for _, check in copies), *gateways)
        differing = any(
            facts.get("twin_differences") for facts in (polled[name].facts for name in self._homes.values()) if facts
        )
        return Health(FAILED if differing else _status(partitions.values(), copies, gateways, checks), checks)

    def _partition(self, name: str, polled: Mapping[str, Polled], node: Mapping[str, str], now: float) -> Check:
        sequencer = self._homes[name]
        facts = polled[sequencer].facts
        track = self._track(name)
        if facts is None:
            return _lost(name, track, node.get(sequencer) or f"{sequencer} {polled[sequencer].reason}", now)
        levels = _partition_levels(facts, name)
        track.observe(levels["sequenced"], now)
        settled = max((end for level, end in levels.items() if level != "sequenced"), default=0)
        caught_up = settled >= track.a_moment_ago
        log = facts["log"]
        failed = log.get("failed")
        current = failed is None and not track.stale(now)
        reasons = [
            f"the log failed: {failed}" if failed else "",
            "" if current or failed else f"nothing was sequenced for {track.age_s(now):.1f} s: no clock ticks reach it",
            "" if caught_up else f"committed {settled} of {track.end}",
            f"the disk is nearly full: {log['free_bytes']} bytes free" if log.get("free_bytes_low") else "",
            *_differences(facts, name),
        ]
        return Check(name, True, caught_up, current, track.age_s(now), _joined(reasons))

    def _copy(
        self, process: str, role: Role, polled: Mapping[str, Polled], node: Mapping[str, str], now: float
    ) -> Check:
        name = str(role)
        track = self._track(name)
        lost = self._not_connected(process, polled, node)
        fact = _decoder_fact(polled[process].facts, role)
        if lost or fact is None:
            return _lost(name, track, lost or f"{process} does not run it", now)
        assert role.partition is not None
        track.observe(fact["position"], now)
        partition = self._track(role.partition)
        ended = partition.a_moment_ago if role.kind != "clock" else 0
        return self._moving(name, track, ended, partition, now)

    def _gateway(self, name: str, polled: Mapping[str, Polled], node: Mapping[str, str], now: float) -> Check:
        lost = self._not_connected(name, polled, node)
        facts = polled[name].facts
        if lost or facts is None:
            readings = [track for key, track in self._tracks.items() if key.startswith(f"{name} ")]
            return Check(name, False, False, False, max((track.age_s(now) for track in readings), default=0.0), lost)
        checks = []
        for partition, reading in facts.get("user_partitions", {}).items():
            track = self._track(f"{name} {partition}")
            track.observe(reading["position"], now)
            source = self._track(partition)
            checks.append(self._moving(partition, track, source.a_moment_ago, source, now))
        return Check(
            name,
            True,
            all(check.caught_up for check in checks),
            all(check.current for check in checks),
            max((check.age_s for check in checks), default=0.0),
            _joined(f"{check.name} {check.reason}" for check in checks if check.reason),
        )

    def _moving(self, name: str, track: _Track, ended: int, source: _Track, now: float) -> Check:
        """A reader of `source` that should have passed `ended` by now, and that should move while the source does."""
        caught_up = track.end >= ended
        # A reader at the end of a source that stands still is not to blame; the source has a check of its own.
        current = not track.stale(now) or (source.stale(now) and caught_up)
        reasons = [
            "" if current else f"position {track.end} has not moved for {track.age_s(now):.1f} s",
            "" if caught_up else f"position {track.end} of {source.end}",
        ]
        return Check(name, True, caught_up, current, track.age_s(now), _joined(reasons))

    def _not_connected(self, process: str, polled: Mapping[str, Polled], node: Mapping[str, str]) -> str:
        """Why a process counts as not connected; empty when it is."""
        facts = polled[process].facts
        if facts is None:
            return node.get(process) or f"{process} {polled[process].reason}"
        for sequencer, link in facts.get("sequencers", {}).items():
            if not link["connected"]:
                return f"not connected to {sequencer}: {link['reason']}"
        return "" if facts.get("ready") else f"{process} is starting"

    def _track(self, name: str) -> _Track:
        return self._tracks.setdefault(name, _Track(self._stale_after_s))


def _lost(name: str, track: _Track, reason: str, now: float) -> Check:
    return Check(name, False, False, False, track.age_s(now), reason)


def _joined(reasons: Iterable[str]) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _partition_levels(facts: Facts, name: str) -> dict[str, int]:
    for partition in facts["partitions"]:
        if partition["name"] == name:
            levels: dict[str, int] = partition["levels"]
            return levels
    return {"sequenced": -1}


def _decoder_fact(facts: Facts | None, role: Role) -> Facts | None:
    wanted = (role.kind, role.partition, role.tag)
    decoders: list[Facts] = [] if facts is None else facts.get("decoders", [])
    return next((fact for fact in decoders if (fact["kind"], fact["partition"], fact["tag"]) == wanted), None)


def _node_reasons(facts: Facts | None) -> dict[str, str]:
    """What the supervisor knows of processes that do not run; nothing in containers, where there is none."""
    processes: list[Facts] = [] if facts is None else facts["processes"]
    return {
        process["name"]: f"{process['name']} is {process['state']}: {process['last_death']}"
        for process in processes
        if process["state"] in ("restarting", "failed")
    }


def _differences(sequencer: Facts, partition: str) -> list[str]:
    """Twins that wrote different bytes at one position: one of them is wrong, and nobody can say which."""
    return [
        f"twins differ at {entry['stream']} {entry['stream_position']}"
        for entry in sequencer["twin_differences"]
        if entry["partition"] == partition
    ]


def _status(
    partitions: Iterable[Check], copies: list[tuple[Role, Check]], gateways: list[Check], checks: Iterable[Check]
) -> str:
    pairs: dict[tuple[str, str | None], list[Check]] = {}
    for role, check in copies:
        pairs.setdefault((role.kind, role.partition), []).append(check)
    trading = (
        all(check.alive for check in partitions)
        and all(any(check.alive for check in pair) for pair in pairs.values())
        and any(check.alive for check in gateways)
    )
    if not trading:
        return FAILED
    return DEGRADED if any(check.reason for check in checks) else OK
