"""A venue as its config describes it, validated: what the rest of operations works from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from exchange.hosting.process_config import Role
from operations.config_tables import InstrumentTable, ParticipantTable, PartitionTable, SessionTable

DECODER_KINDS = ("matcher", "partitioner", "clock")
"""Kinds of role that run as a pair on a symbol partition."""

FAMILIES = {"sequencer": "sequencer", "gateway": "gateway", "monitor": "monitor"} | dict.fromkeys(
    DECODER_KINDS, "decoders"
)
"""Kind of role to family: roles of one family may share a process."""

MEMBERS_OF_A_PAIR = ("a", "b")
"""The replica tags."""

PORT_KEYS = {"order_entry_port": "gateway", "http_port": "monitor", "streams_port": "sequencer"}
"""Key of a process's port to the family that listens on it."""

_SYMBOL_PARTITION = re.compile(r"sym-[1-9][0-9]{0,3}")
_USER_PARTITION = re.compile(r"user-[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Process:
    """One `[process.NAME]` with its roles parsed and its ports moved to the port base."""

    name: str
    family: str
    roles: tuple[Role, ...]
    order_entry_port: int | None
    http_port: int | None
    streams_port: int | None
    reach_sequencer: str


@dataclass(frozen=True, slots=True)
class Venue:
    """A config that passed every check. `limits` holds every `[limits]` key; hashes and secrets by their owner."""

    file: Path
    name: str
    comp_id: str
    host: str
    port_base: int
    partitions: Mapping[str, PartitionTable]
    processes: Mapping[str, Process]
    instruments: tuple[InstrumentTable, ...]
    participants: tuple[ParticipantTable, ...]
    sessions: tuple[SessionTable, ...]
    settle_level: int
    limits: Mapping[str, int]
    password_hashes: Mapping[str, str]
    secrets: Mapping[str, str]

    @property
    def symbol_partitions(self) -> tuple[str, ...]:
        """Names of the partitions that hold order books, as the file orders them."""
        return tuple(name for name in self.partitions if _SYMBOL_PARTITION.fullmatch(name))

    @property
    def user_partitions(self) -> tuple[str, ...]:
        """Names of the partitions that hold what participants are told, as the file orders them."""
        return tuple(name for name in self.partitions if _USER_PARTITION.fullmatch(name))

    def of_family(self, family: str) -> tuple[Process, ...]:
        """Processes of one family: `sequencer`, `decoders`, `gateway` or `monitor`."""
        return tuple(process for process in self.processes.values() if process.family == family)
