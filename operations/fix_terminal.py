"""`ordinal client`: a FIX terminal. One connection, commands in, reports out."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from gateway.fix.fields import Fields
from gateway.fix.instant import NANOSECONDS_PER_SECOND, Instant
from gateway.fix.session import Session
from gateway.fix.session_events import ApplicationMessage, Event, LoggedOn, LoggedOut, RejectReceived, ResendRequested
from operations.failures import CheckFailedError, UnreachableError
from operations.terminal_language import NotUnderstoodError, Terminal

_HEART_BT_INT_S = 30
_RESEND_CHUNK = 100
_APPLICATION_TYPES = frozenset((b"8", b"9", b"j"))

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LogonAs:
    """Where to connect, and as whom."""

    host: str
    port: int
    session: str
    target: str
    password: str


async def run_terminal(logon: LogonAs, say: Say) -> None:
    """Log on, obey the lines of stdin, and log out at `quit` or the end of input.

    Input that is no terminal is read in step: the next line waits for the answer to the last.
    Raises UnreachableError when nobody listens, CheckFailedError when the venue ends the session.
    """
    loop = asyncio.get_running_loop()
    connection = _Connection(logon, say)
    try:
        await loop.create_connection(lambda: connection, logon.host, logon.port)
    except OSError as error:
        raise UnreachableError(f"{logon.host}:{logon.port}: {error.strerror or error}") from error
    lines = _lines_of_stdin(loop)
    await connection.progress(connection.logged_on)
    interactive = sys.stdin.isatty()
    while not connection.ended.is_set():
        line = await _next_line(lines, connection.ended)
        if line is None or line.strip().lower() in ("quit", "exit"):
            break
        if line.strip():
            connection.obey(line.strip())
        if not interactive:
            await connection.progress(connection.answered)
    await connection.log_out()


def _lines_of_stdin(loop: asyncio.AbstractEventLoop) -> "asyncio.Queue[str | None]":
    """Lines from a thread of their own: a terminal, a pipe and a file can all be read that way."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        loop.call_soon_threadsafe(lines.put_nowait, None)

    # A daemon: a thread that waits for the keyboard must not keep the terminal open.
    threading.Thread(target=read, daemon=True).start()
    return lines


async def _next_line(lines: "asyncio.Queue[str | None]", ended: asyncio.Event) -> str | None:
    line, over = asyncio.ensure_future(lines.get()), asyncio.ensure_future(ended.wait())
    await asyncio.wait((line, over), return_when=asyncio.FIRST_COMPLETED)
    over.cancel()
    return line.result() if line.done() else None


class _Connection(asyncio.Protocol):
    """The socket in front of the FIX session: bytes to the core, what it rendered out, events to the screen."""

    def __init__(self, logon: LogonAs, say: Say) -> None:
        self._logon = logon
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._fix = Session(logon.session.encode(), logon.target.encode(), _APPLICATION_TYPES)
        # ClOrdIDs of a participant are remembered by the venue, so each run of the terminal has its own.
        self._terminal = Terminal(f"{logon.session}-{time.time_ns() // 1_000_000:x}")
        self._sent: list[tuple[bytes, bytes]] = []
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_words = ""
        self.logged_on = asyncio.Event()
        self.answered = asyncio.Event()
        self.ended = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        name, password = self._logon.session.encode(), self._logon.password.encode()
        self._fix.start(_now(), _HEART_BT_INT_S, username=name, password=password, reset=True)
        self._write()

    def data_received(self, data: bytes) -> None:
        events = self._fix.receive(data, _now())
        self._write()
        for event in events:
            self._act(event)
        self._write()

    def connection_lost(self, error: Exception | None) -> None:
        self._last_words = self._last_words or self._fix.close_reason
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._fix.disconnected()
        self.ended.set()

    async def progress(self, reached: asyncio.Event) -> None:
        """Wait for an event. CheckFailedError when the session ends first."""
        waiting, ended = asyncio.ensure_future(reached.wait()), asyncio.ensure_future(self.ended.wait())
        await asyncio.wait((waiting, ended), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        ended.cancel()
        if not reached.is_set():
            raise CheckFailedError(f"the venue ended the session: {self._last_words or 'it closed the connection'}")

    async def log_out(self) -> None:
        """Say Logout and wait for the answer. CheckFailedError when the session had ended without us."""
        if self.ended.is_set():
            await self.progress(asyncio.Event())
        self._fix.logout(b"", _now())
        self._write()
        await self.ended.wait()

    def obey(self, line: str) -> None:
        """Do what a line says."""
        self.answered.set()
        try:
            command = self._terminal.command(line, time.time_ns())
        except NotUnderstoodError as error:
            self._say(str(error))
            return
        if isinstance(command, str):
            self._say(command)
            return
        self.answered.clear()
        self._sent.append(command)
        self._fix.send_application(*command, 0, len(self._sent) - 1, _now())
        self._write()

    def _act(self, event: Event) -> None:
        if isinstance(event, LoggedOn):
            self._say(f"logged on as {self._logon.session}; help shows the commands")
            self.logged_on.set()
        elif isinstance(event, ApplicationMessage):
            self._show(self._terminal.report, event.fields)
        elif isinstance(event, RejectReceived):
            self._show(self._terminal.rejected, event.fields)
        elif isinstance(event, ResendRequested):
            self._send_again()
        elif isinstance(event, LoggedOut):
            self._last_words = event.text.decode("latin-1")

    def _show(self, describe: Callable[[Fields], str], fields: Fields) -> None:
        self._say(describe(fields))
        if not self._terminal.waits:
            self.answered.set()

    def _send_again(self) -> None:
        while items := self._fix.next_resend_chunk(_RESEND_CHUNK):
            for item in items:
                self._fix.resend(item, *self._sent[item.reference.position], _now())

    def _write(self) -> None:
        if self._transport is None:
            return
        data = self._fix.data_to_send()
        if data:
            self._transport.write(data)
        if self._fix.close_expected:
            self._transport.close()
        elif self._fix.next_deadline is not None:
            if self._timer is not None:
                self._timer.cancel()
            delay = (self._fix.next_deadline - time.monotonic_ns()) / NANOSECONDS_PER_SECOND
            self._timer = self._loop.call_later(max(0, delay), self._on_time)

    def _on_time(self) -> None:
        for event in self._fix.on_time(_now()):
            self._act(event)
        self._write()


def _now() -> Instant:
    return Instant(time.monotonic_ns(), time.time_ns())
