"""One socket in front of a FIX session.

The protocol decides nothing: bytes go to the session core, orders are handed to their streams once per read, not once
per message, and what the session has rendered goes out in one write.

A session belongs to one connection at a time, from the Logon that holds until either side closes. Whatever a connection
still does after that reaches no session: its work is cancelled with it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from exchange.hosting.log import logger
from exchange.records.positions import Nanoseconds
from gateway.delivery import Delivery, instant
from gateway.fix.instant import Instant
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
from gateway.fix.unidentified_connection import UnidentifiedConnection
from gateway.order_entry import SessionReject
from gateway.order_entry_session import OrderEntrySession

if TYPE_CHECKING:
    from gateway.acceptor import Acceptor

_LAST_WORDS_S = 2.0
"""How long a peer may take to read what we said before we closed."""
_LATE_NS = 500_000_000
_READ_FIRST_NS = 5_000_000
log = logger()


class FixConnection(asyncio.Protocol):
    """One accepted socket: nobody's until its Logon holds, then its session's until either side closes."""

    def __init__(self, acceptor: Acceptor) -> None:
        self._acceptor = acceptor
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self._unidentified = UnidentifiedConnection(b"FIX.4.4", acceptor.limits, instant())
        self._session: OrderEntrySession | None = None
        self._work: asyncio.Task[None] | None = None
        self._held: set[str] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0
        self._cut_off: asyncio.TimerHandle | None = None
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=self._acceptor.limits.outbound_bytes)
        self._acceptor.connected(self)
        if len(self._acceptor.connections) > self._acceptor.limits.connections:
            self._acceptor.logon_refused(None, "more connections than the limit `connections`")
            self.abort()
            return
        self._set_timer(self._unidentified.next_deadline)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._let_go(str(error or "by peer"))
        if self._cut_off is not None:
            self._cut_off.cancel()
        self._acceptor.disconnected(self)

    def eof_received(self) -> bool:
        # The transport closes itself once what was written is out; a peer that does not read it is cut off.
        self._stop_listening("by peer")
        return False

    def failed(self, error: BaseException) -> None:
        """Something of ours went wrong in this connection's work: end it, and no other."""
        log.error("connection work failed", session=self._session and self._session.name, reason=repr(error))
        self.abort()

    def abort(self) -> None:
        """End the connection with whatever is unsent."""
        self._closing = True
        self._let_go("aborted")
        if self.transport is not None:
            self.transport.abort()

    # --- until somebody has logged on

    def _first_bytes(self, data: bytes, now: Instant) -> None:
        logon = self._unidentified.receive(data, now)
        if logon is None:
            if self._unidentified.close_expected:
                self._refuse(None, self._unidentified.close_reason)
            return
        session = self._acceptor.sessions.get(logon.sender_comp_id.decode("ascii", "replace"))
        if session is None:
            self._refuse(None, f"unknown SenderCompID {_shown(logon.sender_comp_id)}")
        elif logon.target_comp_id.decode("ascii", "replace") != self._acceptor.comp_id:
            self._refuse(session.name, f"wrong TargetCompID {_shown(logon.target_comp_id)}")
        elif session.connection is not None:
            self._refuse_second(session)
        else:
            self.hold("credentials")
            self._work = self._acceptor.run(self, self._check_logon(session, logon))

    def _refuse(self, session: str | None, reason: str) -> None:
        self._acceptor.logon_refused(session, reason)
        self._close(reason)

    def _refuse_second(self, session: OrderEntrySession) -> None:
        # A message to the newcomer would use a number of the live session (FIX session test case 1S): close.
        self._refuse(session.name, "already logged on")

    async def _check_logon(self, session: OrderEntrySession, logon: LogonReceived) -> None:
        """Nothing of the session changes, nor is it taken, before the credentials hold."""
        holds = await self._acceptor.credentials.hold(session.entry, logon.username, logon.password)
        if session.connection is not None:
            self._refuse_second(session)
            return
        now = instant()
        session.fix.connect(self._unidentified, logon, now)
        if not holds:
            # Once the session has numbers a Logout would show one that is not used up, and lock a stock client out.
            session.fix.refuse_logon(None if session.fix.numbered else b"LOGON_REFUSED: credentials do not match", now)
            self._turn_away(session, "LOGON_REFUSED: credentials do not match")
            return
        events = session.fix.accept_logon(now)
        if not events:
            self._turn_away(session, session.fix.close_reason)
            return
        self._session = session
        session.connection = self
        self._act(session, events, now)
        self.write_out()
        self.release("credentials")

    def _turn_away(self, session: OrderEntrySession, reason: str) -> None:
        """Say why not, and leave the session as it was, free for whoever comes next."""
        last_words = session.fix.data_to_send()
        session.fix.disconnected()
        if self.transport is not None:
            self.transport.write(last_words)
        self._refuse(session.name, reason)

    # --- bytes in

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        now = instant()
        session = self._session
        try:
            if session is None:
                self._first_bytes(data, now)
                return
            self._act(session, session.fix.receive(data, now), now)
            self.write_out()
        except Exception as error:
            self.failed(error)

    def _act(self, session: OrderEntrySession, events: list[Event], now: Instant) -> None:
        convert, home = self._acceptor.order_entry.convert, session.entry.home_partition
        staged: dict[str, list[bytes]] = {}
        for event in events:
            if type(event) is not ApplicationMessage:
                self._session_event(session, event)
                continue
            outcome = convert(home, event.session_epoch, event)
            if isinstance(outcome, SessionReject):
                session.fix.reject(event.msg_seq_num, event.msg_type, outcome.reason, outcome.tag, outcome.text, now)
                continue
            partition, payload = outcome
            if partition in staged:
                staged[partition].append(payload)
            else:
                staged[partition] = [payload]
        if staged:
            self._publish(session, staged, Nanoseconds(now.wall))

    def _publish(self, session: OrderEntrySession, staged: dict[str, list[bytes]], event_time: Nanoseconds) -> None:
        for partition, payloads in staged.items():
            session.in_flight += len(payloads)
            self._acceptor.clients[partition].stage(session.writers[partition], payloads, event_time)
        self.check_in_flight()

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
                self._serve(session)
            case ExpectedNumberMoved():
                log.warning("expected number moved", session=name, previous=event.previous, expected=event.expected)
            case MessageRejected():
                log.warning("message rejected", session=name, msg_seq_num=event.msg_seq_num, reason=event.text)
            case RejectReceived():
                log.warning("reject received", session=name, msg_seq_num=event.msg_seq_num)

    def _logged_on(self, session: OrderEntrySession, event: LoggedOn) -> None:
        if not session.ever_logged_on:
            session.ever_logged_on = True
            self._delivery(session).begin(session)
        elif not session.live:
            self._delivery(session).owe_again(session, event.unsent)
            self._serve(session)
        self.check_in_flight()

    def _delivery(self, session: OrderEntrySession) -> Delivery:
        return self._acceptor.deliveries[session.user_partition]

    def _serve(self, session: OrderEntrySession) -> None:
        """Have resends and what is owed sent beside the loop: by one task, which finds what is new by itself.

        The task that has just checked the logon is no obstacle: it ends with this turn of the loop.
        """
        if self._work is None or self._work.done() or self._work is asyncio.current_task():
            self._work = self._acceptor.run(self, self._delivery(session).serve(session, self))

    # --- holding the client back

    def check_in_flight(self) -> None:
        """Stop reading at `in_flight_orders` unanswered: a matcher that lags bounds the queue in front of it."""
        session = self._session
        if session is None:
            return
        if session.in_flight >= self._acceptor.in_flight_orders:
            self.hold("in_flight_orders")
        elif self._held and session.in_flight * 2 <= self._acceptor.in_flight_orders:
            self.release("in_flight_orders")

    def hold(self, reason: str) -> None:
        """Stop reading the client's socket for a reason."""
        if not self._held and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self._held.add(reason)

    def release(self, reason: str) -> None:
        """Go on reading, once no reason is left."""
        if reason not in self._held:
            return
        self._held.discard(reason)
        if not self._held and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        """The client does not read: from `outbound_bytes` on it is owed what comes, and not read either.

        Its requests have answers that are no reports, and those are not owed but queue up.
        """
        self._writable.clear()
        session = self._session
        if session is not None:
            log.warning("client reads too slowly", session=session.name, limit="outbound_bytes")
            self._delivery(session).suspend(session)
            self.hold("outbound_bytes")

    def resume_writing(self) -> None:
        self._writable.set()
        session = self._session
        if session is not None:
            self.release("outbound_bytes")
            if not session.live:
                self._serve(session)

    async def drained(self) -> None:
        """Wait until the socket takes more."""
        await self._writable.wait()

    # --- bytes out

    def write_out(self) -> None:
        """Send what the session has rendered; close when it says so; keep its timer."""
        session, transport = self._session, self.transport
        if session is None or transport is None:
            return
        fix = session.fix
        data = fix.data_to_send()
        if data:
            transport.write(data)
        if fix.close_expected:
            self._close(fix.close_reason)
            return
        deadline = fix.next_deadline
        if deadline is not None:
            self._set_timer(deadline)

    def log_out(self, text: bytes) -> None:
        """Say Logout if the session is established, else just close."""
        session = self._session
        if session is None or not session.fix.established:
            self._close("logged out by us")
            return
        self._delivery(session).suspend(session)
        session.fix.logout(text, instant())
        self.write_out()

    def _close(self, reason: str) -> None:
        """Half-close and drain, so that our last words arrive; what the peer still sends is not looked at."""
        transport = self.transport
        if self._closing or transport is None or transport.is_closing():
            return
        self._stop_listening(reason)
        transport.write_eof()
        if self._held:
            self._held.clear()
            transport.resume_reading()

    def _stop_listening(self, reason: str) -> None:
        self._closing = True
        self._let_go(reason)
        if self.transport is not None and self._cut_off is None:
            self._cut_off = self._loop.call_later(_LAST_WORDS_S, self.transport.abort)

    def _let_go(self, reason: str) -> None:
        """The session is free for another connection, and is owed what comes; nothing of ours touches it from here."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._work is not None:
            self._work.cancel()
            self._work = None
        session, self._session = self._session, None
        if session is not None:
            self._delivery(session).suspend(session)
            session.connection = None
            session.fix.disconnected()
            log.info("disconnected", session=session.name, reason=reason)

    # --- time

    def _set_timer(self, deadline: int) -> None:
        """One timer per connection, moved only when it is due: deadlines mostly move away with every message."""
        if self._timer is not None:
            if self._timer_due <= deadline:
                return
            self._timer.cancel()
        self._timer_due = deadline
        delay = max(0, deadline - time.monotonic_ns()) / 1_000_000_000
        self._timer = self._loop.call_later(delay, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._closing:
            return
        late_ns = time.monotonic_ns() - self._timer_due
        if late_ns > _LATE_NS:
            # We were away ourselves: what the peer said meanwhile lies in the socket and is read first.
            self._set_timer(time.monotonic_ns() + _READ_FIRST_NS)
            return
        try:
            self._time_passed(instant())
        except Exception as error:
            self.failed(error)

    def _time_passed(self, now: Instant) -> None:
        session = self._session
        if session is not None:
            if "in_flight_orders" in self._held:
                session.fix.excuse_silence(now)
            self._act(session, session.fix.on_time(now), now)
            self.write_out()
            return
        self._unidentified.on_time(now)
        if self._unidentified.close_expected:
            self._refuse(None, self._unidentified.close_reason)
        else:
            self._set_timer(self._unidentified.next_deadline)


def _shown(comp_id: bytes) -> str:
    """What a stranger calls itself, for the log and the status."""
    return ascii(comp_id[:64].decode("latin-1"))[1:-1]
