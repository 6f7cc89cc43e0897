"""One clock of a pair: ticks that both clocks write alike, so that two are as harmless as one.

Tick k is stream position k and all ticks are the same bytes; a clock publishes at the end it last learned, so that one
that fell behind is still a spare. Pure: the driver says when half an interval has passed.
"""

from exchange.records.positions import StreamEnd, StreamPosition

TICK_INTERVAL_MS = 100


class Clock:
    """Learns the end in the middle between two ticks and publishes there at the tick.

    Both clocks tick at the same multiples of the interval. Had one clock learned the end at the tick itself, it would
    sometimes see its twin's tick of this very instant, publish behind it, and time would pass twice as fast.
    """

    def __init__(self) -> None:
        self._learned: StreamEnd | None = None

    def between_ticks(self, end: StreamEnd) -> None:
        """Half an interval before a tick: the stream ends at `end`."""
        self._learned = end

    def tick(self) -> StreamPosition | None:
        """Where to publish this tick; None while no end has been learned."""
        return None if self._learned is None else StreamPosition(self._learned)
