"""A second `ordinal run` on the same data continues, book and all."""

import os
import signal
from pathlib import Path

from bench.venue_process import venue_on
from tests.processes.audits import assert_audit_holds
from tests.processes.stock_quickfix import StockClient

DEMO = Path(__file__).parents[2] / "config" / "demo.toml"
RESTING = {11: "rest", 55: "GAMA", 54: "1", 38: "7", 40: "2", 44: "9.99", 59: "1"}


async def test_a_resting_order_is_there_after_a_restart_and_can_be_canceled(scratch: Path) -> None:
    data, log = scratch / "data", scratch / "log"
    with venue_on(data, log, DEMO) as venue:
        await venue.wait_until_open()
        with StockClient(scratch, venue.order_entry_port, "ACME-1") as acme:
            acme.send("D", RESTING)
            accepted = acme.report()
    with venue_on(data, log, DEMO) as venue:
        await venue.wait_until_open()
        with (
            StockClient(scratch, venue.order_entry_port, "ACME-1") as acme,
            StockClient(scratch, venue.order_entry_port, "BOLT-1") as bolt,
        ):
            bolt.send("D", {11: "hit", 55: "GAMA", 54: "2", 38: "3", 40: "2", 44: "9.99", 59: "3"})
            filled = acme.report()
            acme.send("D", RESTING)
            duplicate = acme.report()
            acme.send("F", {11: "cxl", 41: "rest", 55: "GAMA", 54: "1"})
            canceled = acme.report()
    assert_audit_holds(DEMO, data)
    assert (accepted[150], accepted[151], accepted[11]) == ("0", "7", "rest")
    assert (filled[37], filled[150], filled[39], filled[14], filled[151]) == (accepted[37], "F", "1", "3", "4")
    assert (duplicate[150], duplicate[103], duplicate[58].split(":")[0]) == ("8", "6", "DUPLICATE_CL_ORD_ID")
    assert (canceled[37], canceled[150], canceled[39], canceled[14], canceled[151]) == (
        accepted[37],
        "4",
        "4",
        "3",
        "0",
    )


async def test_a_kill_of_the_sequencer_in_a_second_run_costs_no_other_process(scratch: Path) -> None:
    """What a reader has read may lie in an epoch of the first run: it is not sent back for that."""
    data, log = scratch / "data", scratch / "log"
    with venue_on(data, log, DEMO) as venue:
        await venue.wait_until_open()
    with venue_on(data, log, DEMO) as venue:
        await venue.wait_until_open()
        before = await venue.processes()
        with StockClient(scratch, venue.order_entry_port, "ACME-1") as acme:
            for number in range(3):
                pid = (await venue.processes())["sequencer"]
                os.kill(pid, signal.SIGKILL)
                acme.send("D", RESTING | {11: f"rest-{number}"})
                report = acme.report()
                assert (report[150], report[11]) == ("0", f"rest-{number}")
        after = await venue.processes()
    assert_audit_holds(DEMO, data)
    assert {name for name, pid in after.items() if pid != before[name]} == {"sequencer"}
