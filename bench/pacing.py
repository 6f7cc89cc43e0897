"""Ticks finer than the event loop's milliseconds: a Linux timerfd that the loop reads."""

import asyncio
import ctypes
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_libc = ctypes.CDLL(None, use_errno=True)
CLOCK_MONOTONIC = 1
NON_BLOCKING = os.O_NONBLOCK | os.O_CLOEXEC


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _IntervalSpec(ctypes.Structure):
    _fields_ = [("interval", _Timespec), ("first", _Timespec)]


class IntervalTicks:
    """Wakes a waiter at each tick; ticks that nobody waited for are one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Until the next tick."""
        await self._event.wait()
        self._event.clear()

    def on_readable(self) -> None:
        """The timer fired."""
        os.read(self._descriptor, 8)
        self._event.set()


@asynccontextmanager
async def interval_timer(seconds: float) -> AsyncIterator[IntervalTicks]:
    """Ticks every `seconds` while inside."""
    descriptor = _libc.timerfd_create(CLOCK_MONOTONIC, NON_BLOCKING)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "timerfd_create")
    loop = asyncio.get_running_loop()
    try:
        whole, part = divmod(int(seconds * 1e9), 1_000_000_000)
        spec = _IntervalSpec(_Timespec(whole, part), _Timespec(whole, part))
        if _libc.timerfd_settime(descriptor, 0, ctypes.byref(spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")
        ticks = IntervalTicks(descriptor)
        loop.add_reader(descriptor, ticks.on_readable)
        try:
            yield ticks
        finally:
            loop.remove_reader(descriptor)
    finally:
        os.close(descriptor)
