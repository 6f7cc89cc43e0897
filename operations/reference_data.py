"""Reference data before trading: what the config has and the `refdata` streams lack is published; a change is refused.

An entry that was published stays as it was: orders were judged by it, and a replay judges them again.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from exchange.hosting.log import logger
from exchange.hosting.process import stream_clients
from exchange.records.codec import MalformedPayloadError, decode_fields, encode
from exchange.records.kinds import Kind
from exchange.records.positions import StreamPosition
from exchange.records.reference_data import (
    STREAM,
    InstrumentAdded,
    LimitSet,
    ParticipantAdded,
    Units,
    instrument_added,
    limit_set,
    participant_added,
)
from exchange.streams.client import StreamClient, StreamClientError
from exchange.streams.stream_writer import StreamWriter
from operations.failures import CheckFailedError, ConfigError, UnreachableError
from operations.limits import REMEMBERED_ORDERS
from operations.process_plan import OPERATOR, peer_config
from operations.venue import Venue

Entry = InstrumentAdded | ParticipantAdded | LimitSet
_PATIENCE_S = 10.0
_POLL_S = 0.01
log = logger()

_CLASSES: dict[int, type[Any]] = {
    Kind.INSTRUMENT_ADDED: InstrumentAdded,
    Kind.PARTICIPANT_ADDED: ParticipantAdded,
    Kind.LIMIT_SET: LimitSet,
}


def configured_entries(venue: Venue, partition: str) -> list[Entry]:
    """What the config says that the `refdata` stream of a symbol partition should hold, in publishing order."""
    limits = [limit_set(REMEMBERED_ORDERS, venue.limits[REMEMBERED_ORDERS])]
    instruments = [
        instrument_added(instrument.symbol, instrument.units, instrument.largest_order)
        for instrument in venue.instruments
        if instrument.partition == partition
    ]
    participants = [participant_added(entry.name, entry.user_partition) for entry in venue.participants]
    return [*limits, *instruments, *participants]


def missing_entries(venue: Venue, partition: str, held: Sequence[bytes]) -> list[Entry]:
    """The configured entries that the stream's payloads `held` lack. ConfigError when one of them differs."""
    configured = {key_of(entry): entry for entry in configured_entries(venue, partition)}
    published = {key_of(entry): entry for entry in (_entry(venue, partition, payload) for payload in held)}
    lines = []
    for key, entry in published.items():
        if key not in configured:
            lines.append(f"{venue.file}: {key}: missing; allowed: what {partition} was told, {entry_text(entry)}")
        else:
            lines += [f"{venue.file}: {difference}" for difference in _differences(configured[key], entry)]
    if lines:
        raise ConfigError(lines)
    return [entry for key, entry in configured.items() if key not in published]


def key_of(entry: Entry) -> str:
    """The config's own name for an entry: `instrument[ALFA]`, `participant[ACME]`, `limits.remembered_orders`."""
    if isinstance(entry, InstrumentAdded):
        return f"instrument[{entry.symbol}]"
    if isinstance(entry, ParticipantAdded):
        return f"participant[{entry.participant}]"
    return f"limits.{entry.name}"


def entry_text(entry: Entry) -> str:
    """The values of an entry in the config's own words."""
    return ", ".join(f"{path.rpartition('.')[2]} = {value}" for path, value in _values(entry).items())


def _differences(configured: Entry, published: Entry) -> list[str]:
    now, before = _values(configured), _values(published)
    return [
        f"{path}: changed to {now[path]}; allowed: as published, {before[path]}"
        for path in now
        if now[path] != before[path]
    ]


def _values(entry: Entry) -> dict[str, str]:
    """The path of every key that made the entry, and its value as the config writes it."""
    key = key_of(entry)
    if isinstance(entry, InstrumentAdded):
        tick, lot = _decimal_texts(entry.units)
        return {f"{key}.tick": f'"{tick}"', f"{key}.lot": f'"{lot}"', f"{key}.largest_order": str(entry.largest_order)}
    if isinstance(entry, ParticipantAdded):
        return {f"{key}.user_partition": f'"{entry.user_partition}"'}
    return {key: str(entry.value)}


def _decimal_texts(units: Units) -> tuple[str, str]:
    tick_mantissa, tick_decimals, lot_mantissa, lot_decimals = units
    return decimal_text(tick_mantissa, tick_decimals), decimal_text(lot_mantissa, lot_decimals)


def decimal_text(mantissa: int, decimals: int) -> str:
    """`(5, 2)` as `0.05`."""
    digits = str(mantissa).rjust(decimals + 1, "0")
    return f"{digits[: len(digits) - decimals]}.{digits[len(digits) - decimals :]}" if decimals else digits


def _entry(venue: Venue, partition: str, payload: bytes) -> Entry:
    try:
        fields = decode_fields(payload)
        entry: Entry = _CLASSES[fields[0]](*fields)
    except (MalformedPayloadError, KeyError, TypeError) as error:
        # Written by a later version, or by nobody we know: what it means for trading cannot be judged here.
        raise ConfigError(f"{venue.file}: {partition} holds reference data that this version cannot read") from error
    return entry


async def publish_reference_data(venue: Venue, data_dir: Path) -> None:
    """Publish what every symbol partition lacks, and wait until it is settled.

    Everything is compared before anything is published. Raises ConfigError when an entry was changed,
    UnreachableError when the sequencer does not answer.
    """
    clients = stream_clients(peer_config(venue, data_dir, OPERATOR))
    for client in set(clients.values()):
        client.start()
    try:
        # Opened before they are read: as long as they are open nobody else can write to them.
        writers = [clients[name].writer(name, STREAM, None, from_end=True) for name in venue.symbol_partitions]
        for writer in writers:
            await _until(partial(_is_open, writer), clients[writer.partition])
        missing = [await _missing(venue, writer, clients[writer.partition]) for writer in writers]
        for writer, payloads in zip(writers, missing, strict=True):
            if payloads:
                clients[writer.partition].stage(writer, payloads)
        for writer, payloads in zip(writers, missing, strict=True):
            await _until(partial(_is_settled, writer), clients[writer.partition])
            log.info("reference data published", partition=writer.partition, records=len(payloads), end=writer.end)
    except (ConnectionError, TimeoutError) as error:
        raise UnreachableError(
            f"{data_dir}: the sequencer does not answer ({next(iter(clients.values())).reason})"
        ) from error
    except StreamClientError as error:
        raise CheckFailedError(f"{data_dir}: {error}") from error
    finally:
        for client in set(clients.values()):
            await client.close()


def _is_open(writer: StreamWriter) -> bool:
    return writer.number is not None


def _is_settled(writer: StreamWriter) -> bool:
    return writer.settled >= writer.next


async def _missing(venue: Venue, writer: StreamWriter, client: StreamClient) -> list[bytes]:
    held: list[bytes] = []
    last = False
    while not last:
        runs, last = await client.read_stream(writer.partition, STREAM, StreamPosition(len(held)))
        held += [payload for _, payloads in runs for payload in payloads]
    return [encode(entry) for entry in missing_entries(venue, writer.partition, held)]


async def _until(reached: Callable[[], bool], client: StreamClient) -> None:
    """Wait for what a client is told by its sequencer; raises what the client dies of, or TimeoutError."""
    async with asyncio.timeout(_PATIENCE_S):
        while not reached():
            await asyncio.wait((client.failed,), timeout=_POLL_S)
            if client.failed.done():
                client.failed.result()
