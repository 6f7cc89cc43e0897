"""A child is awaited without polling, and dies with its parent however that dies."""

import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from operations.child_process import ChildProcess, command_line, describe_exit


async def test_the_exit_of_a_child_is_awaited() -> None:
    child = ChildProcess([sys.executable, "-c", "raise SystemExit(7)"])
    assert await child.exited() == 7


async def test_a_killed_child_tells_its_signal() -> None:
    child = ChildProcess([sys.executable, "-c", "import time; time.sleep(60)"])
    child.kill()
    assert describe_exit(await child.exited()) == "signal SIGKILL"


def test_exits_in_words() -> None:
    assert [describe_exit(code) for code in (0, 1, -signal.SIGTERM, -99)] == [
        "exit code 0", "exit code 1", "signal SIGTERM", "signal 99",
    ]  # fmt: skip


def test_nothing_is_imported_from_the_working_directory() -> None:
    assert command_line("exchange.hosting.run_sequencer", Path("run/s.json")) == [
        sys.executable, "-P", "-m", "exchange.hosting.run_sequencer", "run/s.json",
    ]  # fmt: skip


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(
                """
                import sys, time
                from operations.child_process import ChildProcess
                child = ChildProcess([sys.executable, "-c", "import time; time.sleep(60)"])
                print(child.pid, flush=True)
                time.sleep(60)
                """
            ),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    child = os.pidfd_open(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    parent.stdout.close()
    os.set_blocking(child, False)
    # A pidfd becomes readable when its process has ended; it is no child of ours, so it cannot be waited for.
    assert select.select([child], [], [], 30)[0] == [child]
    os.close(child)
