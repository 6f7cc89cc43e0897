"""The gateway process: `python -m gateway.run_gateway CONFIG.json`."""

import asyncio
import time
from collections.abc import Mapping

from exchange.hosting.facts import Facts
from exchange.hosting.log import logger
from exchange.hosting.process import Stop, freeze_memory, run_process, sequencer_facts, serve, stream_clients
from exchange.hosting.process_config import GatewayEntry, ProcessConfig, SessionEntry
from exchange.records.order_entry import order_stream
from exchange.streams.client import StreamClient
from gateway.acceptor import Acceptor, FixConnection
from gateway.delivery import Delivery
from gateway.fix.limits import Limits
from gateway.fix.session import Session
from gateway.order_entry import OrderEntry
from gateway.order_entry_session import OrderEntrySession
from gateway.reference_view import ReferenceReader, participants_known

_APPLICATION_TYPES = frozenset((b"D", b"F"))
_LOGOUT_S = 2.0
log = logger()


async def run_gateway(config: ProcessConfig, stop: Stop) -> int:
    """Wait for reference data and order streams, open the port, serve until told to stop; then Logout to all."""
    entry = config.gateway
    assert entry is not None
    clients = stream_clients(config)
    distinct = list(dict.fromkeys(clients.values()))
    references = {name: ReferenceReader(name, clients[name]) for name in entry.symbol_partitions}
    sessions = _sessions(config, entry, clients)
    deliveries = {
        name: Delivery(name, clients[name], [s for s in sessions.values() if s.user_partition == name])
        for name in sorted(set(entry.user_partitions.values()))
    }
    limits = _limits(config)
    acceptor = Acceptor(
        entry.comp_id, sessions, deliveries, clients, OrderEntry(references), limits, config.limits["in_flight_orders"]
    )
    facts_server = await serve(config, lambda: _facts(config, acceptor, clients, references))
    for client in distinct:
        client.start()
    failures = [client.failed for client in distinct]
    opening = asyncio.get_running_loop().create_task(_open_port(entry, acceptor, references))
    try:
        await asyncio.wait((opening, stop.requested, *failures), return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
        freeze_memory()
        await stop.wait(failures)
        await acceptor.log_out_all(b"VENUE_STOPS: log on again later", _LOGOUT_S)
    finally:
        opening.cancel()
        if acceptor.port is not None:
            acceptor.port.close()
        facts_server.close()
        for client in distinct:
            await client.close()
    return 0


def _sessions(
    config: ProcessConfig, entry: GatewayEntry, clients: Mapping[str, StreamClient]
) -> dict[str, OrderEntrySession]:
    # Until sessions are journalled, a gateway's life is what makes its session epochs unlike any before.
    life = time.time_ns() // 1_000_000
    return {
        session.comp_id: _session(config, entry, session, clients, life)
        for session in entry.sessions
        if session.purpose == "order_entry"
    }


def _session(
    config: ProcessConfig,
    entry: GatewayEntry,
    session: SessionEntry,
    clients: Mapping[str, StreamClient],
    life: int,
) -> OrderEntrySession:
    fix = Session(entry.comp_id.encode(), session.comp_id.encode(), _APPLICATION_TYPES, life, _limits(config))
    stream = order_stream(session.participant, session.comp_id)
    writers = {
        partition: clients[partition].writer(partition, stream, None, from_end=True)
        for partition in entry.symbol_partitions
    }
    return OrderEntrySession(session, entry.user_partitions[session.participant], fix, writers)


def _limits(config: ProcessConfig) -> Limits:
    names = Limits.__dataclass_fields__
    return Limits(**{name: value for name, value in config.limits.items() if name in names})


async def _open_port(entry: GatewayEntry, acceptor: Acceptor, references: Mapping[str, ReferenceReader]) -> None:
    """Listen once the reference data names our participants, user partitions are read and order streams are open."""
    await participants_known(references, frozenset(session.participant for session in entry.sessions))
    for delivery in acceptor.deliveries.values():
        await delivery.ready.wait()
    for session in acceptor.sessions.values():
        for partition, writer in session.writers.items():
            await acceptor.clients[partition].opened(writer)
    loop = asyncio.get_running_loop()
    acceptor.port = await loop.create_server(lambda: FixConnection(acceptor), entry.host, entry.port, reuse_port=True)
    log.info("order entry open", host=entry.host, port=entry.port, sessions=len(acceptor.sessions))


def _facts(
    config: ProcessConfig,
    acceptor: Acceptor,
    clients: dict[str, StreamClient],
    references: Mapping[str, ReferenceReader],
) -> Facts:
    return {
        "ready": acceptor.port is not None and all(client.connected for client in clients.values()),
        "sequencers": sequencer_facts(config, clients),
        "sessions": [_session_facts(config.name, session) for session in acceptor.sessions.values()],
        "refused_logons": list(acceptor.refused_logons),
        "refdata": {name: reader.end for name, reader in references.items()},
        "user_partitions": {name: delivery.facts() for name, delivery in acceptor.deliveries.items()},
        "counters": {"logons_refused": acceptor.logons_refused, "connections": len(acceptor.connections)},
    }


def _session_facts(gateway: str, session: OrderEntrySession) -> Facts:
    return {
        "name": session.name,
        "gateway": gateway,
        "participant": session.entry.participant,
        "connected": session.fix.established,
        "next_in": session.fix.next_in,
        "next_out": session.fix.next_out,
        "in_flight": session.in_flight,
    }


if __name__ == "__main__":
    run_process(run_gateway)
