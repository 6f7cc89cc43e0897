"""Two stock QuickFIX clients cross an order over a running venue, and hold exactly the right reports."""

import re
from pathlib import Path

from bench.venue_process import running_venue
from tests.processes.stock_quickfix import StockClient

DEMO = Path(__file__).parents[2] / "config" / "demo.toml"
BUY, SELL, LIMIT, DAY, GTC = "1", "2", "2", "0", "1"


def stripped(report: dict[int, str]) -> dict[int, str]:
    """Without the ids and the time that the sequence decides; those are compared by their own rules."""
    return {tag: value for tag, value in report.items() if tag not in (17, 37, 60, 527)}


async def test_two_stock_clients_cross_an_order_and_cancel_the_rest(scratch: Path) -> None:
    with running_venue(scratch, DEMO) as venue:
        await venue.wait_until_open()
        port = venue.order_entry_port
        with StockClient(scratch, port, "ACME-1") as acme, StockClient(scratch, port, "BOLT-1") as bolt:
            acme.send("D", {11: "a1", 1: "ACC", 55: "ALFA", 54: BUY, 38: "10", 40: LIMIT, 44: "100.50", 59: GTC})
            accepted = acme.report()
            bolt.send("D", {11: "b1", 55: "ALFA", 54: SELL, 38: "4", 40: LIMIT, 44: "100.25", 59: DAY})
            bolt_accepted, bolt_filled, acme_filled = bolt.report(), bolt.report(), acme.report()
            acme.send("F", {11: "a2", 41: "a1", 55: "ALFA", 54: BUY, 38: "10"})
            canceled = acme.report()
            acme.send("F", {11: "a3", 41: "a1", 55: "ALFA", 54: BUY, 38: "10"})
            too_late = acme.report()
            acme.send("D", {11: "a4", 55: "NONE", 54: BUY, 38: "10", 40: LIMIT, 44: "100.50", 59: GTC})
            refused = acme.report()
            assert acme.rejected == []
            assert bolt.rejected == []
            assert acme.reports.empty()
            assert bolt.reports.empty()
    order = {35: "8", 1: "ACC", 55: "ALFA", 54: "1", 38: "10", 40: "2", 44: "100.50", 59: "1"}
    assert stripped(accepted) == order | {11: "a1", 150: "0", 39: "0", 151: "10", 14: "0", 6: "0"}
    assert stripped(acme_filled) == order | {
        11: "a1", 150: "F", 39: "1", 32: "4", 31: "100.50", 151: "6", 14: "4", 6: "100.5", 851: "1",
    }  # fmt: skip
    assert stripped(canceled) == order | {
        11: "a2", 41: "a1", 150: "4", 39: "4", 151: "0", 14: "4", 6: "100.5",
    }  # fmt: skip
    theirs = {35: "8", 11: "b1", 55: "ALFA", 54: "2", 38: "4", 40: "2", 44: "100.25", 59: "0"}
    assert stripped(bolt_accepted) == theirs | {150: "0", 39: "0", 151: "4", 14: "0", 6: "0"}
    assert stripped(bolt_filled) == theirs | {
        150: "F", 39: "2", 32: "4", 31: "100.50", 151: "0", 14: "4", 6: "100.5", 851: "2",
    }  # fmt: skip
    assert (too_late[35], too_late[11], too_late[41], too_late[39], too_late[434], too_late[102]) == (
        "9", "a3", "a1", "4", "1", "0",
    )  # fmt: skip
    assert (refused[35], refused[150], refused[39], refused[103], refused[58].split(":")[0]) == (
        "8", "8", "8", "1", "UNKNOWN_SYMBOL",
    )  # fmt: skip
    check_ids_and_times(accepted, acme_filled, canceled, bolt_accepted, bolt_filled, too_late)


def check_ids_and_times(
    accepted: dict[int, str],
    acme_filled: dict[int, str],
    canceled: dict[int, str],
    bolt_accepted: dict[int, str],
    bolt_filled: dict[int, str],
    too_late: dict[int, str],
) -> None:
    """Ids and times are functions of the sequence: partition, positions, ordinals, the cause's time on both halves."""
    assert re.fullmatch(r"sym-1-\d+", accepted[37])
    assert accepted[37] == acme_filled[37] == canceled[37] == too_late[37]
    cause = bolt_accepted[37]
    assert accepted[17] == f"{accepted[37]}-0"
    assert bolt_accepted[17] == f"{cause}-0"
    assert (acme_filled[17], bolt_filled[17]) == (f"{cause}-1", f"{cause}-2")
    assert acme_filled[527] == bolt_filled[527] == f"{cause}-T1"
    assert bolt_accepted[60] == acme_filled[60] == bolt_filled[60]
    assert accepted[60] < bolt_accepted[60] < canceled[60]
