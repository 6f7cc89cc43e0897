"""A client that does not read costs bounded memory and nobody else's time; one that overfills the venue is not read."""

import asyncio

import pytest

from gateway.fix_connection import FixConnection
from tests.gateway.fix_client import numbers, values
from tests.gateway.venue_of_gateway import Venue, on_uvloop, until, venue

LIMIT = 65_536


def unsent(running: Venue) -> int:
    """Bytes that wait for the client in the gateway's memory."""
    return running.connection().transport.get_write_buffer_size()


@on_uvloop
async def test_a_client_that_does_not_read_is_owed_its_reports_and_gets_them_all_once_it_reads() -> None:
    async with venue(outbound_bytes=LIMIT) as running:
        acme = await running.logged_on(receive_buffer=4_096)
        bolt = await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        most = 0
        for start in range(0, 8_000, 500):
            await bolt.send(b"".join(bolt.order_frame(f"B{n}", "sell 1 ALFA 9.90") for n in range(start, start + 500)))
            # Others are served as if nothing was.
            assert len(await bolt.frames(1_000)) == 1_000
            most = max(most, unsent(running))
        assert not running.session().live
        assert LIMIT < most < 4 * LIMIT
        reports = []
        while len(reports) < 8_001:
            reports += await acme.frames(min(500, 8_001 - len(reports)))
            assert unsent(running) < 4 * LIMIT
        assert values(reports, 14) == [str(n) for n in range(8_001)]
        assert numbers(reports) == list(range(2, 8_003))
        await until(lambda: running.session().live)


@on_uvloop
async def test_a_client_that_asks_and_does_not_read_the_answers_is_not_read_either() -> None:
    async with venue(outbound_bytes=LIMIT) as running:
        acme = await running.logged_on(receive_buffer=4_096)
        asking = asyncio.create_task(acme.send(b"".join(acme.frame("1", f"112=TEST{n}|") for n in range(60_000))))
        await until(lambda: "outbound_bytes" in running.connection()._held)
        most = unsent(running)
        assert most < 16 * LIMIT
        answers = await acme.frames(60_000)
        await asking
        assert values(answers, 112) == [f"TEST{n}" for n in range(60_000)]


async def end_with_megabytes_unsent(running: Venue) -> FixConnection:
    """A client that reads nothing has its session ended by us; our end of its connection."""
    acme = await running.logged_on(receive_buffer=4_096)
    bolt = await running.logged_on("BOLT-1")
    await acme.order("A1", "buy 9000 ALFA 9.90")
    await bolt.send(b"".join(bolt.order_frame(f"B{n}", "sell 1 ALFA 9.90") for n in range(2_000)))
    await bolt.frames(4_000)
    stuck = running.connection()
    assert unsent(running) > 0
    stuck.log_out(b"enough")
    stuck.release("outbound_bytes")
    await acme.send(acme.frame("5"))
    await running.released()
    return stuck


@on_uvloop
async def test_a_client_that_never_reads_does_not_keep_its_session_from_the_next_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gateway.fix_connection._LAST_WORDS_S", 1_000)
    async with venue(outbound_bytes=LIMIT) as running:
        stuck = await end_with_megabytes_unsent(running)
        again = await running.connect(number=running.session().fix.next_in)
        await again.log_on()
        await again.until("35=A|")
        assert stuck in running.gateway.acceptor.connections


@on_uvloop
async def test_a_client_that_never_reads_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.fix_connection._LAST_WORDS_S", 0.01)
    async with venue(outbound_bytes=LIMIT) as running:
        stuck = await end_with_megabytes_unsent(running)
        await until(lambda: stuck not in running.gateway.acceptor.connections)


@on_uvloop
async def test_at_in_flight_orders_the_client_is_not_read_until_half_of_them_are_answered() -> None:
    async with venue(in_flight_orders=100) as running:
        acme = await running.logged_on()
        await running.stop_client("matcher")
        orders = b"".join(acme.order_frame(f"A{n}", "buy 1 ALFA 9.90") for n in range(12_000))
        sending = asyncio.create_task(acme.send(orders))
        await until(lambda: "in_flight_orders" in running.connection()._held)
        held_at = running.session().in_flight
        assert 100 <= held_at < 6_000
        running.start_matcher()
        reports = await acme.frames(12_000)
        await sending
        assert values(reports, 11) == [f"A{n}" for n in range(12_000)]
        assert running.session().in_flight == 0
        assert running.connection()._held == set()


@on_uvloop
async def test_neither_logging_on_again_nor_a_reset_makes_room_for_more_orders_in_flight() -> None:
    async with venue(in_flight_orders=100) as running:
        acme = await running.logged_on()
        await running.stop_client("matcher")
        await acme.send(b"".join(acme.order_frame(f"A{n}", "buy 1 ALFA 9.90") for n in range(250)))
        await until(lambda: running.session().in_flight == 250)
        running.connection().abort()
        acme = await running.logged_on()
        await acme.send(b"".join(acme.order_frame(f"B{n}", "buy 1 ALFA 9.90") for n in range(200)))
        await until(lambda: running.connection()._held == {"in_flight_orders"})
        assert running.session().in_flight == 250
        running.start_matcher()
        reports = await acme.frames(450)
        assert values(reports, 11) == [f"A{n}" for n in range(250)] + [f"B{n}" for n in range(200)]
        assert running.session().in_flight == 0
