"""What one table of a config cannot know of itself: names that exist, roles that run once and apart, free ports."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from operations.config_tables import mantissa_and_decimals, shown
from operations.failures import ConfigFaults
from operations.limits import LARGEST, ORDERED
from operations.venue import DECODER_KINDS, MEMBERS_OF_A_PAIR, PORT_KEYS, Process, Venue


def check_names(venue: Venue, faults: ConfigFaults) -> None:
    """Every name that an entry refers to exists, and every entry's own name is the only one."""
    symbol, user = venue.symbol_partitions, venue.user_partitions
    for name, partition in venue.partitions.items():
        if name not in symbol + user:
            faults.add(f"partition.{name}", "no such kind; allowed: sym-N and user-N, N from 1")
        expect(f"partition.{name}.home", partition.home, [p.name for p in venue.of_family("sequencer")], faults)
    for instrument in venue.instruments:
        key = f"instrument[{instrument.symbol}]"
        expect(f"{key}.partition", instrument.partition, symbol, faults)
        for unit in ("tick", "lot"):
            if mantissa_and_decimals(getattr(instrument, unit))[0] == 0:
                faults.add(f"{key}.{unit}", "zero; allowed: a decimal above zero in quotes")
    for participant in venue.participants:
        expect(f"participant[{participant.name}].user_partition", participant.user_partition, user, faults)
    for session in venue.sessions:
        key = f"session[{session.comp_id}]"
        expect(f"{key}.participant", session.participant, [p.name for p in venue.participants], faults)
        expect(f"{key}.home_partition", session.home_partition, symbol, faults)
        if session.comp_id == venue.comp_id:
            faults.add(f"{key}.comp_id", "the venue's own; allowed: a CompID of its own")
    _once("instrument", "symbol", (i.symbol for i in venue.instruments), faults)
    _once("participant", "name", (p.name for p in venue.participants), faults)
    _once("session", "comp_id", (s.comp_id for s in venue.sessions), faults)


def expect(key: str, value: str, allowed: Iterable[str], faults: ConfigFaults) -> None:
    """A fault at `key` unless `value` is one of `allowed`."""
    names = list(allowed)
    if value not in names:
        faults.add(key, f"{shown(value)} is not allowed; allowed: {', '.join(names) or 'none that this file has'}")


def _once(table: str, key: str, names: Iterable[str], faults: ConfigFaults) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            faults.add(f"{table}[{name}].{key}", f"there are {count} of it; allowed: once")


def check_roles(venue: Venue, faults: ConfigFaults) -> None:
    """Every role that trading needs is run, none twice, twins apart, each on ports of its own."""
    running: dict[str, list[str]] = {}
    for process in venue.processes.values():
        key = f"process.{process.name}.runs"
        for role in process.roles:
            running.setdefault(str(role), []).append(process.name)
            if role.partition is not None:
                expect(key, role.partition, venue.symbol_partitions, faults)
        for kind, partition in _twins(process):
            faults.add(key, f"both copies of {kind}:{partition}; allowed: twins in two processes")
    for role_text, names in running.items():
        # One gateway, too: a session's order streams have one writer, and nothing hands them over yet.
        if len(names) > 1 and role_text != "monitor":
            faults.add(f"process.{names[1]}.runs", f"{role_text} runs in {names[0]} too; allowed: once")
    for key, what in _missing_roles(venue, running):
        faults.add(key, what)
    _check_ports(venue, faults)


def _twins(process: Process) -> list[tuple[str, str | None]]:
    """Kinds and partitions of which the process runs both copies: one crash would take the pair."""
    copies = Counter((role.kind, role.partition) for role in set(process.roles) if role.tag is not None)
    return [pair for pair, count in copies.items() if count > 1]


def _missing_roles(venue: Venue, running: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for kind in ("sequencer", "gateway"):
        if kind not in running:
            yield "process", f"none runs {kind}; allowed: at least one"
    for partition in venue.symbol_partitions:
        for kind in DECODER_KINDS:
            if not any(f"{kind}:{partition}:{tag}" in running for tag in MEMBERS_OF_A_PAIR):
                yield f"partition.{partition}", f"no process runs {kind}:{partition}:a or b; allowed: one of each"


def _check_ports(venue: Venue, faults: ConfigFaults) -> None:
    taken: dict[int, Process] = {}
    for process in venue.processes.values():
        for key, owner in PORT_KEYS.items():
            port = getattr(process, key)
            if port is None:
                if owner == process.family and key != "streams_port":
                    faults.add(f"process.{process.name}.{key}", "missing; allowed: a port, 1 to 65535")
                continue
            other = taken.setdefault(port, process)
            # Gateways of one node may share a port: a member whose gateway died meets another.
            if other is not process and (other.family, process.family) != ("gateway", "gateway"):
                faults.add(f"process.{process.name}.{key}", f"{port} is taken by {other.name}; allowed: another")
        reachable = any(sequencer.streams_port for sequencer in venue.of_family("sequencer"))
        if process.reach_sequencer == "tcp" and (process.family == "sequencer" or not reachable):
            key = f"process.{process.name}.reach_sequencer"
            faults.add(key, '"tcp" is not allowed; allowed: "unix", as no other process has a streams_port')


def check_limits(venue: Venue, faults: ConfigFaults) -> None:
    """Limits of which one must fit into the other do."""
    for name, largest in LARGEST.items():
        if venue.limits[name] > largest:
            faults.add(f"limits.{name}", f"too large; allowed: at most {largest}")
    for smaller, larger in ORDERED:
        if venue.limits[smaller] > venue.limits[larger]:
            faults.add(f"limits.{smaller}", f"above limits.{larger}; allowed: at most {venue.limits[larger]}")
