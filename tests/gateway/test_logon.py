"""Who may log on, and that whoever may not leaves no trace in the session."""

import asyncio

import pytest

from tests.gateway.fix_client import framed, numbers, utc_now
from tests.gateway.venue_of_gateway import Venue, on_uvloop, until, venue

CREDENTIALS_REFUSED = "35=5|49=ORDINAL|56=ACME-1|34={}|52=T|58=LOGON_REFUSED: credentials do not match|"
RESET_NEEDED = (
    "35=5|49=ORDINAL|56=ACME-1|34=1|52=T|58=RESET_NEEDED: log on with ResetSeqNumFlag(141)=Y and MsgSeqNum(34)=1; "
    "nothing earlier can be resent|"
)


def reasons(running: Venue) -> list[tuple[object, object]]:
    """What `status` shows of refused logons."""
    return [(entry["session"], entry["reason"]) for entry in running.gateway.facts()["refused_logons"]]


@on_uvloop
async def test_a_wrong_password_moves_nothing_and_resets_nothing() -> None:
    async with venue() as running:
        client = await running.logged_on()
        await client.order("A1", "buy 10 ALFA 9.90")
        assert numbers(await client.frames(1)) == [2]
        assert await client.log_off() == []
        await running.released()
        for credentials in ("554=WRONG|", "", "553=ACME-2|554=demo|", "553=ACME-1|554=demo1|"):
            intruder = await running.connect(number=1)
            await intruder.log_on(f"98=0|108=30|141=Y|{credentials}")
            assert await intruder.until_closed() == []
        session = running.session()
        assert (session.fix.next_in, session.fix.next_out, session.connection) == (4, 4, None)
        assert reasons(running) == [("ACME-1", "LOGON_REFUSED: credentials do not match")] * 4
        client = await running.again(client, expected=4)
        await client.send(client.frame("2", "7=1|16=0|"))
        assert await client.frames(3) == [
            "35=4|49=ORDINAL|56=ACME-1|34=1|52=T|43=Y|122=T|123=Y|36=2|",
            "35=8|49=ORDINAL|56=ACME-1|34=2|52=T|43=Y|122=T|37=sym-1-11|17=sym-1-11-0|150=0|39=0|11=A1|55=ALFA|54=1|"
            "40=2|59=1|38=10|44=9.90|151=10|14=0|6=0|60=T|",
            "35=4|49=ORDINAL|56=ACME-1|34=3|52=T|43=Y|122=T|123=Y|36=5|",
        ]


@on_uvloop
async def test_a_wrong_password_is_told_so_while_the_session_has_no_numbers_yet() -> None:
    async with venue() as running:
        intruder = await running.connect(number=1)
        await intruder.log_on("98=0|108=30|141=Y|554=WRONG|")
        assert await intruder.until_closed() == [CREDENTIALS_REFUSED.format(1)]
        assert reasons(running) == [("ACME-1", "LOGON_REFUSED: credentials do not match")]
        await running.logged_on()


@on_uvloop
async def test_an_unknown_sender_and_a_wrong_target_are_closed_without_a_byte() -> None:
    async with venue() as running:
        client = await running.connect("NOBODY-1")
        await client.log_on("98=0|108=30|141=Y|554=demo|")
        assert await client.until_closed() == []
        client = await running.connect()
        await client.send(framed(f"35=A|49=ACME-1|56=OTHER|34=1|52={utc_now()}|98=0|108=30|141=Y|554=demo|"))
        assert await client.until_closed() == []
        client = await running.connect()
        await client.send(client.frame("0"))
        assert await client.until_closed() == []
        assert reasons(running) == [
            (None, "unknown SenderCompID NOBODY-1"),
            ("ACME-1", "wrong TargetCompID OTHER"),
            (None, "first message is not a Logon"),
        ]
        assert running.session().fix.numbered is False
        await running.logged_on()


@pytest.mark.parametrize("password", ["demo", "WRONG"])
@on_uvloop
async def test_a_second_logon_is_closed_without_a_byte_and_the_live_session_notices_nothing(password: str) -> None:
    async with venue() as running:
        client = await running.logged_on()
        second = await running.connect()
        await second.log_on(f"98=0|108=30|141=Y|554={password}|")
        assert await second.until_closed() == []
        assert reasons(running) == [("ACME-1", "already logged on")]
        assert await client.heartbeat("A") == ["35=0|49=ORDINAL|56=ACME-1|34=2|52=T|112=A|"]


