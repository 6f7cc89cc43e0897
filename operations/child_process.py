"""One child process: started so that it dies with its parent, awaited without polling."""

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def command_line(module: str, config: Path) -> list[str]:
    """How a process is run: its entry module with its one argument; nothing is imported from the working directory."""
    return [sys.executable, "-P", "-m", module, str(config)]


class ChildProcess:
    """A running child. It shares our stdout and stderr, and the kernel kills it when we die, however we die."""

    def __init__(self, command: list[str]) -> None:
        """Start it. OSError when it cannot be."""
        parent = os.getpid()

        def die_with_parent() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)  # the parent died before the line above

        # A process group of its own: Ctrl-C in a terminal is for the parent, which stops its children in order.
        # The hook is unsafe among threads; a supervisor has none, and the hook makes two system calls.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent,  # noqa: PLW1509
            process_group=0,
        )
        self.pid = self._process.pid

    async def exited(self) -> int:
        """Wait for its end; the exit code, or minus the number of the signal that ended it."""
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        try:
            watched = os.pidfd_open(self.pid)
        except ProcessLookupError:  # it has ended, and asking it to end has taken note of that already
            return self._process.wait()
        loop.add_reader(watched, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(watched)
            os.close(watched)
        return self._process.wait()

    def terminate(self) -> None:
        """Ask it to stop in its own order (SIGTERM)."""
        self._process.terminate()

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self._process.kill()


def describe_exit(code: int) -> str:
    """An exit code in words: `exit code 1`, `signal SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
