"""From a user partition to FIX sessions: live from the edge, or read back for a session that is behind.

A user partition's records are functions of settled input, so they are sent from its live edge; a new epoch brings them
back at the same stream positions, and what was sent already is skipped by those (architecture, rule 3). References to
what was sent are (stream, stream position), never partition positions.
"""

import asyncio
import time
from collections.abc import Iterable

from exchange.hosting.log import logger
from exchange.records.codec import decode_fields
from exchange.records.kinds import Kind
from exchange.records.positions import End, Position, StreamEnd, StreamPosition
from exchange.streams.block_reader import BlockReader, ReadGapError, ReadRun
from exchange.streams.client import StreamClient
from exchange.streams.levels import SEQUENCED
from gateway.fix.instant import Instant
from gateway.fix.session_events import ResendItem
from gateway.order_entry_session import OrderEntrySession
from gateway.reports import answers, reports

_BEACON = int(Kind.BEACON)
_RESEND_CHUNK = 500
log = logger()


def instant() -> Instant:
    """Now, on both clocks."""
    return Instant(time.monotonic_ns(), time.time_ns())


class Delivery:
    """Reads one user partition for the sessions of its participants."""

    def __init__(self, partition: str, client: StreamClient, sessions: Iterable[OrderEntrySession]) -> None:
        self.level = SEQUENCED
        self.streams: tuple[str, ...] | None = None
        self.partition = partition
        self.block_reader = BlockReader(partition, None)
        self.ready = asyncio.Event()
        self._client = client
        self._by_participant: dict[str, dict[str, OrderEntrySession]] = {}
        for session in sessions:
            self._by_participant.setdefault(session.entry.participant, {})[session.name] = session
        self._ends: dict[str, StreamPosition] = {}
        self._stream_ids: dict[str, int] = {}
        self._stream_names: list[str] = []
        self._touched: dict[OrderEntrySession, None] = {}
        client.subscribe(self)

    # --- the reader of the user partition

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """The first time, reading begins at the present end; later, known streams go on where they stood."""
        for stream, end in ends.items():
            self._ends.setdefault(stream, StreamPosition(end if not self.ready.is_set() else 0))
        self.ready.set()

    def cut(self, cut: Position) -> None:
        """A new epoch: go on from the cut; what comes back is skipped by stream position."""
        self.block_reader = BlockReader(self.partition, cut)

    def received(self, run: ReadRun) -> None:
        """Records of one participant's stream: to each session that is served live."""
        expected = self._ends.get(run.stream, StreamPosition(0))
        if run.first > expected:
            raise ReadGapError(f"{self.partition} {run.stream}: {run.first} follows {expected}")
        skip = expected - run.first
        payloads = run.payloads[skip:] if skip else run.payloads
        self._ends[run.stream] = StreamPosition(expected + len(payloads))
        symbol_partition, _, participant = run.stream.partition("/")
        sessions = self._by_participant.get(participant)
        if sessions is None or not any(session.live for session in sessions.values()):
            return
        now, stream = instant(), self._stream_id(run.stream)
        for offset, payload in enumerate(payloads):
            fields = decode_fields(payload)
            if fields[0] == _BEACON:
                continue
            for name, message in reports(fields, symbol_partition, sessions):
                session = sessions[name]
                if session.live:
                    session.send(message, stream, StreamPosition(expected + offset), now)
                    self._touched[session] = None
            self._count_answer(fields, sessions)

    def _count_answer(self, fields: tuple[object, ...], sessions: dict[str, OrderEntrySession]) -> None:
        answer = answers(fields)
        if answer is not None and answer[0] in sessions and sessions[answer[0]].live:
            sessions[answer[0]].answered(answer[1])

    def level_passed(self, end: End) -> None:
        """A block is through: one write per session that got something."""
        if not self._touched:
            return
        touched, self._touched = self._touched, {}
        for session in touched:
            if session.connection is not None:
                session.connection.write_out()
                session.connection.check_in_flight()

    def _stream_id(self, stream: str) -> int:
        number = self._stream_ids.get(stream)
        if number is None:
            number = self._stream_ids[stream] = len(self._stream_names)
            self._stream_names.append(stream)
        return number

    # --- a session that comes, falls behind, or asks again

    def begin(self, session: OrderEntrySession) -> None:
        """The first logon of this gateway's life: from the present ends on."""
        session.read_from = self._ends_for(session)
        session.live = True

    def suspend(self, session: OrderEntrySession) -> None:
        """From here on the session is not served live; what comes is owed as read positions."""
        if session.live:
            session.live = False
            session.read_from = self._ends_for(session)

    def _ends_for(self, session: OrderEntrySession) -> dict[str, StreamPosition]:
        suffix = "/" + session.entry.participant
        return {stream: end for stream, end in self._ends.items() if stream.endswith(suffix)}

    async def catch_up(self, session: OrderEntrySession) -> None:
        """Send what the session is owed, chunk by chunk as its socket takes it, then serve it live."""
        connection = session.connection
        while connection is not None and session.connection is connection:
            behind = self._first_behind(session)
            if behind is None:
                session.live = True
                return
            stream, position = behind
            runs, _ = await self._read(stream, position)
            if session.connection is not connection or session.fix.resending:
                return
            for first, payloads in runs:
                self._send_owed(session, stream, first, payloads)
            connection.write_out()
            connection.check_in_flight()
            if not await connection.drained():
                return

    def _first_behind(self, session: OrderEntrySession) -> tuple[str, StreamPosition] | None:
        for stream, end in self._ends_for(session).items():
            position = session.read_from.get(stream, StreamPosition(0))
            if position < end:
                return stream, position
        return None

    def _send_owed(self, session: OrderEntrySession, stream: str, first: StreamPosition, payloads: list[bytes]) -> None:
        symbol_partition, _, _ = stream.partition("/")
        now, number = instant(), self._stream_id(stream)
        only = {session.name: session}
        # Records beyond what was received live are left to the live edge, which has not counted them yet.
        end = self._ends[stream]
        for position, payload in enumerate(payloads[: max(0, end - first)], first):
            fields = decode_fields(payload)
            if fields[0] != _BEACON:
                for _, message in reports(fields, symbol_partition, only):
                    session.send(message, number, StreamPosition(position), now)
                answer = answers(fields)
                if answer is not None and answer[0] == session.name:
                    session.answered(answer[1])
            session.read_from[stream] = StreamPosition(position + 1)

    async def resend(self, session: OrderEntrySession) -> None:
        """Serve a ResendRequest from the user partition, then what came meanwhile, then live again."""
        connection = session.connection
        while connection is not None and session.connection is connection:
            items = session.fix.next_resend_chunk(_RESEND_CHUNK)
            if not items:
                break
            if not await self._resend_items(session, items):
                return
            connection.write_out()
            if not await connection.drained():
                return
        await self.catch_up(session)

    async def _resend_items(self, session: OrderEntrySession, items: list[ResendItem]) -> bool:
        read: dict[tuple[int, int], bytes] = {}
        for item in items:
            number, position = item.reference
            if (number, position) not in read:
                read = await self._payloads_from(number, StreamPosition(position))
            fields = decode_fields(read[number, position])
            symbol_partition, _, _ = self._stream_names[number].partition("/")
            ((_, message),) = reports(fields, symbol_partition, {session.name: session})
            if not session.fix.resend(item, *message, instant()):
                return False
        return True

    async def _payloads_from(self, number: int, position: StreamPosition) -> dict[tuple[int, int], bytes]:
        runs, _ = await self._read(self._stream_names[number], position)
        return {(number, place): payload for first, payloads in runs for place, payload in enumerate(payloads, first)}

    async def _read(
        self, stream: str, position: StreamPosition
    ) -> tuple[list[tuple[StreamPosition, list[bytes]]], bool]:
        """A read that outlives a sequencer: it waits for the next one, and never answers with less."""
        while True:
            try:
                runs, last = await self._client.read_stream(self.partition, stream, position)
                if runs:
                    return runs, last
            except ConnectionError:
                pass
            # Not back yet after an epoch: a report that was sent before is never gap-filled (architecture, sessions).
            await asyncio.sleep(0.02)

    def facts(self) -> dict[str, int]:
        """How far the user partition has been read; an end."""
        return {"position": self.block_reader.end}
