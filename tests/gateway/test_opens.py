"""What the gateway asks of a sequencer: reference data and user partitions to read, order streams to write."""

from collections.abc import Iterable

from exchange.hosting.process_config import Access
from operations.process_plan import access_table
from tests.gateway.venue_of_gateway import access, on_uvloop, venue
from tests.operations.venues import demo_venue


@on_uvloop
async def test_the_gateway_reads_user_partitions_and_reference_data_only_and_writes_order_streams_only() -> None:
    async with venue() as running:
        client = await running.logged_on()
        await client.order("A1", "buy 10 ALFA 9.90")
        await client.frames(1)
        await client.send(client.frame("2", "7=1|16=0|"))
        await client.frames(2)
        asked = {entry[1:] for entry in running.access.asked if entry[0] == "gateway-1"}
        orders = {
            ("write", symbol_partition, f"orders/{name.partition('-')[0]}/{name}")
            for symbol_partition in ("sym-1", "sym-2")
            for name in running.gateway.sessions
        }
        assert asked == orders | {
            ("read", "sym-1", ("refdata",)),
            ("read", "sym-2", ("refdata",)),
            ("read", "user-1", None),
            ("read", "user-2", None),
            ("read", "user-1", ("sym-1/ACME",)),
        }


def test_the_access_table_of_a_venue_allows_a_gateway_no_more_than_that() -> None:
    assert part_of_the_gateway(access_table(demo_venue())) == [
        ("sym-1", ("refdata",), ("orders/*",)),
        ("sym-2", ("refdata",), ("orders/*",)),
        ("user-1", ("*",), ()),
        ("user-2", ("*",), ()),
    ]
    assert part_of_the_gateway(access()) == part_of_the_gateway(access_table(demo_venue()))


def part_of_the_gateway(rows: Iterable[Access]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return sorted((row.partition, row.reads, row.writes) for row in rows if row.process == "gateway-1")
