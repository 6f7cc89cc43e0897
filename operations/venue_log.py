"""A venue's log read from outside, without a lock: of a running venue what is written, of a stopped one all of it."""

from pathlib import Path

from exchange.hosting.facts import Facts
from exchange.records.positions import End
from exchange.streams.log_reader import LogReader, open_log
from exchange.streams.segment import LogError
from operations.facts_poller import FactsPoller
from operations.failures import CheckFailedError, UnreachableError, WrongUseError
from operations.process_plan import run_dir
from operations.venue import Venue


def read_log(data_dir: Path) -> LogReader:
    """The log as it stands now. UnreachableError when there is none, CheckFailedError when it is damaged."""
    try:
        return open_log(data_dir)
    except FileNotFoundError as error:
        raise UnreachableError(f"{data_dir}: no venue has run here") from error
    except (LogError, OSError) as error:
        raise CheckFailedError(str(error)) from error


async def sequencer_facts(venue: Venue, data_dir: Path) -> Facts | None:
    """What the sequencer says; None when it does not run."""
    poller = FactsPoller(run_dir(data_dir), (process.name for process in venue.of_family("sequencer")))
    await poller.poll_once()
    return next((polled.facts for polled in poller.latest.values() if polled.facts is not None), None)


def level_end(facts: Facts, partition: str, level: str) -> End:
    """The end of a partition at a level, as its sequencer told it."""
    levels = next(entry["levels"] for entry in facts["partitions"] if entry["name"] == partition)
    return End(levels[level])


def check_partition(venue: Venue, name: str) -> None:
    """WrongUseError unless the config has this partition."""
    if name not in venue.partitions:
        raise WrongUseError(f"{venue.file}: no partition {name}; allowed: {', '.join(venue.partitions)}")
