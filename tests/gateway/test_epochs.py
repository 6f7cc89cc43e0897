"""A new epoch of the user partition in mid-stream is invisible to clients: no report is lost, none comes twice."""

import pytest

from tests.gateway.fix_client import numbers, values
from tests.gateway.venue_of_gateway import on_uvloop, until, venue


@pytest.mark.parametrize("partitioner", ["lives on", "starts afresh"])
@on_uvloop
async def test_a_torn_tail_of_the_log_is_invisible_to_clients(partitioner: str) -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 100 ALFA 9.90")
        reports = await acme.frames(1)
        await bolt.order("B1", "sell 1 ALFA 9.90")
        reports += await acme.frames(1)
        await bolt.frames(2)
        running.hold_disk("user-1")
        await bolt.order("B2", "sell 1 ALFA 9.90")
        reports += await acme.frames(1)
        lost = running.sequencer.appenders["user-1"].end
        await running.crash()
        if partitioner == "starts afresh":
            await running.stop_client("partitioner")
        await running.start_sequencer()
        assert running.sequencer.appenders["user-1"].end < lost
        # Sent while the client of the gateway is on its way to the new sequencer: kept, and published there.
        await bolt.order("B3", "sell 1 ALFA 9.90")
        if partitioner == "starts afresh":
            running.start_partitioner()
        reports += await acme.frames(1)
        assert numbers(reports) == [2, 3, 4, 5]
        assert values(reports, 14) == ["0", "1", "2", "3"]
        assert values(await bolt.frames(4), 150) == ["0", "F", "0", "F"]
        await acme.send(acme.frame("2", "7=2|16=0|"))
        resent = [text.replace("|52=T|", "|52=T|43=Y|122=T|", 1) for text in reports]
        assert await acme.frames(4) == resent
        assert [running.session(name).in_flight for name in ("ACME-1", "BOLT-1")] == [0, 0]


@on_uvloop
async def test_restarts_of_the_sequencer_under_load_lose_nothing_and_double_nothing() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        await acme.frames(1)
        for round_ in range(4):
            sold = range(round_ * 500, round_ * 500 + 500)
            await bolt.send(b"".join(bolt.order_frame(f"B{n}", "sell 1 ALFA 9.90") for n in sold))
            await until(lambda: running.session("BOLT-1").in_flight)
            await running.stop_sequencer()
            await running.start_sequencer()
        fills = await acme.frames(2_000)
        assert values(fills, 14) == [str(n) for n in range(1, 2_001)]
        assert numbers(fills) == list(range(3, 2_003))
        answers = await bolt.frames(4_000)
        assert sorted(values(answers, 150)) == ["0"] * 2_000 + ["F"] * 2_000
        assert len(set(values(answers, 17))) == 4_000
        await until(lambda: running.session("BOLT-1").in_flight == 0)


@on_uvloop
async def test_a_session_that_logs_on_while_the_sequencer_is_away_is_sent_what_it_is_owed_when_it_is_back() -> None:
    async with venue() as running:
        acme, bolt = await running.logged_on(), await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 100 ALFA 9.90")
        await acme.frames(1)
        await acme.log_off()
        await bolt.order("B1", "sell 1 ALFA 9.90")
        await bolt.frames(2)
        await until(lambda: running.gateway.acceptor.deliveries["user-1"]._feeds["sym-1/ACME"].end == 2)
        await running.stop_sequencer()
        # What a connection began to read and did not live to be sent is read by the next one alone.
        for expected in (4, 5):
            acme = await running.again(acme, expected)
            running.connection().abort()
        acme = await running.again(acme, expected=6)
        await acme.order("A2", "buy 1 ALFA 9.80")
        assert await acme.heartbeat("A") == ["35=0|49=ORDINAL|56=ACME-1|34=7|52=T|112=A|"]
        await running.start_sequencer()
        reports = await acme.frames(2)
        assert (numbers(reports), values(reports, 11)) == ([8, 9], ["A1", "A2"])
        assert numbers(await acme.heartbeat("NOTHING ELSE")) == [10]
