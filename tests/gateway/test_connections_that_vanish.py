"""Connections that end in the middle of anything: their work is done or dropped, never the next connection's."""

import asyncio
import gc
import random
import re

import pytest
import uvloop

from gateway.fix_connection import FixConnection
from tests.gateway.fix_client import FixClient, numbers, values
from tests.gateway.venue_of_gateway import USER_PARTITIONS, Venue, on_uvloop, until, venue

EXPECTING = re.compile(r"expecting (\d+) but")


@on_uvloop
async def test_a_logon_with_5000_orders_and_a_reset_socket_leave_each_order_one_outcome_behind_the_next_logon() -> None:
    async with venue() as running:
        acme = await running.logged_on()
        assert await acme.log_off() == []
        await running.released()
        for round_ in range(3):
            burst = await running.connect(number=running.session().fix.next_in)
            first = burst.number + 1  # the Logon has its number before
            logon = burst.frame("A", "98=0|108=30|554=demo|")
            orders = [burst.order_frame(f"R{round_}-{n}", "buy 1 ALFA 9.90") for n in range(5_000)]
            await burst.send(logon + b"".join(orders))
            burst.vanish()
            acme = await logged_on_with_the_number_asked_for(running)
            taken = acme.number - 1 - first
            (logon_answer, *reports) = await acme.frames(1 + taken)
            assert logon_answer.startswith("35=A|")
            assert values(reports, 150) == ["0"] * taken
            assert values(reports, 11) == [f"R{round_}-{n}" for n in range(taken)]
            # Stable: nothing else comes.
            assert len(await acme.heartbeat("STILL THERE")) == 1
            assert running.session().in_flight == 0
            assert await acme.log_off() == []
            await running.released()


async def logged_on_with_the_number_asked_for(running: Venue) -> FixClient:
    """As a member does it: whoever is refused without a word, since its last connection is still there, comes again."""
    number = 1
    while True:
        member = await running.connect(number=number)
        await member.log_on()
        answer = await member.first_frame()
        if answer.startswith("35=A|"):
            return member
        match = EXPECTING.search(answer)
        number = int(match[1]) if match is not None else number
        await member.until_closed()


@on_uvloop
async def test_orders_of_a_connection_that_was_reset_are_answered_on_the_next_one() -> None:
    async with venue() as running:
        acme = await running.logged_on()
        await acme.send(b"".join(acme.order_frame(f"A{n}", "buy 1 ALFA 9.90") for n in range(500)))
        await until(lambda: running.session().fix.next_in == 502)
        acme.vanish()
        await running.released()
        sent = running.session().fix.next_out
        acme = await running.again(acme, expected=sent)
        await acme.send(acme.frame("2", "7=2|16=0|"))
        frames = [text for text in await acme.until("|11=A499|") if "|150=0|" in text]
        assert sorted({int(value[1:]) for value in values(frames, 11)}) == list(range(500))
        assert len(set(values(frames, 17))) == 500


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_five_hundred_clients_that_come_trade_and_vanish_get_their_own_bytes_and_leave_nothing(loop: str) -> None:
    if loop == "uvloop":
        uvloop.run(churn())
    else:
        asyncio.run(churn())


async def churn() -> None:
    # A timer that outlives its connection would keep it for longer than this test waits.
    async with venue(logon_timeout_s=60) as running:
        names = [f"{participant}-{number}" for participant in USER_PARTITIONS for number in (1, 2)]
        gc.collect()
        gc.disable()
        try:
            await asyncio.gather(*(come_and_go(running, name, random.Random(name)) for name in names))
            await until(lambda: not running.gateway.acceptor.connections)
            await until(lambda: not any(isinstance(found, FixConnection) for found in gc.get_objects()))
        finally:
            gc.enable()
        for name in names:
            # Answers are counted when they are read, and those of a session that is away are read when it comes.
            member = await running.logged_on(name)
            await member.order(f"{name}-LAST", "buy 1 GAMA 0.01")
            check_own(name, await member.until(f"|11={name}-LAST|"))
            await until(lambda name=name: running.session(name).in_flight == 0)


async def come_and_go(running: Venue, name: str, choice: random.Random) -> None:
    for round_ in range(84):
        await running.released(name)
        member = await running.connect(name)
        end = choice.choice(("silent", "half a logon", "logon unread", "trade", "trade", "trade and log off"))
        logon = member.frame("A", "98=0|108=30|141=Y|554=demo|")
        if end == "half a logon":
            await member.send(logon[: choice.randrange(1, len(logon))])
        elif end == "logon unread":
            await member.send(logon)
        elif end != "silent":
            await member.send(logon)
            if not await member.first_frame():
                continue  # the connection before has been logged on only now
            await trade(member, f"{name}-{round_}-", choice)
        if end == "trade and log off":
            await member.send(member.frame("5"))
            check_own(name, await member.until("35=5|"))
        member.vanish() if choice.random() < 0.7 else member.close()


async def trade(member: FixClient, prefix: str, choice: random.Random) -> None:
    count = choice.randrange(1, 20)
    for number in range(count):
        side = choice.choice(("buy", "sell"))
        await member.order(
            f"{prefix}{number}", f"{side} {choice.randrange(1, 5)} {choice.choice(('ALFA', 'GAMA'))} 9.90"
        )
    if choice.random() < 0.7:
        frames = await member.until("35=A|") + await member.until(f"|11={prefix}{count - 1}|")
        check_own(member.comp_id, frames)
        assert numbers(frames) == list(range(1, len(frames) + 1))


def check_own(name: str, frames: list[str]) -> None:
    """Every ClOrdID is one that this session made up."""
    assert [value for value in values(frames, 11) if not value.startswith(f"{name}-")] == []
