"""What drives a clock in a process: the wall clock's multiples of the tick interval."""

import asyncio
import time

from exchange.hosting.facts import Facts
from exchange.records.clock import STREAM, TICK_PAYLOAD
from exchange.streams.client import StreamClient
from exchange.symbol_partition.clock_pair import TICK_INTERVAL_MS, Clock

_HALF_NS = TICK_INTERVAL_MS * 1_000_000 // 2


class ClockDriver:
    """One clock of one symbol partition."""

    def __init__(self, partition: str, tag: str, client: StreamClient) -> None:
        self._partition = partition
        self._tag = tag
        self._client = client
        self._clock = Clock()
        self._writer = client.writer(partition, STREAM, tag)
        self._ticked_ns = time.monotonic_ns()
        self._loop = asyncio.get_running_loop()
        self._wait()

    def _wait(self) -> None:
        now = time.time_ns()
        half = now // _HALF_NS + 1
        self._loop.call_later((half * _HALF_NS - now) / 1_000_000_000, self._half_passed, half % 2 == 0)

    def _half_passed(self, is_tick: bool) -> None:
        self._wait()
        if self._writer.number is None:
            return  # time does not pass while nobody sequences it
        if not is_tick:
            self._clock.between_ticks(self._writer.end)
            return
        position = self._clock.tick()
        if position is not None:
            self._ticked_ns = time.monotonic_ns()
            self._writer.continue_from(position)
            self._client.stage(self._writer, [TICK_PAYLOAD])

    def facts(self) -> Facts:
        """Which ticks this clock knows of; `position` is the end of its stream."""
        return {
            "name": "clock",
            "kind": "clock",
            "tag": self._tag,
            "partition": self._partition,
            "position": self._writer.end,
            "input_end": self._writer.end,
            "build": "",
            "rewinds": 0,
            "age_ns": time.monotonic_ns() - self._ticked_ns,
        }
