"""The runner core: a decoder, how far it has read, and how many records it has emitted to each stream. Pure.

Driven by asyncio in production and by tests alike. Cold start, restart and the thousandth recovery are one code path:
make the decoder, restore, read forward; without checkpoints a restart is the replay from position 0.
"""

from collections.abc import Callable
from typing import NamedTuple

from exchange.decoding.decoder import Decoder
from exchange.records.positions import End, StreamPosition
from exchange.records.record import Record
from exchange.streams.block_reader import ReadRun

# What Record's constructor does, without the call around it: this is done once per record.
_record = tuple.__new__


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
        self.emitted: dict[tuple[str, str], int] = {}
        self._collected: dict[tuple[str, str], list[bytes]] = {}

    def rewind(self) -> None:
        """Go back: a decoder that has read past the end of an epoch never patches its state (architecture, rule 5)."""
        self.decoder = self._make_decoder()
        self.applied = End(0)
        self.emitted = {}
        self._collected = {}

    def receive(self, run: ReadRun) -> None:
        """Apply records in order; what they cause waits in `to_publish`."""
        stream, position, stream_position, event_time, sequencing_time, payloads = run
        apply, collected = self.decoder.apply, self._collected
        last_partition = last_target = ""
        outputs: list[bytes] = []
        for offset, payload in enumerate(payloads):
            fields = (position + offset, stream, stream_position + offset, event_time, sequencing_time, payload)
            for partition, target, output in apply(_record(Record, fields)):
                # Most drafts go where the one before them went.
                if target is not last_target or partition is not last_partition:
                    outputs = collected.setdefault((partition, target), [])
                    last_partition, last_target = partition, target
                outputs.append(output)

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