@on_uvloop
async def test_of_logons_at_the_same_time_one_holds_and_wrong_passwords_keep_nobody_out() -> None:
    async with venue() as running:
        bodies = ["WRONG"] * 8 + ["demo"] * 4
        members = [await running.connect() for _ in bodies]
        for member, password in zip(members, bodies, strict=True):
            await member.log_on(f"98=0|108=30|141=Y|554={password}|")
        await until(lambda: running.gateway.acceptor.logons_refused == 11)
        answers = await asyncio.gather(*(member.first_frame() for member in members))
        (winner,) = [member for member, text in zip(members, answers, strict=True) if text.startswith("35=A|")]
        assert members.index(winner) >= 8
        for member in members:
            if member is not winner:
                # Before the right one: a Logout that uses no number; after it: not a byte.
                assert await member.until_closed() in ([], [CREDENTIALS_REFUSED.format(1)])
        assert await winner.frames(1) == ["35=A|49=ORDINAL|56=ACME-1|34=1|52=T|98=0|108=30|141=Y|"]
        assert await winner.heartbeat("A") == ["35=0|49=ORDINAL|56=ACME-1|34=2|52=T|112=A|"]


@on_uvloop
async def test_after_the_gateway_starts_a_session_begins_with_141_y_and_goes_on_by_itself_then() -> None:
    async with venue() as running:
        client = await running.connect(number=7)
        await client.log_on()
        assert await client.until_closed() == [RESET_NEEDED]
        client = await running.logged_on()
        assert await client.log_off() == []
        client = await running.again(client, expected=3)
        assert await client.log_off() == []
        await running.stop_gateway()
        await running.start_gateway()
        client = await running.connect(number=client.number)
        await client.log_on()
        assert await client.until_closed() == [RESET_NEEDED]
        await running.logged_on()


@on_uvloop
async def test_a_number_too_low_gets_the_same_answer_each_time_and_moves_nothing() -> None:
    async with venue() as running:
        client = await running.logged_on()
        assert await client.log_off() == []
        for _ in range(3):
            low = await running.connect(number=2)
            await low.log_on()
            assert await low.until_closed() == [
                "35=5|49=ORDINAL|56=ACME-1|34=3|52=T|58=MsgSeqNum too low, expecting 3 but received 2|"
            ]
        await running.again(client, expected=3)


@on_uvloop
async def test_the_first_frame_of_every_connection_is_the_logon_whatever_the_heartbeat_interval() -> None:
    async with venue() as running:
        for _ in range(200):
            client = await running.logged_on(heart_bt_int=1)
            client.vanish()
            await running.released()


@on_uvloop
async def test_a_connection_that_says_nothing_is_closed_when_its_logon_is_overdue() -> None:
    async with venue(logon_timeout_s=1) as running:
        client = await running.connect()
        assert await client.until_closed() == []
        assert reasons(running) == [(None, "no Logon within 1 s")]


@on_uvloop
async def test_whoever_stops_the_gateway_has_logout_said_to_all_and_nobody_comes_in() -> None:
    async with venue() as running:
        clients = [await running.logged_on(name) for name in ("ACME-1", "BOLT-1")]
        silent = await running.connect("CRUX-1")
        stopping = asyncio.create_task(running.gateway.stop())
        for client in clients:
            farewell = f"35=5|49=ORDINAL|56={client.comp_id}|34=2|52=T|58=VENUE_STOPS: log on again later|"
            assert await client.frames(1) == [farewell]
            with pytest.raises(ConnectionRefusedError):
                await running.connect(client.comp_id)
            await client.order("LAST", "buy 1 ALFA 9.90")
            await client.send(client.frame("5"))
            assert await client.until_closed() == []
        assert await silent.until_closed() == []
        await stopping
        assert not running.gateway.acceptor.connections
        # What was sent until the Logout was answered has been taken.
        await until(lambda: running.sequencer.appenders["sym-1"].stream("orders/BOLT/BOLT-1").end == 1)


@on_uvloop
async def test_one_connection_more_than_the_limit_is_closed_at_once_and_the_others_stay() -> None:
    async with venue(connections=2) as running:
        first = await running.logged_on()
        second = await running.connect("BOLT-1", number=1)
        third = await running.connect("ACME-2", number=1)
        assert await third.until_closed() == []
        assert reasons(running) == [(None, "more connections than the limit `connections`")]
        await second.log_on("98=0|108=30|141=Y|554=demo|")
        assert len(await second.frames(1)) == 1
        await first.order("A1", "buy 10 ALFA 9.90")
        assert len(await first.frames(1)) == 1
