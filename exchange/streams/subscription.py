"""One reader of one partition: where it stands and what it is to be sent next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exchange.records.positions import End, Position
from exchange.streams.appender import Appender, NearBlock
from exchange.streams.block import BINDING_NUMBER, HEADER_SIZE, narrow_block, parse_runs
from exchange.streams.levels import SEQUENCED
from exchange.streams.log_reader import LogReader
from exchange.streams.segment import LogError
from exchange.streams.wire import block_frame

if TYPE_CHECKING:
    from exchange.streams.sequencer_peer import Peer


@dataclass(slots=True, eq=False)
class Subscription:
    """Every block once, when it passes the reader's level: near the edge from memory, further back from the log.

    A block in which nothing concerns the reader is passed over: it learns so from the frame of the next one, or with
    the level. `next` is where this subscription stands, `known` is as far as the reader knows.
    """

    peer: Peer
    number: int
    appender: Appender
    level: int
    next: Position
    streams: frozenset[str] | None
    known: Position
    told: End = End(0)
    resting: bool = False
    """Has looked at enough for this turn of the loop, and goes on in the next."""
    _unread: frozenset[int] = frozenset()
    _numbers: frozenset[int] = frozenset()
    _numbers_of: int = 0
    _behind: Iterator[NearBlock] | None = field(default=None)

    @property
    def level_end(self) -> End:
        """How far this reader may read now."""
        return self.appender.sequenced if self.level == SEQUENCED else self.appender.settled

    def pass_over(self, streams: frozenset[int]) -> None:
        """The reader does not read these streams: blocks of nothing else need not be sent."""
        self._unread |= streams - {BINDING_NUMBER}

    def take(self, log: LogReader, share: int) -> list[bytes]:
        """The frames of what comes next, up to the level, or until `share` bytes were looked at: then it rests.

        Whoever takes frames must send them.
        """
        frames: list[bytes] = []
        looked_at, end = 0, self.level_end
        while self.next < end and looked_at < share:
            for block in self._next_blocks(log):  # levels lie between blocks, so the first of these is below the end
                if block.end > end or looked_at >= share:
                    break
                self.next = Position(block.end)
                looked_at += len(block.data)
                sent = self._concerning(block)
                if sent is not None:
                    frames.append(block_frame(self.number, self.known, sent))
                    self.known = self.next
        self.resting = self.next < end
        return frames

    def concerned_by(self, streams: frozenset[int]) -> bool:
        """Whether a block with records of these streams is for this reader."""
        if self.streams is None:
            return not streams <= self._unread
        return not streams.isdisjoint(self._wanted(self.streams))

    def _concerning(self, block: NearBlock) -> bytes | None:
        """What of a block concerns the reader. Only blocks in memory are passed over whole: it costs no look inside."""
        streams = block.streams
        if streams is None and self.streams is None:
            return block.data
        if streams is None:
            streams = frozenset(run.stream for run in parse_runs(block.data, HEADER_SIZE))
        if not self.concerned_by(streams):
            return None
        whole = self.streams is None or streams <= self._numbers
        return block.data if whole else narrow_block(block.data, self._numbers)

    def _next_blocks(self, log: LogReader) -> Sequence[NearBlock]:
        recent = self.appender.recent
        if self.next >= recent.first:
            self._behind = None
            return recent.holding(self.next)
        block = None if self._behind is None else next(self._behind, None)
        if block is None:  # the iterator ran out at what was synced when it began
            self._behind = self._from_log(log)
            block = next(self._behind, None)
            if block is None:
                raise LogError(f"{self.appender.name}: no block at {self.next} in the log")
        return [block]

    def _from_log(self, log: LogReader) -> Iterator[NearBlock]:
        place: int = self.next
        for header, data in log.blocks(self.appender.number, self.next):
            if header.first > place:  # or the reader would be told that it is passed over
                raise LogError(f"{self.appender.name}: block at {header.first} follows {place} in the log")
            place = header.end
            yield NearBlock(data, header.end, None)

    def _wanted(self, names: frozenset[str]) -> frozenset[int]:
        streams = self.appender.streams
        if self._numbers_of < len(streams):
            self._numbers_of = len(streams)
            wanted = {stream.number for stream in streams if stream.name in names}
            self._numbers = frozenset(wanted | {BINDING_NUMBER})
        return self._numbers
