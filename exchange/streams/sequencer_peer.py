"""One connection of the sequencer: its hello, what it may do, what it has open, what it is owed."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
from collections.abc import Callable, Iterator
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, cast

from exchange.hosting.log import logger
from exchange.records.positions import Position, StreamPosition
from exchange.streams.appender import Appender, Stream
from exchange.streams.block import HEADER_SIZE, MalformedRunError, narrow_block, parse_runs
from exchange.streams.levels import COMMITTED_1, SEQUENCED
from exchange.streams.segment import LogError
from exchange.streams.subscription import Subscription
from exchange.streams.wire import (
    PROTOCOL_VERSION,
    PUBLISH_BODY,
    FrameSplitter,
    FrameType,
    ProtocolError,
    control_frame,
    proof_of_secret,
    records_frame,
    typed_fields,
)

if TYPE_CHECKING:
    from exchange.streams.sequencer import Sequencer

_HELLO_SECONDS = 5.0
_LARGEST_NUMBER = 2**32 - 1
"""A subscription's number has four bytes in the frames that answer it."""
_READ_BYTES = 256 * 1024
_TURN_BYTES = 512 * 1024
"""What one request or subscription may look at in a turn of the loop: others wait two or three milliseconds."""
_CREDENTIALS = struct.Struct("3i")
log = logger()


