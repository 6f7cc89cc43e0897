"""The gateway process: `python -m gateway.run_gateway CONFIG.json`."""

import asyncio
import time
from typing import Any

from exchange.hosting.facts import Facts
from exchange.hosting.log import logger
from exchange.hosting.process import Stop, freeze_memory, run_process, sequencer_facts, serve, stream_clients
from exchange.hosting.process_config import GatewayEntry, ProcessConfig, SessionEntry
from exchange.records.order_entry import order_stream
from gateway.acceptor import Acceptor
from gateway.delivery import Delivery
from gateway.fix.limits import Limits
from gateway.fix.session import Session
from gateway.order_entry import OrderEntry
from gateway.order_entry_session import OrderEntrySession
from gateway.reference_view import ReferenceReader, participants_known

_APPLICATION_TYPES = frozenset((b"D", b"F"))
_LOGOUT_S = 2.0
log = logger()


class Gateway:
    """What a gateway process is made of: it reads reference data and user partitions, writes order streams."""

    def __init__(self, config: ProcessConfig, entry: GatewayEntry) -> None:
        self._config = config
        self._entry = entry
        self._limits = _limits(config)
        # Until sessions are journalled, a gateway's life is what makes its session epochs unlike any before.
        self._life = time.time_ns() // 1_000_000
        self._clients = stream_clients(config)
        self._distinct = list(dict.fromkeys(self._clients.values()))
        self.failures = [client.failed for client in self._distinct]
        self._references = {name: ReferenceReader(name, self._clients[name]) for name in entry.symbol_partitions}
        self.sessions = {
            session.comp_id: self._session(session) for session in entry.sessions if session.purpose == "order_entry"
        }
        self._deliveries = {
            name: Delivery(name, self._clients[name], [s for s in self.sessions.values() if s.user_partition == name])
            for name in sorted(set(entry.user_partitions.values()))
        }
        self.acceptor = Acceptor(
            entry.comp_id,
            self.sessions,
            self._deliveries,
            self._clients,
            OrderEntry(self._references, self._limits.identifier_bytes),
            self._limits,
            config.limits["in_flight_orders"],
        )

    def _session(self, session: SessionEntry) -> OrderEntrySession:
        fix = Session(
            self._entry.comp_id.encode(), session.comp_id.encode(), _APPLICATION_TYPES, self._life, self._limits
        )
        stream = order_stream(session.participant, session.comp_id)
        writers = {
            partition: self._clients[partition].writer(partition, stream, None, from_end=True)
            for partition in self._entry.symbol_partitions
        }
        return OrderEntrySession(session, self._entry.user_partitions[session.participant], fix, writers)

    def start(self) -> None:
        """Connect to the sequencers, for as long as the process lives."""
        for client in self._distinct:
            client.start()

    async def open(self) -> int:
        """Listen once the reference data names our participants, user partitions are read and order streams are open.

        The port that is open then.
        """
        entry = self._entry
        await participants_known(self._references, frozenset(session.participant for session in entry.sessions))
        for delivery in self._deliveries.values():
            await delivery.ready.wait()
        for session in self.sessions.values():
            for partition, writer in session.writers.items():
                await self._clients[partition].opened(writer)
        port = await self.acceptor.listen(entry.host, entry.port)
        log.info("order entry open", host=entry.host, port=port, sessions=len(self.sessions))
        return port

    async def stop(self) -> None:
        """Accept nobody, say Logout to all, and hand over what they sent until then."""
        self.acceptor.close_port()
        await self.acceptor.log_out_all(b"VENUE_STOPS: log on again later", _LOGOUT_S)

    async def close(self) -> None:
        """Let everything go."""
        self.acceptor.close()
        for client in self._distinct:
            await client.close()

    def facts(self) -> Facts:
        """What the facts socket answers."""
        acceptor = self.acceptor
        return {
            "ready": acceptor.listening and all(client.connected for client in self._distinct),
            "sequencers": sequencer_facts(self._config, self._clients),
            "sessions": [_session_facts(self._config.name, session) for session in self.sessions.values()],
            "refused_logons": list(acceptor.refused_logons),
            "refdata": {name: reader.end for name, reader in self._references.items()},
            "user_partitions": {name: delivery.facts() for name, delivery in self._deliveries.items()},
            "counters": {"logons_refused": acceptor.logons_refused, "connections": len(acceptor.connections)},
        }


async def run_gateway(config: ProcessConfig, stop: Stop) -> int:
    """Open the port, serve until told to stop; then Logout to all."""
    assert config.gateway is not None
    gateway = Gateway(config, config.gateway)
    facts_server = await serve(config, gateway.facts)
    gateway.start()
    opening = asyncio.get_running_loop().create_task(gateway.open())
    try:
        first: list[asyncio.Future[Any]] = [opening, stop.requested, *gateway.failures]
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
        freeze_memory()
        await stop.wait(gateway.failures)
        await gateway.stop()
    finally:
        opening.cancel()
        facts_server.close()
        await gateway.close()
    return 0


def _limits(config: ProcessConfig) -> Limits:
    names = Limits.__dataclass_fields__
    return Limits(**{name: value for name, value in config.limits.items() if name in names})


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
