"""The FIX port: sockets in front of FIX sessions.

The protocol decides nothing: bytes go to the session core, what it rendered goes out before anybody acts on its events,
and orders are handed to their streams once per read, not once per message.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

from exchange.hosting.log import logger
from exchange.records.positions import Nanoseconds
from exchange.streams.client import StreamClient
from gateway.credentials import CredentialCheck
from gateway.delivery import Delivery, instant
from gateway.fix.instant import Instant
from gateway.fix.limits import Limits
from gateway.fix.session import UnidentifiedConnection
from gateway.fix.session_events import (
    ApplicationMessage,
    Event,
    ExpectedNumberMoved,
    LoggedOn,
    LoggedOut,
    LogonReceived,
    MessageRejected,
    RejectReceived,
    ResendRequested,
)
from gateway.order_entry import OrderEntry, SessionReject
from gateway.order_entry_session import OrderEntrySession

_REFUSED_LOGONS_REMEMBERED = 100
_LAST_WORDS_S = 2.0
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
        self.connections: dict[FixConnection, None] = {}
        self.refused_logons: deque[dict[str, object]] = deque(maxlen=_REFUSED_LOGONS_REMEMBERED)
        self.logons_refused = 0
        self.port: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None], failed: Callable[[BaseException], None]) -> None:
        """Run work of a connection beside the loop; what goes wrong in it ends that connection, loudly."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                failed(error)

        task.add_done_callback(done)

    def logon_refused(self, session: str | None, reason: str) -> None:
        """The reason goes to the log, to `status` and to the metrics; what the peer is told is the session's affair."""
        self.logons_refused += 1
        self.refused_logons.append({"time": time.time_ns(), "session": session, "reason": reason})
        log.warning("logon refused", session=session, reason=reason)

    async def log_out_all(self, text: bytes, within_s: float) -> None:
        """Say Logout to every client and wait for the connections to end."""
        for connection in list(self.connections):
            connection.log_out(text)
        deadline = time.monotonic() + within_s
        while self.connections and time.monotonic() < deadline:
            await asyncio.sleep(0.02)