class Peer(asyncio.Protocol):
    """A process at the other end. Whatever is wrong with what it sends refuses this peer and no other."""

    def __init__(self, sequencer: Sequencer) -> None:
        self._sequencer = sequencer
        self._splitter = FrameSplitter(sequencer.limits.frame_bytes)
        self._nonce = secrets.token_bytes(16)
        self.process: str | None = None
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._written: dict[tuple[int, int], str | None] = {}
        self._subscriptions: dict[int, Subscription] = {}
        self._progressed: dict[tuple[int, int], None] = {}
        self._hello_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=self._sequencer.limits.reader_buffer_bytes)
        self._sequencer.peers[self] = None
        self._hello_due = asyncio.get_running_loop().call_later(_HELLO_SECONDS, self._refuse, "no hello in time")
        transport.write(control_frame(FrameType.GREETING, PROTOCOL_VERSION, self._nonce))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._hello_due is not None:
            self._hello_due.cancel()
        self._sequencer.peers.pop(self, None)
        for (partition, number), tag in self._written.items():
            writers = self._sequencer.by_number[partition].streams[number].writers
            if writers.get(tag) is self:
                del writers[tag]
        self._unsubscribe()

    def _unsubscribe(self) -> None:
        for subscription in self._subscriptions.values():
            self._sequencer.unsubscribed(subscription)
        self._subscriptions = {}

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        for subscription in tuple(self._subscriptions.values()):
            self.deliver(subscription)
        self.tell_progress()

    def data_received(self, data: bytes) -> None:
        try:
            for kind, body in self._splitter.feed(data):
                if self.process is None:
                    self._hello(kind, body)
                else:
                    handler = _HANDLERS.get(kind)
                    if handler is None:
                        raise ProtocolError(f"frame type {kind} is not a request")
                    handler(self, body)
        except (ProtocolError, MalformedRunError, LogError, OSError, struct.error) as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._sequencer.peer_refused(reason, self.process)
        self._unsubscribe()
        self._transport.write(control_frame(FrameType.REFUSED, reason))
        self._transport.close()

    def _hello(self, kind: int, body: bytes) -> None:
        if kind != FrameType.HELLO:
            raise ProtocolError("the first frame is not a hello")
        version, process, proof = typed_fields(body, int, str, (bytes, type(None)))
        if version != PROTOCOL_VERSION:
            raise ProtocolError(f"protocol version {version} is not {PROTOCOL_VERSION}")
        if not self._sequencer.access.knows(process):
            raise ProtocolError(f"process {process!r} is not of this venue")
        if not self._proven(process, proof):
            raise ProtocolError(f"process {process!r} did not prove who it is")
        self.process = process
        assert self._hello_due is not None
        self._hello_due.cancel()
        appenders = self._sequencer.appenders.values()
        self._send(
            control_frame(
                FrameType.WELCOME, [[appender.name, appender.number, appender.epoch] for appender in appenders]
            )
        )

    def _proven(self, process: str, proof: Any) -> bool:
        """On a Unix socket the kernel says who the peer's user is; on TCP the peer shows it knows the secret."""
        assert self._transport is not None
        peer = self._transport.get_extra_info("socket")
        if peer.family == socket.AF_UNIX:
            credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            return int(_CREDENTIALS.unpack(credentials)[1]) in (os.getuid(), 0)
        secret = self._sequencer.secret
        if secret is None or not isinstance(proof, bytes):
            return False
        return compare_digest(proof, proof_of_secret(secret, self._nonce, process))

    def _appender(self, name: str) -> Appender:
        appender = self._sequencer.appenders.get(name)
        if appender is None:
            raise ProtocolError(f"partition {name!r} is not homed here")
        return appender

    def _open(self, body: bytes) -> None:
        request, name, stream_name, tag = typed_fields(body, int, str, str, (str, type(None)))
        appender = self._appender(name)
        assert self.process is not None
        if not self._sequencer.access.may_write(self.process, appender.name, stream_name):
            self._fail(request, "no_access", f"{self.process} may not write {appender.name} {stream_name}")
            return
        stream = appender.bind(stream_name, self._sequencer.now())
        if stream is None:
            self._fail(request, "streams_per_partition", f"{appender.name} has no room for another stream")
            return
        self._sequencer.appended(appender)
        if stream.writers.get(tag, self) is not self and tag is None:
            self._fail(request, "writer_alive", f"{appender.name} {stream_name} has a live writer")
            return
        if set(stream.writers) | {tag} > {None}:
            self._fail(request, "tagged", f"{appender.name} {stream_name} is not written with and without tags at once")
            return
        stream.writers[tag] = self
        self._written[appender.number, stream.number] = tag
        if self._sequencer.holding:
            self.hold(True)
        self._send(control_frame(FrameType.OPENED, request, stream.number, appender.epoch, stream.end, stream.settled))

    def _publish(self, body: bytes) -> None:
        number, epoch = PUBLISH_BODY.unpack_from(body)
        appender = self._sequencer.by_number.get(number)
        if appender is None:
            raise ProtocolError(f"partition number {number} is not homed here")
        if epoch < appender.epoch or epoch > appender.epoch:
            raise ProtocolError(f"a publish made under epoch {epoch} reached epoch {appender.epoch}")
        if self._sequencer.failed is not None:
            return
        for run in parse_runs(body, PUBLISH_BODY.size):
            key = (number, run.stream)
            if key not in self._written:
                raise ProtocolError(f"stream number {run.stream} of {appender.name} is not open for writing")
            if len(run.data) > self._sequencer.limits.record_bytes:
                self._check_lengths(run.payloads())
            stream = appender.streams[run.stream]
            agreed = stream.differing_at is None
            gap = appender.publish(stream, self._written[key], run)
            if gap is not None:
                self._tell_gap(appender, gap.stream, gap.first)
            elif agreed and stream.differing_at is not None:
                self._report_difference(appender, stream)
            self._progressed[key] = None
        self._sequencer.appended(appender)
        self._sequencer.progress_soon()

    def _report_difference(self, appender: Appender, stream: Stream) -> None:
        log.error(
            "twins differ", partition=appender.name, stream=stream.name, stream_position=stream.differing_at,
            peer=self.process,
        )  # fmt: skip

    def _check_lengths(self, payloads: list[bytes]) -> None:
        longest, limit = max(map(len, payloads)), self._sequencer.limits.record_bytes
        if longest > limit:
            raise ProtocolError(f"a record of {longest} bytes is over record_bytes {limit}")

    def _tell_gap(self, appender: Appender, stream: Stream, first: StreamPosition) -> None:
        log.warning(
            "gap refused", peer=self.process, partition=appender.name, stream=stream.name, first=first, end=stream.end
        )
        self._send(control_frame(FrameType.GAP, appender.number, stream.number, first, stream.end))

    def _subscribe(self, body: bytes) -> None:
        absent = type(None)
        request, name, first, level, streams, epoch = typed_fields(
            body, int, str, (int, absent), int, (tuple, absent), int
        )
        if streams is not None and not all(type(stream) is str for stream in streams):
            raise ProtocolError("a subscription names a stream that is no text")
        appender = self._appender(name)
        assert self.process is not None
        if request > _LARGEST_NUMBER:
            raise ProtocolError(f"subscription {request} is above {_LARGEST_NUMBER}")
        if request in self._subscriptions:
            raise ProtocolError(f"subscription {request} is there already")
        if level not in (SEQUENCED, COMMITTED_1):
            raise ProtocolError(f"level {level} is not kept here")
        if not self._sequencer.access.may_read(self.process, appender.name, streams):
            self._fail(request, "no_access", f"{self.process} may not read {streams or 'all'} of {appender.name}")
            return
        self._sequencer.flush()
        table = self._sequencer.log.reader.partitions[appender.name]
        cut = table.cut_after(epoch) if epoch else None
        if cut is not None and first is not None and first > cut:
            # Read past the end of its epoch: it must go back before it is sent anything (architecture, rule 5).
            self._send(control_frame(FrameType.SUBSCRIBED, request, appender.number, appender.epoch, cut, None, []))
            return
        start = appender.sequenced if first is None else first
        if start > appender.sequenced:
            self._fail(request, "beyond_end", f"{appender.name} ends at {appender.sequenced}, before {start}")
            return
        named = [[stream.number, stream.name, stream.end] for stream in appender.streams]
        self._send(control_frame(FrameType.SUBSCRIBED, request, appender.number, appender.epoch, None, start, named))
        wanted = None if streams is None else frozenset(streams)
        place = Position(start)
        subscription = Subscription(self, request, appender, level, place, wanted, place)
        self._subscriptions[request] = subscription
        self._sequencer.subscribed(subscription)
        self.deliver(subscription)

    def _pass_over(self, body: bytes) -> None:
        """The reader says which streams it does not read: their numbers, as it has been told them."""
        number, streams = typed_fields(body, int, tuple)
        subscription = self._subscriptions.get(number)
        if subscription is None:
            raise ProtocolError(f"there is no subscription {number}")
        bound = len(subscription.appender.streams)
        if not all(type(stream) is int and 0 <= stream < bound for stream in streams):
            raise ProtocolError(f"a stream to pass over is none of {subscription.appender.name}")
        subscription.pass_over(frozenset(streams))

    def _read(self, body: bytes) -> None:
        """Answers one READ: records of one stream at the live edge, in blocks narrowed to it, a few at a time."""
        request, name, stream_name, first = typed_fields(body, int, str, str, int)
        appender = self._appender(name)
        assert self.process is not None
        if not self._sequencer.access.may_read(self.process, appender.name, [stream_name]):
            self._fail(request, "no_access", f"{self.process} may not read {stream_name} of {appender.name}")
            return
        self._sequencer.flush()
        stream = appender.stream(stream_name)
        if stream is None or first >= stream.end:
            self._send(records_frame(request, True, b""))
            return
        blocks, end = self._stream_blocks(appender, stream, StreamPosition(first))
        self._send(records_frame(request, end >= stream.end, b"".join(blocks)))

    def _stream_blocks(self, appender: Appender, stream: Stream, first: StreamPosition) -> tuple[list[bytes], int]:
        """Narrowed blocks from the one that holds `first`, and the stream end they reach."""
        wanted = frozenset((stream.number,))
        found: list[bytes] = []
        size, looked_at, end = 0, 0, int(first)
        for block in self._blocks_for(appender, stream, first):
            # The index finds the first block nearly; for a stream with few records the others may lie far apart.
            if found and looked_at >= _TURN_BYTES:
                break
            looked_at += len(block)
            narrowed = narrow_block(block, wanted)
            if narrowed is None:
                continue
            last = max(run.end for run in parse_runs(narrowed, HEADER_SIZE))
            if last <= first:
                continue
            found.append(narrowed)
            size += len(narrowed)
            end = last
            if size >= _READ_BYTES or end >= stream.end:
                break
        return found, end

    def _blocks_for(self, appender: Appender, stream: Stream, first: StreamPosition) -> Iterator[bytes]:
        recent = appender.recent.of_stream(stream.number, first)
        if recent is not None:
            yield from recent
            return
        for header, block in self._sequencer.log.reader.stream_blocks(appender.number, stream.number, first):
            if header.first >= appender.recent.first:
                break
            yield block
        yield from appender.recent.all_of_stream(stream.number)

    def _state(self, body: bytes) -> None:
        request, name = typed_fields(body, int, str)
        appender = self._appender(name)
        self._sequencer.flush()
        epochs = self._sequencer.log.reader.partitions[appender.name].epochs
        streams = [[stream.number, stream.name, stream.end, stream.settled] for stream in appender.streams]
        self._send(control_frame(FrameType.STATE_IS, request, appender.sequenced, appender.settled, epochs, streams))

    def _fail(self, request: int, code: str, reason: str) -> None:
        self._sequencer.refused_requests += 1
        log.warning("request refused", peer=self.process, code=code, reason=reason)
        self._send(control_frame(FrameType.FAILED, request, code, reason))

    def _send(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)

    def deliver(self, subscription: Subscription) -> None:
        """Send a subscription what it may have, as far as the socket takes it, and no more than a turn's share."""
        if self._paused or self._transport is None or subscription.resting:
            return
        try:
            self._send_blocks(subscription, self._transport)
        except (LogError, OSError) as error:
            # History that is damaged or cannot be opened stops who needs it, with the place; whoever reads at the edge
            # trades on.
            self._refuse(str(error))

    def _send_blocks(self, subscription: Subscription, transport: asyncio.Transport) -> None:
        share = min(_TURN_BYTES, self._sequencer.limits.reader_buffer_bytes)
        frames = subscription.take(self._sequencer.log.reader, share)
        if frames:
            transport.write(frames[0] if len(frames) == 1 else b"".join(frames))
        if subscription.resting:
            asyncio.get_running_loop().call_soon(self._go_on, subscription)

    def _go_on(self, subscription: Subscription) -> None:
        subscription.resting = False
        if self._subscriptions.get(subscription.number) is subscription:
            self.deliver(subscription)

    def progressed(self, appender: Appender, stream: int) -> None:
        """A stream this peer writes has a new end or a new settled end: told with the next progress."""
        self._progressed[appender.number, stream] = None

    def tell_progress(self) -> None:
        """Ends of the streams written here, and the levels of readers that have not been sent all they may have."""
        if self._transport is None or self._paused or (not self._progressed and not self._subscriptions):
            return  # a peer that does not read is told when it does again
        ends: dict[int, list[tuple[int, int, int]]] = {}
        for partition, number in self._progressed:
            stream = self._sequencer.by_number[partition].streams[number]
            ends.setdefault(partition, []).append((number, stream.end, stream.settled))
        self._progressed = {}
        epochs = self._sequencer.by_number
        frames = [
            control_frame(FrameType.PROGRESS, partition, epochs[partition].epoch, rows)
            for partition, rows in ends.items()
        ]
        levels = self._levels()
        if levels:
            frames.append(control_frame(FrameType.LEVELS, levels))
        if frames:
            self._send(b"".join(frames))

    def _levels(self) -> list[tuple[int, int, int, int]]:
        levels: list[tuple[int, int, int, int]] = []
        for subscription in self._subscriptions.values():
            level_end = subscription.level_end
            # A reader learns the level from the blocks themselves; the bare level is for one whose socket is full,
            # and for one that has been sent none because nothing concerned it.
            if level_end > max(subscription.next, subscription.told) or subscription.next > subscription.known:
                since, subscription.known = subscription.known, subscription.next
                subscription.told = level_end
                levels.append((subscription.number, level_end, since, subscription.next))
        return levels

    def hold(self, held: bool) -> None:
        """Stop reading a peer that publishes, or read it again."""
        if self._transport is None or not self._written:
            return
        if held and self._transport.is_reading():
            self._transport.pause_reading()
        elif not held and not self._transport.is_reading():
            self._transport.resume_reading()

    def close(self) -> None:
        """The sequencer stops: what is in the socket's buffer still goes out."""
        if self._transport is not None:
            self._transport.close()


# Functions, not bound methods in each peer: those would keep every peer that ever was in a cycle nobody collects.
_HANDLERS: dict[int, Callable[[Peer, bytes], None]] = {
    FrameType.PUBLISH: Peer._publish,
    FrameType.OPEN: Peer._open,
    FrameType.SUBSCRIBE: Peer._subscribe,
    FrameType.READ: Peer._read,
    FrameType.STATE: Peer._state,
    FrameType.PASS_OVER: Peer._pass_over,
}
