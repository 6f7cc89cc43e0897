"""Orders and cancels in, reports out: to the session that entered, answers to the session that asked, once each."""

import asyncio

import pytest

from exchange.records.codec import decode_fields
from exchange.records.kinds import Kind
from tests.gateway.fix_client import FixClient, numbers, values
from tests.gateway.venue_of_gateway import Venue, on_uvloop, until, venue


def report(comp_id: str, number: int, body: str) -> str:
    return f"35=8|49=ORDINAL|56={comp_id}|34={number}|52=T|{body}"


A1 = "11=A1|55=ALFA|54=1|40=2|59=1|38=10|44=9.90|"


@on_uvloop
async def test_orders_and_cancels_are_answered_on_the_session_that_sent_them() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 10 ALFA 9.90")
        assert await acme.frames(1) == [
            report("ACME-1", 2, f"37=sym-1-11|17=sym-1-11-0|150=0|39=0|{A1}151=10|14=0|6=0|60=T|")
        ]
        await bolt.order("B1", "sell 4 ALFA 9.85")
        b1 = "11=B1|55=ALFA|54=2|40=2|59=1|38=4|44=9.85|"
        assert await bolt.frames(2) == [
            report("BOLT-1", 2, f"37=sym-1-14|17=sym-1-14-0|150=0|39=0|{b1}151=4|14=0|6=0|60=T|"),
            report(
                "BOLT-1",
                3,
                f"37=sym-1-14|17=sym-1-14-2|527=sym-1-14-T1|150=F|39=2|{b1}32=4|31=9.90|851=2|151=0|14=4|6=9.9|60=T|",
            ),
        ]
        assert await acme.frames(1) == [
            report(
                "ACME-1",
                3,
                f"37=sym-1-11|17=sym-1-14-1|527=sym-1-14-T1|150=F|39=1|{A1}32=4|31=9.90|851=1|151=6|14=4|6=9.9|60=T|",
            )
        ]
        await acme.cancel("C1", "A1")
        assert await acme.frames(1) == [
            report(
                "ACME-1",
                4,
                "37=sym-1-11|17=sym-1-17-0|150=4|39=4|11=C1|41=A1|55=ALFA|54=1|40=2|59=1|38=10|44=9.90|"
                "151=0|14=4|6=9.9|60=T|",
            )
        ]
        await acme.cancel("C2", "A1")
        assert await acme.frames(1) == [
            "35=9|49=ORDINAL|56=ACME-1|34=5|52=T|37=sym-1-11|11=C2|41=A1|39=4|434=1|102=0|60=T|"
            "58=TOO_LATE_TO_CANCEL: the order has ended|"
        ]
        await acme.order("A2", "buy 1 NOPE 9.90")
        assert await acme.frames(1) == [
            report(
                "ACME-1",
                6,
                "37=sym-1-21|17=sym-1-21-0|150=8|39=8|103=1|11=A2|55=NOPE|54=1|151=0|14=0|6=0|60=T|"
                "58=UNKNOWN_SYMBOL: Symbol(55) is no instrument of this venue (NOPE)|",
            )
        ]
        await acme.send(acme.frame("D", "11=A3|55=ALFA|54=7|60=20260105-09:00:00|38=1|40=1|"))
        assert await acme.frames(1) == [
            "35=3|49=ORDINAL|56=ACME-1|34=7|52=T|45=6|371=54|372=D|373=5|58=Side must be 1 or 2|"
        ]
        assert [running.session(name).in_flight for name in ("ACME-1", "BOLT-1")] == [0, 0]


@on_uvloop
async def test_a_cancel_by_the_other_session_answers_it_and_tells_the_one_that_entered() -> None:
    async with venue() as running:
        first, second = await running.logged_on(), await running.logged_on("ACME-2")
        await first.order("A1", "buy 10 ALFA 9.90")
        await first.frames(1)
        await second.cancel("C1", "A1")
        terms = "55=ALFA|54=1|40=2|59=1|38=10|44=9.90|151=0|14=0|6=0|60=T|"
        ids = "37=sym-1-11|17=sym-1-14-0|150=4|39=4|"
        assert await second.frames(1) == [report("ACME-2", 2, f"{ids}11=C1|41=A1|{terms}")]
        assert await first.frames(1) == [
            report("ACME-1", 3, f"{ids}11=A1|{terms}58=REQUESTED: canceled by session ACME-2|")
        ]
        assert [running.session(name).in_flight for name in ("ACME-1", "ACME-2")] == [0, 0]


@on_uvloop
async def test_an_order_read_with_the_reset_that_follows_it_belongs_to_the_numbering_it_was_sent_in() -> None:
    async with venue() as running:
        client = await running.logged_on()
        order = client.order_frame("A1", "buy 10 ALFA 9.90")
        client.number = 1
        await client.send(order + client.frame("A", "98=0|108=30|141=Y|554=demo|"))
        assert [text[:5] for text in await client.frames(2)] == ["35=A|", "35=8|"]
        session = running.session()
        assert (session.fix.epoch - session.epoch_before, session.in_flight) == (2, 0)
        (record,) = [found for found in running.settled("sym-1") if found.stream == "orders/ACME/ACME-1"]
        kind, session_epoch, msg_seq_num, cl_ord_id = decode_fields(record.payload)[:4]
        assert (kind, session_epoch - session.epoch_before, msg_seq_num, cl_ord_id) == (Kind.NEW_ORDER, 1, 2, "A1")