class FixConnection(asyncio.Protocol):
    """One accepted socket: unidentified until its Logon, then its session's until it is lost."""

    def __init__(self, acceptor: Acceptor) -> None:
        self._acceptor = acceptor
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unidentified = UnidentifiedConnection(b"FIX.4.4", acceptor.limits, instant())
        self._session: OrderEntrySession | None = None
        self._held: set[str] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._acceptor.limits.outbound_bytes)
        self._acceptor.connections[self] = None
        self._set_timer(self._unidentified.next_deadline)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._acceptor.connections.pop(self, None)
        self._writable.set()
        if self._timer is not None:
            self._timer.cancel()
        session = self._session
        if session is not None:
            self._delivery(session).suspend(session)
            session.connection = None
            session.fix.disconnected()
            log.info("disconnected", session=session.name, reason=session.fix.close_reason or str(error or "by peer"))

    def eof_received(self) -> bool:
        return False

    def _delivery(self, session: OrderEntrySession) -> Delivery:
        return self._acceptor.deliveries[session.user_partition]

    # --- bytes in

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        now = instant()
        if self._session is None:
            self._first_bytes(data, now)
            return
        events = self._session.fix.receive(data, now)
        self.write_out()
        self._act(self._session, events, now)

    def _first_bytes(self, data: bytes, now: Instant) -> None:
        logon = self._unidentified.receive(data, now)
        if logon is None:
            if self._unidentified.close_expected:
                self._refuse(None, self._unidentified.close_reason)
            return
        session = self._acceptor.sessions.get(logon.sender_comp_id.decode("ascii", "replace"))
        if session is None:
            self._refuse(None, f"unknown SenderCompID {logon.sender_comp_id[:64]!r}")
        elif logon.target_comp_id.decode("ascii", "replace") != self._acceptor.comp_id:
            self._refuse(session.name, f"wrong TargetCompID {logon.target_comp_id[:64]!r}")
        elif session.connection is not None:
            # A message to the newcomer would use a number of the live session (FIX session test case 1S): close.
            self._refuse(session.name, "already logged on")
        else:
            self._identified(session, logon, now)

    def _refuse(self, session: str | None, reason: str) -> None:
        self._acceptor.logon_refused(session, reason)
        self._close()

    def _identified(self, session: OrderEntrySession, logon: LogonReceived, now: Instant) -> None:
        self._session = session
        session.connection = self
        session.fix.connect(self._unidentified, logon, now)
        self.hold("credentials")
        self._acceptor.run(self._check_credentials(session, logon), self._work_failed)

    async def _check_credentials(self, session: OrderEntrySession, logon: LogonReceived) -> None:
        """Nothing of the session changes before the credentials hold: numbers, store and live connections are safe."""
        holds = await self._acceptor.credentials.holds(session.entry.password_hash, logon.password)
        if self._transport is None:
            return
        username = logon.username
        if username is not None and username.decode("ascii", "replace") != session.name:
            holds = False
        now = instant()
        if not holds:
            self._acceptor.logon_refused(session.name, "wrong credentials")
            session.fix.refuse_logon(b"LOGON_REFUSED: credentials do not match", now)
            self.write_out()
            return
        events = session.fix.accept_logon(now)
        if session.fix.close_expected:
            self._acceptor.logon_refused(session.name, session.fix.close_reason)
        self.write_out()
        self._act(session, events, now)
        self.release("credentials")

    def _work_failed(self, error: BaseException) -> None:
        log.error("connection work failed", session=self._session and self._session.name, reason=repr(error))
        if self._transport is not None:
            self._transport.abort()

    # --- events

    def _act(self, session: OrderEntrySession, events: list[Event], now: Instant) -> None:
        staged: dict[str, list[bytes]] = {}
        for event in events:
            if type(event) is ApplicationMessage:
                self._order(session, event, staged, now)
            else:
                self._session_event(session, event)
        event_time = Nanoseconds(now.wall)
        for partition, payloads in staged.items():
            self._acceptor.clients[partition].stage(session.writers[partition], payloads, event_time)
        if staged:
            self.check_in_flight()

    def _order(
        self, session: OrderEntrySession, message: ApplicationMessage, staged: dict[str, list[bytes]], now: Instant
    ) -> None:
        outcome = self._acceptor.order_entry.convert(session.entry.home_partition, session.fix.epoch, message)
        if isinstance(outcome, SessionReject):
            session.fix.reject(message.msg_seq_num, message.msg_type, outcome.reason, outcome.tag, outcome.text, now)
            self.write_out()
            return
        partition, payload = outcome
        session.in_flight += 1
        if partition in staged:
            staged[partition].append(payload)
        else:
            staged[partition] = [payload]

    def _session_event(self, session: OrderEntrySession, event: Event) -> None:
        name = session.name
        match event:
            case LoggedOn():
                log.info("logged on", session=name, reset=event.reset, epoch=event.epoch)
                self._logged_on(session, event)
            case LoggedOut():
                log.info("logged out", session=name, text=event.text.decode("ascii", "replace"))
                self._delivery(session).suspend(session)
            case ResendRequested():
                log.info("resend requested", session=name, begin=event.begin, end=event.end)
                self._delivery(session).suspend(session)
                self._acceptor.run(self._delivery(session).resend(session), self._work_failed)
            case ExpectedNumberMoved():
                log.warning("expected number moved", session=name, previous=event.previous, expected=event.expected)
            case MessageRejected():
                log.warning("message rejected", session=name, msg_seq_num=event.msg_seq_num, reason=event.text)
            case RejectReceived():
                log.warning("reject received", session=name, msg_seq_num=event.msg_seq_num)

    def _logged_on(self, session: OrderEntrySession, event: LoggedOn) -> None:
        if event.reset:
            session.in_flight = 0
        if not session.ever_logged_on:
            session.ever_logged_on = True
            self._delivery(session).begin(session)
        elif not session.live:
            self._acceptor.run(self._delivery(session).catch_up(session), self._work_failed)

    # --- holding the client back

    def check_in_flight(self) -> None:
        """Stop reading at `in_flight_orders` unanswered, so that a matcher that lags bounds the queue in front of it."""
        session = self._session
        if session is None:
            return
        if session.in_flight >= self._acceptor.in_flight_orders:
            self.hold("in_flight_orders")
        elif "in_flight_orders" in self._held and session.in_flight * 2 <= self._acceptor.in_flight_orders:
            self.release("in_flight_orders")

    def hold(self, reason: str) -> None:
        """Stop reading the client's socket for a reason."""
        if not self._held and self._transport is not None:
            self._transport.pause_reading()
        self._held.add(reason)

    def release(self, reason: str) -> None:
        """Go on reading, once no reason is left."""
        self._held.discard(reason)
        if not self._held and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """The client does not read: from `outbound_bytes` on nothing more is rendered for it, it is owed."""
        self._writable.clear()
        session = self._session
        if session is not None:
            log.warning("client reads too slowly", session=session.name, limit="outbound_bytes")
            self._delivery(session).suspend(session)

    def resume_writing(self) -> None:
        self._writable.set()
        session = self._session
        if session is not None and session.fix.established and not session.fix.resending and not session.live:
            self._acceptor.run(self._delivery(session).catch_up(session), self._work_failed)

    async def drained(self) -> bool:
        """Wait until the socket takes more; False when the connection is gone."""
        await self._writable.wait()
        return self._transport is not None

    # --- bytes out

    def write_out(self) -> None:
        """Send what the session has rendered; close when it says so; keep its timer."""
        if self._session is None or self._transport is None:
            return
        fix = self._session.fix
        data = fix.data_to_send()
        if data:
            self._transport.write(data)
        if fix.close_expected:
            self._close()
        elif fix.next_deadline is not None:
            self._set_timer(fix.next_deadline)

    def _close(self) -> None:
        """Half-close and drain, so that our last words arrive; what the peer still sends is not looked at."""
        if self._closing or self._transport is None:
            return
        self._closing = True
        transport = self._transport
        if transport.can_write_eof():
            transport.write_eof()
        if self._held:
            self._held.clear()
            transport.resume_reading()
        self._loop.call_later(_LAST_WORDS_S, transport.close)

    def log_out(self, text: bytes) -> None:
        """Say Logout if the session is established, else just close."""
        if self._session is None or not self._session.fix.established:
            self._close()
            return
        self._session.fix.logout(text, instant())
        self.write_out()

    # --- time

    def _set_timer(self, deadline: int) -> None:
        """One timer per connection, moved only when it is due: deadlines mostly move away with every message."""
        if self._timer is not None and self._timer_due <= deadline:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = deadline
        delay = max(0, deadline - time.monotonic_ns()) / 1_000_000_000
        self._timer = self._loop.call_later(delay, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._transport is None or self._closing:
            return
        now = instant()
        if self._session is None:
            self._unidentified.on_time(now)
            if self._unidentified.close_expected:
                self._refuse(None, self._unidentified.close_reason)
            else:
                self._set_timer(self._unidentified.next_deadline)
            return
        events = self._session.fix.on_time(now)
        self.write_out()
        self._act(self._session, events, now)
