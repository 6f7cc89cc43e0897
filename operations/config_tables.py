"""The tables of a venue's config, one class each. A field's description is what its key allows, as an error says it."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from exchange.records.reference_data import Units

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?")

Name = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$", description="1 to 32 of A-Z a-z 0-9 _ . - in quotes")
]
Port = Annotated[int, Field(ge=1, le=65535, description="a port, 1 to 65535")]
SymbolPartitionName = Annotated[str, Field(description="the name of a symbol partition of this file")]
DecimalText = Annotated[
    str, Field(pattern=f"^{_DECIMAL.pattern}$", description='decimal text in quotes such as "0.01" (never a number)')
]


class Table(BaseModel):
    """Strict, frozen, and closed: no key beside those of the class."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class VenueTable(Table):
    """`[venue]`."""

    name: Name
    comp_id: Name
    credentials: str = Field(description="the path of the credentials file, relative to this one")
    host: str = Field(default="127.0.0.1", min_length=1, description="the address that ports listen on, in quotes")
    port_base: int = Field(default=9000, ge=1, le=65000, description="1 to 65000: what --port-base replaces")


class PartitionTable(Table):
    """`[partition.NAME]`."""

    home: str = Field(description="the name of the process that runs the sequencer")


class ProcessTable(Table):
    """`[process.NAME]`."""

    runs: list[str] = Field(min_length=1, description='roles such as "sequencer" or "matcher:sym-1:a"')
    order_entry_port: Port | None = Field(default=None, description="a port, 1 to 65535; of a gateway only")
    http_port: Port | None = Field(default=None, description="a port, 1 to 65535; of a monitor only")
    streams_port: Port | None = Field(default=None, description="a port, 1 to 65535; of a sequencer only")
    reach_sequencer: Literal["unix", "tcp"] = Field(default="unix", description='"unix" (same node) or "tcp"')


class InstrumentTable(Table):
    """`[[instrument]]`."""

    symbol: Name
    partition: SymbolPartitionName
    tick: DecimalText
    lot: DecimalText
    largest_order: int = Field(ge=1, le=1_000_000_000, description="lots, 1 to 1000000000")

    @property
    def units(self) -> Units:
        """The tick and the lot as the integers that records carry."""
        return mantissa_and_decimals(self.tick) + mantissa_and_decimals(self.lot)


class ParticipantTable(Table):
    """`[[participant]]`."""

    name: Name
    user_partition: str = Field(description="the name of a user partition of this file")


class SessionTable(Table):
    """`[[session]]`."""

    comp_id: Name
    participant: str = Field(description="the name of a participant of this file")
    purpose: Literal["order_entry"] = Field(description='"order_entry"')
    home_partition: SymbolPartitionName


class DurabilityTable(Table):
    """`[durability]`."""

    settle_level: Literal[1] = Field(default=1, description="1: one committer, the sequencer's own disk")


class CredentialsTables(Table):
    """The credentials file."""

    passwords: dict[str, str] = Field(description='session = "argon2 hash" (ordinal hash-password makes one)')
    secrets: dict[str, str] = Field(default={}, description='process = "shared secret of its streams_port"')


def mantissa_and_decimals(text: str) -> tuple[int, int]:
    """`"0.05"` as (5, 2). The decimals written are the decimals shown, so `"0.10"` is (10, 2)."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction), len(fraction)


def shown(value: object) -> str:
    """A value of a config as an error line shows it."""
    text = repr(value).replace("'", '"') if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
