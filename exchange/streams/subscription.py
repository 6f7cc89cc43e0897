"""One reader of one partition: where it stands and what it is to be sent next."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from exchange.records.positions import End, Position
from exchange.streams.appender import Appender
from exchange.streams.block import BINDING_NUMBER, narrow_block, parse_header
from exchange.streams.levels import SEQUENCED
from exchange.streams.log_reader import LogReader
from exchange.streams.wire import block_frame_header


@dataclass(slots=True, eq=False)
class Subscription:
    """Every block once, when it passes the reader's level: near the edge from memory, further back from the log."""

    number: int
    appender: Appender
    level: int
    next: Position
    streams: frozenset[str] | None
    told: End = End(0)
    _numbers: frozenset[int] = frozenset()
    _numbers_of: int = 0
    _behind: Iterator[bytes] | None = field(default=None)

    @property
    def level_end(self) -> End:
        """How far this reader may read now."""
        return self.appender.sequenced if self.level == SEQUENCED else self.appender.settled

    def frames(self, log: LogReader) -> Iterator[tuple[bytes, bytes]]:
        """(frame header, block) of what comes next, up to the level. Whoever takes a pair must send it."""
        while self.next < self.level_end:
            for block in self._next_blocks(log):
                header = parse_header(block)
                if header.end > self.level_end:
                    return
                self.next = Position(header.end)
                sent = block if self.streams is None else narrow_block(block, self._wanted(self.streams))
                if sent is not None:
                    yield block_frame_header(self.number, len(sent)), sent

    def _next_blocks(self, log: LogReader) -> list[bytes]:
        recent = self.appender.recent
        if self.next >= recent.first:
            self._behind = None
            return recent.holding(self.next)
        if self._behind is None:
            self._behind = (block for _, block in log.blocks(self.appender.number, self.next))
        block = next(self._behind, None)
        if block is None:  # the iterator ran out at what was synced when it began
            self._behind = (block for _, block in log.blocks(self.appender.number, self.next))
            block = next(self._behind)
        return [block]

    def _wanted(self, names: frozenset[str]) -> frozenset[int]:
        streams = self.appender.streams
        if self._numbers_of < len(streams):
            self._numbers_of = len(streams)
            wanted = {stream.number for stream in streams if stream.name in names}
            self._numbers = frozenset(wanted | {BINDING_NUMBER})
        return self._numbers
