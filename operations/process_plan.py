"""From a venue to what each of its processes is told: one ProcessConfig per process, in the order they start."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from exchange.hosting.process_config import (
    Access,
    GatewayEntry,
    MonitorEntry,
    PartitionHome,
    ProcessConfig,
    Role,
    SequencerAddress,
    SessionEntry,
)
from exchange.records import clock, reference_data, trade_tape
from operations.failures import ConfigError
from operations.venue import Process, Venue

OPERATOR = "operator"
"""Writes reference data; the name of the peer that `run` and `process CONFIG operator` are to the sequencer."""
OBSERVER = "observer"
"""Reads and never writes; the name of the peer that `tail` and `audit` are to the sequencer."""

START_ORDER = ("sequencer", "clock", "matcher", "partitioner", "gateway", "monitor")
STOP_ORDER = ("gateway", "partitioner", "matcher", "clock", "monitor", "sequencer")
"""What writes into the rest stops first; the sequencer, which everybody needs to settle what they wrote, last."""

_ENTRY_MODULES = {
    "sequencer": "exchange.hosting.run_sequencer",
    "decoders": "exchange.hosting.run_decoders",
    "gateway": "gateway.run_gateway",
    "monitor": "operations.run_monitor",
}
_LONGEST_SOCKET_PATH = 107
"""Bytes of a Unix socket's path on Linux."""


def default_data_dir(config: Path) -> Path:
    """Where a venue's data lies unless `--data` says otherwise."""
    return Path("data") / config.stem


def run_dir(data_dir: Path) -> Path:
    """Where sockets and the processes' configs lie."""
    return data_dir / "run"


def entry_module(process: Process) -> str:
    """The module that is the process's program."""
    return _ENTRY_MODULES[process.family]


def start_rank(process: Process) -> int:
    """Processes start in the order of this number, those of one rank together."""
    return min(START_ORDER.index(role.kind) for role in process.roles)


def stop_rank(process: Process) -> int:
    """Processes stop in the order of this number; one with several roles waits for the turn of its last."""
    return max(STOP_ORDER.index(role.kind) for role in process.roles)


def plan_processes(venue: Venue, data_dir: Path) -> dict[str, ProcessConfig]:
    """The config of every process, in starting order. ConfigError when a socket's path would be too long."""
    data_dir = data_dir.resolve()
    access = access_table(venue)
    ordered = sorted(venue.processes.values(), key=start_rank)
    plan = {process.name: _process_config(venue, process, data_dir, access) for process in ordered}
    _check_socket_paths(venue, data_dir)
    return plan


def peer_config(venue: Venue, data_dir: Path, peer: str) -> ProcessConfig:
    """The config of a peer that is no process of the venue: OPERATOR or OBSERVER."""
    data_dir = data_dir.resolve()
    _check_socket_paths(venue, data_dir)
    process = Process(peer, peer, (), None, None, None, "unix")
    return _process_config(venue, process, data_dir, access_table(venue))


def access_table(venue: Venue) -> tuple[Access, ...]:
    """Who may read and write which streams of which partition: least that its roles need."""
    allowed: dict[tuple[str, str], tuple[set[str], set[str]]] = {}

    def allow(process: str, partition: str, reads: Iterable[str], writes: Iterable[str]) -> None:
        entry = allowed.setdefault((process, partition), (set(), set()))
        entry[0].update(reads)
        entry[1].update(writes)

    for process in venue.processes.values():
        for role in process.roles:
            for partition, reads, writes in _needs(venue, role):
                allow(process.name, partition, reads, writes)
    for partition in venue.partitions:
        writes = (reference_data.STREAM,) if partition in venue.symbol_partitions else ()
        allow(OPERATOR, partition, ("*",), writes)
        allow(OBSERVER, partition, ("*",), ())
    return tuple(
        Access(process, partition, tuple(sorted(reads)), tuple(sorted(writes)))
        for (process, partition), (reads, writes) in allowed.items()
    )


