"""The venue's config: two TOML files, validated whole before anything starts.

`load_venue` returns a Venue or raises ConfigError, whose lines each name the file, the key and what is allowed. A key
that nothing reads is refused: a misspelled one would otherwise leave its default in force.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import argon2
from pydantic import ValidationError

from exchange.hosting.process_config import Role
from operations.config_checks import check_limits, check_names, check_roles
from operations.config_tables import (
    CredentialsTables,
    DurabilityTable,
    InstrumentTable,
    ParticipantTable,
    PartitionTable,
    ProcessTable,
    SessionTable,
    Table,
    VenueTable,
    shown,
)
from operations.failures import ConfigError, ConfigFaults
from operations.limits import DEFAULTS
from operations.venue import DECODER_KINDS, FAMILIES, MEMBERS_OF_A_PAIR, PORT_KEYS, Process, Venue

RESERVED_PROCESS_NAMES = ("node", "observer", "operator")
_PROCESS_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


def load_venue(file: Path, port_base: int | None = None, host: str | None = None) -> Venue:
    """The venue of `file` and its credentials file, with every port moved from its `port_base` to the one given.

    `host` replaces the address that ports listen on. Raises ConfigError.
    """
    text = _parse(file)
    faults = ConfigFaults(file)
    venue = _read_tables(text, faults)
    faults.raise_if_any()
    assert venue is not None  # a table that could not be read is a fault
    check_names(venue, faults)
    check_roles(venue, faults)
    check_limits(venue, faults)
    faults.raise_if_any()
    venue = _with_credentials(venue, file.parent / text["venue"]["credentials"])
    return _moved(venue, port_base, host)


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError as error:
        raise ConfigError([f"{file}: {(error.strerror or str(error)).lower()}; allowed: a readable file"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([f"{file}: not TOML: {error}"]) from error


_TABLES = ("venue", "durability", "limits", "partition", "process", "instrument", "participant", "session")
_Model = TypeVar("_Model", bound=Table)


def _read_tables(text: Mapping[str, Any], faults: ConfigFaults) -> Venue | None:
    for key in text:
        if key not in _TABLES:
            faults.add(key, f"no such table; allowed: {', '.join(_TABLES)}")
    venue = _read(VenueTable, text.get("venue", {}), "venue", faults)
    durability = _read(DurabilityTable, text.get("durability", {}), "durability", faults)
    partitions = _read_named(PartitionTable, text, "partition", faults)
    processes = _read_named(ProcessTable, text, "process", faults)
    instruments = _read_array(InstrumentTable, text, "instrument", "symbol", faults)
    participants = _read_array(ParticipantTable, text, "participant", "name", faults)
    sessions = _read_array(SessionTable, text, "session", "comp_id", faults)
    limits = _read_limits(text.get("limits", {}), faults)
    parsed = {name: _parse_process(name, table, faults) for name, table in processes.items()}
    if venue is None or durability is None or faults.lines:
        return None
    return Venue(
        file=faults.file,
        name=venue.name,
        comp_id=venue.comp_id,
        host=venue.host,
        port_base=venue.port_base,
        partitions=partitions,
        processes={name: process for name, process in parsed.items() if process is not None},
        instruments=instruments,
        participants=participants,
        sessions=sessions,
        settle_level=durability.settle_level,
        limits=limits,
        password_hashes={},
        secrets={},
    )


def _read(model: type[_Model], table: object, key: str, faults: ConfigFaults) -> _Model | None:
    if not isinstance(table, dict):
        faults.add(key, f"not a table; allowed: [{key}]")
        return None
    try:
        return model.model_validate(table)
    except ValidationError as error:
        for fault in error.errors():
            field = str(fault["loc"][0])
            faults.add(f"{key}.{field}", _describe(model, field, fault["type"], fault["input"]))
        return None


def _describe(model: type[Table], field: str, fault: str, value: object) -> str:
    if fault == "extra_forbidden":
        return f"no such key; allowed: {', '.join(model.model_fields)}"
    allowed = model.model_fields[field].description
    what = "missing" if fault == "missing" else f"{shown(value)} is not allowed"
    return f"{what}; allowed: {allowed}"


def _read_named(model: type[_Model], text: Mapping[str, Any], key: str, faults: ConfigFaults) -> dict[str, _Model]:
    tables = text.get(key)
    if not isinstance(tables, dict) or not tables:
        faults.add(key, f"missing; allowed: at least one [{key}.NAME]")
        return {}
    read = {name: _read(model, table, f"{key}.{name}", faults) for name, table in tables.items()}
    return {name: table for name, table in read.items() if table is not None}


def _read_array(
    model: type[_Model], text: Mapping[str, Any], key: str, naming: str, faults: ConfigFaults
) -> tuple[_Model, ...]:
    tables = text.get(key, [])
    if not isinstance(tables, list):
        faults.add(key, f"not an array of tables; allowed: [[{key}]]")
        return ()
    read = []
    for number, table in enumerate(tables, 1):
        name = table.get(naming, number) if isinstance(table, dict) else number
        read.append(_read(model, table, f"{key}[{name}]", faults))
    return tuple(table for table in read if table is not None)


def _read_limits(table: object, faults: ConfigFaults) -> dict[str, int]:
    if not isinstance(table, dict):
        faults.add("limits", "not a table; allowed: [limits]")
        return {}
    for key, value in table.items():
        if key not in DEFAULTS:
            faults.add(f"limits.{key}", f"no such key; allowed: {', '.join(DEFAULTS)}")
        elif type(value) is not int or not 1 <= value < 2**53:
            faults.add(f"limits.{key}", f"{shown(value)} is not allowed; allowed: a whole number from 1")
    return DEFAULTS | {key: value for key, value in table.items() if key in DEFAULTS}


def _parse_process(name: str, table: ProcessTable, faults: ConfigFaults) -> Process | None:
    key = f"process.{name}"
    if not _PROCESS_NAME.fullmatch(name) or name in RESERVED_PROCESS_NAMES:
        faults.add(key, f"no such name; allowed: 1 to 32 of a-z 0-9 -, none of {', '.join(RESERVED_PROCESS_NAMES)}")
    roles = []
    for text in table.runs:
        role = _parse_role(text)
        if role is None:
            kinds = "sequencer, gateway, monitor, or matcher:P:T, partitioner:P:T, clock:P:T"
            faults.add(f"{key}.runs", f"{shown(text)} is no role; allowed: {kinds} with T = a or b")
        else:
            roles.append(role)
    families = sorted({FAMILIES[role.kind] for role in roles})
    if len(families) > 1:
        faults.add(f"{key}.runs", f"{' and '.join(families)} in one process; allowed: roles of one family")
    if len(families) != 1:
        return None
    for port_key, owner in PORT_KEYS.items():
        if getattr(table, port_key) is not None and families[0] != owner:
            faults.add(f"{key}.{port_key}", f"nothing reads it; allowed: in a process that runs {owner}")
    return Process(
        name, families[0], tuple(roles), table.order_entry_port, table.http_port, table.streams_port,
        table.reach_sequencer,
    )  # fmt: skip


def _parse_role(text: str) -> Role | None:
    try:
        role = Role.parse(text)
    except ValueError:
        return None
    if role.kind not in FAMILIES or (role.tag is not None) != (role.kind in DECODER_KINDS):
        return None
    return role if role.tag is None or role.tag in MEMBERS_OF_A_PAIR else None


def _with_credentials(venue: Venue, file: Path) -> Venue:
    faults = ConfigFaults(file)
    text = _parse(file)
    credentials = CredentialsTables(passwords={})
    for key, value in text.items():
        if key not in CredentialsTables.model_fields:
            faults.add(key, f"no such table; allowed: {', '.join(CredentialsTables.model_fields)}")
        elif not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            faults.add(key, f"not allowed; allowed: {CredentialsTables.model_fields[key].description}")
        else:
            credentials = credentials.model_copy(update={key: value})
    sessions = [session.comp_id for session in venue.sessions]
    listeners = [process.name for process in venue.of_family("sequencer") if process.streams_port is not None]
    _check_owners("passwords", credentials.passwords, sessions, "a session", faults)
    _check_owners("secrets", credentials.secrets, listeners, "a process with a streams_port", faults)
    for name, text_hash in credentials.passwords.items():
        if not _is_argon2(text_hash):
            faults.add(f"passwords.{name}", "not an argon2 hash; allowed: what ordinal hash-password prints")
    for name, secret in credentials.secrets.items():
        if len(secret) < 32:
            faults.add(f"secrets.{name}", f"{len(secret)} characters; allowed: 32 or more")
    faults.raise_if_any()
    return replace(venue, password_hashes=dict(credentials.passwords), secrets=dict(credentials.secrets))


def _check_owners(
    table: str, entries: Mapping[str, str], owners: Iterable[str], what: str, faults: ConfigFaults
) -> None:
    expected = list(owners)
    for name in entries:
        if name not in expected:
            faults.add(f"{table}.{name}", f"nothing reads it; allowed: the name of {what}")
    for name in expected:
        if name not in entries:
            faults.add(f"{table}.{name}", f"missing; allowed: {CredentialsTables.model_fields[table].description}")


def hashed_password(password: str) -> str:
    """The argon2id hash of a password, at a cost that suits a gateway: 19 MiB and two passes."""
    return argon2.PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1).hash(password)


def _is_argon2(text: str) -> bool:
    try:
        argon2.extract_parameters(text)
    except argon2.exceptions.InvalidHashError:
        return False
    return True


def _moved(venue: Venue, port_base: int | None, host: str | None) -> Venue:
    base = venue.port_base if port_base is None else port_base
    faults = ConfigFaults(venue.file)
    processes = {}
    for name, process in venue.processes.items():
        ports: dict[str, int | None] = {}
        for key in PORT_KEYS:
            configured = getattr(process, key)
            ports[key] = None if configured is None else configured - venue.port_base + base
            if configured is not None and not 1 <= configured - venue.port_base + base <= 65535:
                faults.add(f"process.{name}.{key}", f"{ports[key]} with --port-base {base}; allowed: 1 to 65535")
        processes[name] = replace(process, **ports)  # type: ignore[arg-type]  # the keys are fields by PORT_KEYS
    faults.raise_if_any()
    return replace(venue, processes=processes, port_base=base, host=host or venue.host)
