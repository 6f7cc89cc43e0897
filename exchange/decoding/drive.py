"""What drives a decoder in a process: reads blocks through a stream client, publishes what they cause."""

import time
from collections.abc import Callable, Mapping

from exchange.decoding.decoder import Decoder
from exchange.decoding.runner import Runner
from exchange.hosting.facts import Facts
from exchange.hosting.log import logger
from exchange.records.positions import End, Position, StreamEnd
from exchange.streams.block_reader import BlockReader, ReadRun
from exchange.streams.client import StreamClient
from exchange.streams.stream_writer import StreamWriter

log = logger()


class DecoderDriver:
    """One copy of a decoder.

    Into the partition it reads it may write from the live edge, into others only what settled input has caused
    (architecture, rule 3).

    `clients` maps each partition to the client of the sequencer that it is homed on.
    """

    def __init__(
        self,
        make_decoder: Callable[[], Decoder],
        partition: str,
        tag: str,
        level: int,
        clients: Mapping[str, StreamClient],
    ) -> None:
        self.level = level
        self.streams: tuple[str, ...] | None = None
        self._partition = partition
        self._tag = tag
        self._clients = clients
        self._runner = Runner(make_decoder)
        self.block_reader = self._reader_from_start()
        self._writers: dict[tuple[str, str], StreamWriter] = {}
        self._input_end = End(0)
        self._received_ns = time.monotonic_ns()
        self._rewinds = 0
        clients[partition].subscribe(self)

    def _reader_from_start(self) -> BlockReader:
        return BlockReader(self._partition, Position(0), wants=self._runner.decoder.reads)

    def subscribed(self, ends: dict[str, StreamEnd]) -> None:
        """Reading begins or goes on: nothing to prepare."""

    def cut(self, cut: Position) -> None:
        """Go back to the last checkpoint: until there are any, to position 0."""
        log.warning("decoder rewinds", partition=self._partition, applied=self._runner.applied, cut=cut)
        self._rewinds += 1
        self._runner.rewind()
        for writer in self._writers.values():
            writer.restart()
        self.block_reader = self._reader_from_start()

    def received(self, run: ReadRun) -> None:
        """Records of the input partition, in order."""
        self._runner.receive(run)

    def level_passed(self, end: End) -> None:
        """The input level stands at `end`; after the last run of a block, publish what the block caused."""
        self._input_end = max(self._input_end, end)
        self._runner.passed(self.block_reader.end)
        self._received_ns = time.monotonic_ns()
        for partition, stream, _, payloads in self._runner.to_publish():
            client = self._clients[partition]
            writer = self._writers.get((partition, stream))
            if writer is None:
                writer = self._writers[partition, stream] = client.writer(partition, stream, self._tag)
            client.stage(writer, payloads)

    def facts(self) -> Facts:
        """How far this copy has come; `position` and `input_end` are ends."""
        decoder = self._runner.decoder
        return {
            "name": decoder.kind,
            "kind": decoder.kind,
            "tag": self._tag,
            "partition": self._partition,
            "position": self._runner.applied,
            "input_end": self._input_end,
            "build": decoder.build,
            "rewinds": self._rewinds,
            "age_ns": time.monotonic_ns() - self._received_ns,
        }
