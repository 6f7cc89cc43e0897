"""Kills of real processes under load: every client has every report exactly once, and the audit holds.

A venue is started, loaded at 5,000 requests a second over eight sessions, and one of its processes is killed with
SIGKILL at random moments. Four kills to a venue: a fifth within a minute would make the supervisor give it up.
"""

import asyncio
import contextlib
import random
import re
from pathlib import Path

import pytest

from bench.load_client import LoadClient, LoadSession
from bench.order_program import OrderProgram, seeded_program
from bench.report_check import check_run
from bench.venue_config import COMP_IDS, CONFIG
from bench.venue_process import VenueProcess, running_venue
from tests.processes.audits import assert_audit_holds

RATE = 5_000
SECONDS = 5
KILLS = 4
DEADLINE_S = 30
MSG_SEQ_NUM = re.compile(rb"\x0134=(\d+)\x01")
EXEC_ID = re.compile(rb"\x0117=([^\x01]+)\x01")
PROCESSES = ("matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "clock-a", "clock-b", "sequencer")
PAIRS = (
    ("matcher-a", "matcher-b"),
    ("partitioner-a", "partitioner-b"),
    ("clock-a", "clock-b"),
    ("matcher-a", "sequencer"),
    ("partitioner-b", "sequencer"),
    ("matcher-b", "partitioner-a"),
)


@pytest.mark.parametrize("process", ["matcher-a", "sequencer"])
async def test_a_kill_under_load_loses_nothing_and_doubles_nothing(process: str, scratch: Path) -> None:
    await load_with_kills((process,), seed=1, scratch=scratch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("process", PROCESSES)
async def test_twenty_kills_of_each_process_lose_nothing_and_double_nothing(
    process: str, seed: int, scratch: Path
) -> None:
    await load_with_kills((process,), seed, scratch)


@pytest.mark.long
@pytest.mark.parametrize("processes", PAIRS, ids="+".join)
async def test_kills_of_two_processes_at_once_lose_nothing_and_double_nothing(
    processes: tuple[str, ...], scratch: Path
) -> None:
    await load_with_kills(processes, 1, scratch)


async def load_with_kills(processes: tuple[str, ...], seed: int, scratch: Path) -> None:
    program = seeded_program(RATE * SECONDS, len(COMP_IDS), seed)
    choice = random.Random(f"{'+'.join(processes)} {seed}")
    moments = sorted(choice.uniform(0.2, SECONDS - 0.2) for _ in range(KILLS))
    with running_venue(scratch) as venue:
        await venue.wait_until_open()
        client = await LoadClient.connect(venue.host, venue.order_entry_port, COMP_IDS)
        client.load(program, window=0)
        killing = asyncio.create_task(kill_at(venue, processes, moments))
        await client.run_rate(program.turns, RATE, DEADLINE_S)
        assert await killing == KILLS * len(processes)
        check_reports(client, program)
        await client.close()
        venue.stop()
        assert_audit_holds(CONFIG, venue.data)


async def kill_at(venue: VenueProcess, processes: tuple[str, ...], moments: list[float]) -> int:
    start = asyncio.get_running_loop().time()
    killed: set[int] = set()
    for moment in moments:
        await asyncio.sleep(start + moment - asyncio.get_running_loop().time())
        pids = [await running_pid(venue, process, killed) for process in processes]
        for pid in pids:
            venue.kill(pid)
        killed.update(pids)
    return len(killed)


async def running_pid(venue: VenueProcess, process: str, killed: set[int]) -> int:
    """The process id, once the process that was killed last has been replaced."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            with contextlib.suppress(OSError, TimeoutError, ValueError):  # a busy node answers the next time
                pid = (await venue.processes()).get(process)
                if pid is not None and pid not in killed:
                    return pid
            await asyncio.sleep(0.02)


def check_reports(client: LoadClient, program: OrderProgram) -> None:
    """Every request answered once, halves of trades meet, numbers dense, no ExecID twice in a session."""
    check_run(client, program)
    for session in client.sessions:
        check_session(session)


def check_session(session: LoadSession) -> None:
    received = b"".join(chunk for _, chunk in session.arrivals)
    numbers = [int(number) for number in MSG_SEQ_NUM.findall(received)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    exec_ids = EXEC_ID.findall(received)
    assert len(exec_ids) == len(set(exec_ids))
