"""What a process is told at its start: validated elsewhere, plain data here.

`ordinal run` and `ordinal process` write it as JSON into `<data>/run/<name>.json`; a process reads that one file and
nothing else, so that a decoder process imports no validation library and starts in a tenth of a second.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Role:
    """One thing a process does: `matcher:sym-1:a`, `partitioner:sym-1:a`, `clock:sym-1:a`, `sequencer`, `gateway`."""

    kind: str
    partition: str | None = None
    tag: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Role":
        """Role from its config text; ValueError when it has another shape."""
        parts = text.split(":")
        if not all(parts) or len(parts) not in (1, 3):
            raise ValueError(f"{text!r} is neither KIND nor KIND:PARTITION:TAG")
        return cls(*parts)

    def __str__(self) -> str:
        return ":".join(part for part in (self.kind, self.partition, self.tag) if part is not None)


@dataclass(frozen=True, slots=True)
class SequencerAddress:
    """Where a sequencer process listens: a Unix socket, or host and port with a shared secret."""

    unix_path: str | None = None
    tcp_host: str | None = None
    tcp_port: int | None = None
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionHome:
    """A partition and the sequencer process that it is homed on."""

    name: str
    sequencer: str


@dataclass(frozen=True, slots=True)
class Access:
    """What one process may do with the streams of one partition. A pattern is a name, or a prefix ending in `*`."""

    process: str
    partition: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One FIX session. `purpose` is the gateway port it may use: `order_entry` now."""

    comp_id: str
    participant: str
    purpose: str
    home_partition: str
    password_hash: str


@dataclass(frozen=True, slots=True)
class GatewayEntry:
    """The FIX side of a gateway process. `user_partitions` maps each participant to its user partition."""

    comp_id: str
    host: str
    port: int
    sessions: tuple[SessionEntry, ...]
    symbol_partitions: tuple[str, ...]
    user_partitions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MonitorEntry:
    """The HTTP side of the monitor process; `processes` are the names whose facts sockets it polls."""

    host: str
    port: int
    processes: tuple[str, ...]
    decoder_roles: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """Everything one process needs. `limits` holds every `[limits]` key with its resolved value."""

    name: str
    venue: str
    data_dir: str
    run_dir: str
    roles: tuple[str, ...]
    partitions: tuple[PartitionHome, ...]
    sequencers: Mapping[str, SequencerAddress]
    access: tuple[Access, ...]
    settle_level: int
    limits: Mapping[str, int]
    gateway: GatewayEntry | None = None
    monitor: MonitorEntry | None = None

    @property
    def facts_path(self) -> Path:
        """The socket on which this process answers its facts."""
        return Path(self.run_dir) / f"{self.name}.sock"

    def to_json(self) -> str:
        """The text of the process's config file."""
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "ProcessConfig":
        """The config back from `to_json`'s text."""
        data: dict[str, Any] = json.loads(text)
        gateway, monitor = data.pop("gateway"), data.pop("monitor")
        data["roles"] = tuple(data["roles"])
        data["partitions"] = tuple(PartitionHome(**entry) for entry in data["partitions"])
        data["sequencers"] = {name: SequencerAddress(**entry) for name, entry in data["sequencers"].items()}
        data["access"] = tuple(_access(entry) for entry in data["access"])
        return cls(**data, gateway=_gateway(gateway), monitor=_monitor(monitor))


def load_process_config(path: Path) -> ProcessConfig:
    """The config of this process; OSError or ValueError when the file is not one."""
    return ProcessConfig.from_json(path.read_text())


def _access(entry: dict[str, Any]) -> Access:
    return Access(entry["process"], entry["partition"], tuple(entry["reads"]), tuple(entry["writes"]))


def _gateway(entry: dict[str, Any] | None) -> GatewayEntry | None:
    if entry is None:
        return None
    sessions = tuple(SessionEntry(**session) for session in entry.pop("sessions"))
    symbol_partitions = tuple(entry.pop("symbol_partitions"))
    return GatewayEntry(**entry, sessions=sessions, symbol_partitions=symbol_partitions)


def _monitor(entry: dict[str, Any] | None) -> MonitorEntry | None:
    if entry is None:
        return None
    roles = {name: tuple(kinds) for name, kinds in entry["decoder_roles"].items()}
    return MonitorEntry(entry["host"], entry["port"], tuple(entry["processes"]), roles)
