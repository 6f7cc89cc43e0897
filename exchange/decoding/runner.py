"""The runner core: a decoder, how far it has read, and how many records it has emitted to each stream. Pure.

Driven by asyncio in production and by tests alike. Cold start, restart and the thousandth recovery are one code path:
make the decoder, restore, read forward; without checkpoints a restart is the replay from position 0.
"""

from collections.abc import Callable
from typing import NamedTuple

from exchange.decoding.decoder import Decoder
from exchange.records.positions import End, StreamPosition
from exchange.records.record import Destination
from exchange.streams.block_reader import ReadRun

_NOWHERE: Destination = ("", "")


class Output(NamedTuple):
    """Records for one stream, at positions that count what the decoder has emitted to it (architecture, rule 2)."""

    partition: str
    stream: str
    first: StreamPosition
    payloads: list[bytes]


class Runner:
    """One decoder over one input partition."""

    def __init__(self, make_decoder: Callable[[], Decoder]) -> None:
        self._make_decoder = make_decoder
        self.decoder = make_decoder()
        self.applied = End(0)
        self.emitted: dict[Destination, int] = {}
        self._collected: dict[Destination, list[bytes]] = {}

    def rewind(self) -> None:
        """Go back: a decoder that has read past the end of an epoch never patches its state (architecture, rule 5)."""
        self.decoder = self._make_decoder()
        self.applied = End(0)
        self.emitted = {}
        self._collected = {}

    def receive(self, run: ReadRun) -> None:
        """Apply records in order; what they cause waits in `to_publish`."""
        stream, position, stream_position, event_time, sequencing_time, payloads = run
        outputs, collected = self.decoder.outputs, self._collected
        last = _NOWHERE
        waiting: list[bytes] = []
        ahead = stream_position - position
        for place, payload in enumerate(payloads, position):
            for destination, output in outputs(place, stream, place + ahead, event_time, sequencing_time, payload):
                # Most outputs go where the one before them went.
                if destination is not last:
                    waiting = collected.setdefault(destination, [])
                    last = destination
                waiting.append(output)

    def passed(self, end: End) -> None:
        """Everything below `end` has been received, records of streams that the decoder does not read included."""
        self.applied = end

    def to_publish(self) -> list[Output]:
        """What has been emitted since the last call, with its positions."""
        if not self._collected:
            return []
        outputs = []
        for key, payloads in self._collected.items():
            first = self.emitted.get(key, 0)
            self.emitted[key] = first + len(payloads)
            outputs.append(Output(*key, StreamPosition(first), payloads))
        self._collected = {}
        return outputs
