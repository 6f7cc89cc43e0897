"""From a user partition to FIX sessions: live from the edge, or read back for a session that is behind.

A user partition's records are functions of settled input, so they are sent from its live edge; a new epoch brings them
back at the same stream positions, and what was sent already is skipped by those (architecture, rule 3). References to
what was sent are (stream, stream position), never partition positions.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exchange.records.codec import decode
from exchange.records.positions import End, Position, StreamEnd, StreamPosition
from exchange.streams.block_reader import BlockReader, ReadGapError, ReadRun
from exchange.streams.client import StreamClient
from exchange.streams.levels import SEQUENCED
from gateway.fix.execution_report import RENDERERS, render
from gateway.fix.instant import Instant
from gateway.fix.session_events import Reference
from gateway.order_entry_session import Connection, OrderEntrySession
from gateway.read_back import ReadBack
from gateway.reports import recipients

_RECORDS_PER_TURN = 500
"""Records read back for one session before anybody else has a turn of the loop."""


def instant() -> Instant:
    """Now, on both clocks."""
    return Instant(time.monotonic_ns(), time.time_ns())


class Feed:
    """One stream of a participant, from one symbol partition, and how far it has been received."""

    __slots__ = ("end", "live", "name", "number", "symbol_partition")

    def __init__(self, name: str, number: int, end: StreamPosition, live: dict[str, OrderEntrySession]) -> None:
        self.name = name
        self.number = number
        self.end = end
        self.live = live
        """The participant's sessions that are served live, by name."""
        self.symbol_partition = name.partition("/")[0].encode("latin-1")


class Batch(NamedTuple):
    """Reports of one stream to one session, (MsgType, body) each, with their stream positions."""

    session: OrderEntrySession
    positions: list[int]
    messages: list[tuple[bytes, bytes]]