def _needs(venue: Venue, role: Role) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(partition, reads, writes) of one role."""
    if role.kind == "gateway":
        # Never the tape: a gateway is told by user partitions what has settled (architecture, rule 3).
        orders = [(name, (reference_data.STREAM,), ("orders/*",)) for name in venue.symbol_partitions]
        return orders + [(name, ("*",), ()) for name in venue.user_partitions]
    if role.partition is None:
        return []
    if role.kind == "clock":
        return [(role.partition, (), (clock.STREAM,))]
    if role.kind == "matcher":
        return [(role.partition, ("*",), (trade_tape.STREAM,))]
    into = [(name, (), (f"{role.partition}/*",)) for name in venue.user_partitions]
    return [(role.partition, ("*",), ()), *into]


def _process_config(venue: Venue, process: Process, data_dir: Path, access: tuple[Access, ...]) -> ProcessConfig:
    runs_sequencer = process.family == "sequencer"
    return ProcessConfig(
        name=process.name,
        venue=venue.name,
        data_dir=str(data_dir),
        run_dir=str(run_dir(data_dir)),
        roles=tuple(str(role) for role in process.roles),
        partitions=tuple(PartitionHome(name, table.home) for name, table in venue.partitions.items()),
        sequencers=_sequencers(venue, process, data_dir),
        # Only the sequencer judges access; the others are told their own part of it.
        access=tuple(row for row in access if runs_sequencer or row.process == process.name),
        settle_level=venue.settle_level,
        limits=dict(venue.limits),
        gateway=_gateway_entry(venue, process) if process.family == "gateway" else None,
        monitor=_monitor_entry(venue, process) if process.family == "monitor" else None,
    )


def _sequencers(venue: Venue, process: Process, data_dir: Path) -> dict[str, SequencerAddress]:
    addresses = {}
    for sequencer in venue.of_family("sequencer"):
        tcp = {
            "tcp_host": venue.host,
            "tcp_port": sequencer.streams_port,
            "secret": venue.secrets.get(sequencer.name),
        }
        unix = str(_streams_socket(data_dir, sequencer.name))
        if process.family == "sequencer":
            listens = tcp if sequencer.streams_port is not None else {}
            addresses[sequencer.name] = SequencerAddress(unix_path=unix, **listens)  # type: ignore[arg-type]
        elif process.reach_sequencer == "tcp":
            addresses[sequencer.name] = SequencerAddress(**tcp)  # type: ignore[arg-type]
        else:
            addresses[sequencer.name] = SequencerAddress(unix_path=unix)
    return addresses


def _gateway_entry(venue: Venue, process: Process) -> GatewayEntry:
    assert process.order_entry_port is not None  # checked by load_venue
    return GatewayEntry(
        comp_id=venue.comp_id,
        host=venue.host,
        port=process.order_entry_port,
        sessions=tuple(
            SessionEntry(
                session.comp_id,
                session.participant,
                session.purpose,
                session.home_partition,
                venue.password_hashes[session.comp_id],
            )
            for session in venue.sessions
        ),
        symbol_partitions=venue.symbol_partitions,
        user_partitions={participant.name: participant.user_partition for participant in venue.participants},
    )


def _monitor_entry(venue: Venue, process: Process) -> MonitorEntry:
    assert process.http_port is not None  # checked by load_venue
    return MonitorEntry(
        host=venue.host,
        port=process.http_port,
        processes=tuple(venue.processes),
        decoder_roles=decoder_roles(venue.processes),
    )


def decoder_roles(processes: Mapping[str, Process]) -> dict[str, tuple[str, ...]]:
    """Process name to the decoder and clock roles that it runs."""
    return {
        name: tuple(str(role) for role in process.roles)
        for name, process in processes.items()
        if process.family == "decoders"
    }


def _streams_socket(data_dir: Path, sequencer: str) -> Path:
    return run_dir(data_dir) / f"{sequencer}.streams.sock"


def _check_socket_paths(venue: Venue, data_dir: Path) -> None:
    sockets = [run_dir(data_dir) / f"{name}.sock" for name in venue.processes]
    sockets += [_streams_socket(data_dir, sequencer.name) for sequencer in venue.of_family("sequencer")]
    longest = max(len(str(path).encode()) for path in sockets)
    excess = longest - _LONGEST_SOCKET_PATH
    if excess > 0:
        line = (
            f"--data {data_dir}: its sockets' paths are {excess} bytes too long; allowed: a directory nearer the root"
        )
        raise ConfigError([line])
