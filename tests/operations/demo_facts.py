"""What the demo venue's processes say of themselves when all is well, for tests to spoil."""

from pathlib import Path
from typing import Any

from exchange.hosting.process_config import ProcessConfig, Role
from operations.facts_poller import NEVER, Polled
from operations.health import NODE
from operations.process_plan import plan_processes
from tests.operations.venues import demo_venue


def monitor_config() -> ProcessConfig:
    """What the demo's monitor is told."""
    return plan_processes(demo_venue(), Path("/nowhere"))["monitor"]


def round_at(second: float) -> dict[str, Polled]:
    """A round of answers `second` seconds into a quiet life: 10 ticks a second and nothing else."""
    end = int(10 * second)
    answers = {name: Polled(facts(name, end), "", second) for name in demo_venue().processes}
    return answers | {NODE: NEVER}


def facts(process: str, end: int) -> dict[str, Any]:
    """What one process says when everything stands at `end`."""
    common = {"name": process, "pid": 7, "started": 0, "now": 0, "rss_bytes": 1, "cpu_us": 1, "ready": True}
    links = {"sequencers": {"sequencer": {"connected": True, "reason": ""}}}
    venue = demo_venue()
    family = venue.processes[process].family
    if family == "sequencer":
        return common | sequencer_facts(end)
    if family == "decoders":
        return common | links | {"decoders": [decoder_facts(role, end) for role in venue.processes[process].roles]}
    if family == "gateway":
        reading = {name: {"position": end} for name in venue.user_partitions}
        return common | links | {"sessions": [], "refused_logons": [], "user_partitions": reading, "counters": {}}
    return common | {"sequencers": {}}


def sequencer_facts(end: int) -> dict[str, Any]:
    """What the sequencer says."""
    levels = {"sequenced": end, "committed:1": end}
    return {
        "partitions": [
            {"name": name, "epoch": 1, "levels": levels, "streams": 3, "last_append": 0}
            for name in demo_venue().partitions
        ],
        "fills": {"sym-1": {"tape": {"a": 5, "b": 3}, "orders/ACME/ACME-1": {"null": 9}}},
        "absorbed": {"sym-1": {"tape": {"a": 3, "b": 5}}},
        "log": {
            "segments": 1,
            "bytes": 4096,
            "unsettled_bytes": 0,
            "free_bytes": 10**10,
            "free_bytes_low": False,
            "sync_us_p50": 200,
            "failed": None,
        },
        "refused_peers": 0,
        "twin_differences": [],
        "connections": 9,
    }


def decoder_facts(role: Role, end: int) -> dict[str, Any]:
    """What a process says of one of its decoders or clocks."""
    return {
        "name": role.kind,
        "kind": role.kind,
        "tag": role.tag,
        "partition": role.partition,
        "position": end,
        "input_end": end,
        "build": "",
        "rewinds": 0,
        "age_ns": 0,
    }
