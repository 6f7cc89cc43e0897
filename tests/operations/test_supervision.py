"""One supervised process: ready when it says so, started again when it dies, given up when it dies too often."""

import asyncio
import sys
import textwrap
from pathlib import Path

from operations.restarts import RestartPolicy
from operations.supervision import State, SupervisedProcess

ANSWERS = """
    import asyncio, signal, sys
    from pathlib import Path
    from exchange.hosting.facts import serve_facts

    async def main():
        server = await serve_facts(Path(sys.argv[1]), "child", lambda: {"ready": True})
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await stop.wait()

    asyncio.run(main())
"""
IGNORES_SIGTERM = ANSWERS.replace("stop.set", "lambda: None")


def supervised(socket: Path, program: str, deaths_per_minute: int = 5) -> SupervisedProcess:
    command = [sys.executable, "-c", textwrap.dedent(program), str(socket)]
    return SupervisedProcess("child", command, socket, RestartPolicy(deaths_per_minute))


async def test_a_process_is_running_when_it_says_that_it_is_ready_and_stops_when_told(tmp_path: Path) -> None:
    process = supervised(tmp_path / "s.sock", ANSWERS)
    assert process.state is State.WAITING
    life = asyncio.ensure_future(process.keep_running())
    await asyncio.wait_for(process.became_ready.wait(), 30)
    assert process.state is State.RUNNING
    await process.stop(30, asyncio.Event())
    await life
    assert process.facts == {"name": "child", "pid": None, "state": "stopped", "deaths": 0, "last_death": None}


async def test_a_process_that_dies_too_often_is_failed(tmp_path: Path) -> None:
    process = supervised(tmp_path / "s.sock", "raise SystemExit(3)", deaths_per_minute=3)
    await process.keep_running()
    assert process.gave_up.is_set()
    assert process.facts == {
        "name": "child", "pid": None, "state": "failed", "deaths": 3, "last_death": "exit code 3",
    }  # fmt: skip


async def test_a_process_that_does_not_stop_is_killed_when_its_grace_is_over(tmp_path: Path) -> None:
    process = supervised(tmp_path / "s.sock", IGNORES_SIGTERM)
    life = asyncio.ensure_future(process.keep_running())
    await asyncio.wait_for(process.became_ready.wait(), 30)
    hurry = asyncio.Event()
    stopping = asyncio.ensure_future(process.stop(3600, hurry))
    hurry.set()
    await stopping
    await life
    assert process.state is State.STOPPED


async def test_a_process_waiting_for_its_restart_stops_at_once(tmp_path: Path) -> None:
    process = supervised(tmp_path / "s.sock", "raise SystemExit(3)")
    life = asyncio.ensure_future(process.keep_running())
    async with asyncio.timeout(30):
        while process.state is not State.RESTARTING:  # noqa: ASYNC110 - a state, which nobody announces
            await asyncio.sleep(0)
    await process.stop(30, asyncio.Event())
    await life
    assert process.state is State.STOPPED
