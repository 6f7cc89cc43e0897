"""A venue that nothing disturbs: both twins carry the tape, and it is what the input says under any hash seed."""

from pathlib import Path

from bench.load_client import LoadClient
from bench.order_program import seeded_program
from bench.report_check import check_run
from bench.venue_config import COMP_IDS, CONFIG
from bench.venue_process import running_venue
from tests.processes.audits import assert_audit_holds

DEADLINE_S = 30
ORDERS, RATE = 10_000, 2_000


async def test_both_twins_fill_their_share_and_the_tape_is_what_the_input_says(scratch: Path) -> None:
    program = seeded_program(ORDERS, len(COMP_IDS), 1)
    with running_venue(scratch) as venue:
        await venue.wait_until_open()
        pids = await venue.processes()
        seeds = [hash_seed_of(pids[name]) for name in ("matcher-a", "matcher-b")]
        assert seeds == [None, None], "each process has a hash seed of its own"
        client = await LoadClient.connect(venue.host, venue.order_entry_port, COMP_IDS)
        client.load(program, window=0)
        await client.run_rate(program.turns, RATE, DEADLINE_S)
        check_run(client, program)
        await client.close()
        fills = (await venue.facts("sequencer"))["fills"]
        venue.stop()
        outputs = [assert_audit_holds(CONFIG, venue.data, hash_seed) for hash_seed in ("0", "1")]
    assert outputs[0] == outputs[1]
    for partition in ("sym-1", "sym-2"):
        by_tag = fills[partition]["tape"]
        assert min(by_tag["a"], by_tag["b"]) >= 0.2 * (by_tag["a"] + by_tag["b"]), fills


def hash_seed_of(pid: int) -> str | None:
    """The PYTHONHASHSEED a process was started with; None means random, another one in every process."""
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(
        (entry.split(b"=", 1)[1].decode() for entry in environment if entry.startswith(b"PYTHONHASHSEED=")), None
    )