class Delivery:
    """Reads one user partition for the sessions of its participants."""

    def __init__(self, partition: str, client: StreamClient, sessions: Iterable[OrderEntrySession]) -> None:
        self.level = SEQUENCED
        self.streams: tuple[str, ...] | None = None
        self.partition = partition
        self.block_reader = BlockReader(partition, None)
        self.ready = asyncio.Event()
        self._next_move: asyncio.Future[None] | None = None
        self._client = client
        self._live: dict[str, dict[str, OrderEntrySession]] = {session.entry.participant: {} for session in sessions}
        self._feeds: dict[str, Feed] = {}
        self._feeds_of: dict[str, list[Feed]] = {}
        self._numbered: list[Feed] = []
        self._touched: dict[OrderEntrySession, None] = {}
        client.subscribe(self)

    # --- the reader of the user partition

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """The first time, reading begins at the present end; later, known streams go on where they stood."""
        if not self.ready.is_set():
            for stream, end in ends.items():
                self._add_feed(stream, StreamPosition(end))
            self.ready.set()
        self._tell_moved()

    def cut(self, cut: Position) -> None:
        """A new epoch: go on from the cut; what comes back is skipped by stream position."""
        self.block_reader = BlockReader(self.partition, cut)

    def received(self, run: ReadRun) -> None:
        """Records of one participant's stream: to each session that is served live."""
        feed = self._feeds.get(run.stream)
        if feed is None:
            feed = self._add_feed(run.stream, StreamPosition(0))
        expected, payloads = feed.end, run.payloads
        if run.first != expected:
            if run.first > expected:
                raise ReadGapError(f"{self.partition} {run.stream}: {run.first} follows {expected}")
            payloads = payloads[expected - run.first :]
        feed.end = StreamPosition(expected + len(payloads))
        live = feed.live
        if not live:
            return
        batches = _reports_of(feed, payloads, expected, live)
        now = instant()
        for session, positions, messages in batches.values():
            if messages:
                session.fix.send_applications(feed.number, positions, messages, now)
                self._touched[session] = None

    def level_passed(self, end: End) -> None:
        """A block is through: one write per session that got something."""
        if self._next_move is not None:
            self._tell_moved()
        if not self._touched:
            return
        touched, self._touched = self._touched, {}
        for session in touched:
            if session.connection is not None:
                session.connection.write_out()
                session.connection.check_in_flight()

    def next_move(self) -> asyncio.Future[None]:
        """Done when the partition has been subscribed to again or has brought another block. Shared: not to cancel."""
        if self._next_move is None:
            self._next_move = asyncio.get_running_loop().create_future()
        return self._next_move

    def _tell_moved(self) -> None:
        if self._next_move is not None:
            self._next_move.set_result(None)
            self._next_move = None

    def _add_feed(self, stream: str, end: StreamPosition) -> Feed:
        participant = stream.partition("/")[2]
        feed = Feed(stream, len(self._numbered), end, self._live.get(participant, {}))
        self._feeds[stream] = feed
        self._numbered.append(feed)
        self._feeds_of.setdefault(participant, []).append(feed)
        return feed

    # --- a session that comes, falls behind, or asks again

    def begin(self, session: OrderEntrySession) -> None:
        """From here on the session is sent what arrives."""
        session.live = True
        self._live[session.entry.participant][session.name] = session

    def suspend(self, session: OrderEntrySession) -> None:
        """From here on the session is not served live; what comes is owed as read positions."""
        if session.live:
            session.live = False
            del self._live[session.entry.participant][session.name]
            session.read_from = {feed.name: feed.end for feed in self._feeds_of.get(session.entry.participant, ())}

    def owe_again(self, session: OrderEntrySession, unsent: Iterable[Reference]) -> None:
        """A reset took the numbers of reports that no connection has carried; they are the last of their streams.

        `unsent` is oldest first, and the session is not live.
        """
        for feed, position in reversed([(self._numbered[number], position) for number, position in unsent]):
            session.read_from[feed.name] = StreamPosition(position)

    async def serve(self, session: OrderEntrySession, connection: Connection) -> None:
        """Send again what was asked for, then what is owed, as the socket takes it; from then on serve live.

        One such task runs per connection, and is cancelled with it.
        """
        back = ReadBack(self._client, self)
        while True:
            await connection.drained()
            if session.fix.resending:
                await self._resend_some(session, connection, back)
            elif not session.fix.established:
                return
            else:
                feed = self._first_behind(session)
                if feed is None:
                    self.begin(session)
                    return
                await self._send_some_owed(session, feed, back)
            connection.write_out()
            connection.check_in_flight()
            await asyncio.sleep(0)

    async def _resend_some(self, session: OrderEntrySession, connection: Connection, back: ReadBack) -> None:
        for item in session.fix.next_resend_chunk(_RECORDS_PER_TURN):
            feed, position = self._numbered[item.reference.stream], StreamPosition(item.reference.position)
            payload = back.held(feed.name, position)
            if payload is None:
                # Reading may take as long as a sequencer is away: what is rendered does not wait for it.
                connection.write_out()
                payload = (await back.records(feed.name, position, 1))[0]
            message = render(decode(payload), feed.symbol_partition, session.name)
            if not session.fix.resend(item, *message, instant()):
                return

    def _first_behind(self, session: OrderEntrySession) -> Feed | None:
        for feed in self._feeds_of.get(session.entry.participant, ()):
            if session.read_from.get(feed.name, 0) < feed.end:
                return feed
        return None

    async def _send_some_owed(self, session: OrderEntrySession, feed: Feed, back: ReadBack) -> None:
        first = session.read_from.get(feed.name, StreamPosition(0))
        # Records beyond what has been received are left to the live edge, which has not counted them yet.
        count = min(feed.end - first, _RECORDS_PER_TURN)
        payloads = await back.records(feed.name, first, count)
        if session.fix.resending or not session.fix.established:
            return  # what was asked for goes first; this is read again
        _, positions, messages = _reports_of(feed, payloads, first, {session.name: session})[session.name]
        session.fix.send_applications(feed.number, positions, messages, instant())
        session.read_from[feed.name] = StreamPosition(first + len(payloads))

    def facts(self) -> dict[str, int]:
        """How far the user partition has been read; an end."""
        return {"position": self.block_reader.end}


def _reports_of(
    feed: Feed, payloads: Sequence[bytes], first: int, sessions: Mapping[str, OrderEntrySession]
) -> dict[str, Batch]:
    """The reports of a feed's records from position `first` on to `sessions`, whose requests they answer."""
    batches = {name: Batch(session, [], []) for name, session in sessions.items()}
    for position, payload in enumerate(payloads, first):
        fields = decode(payload)
        for name, answered_epoch in recipients(fields):
            batch = batches.get(name)
            if batch is not None:
                batch.positions.append(position)
                batch.messages.append(RENDERERS[fields[0]](fields, feed.symbol_partition, name))
                if answered_epoch is not None:
                    batch.session.answered(answered_epoch)
    return batches
