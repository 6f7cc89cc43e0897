"""The load client: FIX sessions as raw Protocols in one process, as cheap as it can be and still see everything.

During a run it only counts answers and keeps every chunk with its arrival time; `report_check` reads them after the
clock has stopped, and proves that each request was answered exactly once.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

from bench.fix_text import HEARTBEAT_SECONDS, frame, logon, utc_timestamp
from bench.order_program import OrderProgram
from bench.pacing import interval_timer

ADMINISTRATIVE = re.compile(rb"\x0135=([^89])\x01")
TEST_REQUEST_ID = re.compile(rb"\x01112=([^\x01]*)\x01")
TEXT = re.compile(rb"\x0158=([^\x01]*)\x01")
LOGON_DEADLINE_S = 30.0
QUIET_S = 0.3
REFILL_PARTS = 16
"""The window is refilled when a sixteenth of it is free: a member with 500 open requests does not send them singly."""
CHECKSUM_LENGTH = len(b"\x0110=000\x01")


class LoadError(RuntimeError):
    """The counterparty did what a load run can't go on with."""


class LoadSession(asyncio.Protocol):
    """One FIX session: sends prerendered requests while fewer than `window` are unanswered."""

    def __init__(self, comp_id: str) -> None:
        self.comp_id = comp_id
        self.next_out = 1
        self.logged_on: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failure: str | None = None
        self.arrivals: list[tuple[int, bytes]] = []
        self.sends: list[tuple[int, int, int]] = []
        self.unanswered = 0
        self.window = 0
        self._refill = 1
        self.on_failure: Callable[[], None] = lambda: None
        self._bodies: Sequence[str] = ()
        self._kinds: bytes | bytearray = b""
        self._messages: list[bytes] = []
        self._sent = 0
        self._tail = b""
        self._seen_out = (0, 0.0)
        self._closing = False

    # -- connection ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are no subclasses of asyncio's
        self._write_administrative("A", "")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closing:
            self._fail(f"connection lost: {exc}")

    def close(self) -> None:
        """Leave without waiting for the answering Logout."""
        self._closing = True
        if not self._transport.is_closing():
            self._write_administrative("5", "")
            self._transport.close()

    def keep_alive(self) -> None:
        """Heartbeat when the session has sent nothing for most of the interval."""
        now = time.monotonic()
        seen, since = self._seen_out
        if self.next_out != seen:
            self._seen_out = (self.next_out, now)
        elif not self._closing and now - since > HEARTBEAT_SECONDS * 0.8:
            self._write_administrative("0", "")

    # -- sending ------------------------------------------------------------------------------------------------------

    def load(self, bodies: Sequence[str], kinds: bytes | bytearray, window: int) -> None:
        """Render the requests of the next run; nothing is sent yet."""
        self._bodies, self._kinds, self._sent, self.window = bodies, kinds, 0, window
        self._refill = max(1, window // REFILL_PARTS)
        self.unanswered = 0
        self.arrivals, self.sends = [], []
        self._render_rest()

    @property
    def unsent(self) -> int:
        """How many requests of the run are not sent yet."""
        return len(self._bodies) - self._sent

    def send_some(self, count: int, at: int) -> None:
        """Send the next `count` requests; `at` is the time they are measured from, nanoseconds."""
        first = self._sent
        batch = self._messages[first : first + count]
        if not batch:
            return
        count = len(batch)
        self._sent = first + count
        self.next_out += count
        self.unanswered += count
        self.sends.append((at, first, count))
        self._transport.write(batch[0] if count == 1 else b"".join(batch))

    def _render_rest(self) -> None:
        """(Re-)number what is not sent: needed once per run, and again when an administrative message goes between."""
        now = utc_timestamp()
        base = self.next_out - self._sent
        del self._messages[self._sent :]
        kinds, comp_id = self._kinds, self.comp_id
        self._messages += [
            frame(chr(kinds[index]), comp_id, base + index, now, self._bodies[index])
            for index in range(self._sent, len(self._bodies))
        ]

    def _write_administrative(self, message_type: str, body: str) -> None:
        now = utc_timestamp()
        if message_type == "A":
            message = logon(self.comp_id, self.next_out, now)
        else:
            message = frame(message_type, self.comp_id, self.next_out, now, body)
        self.next_out += 1
        self._transport.write(message)
        if self.unsent:
            self._render_rest()

    # -- receiving ----------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter_ns()
        if self._tail:
            data = self._tail + data
            self._tail = b""
        if data[-CHECKSUM_LENGTH:-4] != b"\x0110=" or data[-1] != 1:
            data = self._cut_tail(data)
            if not data:
                return
        count = data.count
        if count(b"\x0135=8\x01") != count(b"\x0110="):
            self._look_for_administrative(data)
        self.arrivals.append((now, data))
        self.unanswered -= count(b"\x01150=0\x01") + count(b"\x01150=8\x01") + count(b"\x0141=")
        room = self.window - self.unanswered
        if room >= self._refill and self._sent < len(self._messages):
            self.send_some(room, now)

    def _cut_tail(self, data: bytes) -> bytes:
        """The whole messages at the front of `data`; the rest waits for its other half."""
        start = data.rfind(b"\x0110=")
        if start >= 0 and start + CHECKSUM_LENGTH > len(data):
            start = data.rfind(b"\x0110=", 0, start)
        end = start + CHECKSUM_LENGTH if start >= 0 else 0
        self._tail = data[end:]
        return data[:end]

    def _look_for_administrative(self, data: bytes) -> None:
        for match in ADMINISTRATIVE.finditer(data):
            kind = match[1]
            if kind == b"A":
                if not self.logged_on.done():
                    self.logged_on.set_result(None)
            elif kind == b"1":
                request = TEST_REQUEST_ID.search(data, match.start())
                assert request is not None
                self._write_administrative("0", f"112={request[1].decode()}\x01")
            elif kind != b"0" and not self._closing:
                text = TEXT.search(data, match.start())
                self._fail(f"MsgType {kind.decode()}: {text[1].decode() if text else 'no text'}")

    def _fail(self, reason: str) -> None:
        self.failure = f"{self.comp_id}: {reason}"
        if not self.logged_on.done():
            self.logged_on.set_exception(LoadError(self.failure))
        self.on_failure()


class LoadClient:
    """All sessions of a run, and the two ways to drive them: a window of unanswered requests, or a rate."""

    def __init__(self, sessions: list[LoadSession], keep_alive: asyncio.Task[None]) -> None:
        self.sessions = sessions
        self._keep_alive = keep_alive

    @classmethod
    async def connect(cls, host: str, port: int, comp_ids: Sequence[str]) -> "LoadClient":
        """Log all sessions on; LoadError when one is refused."""
        loop = asyncio.get_running_loop()
        sessions: list[LoadSession] = []
        try:
            async with asyncio.timeout(LOGON_DEADLINE_S):
                for comp_id in comp_ids:
                    session = LoadSession(comp_id)
                    await loop.create_connection(partial(_same, session), host, port)
                    sessions.append(session)
                    await session.logged_on
        except TimeoutError as error:
            raise LoadError(f"no Logon within {LOGON_DEADLINE_S:.0f} s") from error
        return cls(sessions, asyncio.create_task(_keep_alive(sessions)))

    async def close(self) -> None:
        """Log off and leave."""
        self._keep_alive.cancel()
        for session in self.sessions:
            session.close()
        await asyncio.sleep(0.1)

    def load(self, program: OrderProgram, window: int) -> None:
        """Render a program's messages before the clock starts; `window` is 0 for an open-loop run."""
        for session, bodies, kinds in zip(self.sessions, program.bodies, program.kinds, strict=True):
            session.load(bodies, kinds, window)

    async def run_window(self, deadline_s: float) -> None:
        """Send what is loaded as fast as the window of unanswered requests allows; back after the last report."""
        now = time.perf_counter_ns()
        for session in self.sessions:
            session.send_some(session.window, now)
        await self._until_answered(deadline_s)

    async def run_rate(self, turns_of_sessions: Iterable[int], rate: float, deadline_s: float) -> None:
        """Open loop: request n is due n / rate seconds after the start, whatever is unanswered."""
        turns = deque(turns_of_sessions)
        start = time.perf_counter_ns()
        step = 1e9 / rate
        sent = 0
        async with interval_timer(0.5 / rate) as ticks, asyncio.timeout(deadline_s):
            while turns:
                await ticks.wait()
                due = int((time.perf_counter_ns() - start) / step) + 1
                while turns and sent < due:
                    self.sessions[turns.popleft()].send_some(1, start + int(sent * step))
                    sent += 1
                self._raise_failure()
        await self._until_answered(deadline_s)

    async def _until_answered(self, deadline_s: float) -> None:
        """Wait for the last answer, then for silence: the other halves of trades come after the answers."""
        end = time.monotonic() + deadline_s
        arrived = -1
        while True:
            await asyncio.sleep(0.02)
            self._raise_failure()
            if time.monotonic() > end:
                missing = sum(session.unanswered + session.unsent for session in self.sessions)
                raise LoadError(f"{missing} requests without an answer after {deadline_s:.0f} s")
            if any(session.unsent or session.unanswered > 0 for session in self.sessions):
                continue
            now_arrived = sum(len(session.arrivals) for session in self.sessions)
            if now_arrived == arrived:
                return
            arrived = now_arrived
            await asyncio.sleep(QUIET_S)

    def _raise_failure(self) -> None:
        for session in self.sessions:
            if session.failure is not None:
                raise LoadError(session.failure)


def _same(session: LoadSession) -> LoadSession:
    return session


async def _keep_alive(sessions: Sequence[LoadSession]) -> None:
    while True:
        await asyncio.sleep(1.0)
        for session in sessions:
            session.keep_alive()
