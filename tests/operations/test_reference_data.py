"""Reference data: what the venue lacks is published, what was published never changes."""

from pathlib import Path

import pytest

from exchange.records.codec import encode
from exchange.records.reference_data import instrument_added, limit_set, participant_added
from operations.config import load_venue
from operations.failures import ConfigError
from operations.reference_data import configured_entries, missing_entries
from tests.operations.venues import demo_venue, write_demo

SYM_1 = [
    limit_set("remembered_orders", 100_000),
    instrument_added("ALFA", (1, 2, 1, 0), 1_000_000),
    instrument_added("BETA", (1, 2, 1, 0), 1_000_000),
    participant_added("ACME", "user-1"),
    participant_added("BOLT", "user-2"),
    participant_added("CRUX", "user-1"),
]
HELD = [encode(entry) for entry in SYM_1]


def test_an_empty_venue_lacks_all_that_the_config_has() -> None:
    assert missing_entries(demo_venue(), "sym-1", []) == SYM_1 == configured_entries(demo_venue(), "sym-1")


def test_a_second_start_publishes_nothing() -> None:
    assert missing_entries(demo_venue(), "sym-1", HELD) == []


def test_a_start_that_was_cut_short_publishes_the_rest() -> None:
    assert missing_entries(demo_venue(), "sym-1", HELD[:2]) == SYM_1[2:]


def test_what_the_config_adds_is_published(tmp_path: Path) -> None:
    file = write_demo(tmp_path, append='\n[[participant]]\nname = "DUNE"\nuser_partition = "user-2"\n')
    assert missing_entries(load_venue(file), "sym-1", HELD) == [participant_added("DUNE", "user-2")]


def refused(file: Path, held: list[bytes] = HELD) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        missing_entries(load_venue(file), "sym-1", held)
    return [line.replace(f"{file.parent}/", "") for line in caught.value.lines]


def test_a_changed_entry_is_refused_naming_the_key(tmp_path: Path) -> None:
    file = write_demo(
        tmp_path,
        ('tick = "0.01"\nlot = "1"', 'tick = "0.05"\nlot = "10"'),
        ('name = "BOLT"\nuser_partition = "user-2"', 'name = "BOLT"\nuser_partition = "user-1"'),
        append="[limits]\nremembered_orders = 5\n",
    )
    assert refused(file) == [
        "venue.toml: limits.remembered_orders: changed to 5; allowed: as published, 100000",
        'venue.toml: instrument[ALFA].tick: changed to "0.05"; allowed: as published, "0.01"',
        'venue.toml: instrument[ALFA].lot: changed to "10"; allowed: as published, "1"',
        'venue.toml: participant[BOLT].user_partition: changed to "user-1"; allowed: as published, "user-2"',
    ]


def test_an_entry_taken_out_is_refused(tmp_path: Path) -> None:
    file = write_demo(tmp_path, ('symbol = "ALFA"\npartition = "sym-1"', 'symbol = "ALFA"\npartition = "sym-2"'))
    assert refused(file) == [
        "venue.toml: instrument[ALFA]: missing; allowed: what sym-1 was told, "
        'tick = "0.01", lot = "1", largest_order = 1000000',
    ]


def test_reference_data_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = write_demo(tmp_path)
    assert refused(file, [encode((29, "halt"))]) == [
        "venue.toml: sym-1 holds reference data that this version cannot read",
    ]
