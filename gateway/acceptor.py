"""The FIX port of order entry: what its connections share."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Coroutine, Mapping
from typing import Any

from exchange.hosting.log import logger
from exchange.streams.client import StreamClient
from gateway.credentials import CredentialCheck
from gateway.delivery import Delivery
from gateway.fix.limits import Limits
from gateway.fix_connection import FixConnection
from gateway.order_entry import OrderEntry
from gateway.order_entry_session import OrderEntrySession

_REFUSED_LOGONS_REMEMBERED = 100
log = logger()


class Acceptor:
    """Everything the connections of one FIX port share."""

    def __init__(
        self,
        comp_id: str,
        sessions: Mapping[str, OrderEntrySession],
        deliveries: Mapping[str, Delivery],
        clients: Mapping[str, StreamClient],
        order_entry: OrderEntry,
        limits: Limits,
        in_flight_orders: int,
    ) -> None:
        self.comp_id = comp_id
        self.sessions = sessions
        self.deliveries = deliveries
        self.clients = clients
        self.order_entry = order_entry
        self.limits = limits
        self.in_flight_orders = in_flight_orders
        self.credentials = CredentialCheck(limits.credential_checks)
        self.refused_logons: deque[dict[str, object]] = deque(maxlen=_REFUSED_LOGONS_REMEMBERED)
        self.logons_refused = 0
        self.connections: dict[FixConnection, None] = {}
        self._none_left = asyncio.Event()
        self._none_left.set()
        self._port: asyncio.Server | None = None
        self._work: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> int:
        """Open the port; the port that it is. Gateways of one node may share theirs."""
        loop = asyncio.get_running_loop()
        self._port = await loop.create_server(lambda: FixConnection(self), host, port, reuse_port=True)
        bound: int = self._port.sockets[0].getsockname()[1]
        return bound

    @property
    def listening(self) -> bool:
        """Whether the port is open."""
        return self._port is not None

    def close_port(self) -> None:
        """Accept nobody any more."""
        if self._port is not None:
            self._port.close()
            self._port = None

    def connected(self, connection: FixConnection) -> None:
        """Somebody has come."""
        self.connections[connection] = None
        self._none_left.clear()

    def disconnected(self, connection: FixConnection) -> None:
        """A connection is gone."""
        del self.connections[connection]
        if not self.connections:
            self._none_left.set()

    def run(self, connection: FixConnection, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work of a connection beside the loop; what goes wrong in it ends that connection, loudly."""
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._work.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                connection.failed(error)

        task.add_done_callback(done)
        return task

    def logon_refused(self, session: str | None, reason: str) -> None:
        """The reason goes to the log, to `status` and to the metrics; what the peer is told is the session's affair."""
        self.logons_refused += 1
        self.refused_logons.append({"time": time.time_ns(), "session": session, "reason": reason})
        log.warning("logon refused", session=session, reason=reason)

    async def log_out_all(self, text: bytes, within_s: float) -> None:
        """Say Logout to every client and wait for the connections to end."""
        for connection in list(self.connections):
            connection.log_out(text)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._none_left.wait()

    def close(self) -> None:
        """Cut off whoever is left."""
        self.close_port()
        for connection in list(self.connections):
            connection.abort()
        self.credentials.close()
