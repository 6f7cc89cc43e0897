"""A ResendRequest is a read of the user partition and a second rendering: nothing that was sent is ever gap-filled."""

import re

from tests.gateway.fix_client import FixClient, numbers, values
from tests.gateway.venue_of_gateway import on_uvloop, until, venue

TIMES = re.compile(rb"\x0135=8\x01.*?\x0134=(\d+)\x0152=([^\x01]+)\x01(?:43=Y\x01122=([^\x01]+)\x01)?")


def again(frames: list[str]) -> list[str]:
    """The same frames as a resend has them."""
    return [text.replace("|52=T|", "|52=T|43=Y|122=T|", 1) for text in frames]


def gap_fill(number: int, following: int) -> str:
    return f"35=4|49=ORDINAL|56=ACME-1|34={number}|52=T|43=Y|122=T|123=Y|36={following}|"


async def buy_in_both_partitions(client: FixClient, pairs: int) -> list[str]:
    """Resting orders in two symbol partitions in turns, and their reports."""
    reports = []
    for pair in range(pairs):
        for symbol in ("ALFA", "GAMA"):
            await client.order(f"{symbol}{pair}", f"buy 10 {symbol} 9.90")
            reports += await client.frames(1)
    return reports


@on_uvloop
async def test_a_resend_renders_the_same_bytes_with_possdup_and_the_time_of_the_first_sending() -> None:
    async with venue() as running:
        client = await running.logged_on()
        reports = await buy_in_both_partitions(client, 3)
        await client.heartbeat("A")
        reports += await buy_in_both_partitions(client, 1)
        await client.send(client.frame("2", "7=1|16=0|"))
        assert await client.frames(10) == [
            gap_fill(1, 2),
            *again(reports[:6]),
            gap_fill(8, 9),
            *again(reports[6:]),
        ]
        await client.send(client.frame("2", "7=3|16=4|"))
        assert await client.frames(2) == again(reports[1:3])
        first_sent: dict[bytes, bytes] = {}
        for number, sent, originally in TIMES.findall(client.received):
            assert originally in (b"", first_sent.get(number))
            first_sent.setdefault(number, sent)
        assert len(first_sent) == 8


@on_uvloop
async def test_live_reports_wait_until_the_resend_is_through() -> None:
    async with venue(outbound_bytes=16_384) as running:
        acme = await running.logged_on(receive_buffer=4_096)
        bolt = await running.logged_on("BOLT-1")
        await acme.order("A1", "buy 9000 ALFA 9.90")
        sales = b"".join(bolt.order_frame(f"B{n}", "sell 1 ALFA 9.90") for n in range(2_000))
        await bolt.send(sales)
        reports = await acme.frames(2_001)
        await until(lambda: running.session().live)
        await acme.send(acme.frame("2", "7=2|16=0|"))
        # The socket is full before the resend is through, and what is sold meanwhile must not overtake it.
        await until(lambda: "outbound_bytes" in running.connection()._held)
        assert running.session().fix.resending
        await bolt.send(b"".join(bolt.order_frame(f"C{n}", "sell 1 ALFA 9.90") for n in range(300)))
        await bolt.until("|11=C299|")
        assert await acme.frames(2_001) == again(reports)
        assert [int(value) for value in values(await acme.frames(300), 14)] == list(range(2_001, 2_301))


@on_uvloop
async def test_several_resend_requests_at_once_are_answered_one_after_the_other() -> None:
    async with venue() as running:
        client = await running.logged_on()
        reports = await buy_in_both_partitions(client, 5)
        asked = [(2, 6), (4, 0), (11, 11), (2, 3)]
        await client.send(b"".join(client.frame("2", f"7={begin}|16={end}|") for begin, end in asked))
        expected = reports[0:5] + reports[2:] + reports[9:10] + reports[0:2]
        assert await client.frames(len(expected)) == again(expected)


@on_uvloop
async def test_a_resend_while_the_sequencer_is_away_waits_for_it_and_is_not_gap_filled() -> None:
    async with venue() as running:
        client = await running.logged_on()
        reports = await buy_in_both_partitions(client, 2)
        await running.stop_sequencer()
        await client.send(client.frame("2", "7=2|16=0|"))
        # The session lives on meanwhile.
        assert await client.heartbeat("A") == ["35=0|49=ORDINAL|56=ACME-1|34=6|52=T|112=A|"]
        assert await client.heartbeat("B") == ["35=0|49=ORDINAL|56=ACME-1|34=7|52=T|112=B|"]
        await running.start_sequencer()
        assert await client.frames(4) == again(reports)
        await client.order("LAST", "buy 1 ALFA 9.90")
        assert numbers(await client.frames(1)) == [8]


@on_uvloop
async def test_a_resend_that_needs_a_record_which_a_new_epoch_has_not_brought_back_waits_for_it() -> None:
    async with venue(logon_timeout_s=60) as running:  # no timer of the session comes to our help
        client = await running.logged_on()
        await client.order("A0", "buy 10 ALFA 9.90")
        reports = await client.frames(1)
        running.hold_disk("user-1")
        await client.order("A1", "buy 10 ALFA 9.90")
        reports += await client.frames(1)
        await running.crash()
        await running.stop_client("partitioner")
        await running.start_sequencer()
        await until(lambda: all(member.connected for member in running.gateway_clients))
        await client.send(client.frame("2", "7=2|16=0|"))
        assert await client.frames(1) == again(reports[:1])
        assert await client.heartbeat("A") == ["35=0|49=ORDINAL|56=ACME-1|34=4|52=T|112=A|"]
        running.start_partitioner()
        assert await client.frames(1) == again(reports[1:])