async def sell(running: Venue, bolt: FixClient, first: int, last: int) -> None:
    """Orders `first` to `last` of one lot each, in pieces, so that the venue's other work goes on between."""
    for start in range(first, last + 1, 250):
        frames = [bolt.order_frame(f"B{n}", "sell 1 ALFA 9.90") for n in range(start, min(start + 250, last + 1))]
        await bolt.send(b"".join(frames))
        await until(lambda: running.session("BOLT-1").in_flight < 1_000)
        await asyncio.sleep(0)


def fills_in_order(frames: list[str]) -> list[int]:
    """CumQty(14) of fills of one lot each: 1, 2, 3 and so on when none is lost, doubled or out of order."""
    assert len(set(values(frames, 17))) == len(frames)
    return [int(value) for value in values(frames, 14)]


@on_uvloop
async def test_what_is_owed_to_a_session_that_is_away_comes_at_its_next_logon_and_live_reports_behind_it() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        assert await acme.log_off() == []
        await sell(running, bolt, 1, 1_500)
        await until(lambda: running.session("BOLT-1").in_flight == 0)
        acme = await running.again(acme, expected=4)
        await bolt.order("B1501", "sell 1 ALFA 9.90")
        await bolt.order("B1502", "sell 1 ALFA 9.90")
        frames = await acme.frames(1_502)
        assert fills_in_order(frames) == list(range(1, 1_503))
        assert numbers(frames) == list(range(5, 1_507))
        assert running.session().live


@on_uvloop
async def test_a_session_catches_up_while_trading_goes_on_at_speed() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        assert await acme.log_off() == []
        selling = asyncio.create_task(sell(running, bolt, 1, 5_000))
        await until(lambda: running.session("BOLT-1").fix.next_out > 2_000)
        acme = await running.again(acme, expected=4)
        frames = await acme.frames(5_000)
        await selling
        assert fills_in_order(frames) == list(range(1, 5_001))
        assert numbers(frames) == list(range(5, 5_005))


@on_uvloop
async def test_a_catch_up_that_is_cut_off_goes_on_at_the_next_logon_and_the_lost_bytes_come_with_the_resend() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        assert await acme.log_off() == []
        await sell(running, bolt, 1, 4_000)
        selling = asyncio.create_task(sell(running, bolt, 4_001, 6_000))
        held: dict[int, int] = {}
        for _ in range(3):
            await running.released()
            acme = await running.connect(number=acme.number)
            await acme.log_on()
            keep(held, await acme.until("|150=F|"))
            assert not running.session().live
            acme.vanish()
        await selling
        await running.released()
        acme = await running.connect(number=acme.number)
        await acme.log_on()
        await until(lambda: running.session().live)
        missing = next(number for number in range(5, 10_000) if number not in held)
        await acme.send(acme.frame("2", f"7={missing}|16=0|"))
        keep(held, await acme.heartbeat("END"))
        await until(lambda: not running.session().fix.resending)
        keep(held, await acme.heartbeat("SECOND END"))
        fills = [held[number] for number in sorted(held)]
        assert fills == list(range(1, 6_001))


def keep(held: dict[int, int], frames: list[str]) -> None:
    """CumQty(14) of fills by MsgSeqNum(34): a number never stands for two fills."""
    for text in frames:
        if "|150=F|" in text:
            (number,), (cumulative,) = numbers([text]), values([text], 14)
            assert held.setdefault(number, int(cumulative)) == int(cumulative)


@on_uvloop
async def test_what_is_owed_survives_a_reset_of_the_numbers() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        assert await acme.log_off() == []
        await sell(running, bolt, 1, 3)
        await bolt.frames(6)
        await running.released()
        acme = await running.logged_on()
        frames = await acme.frames(3)
        assert (numbers(frames), fills_in_order(frames)) == ([2, 3, 4], [1, 2, 3])


@on_uvloop
async def test_numbers_used_while_nobody_was_connected_are_owed_again_when_a_reset_takes_them() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        # As if work had failed between numbering and writing: the delivery serves a session without a connection.
        running.gateway.acceptor.deliveries["user-1"].suspend(running.session())
        assert await acme.log_off() == []
        await running.released()
        running.gateway.acceptor.deliveries["user-1"].begin(running.session())
        await sell(running, bolt, 1, 3)
        await until(lambda: running.session().fix.next_out == 7)
        running.gateway.acceptor.deliveries["user-1"].suspend(running.session())
        acme = await running.logged_on()
        frames = await acme.frames(3)
        assert (numbers(frames), fills_in_order(frames)) == ([2, 3, 4], [1, 2, 3])


@on_uvloop
async def test_records_read_back_before_the_live_edge_has_brought_them_are_sent_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.delivery._RECORDS_PER_TURN", 100_000)
    async with venue(reader_buffer_bytes=20_000) as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        await acme.log_off()
        await sell(running, bolt, 1, 10)
        await bolt.frames(20)
        # The gateway does not read for a while: its subscription falls behind, and a read of the stream does not.
        (client,) = running.gateway_clients
        client._transport.pause_reading()
        await bolt.send(b"".join(bolt.order_frame(f"C{n}", "sell 1 ALFA 9.90") for n in range(5_000)))
        user_1 = running.sequencer.appenders["user-1"]
        await until(lambda: user_1.stream("sym-1/ACME").end == 5_011)
        acme = await running.again(acme, expected=4)
        await until(lambda: running.access.asked[-1] == ("gateway-1", "read", "user-1", ("sym-1/ACME",)))
        client._transport.resume_reading()
        assert fills_in_order(await acme.frames(5_010)) == list(range(1, 5_011))
        assert len(await acme.heartbeat("NOTHING ELSE")) == 1
