"""A config either runs a venue or is refused, every fault in one line with file, key and what is allowed."""

from pathlib import Path

import pytest

from operations.config import load_venue
from operations.failures import ConfigError
from tests.operations.venues import DEMO, write_demo

ALFA = 'symbol = "ALFA"\npartition = "sym-1"\ntick = "0.01"\nlot = "1"\nlargest_order = 1000000'


def faults(directory: Path, *replacements: tuple[str, str], append: str = "") -> list[str]:
    """The fault lines of the changed demo config, without the directory."""
    file = write_demo(directory, *replacements, append=append)
    with pytest.raises(ConfigError) as caught:
        load_venue(file)
    return [line.replace(f"{directory}/", "") for line in caught.value.lines]


def test_the_demo_venue_is_what_its_description_says() -> None:
    venue = load_venue(DEMO)
    assert (venue.name, venue.comp_id, venue.host, venue.port_base) == ("demo", "ORDINAL", "127.0.0.1", 9000)
    assert list(venue.processes) == [
        "sequencer", "matcher-a", "matcher-b", "partitioner-a", "partitioner-b", "clock-a", "clock-b", "gateway-1",
        "monitor",
    ]  # fmt: skip
    assert (venue.processes["gateway-1"].order_entry_port, venue.processes["monitor"].http_port) == (9001, 9080)
    assert [(i.symbol, i.partition, i.units, i.largest_order) for i in venue.instruments] == [
        ("ALFA", "sym-1", (1, 2, 1, 0), 1_000_000),
        ("BETA", "sym-1", (1, 2, 1, 0), 1_000_000),
        ("GAMA", "sym-2", (1, 2, 1, 0), 1_000_000),
        ("DLTA", "sym-2", (1, 2, 1, 0), 1_000_000),
    ]
    assert [(p.name, p.user_partition) for p in venue.participants] == [
        ("ACME", "user-1"), ("BOLT", "user-2"), ("CRUX", "user-1"),
    ]  # fmt: skip
    assert [(s.comp_id, s.participant, s.purpose) for s in venue.sessions] == [
        ("ACME-1", "ACME", "order_entry"),
        ("ACME-2", "ACME", "order_entry"),
        ("BOLT-1", "BOLT", "order_entry"),
        ("CRUX-1", "CRUX", "order_entry"),
        ("CRUX-2", "CRUX", "order_entry"),
    ]
    assert set(venue.password_hashes) == {session.comp_id for session in venue.sessions}


def test_port_base_moves_every_port() -> None:
    venue = load_venue(DEMO, port_base=9100)
    assert (venue.processes["gateway-1"].order_entry_port, venue.processes["monitor"].http_port) == (9101, 9180)


def test_a_port_moved_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        load_venue(DEMO, port_base=65_500)
    assert caught.value.lines == (
        f"{DEMO}: process.monitor.http_port: 65580 with --port-base 65500; allowed: 1 to 65535",
    )


@pytest.mark.parametrize(
    ("replacements", "expected"),
    [
        ([('name = "demo"', 'nmae = "demo"')], [
            'venue.toml: venue.name: missing; allowed: 1 to 32 of A-Z a-z 0-9 _ . - in quotes',
            'venue.toml: venue.nmae: no such key; allowed: name, comp_id, credentials, host, port_base',
        ]),
        ([("settle_level = 1 ", "settle_level = 2 ")], [
            "venue.toml: durability.settle_level: 2 is not allowed; "
            "allowed: 1: one committer, the sequencer's own disk",
        ]),
        ([("[durability]", "[durabilty]")], [
            "venue.toml: durabilty: no such table; allowed: "
            "venue, durability, limits, partition, process, instrument, participant, session",
        ]),
        ([('tick = "0.01"', "tick = 0.01")], [
            'venue.toml: instrument[ALFA].tick: 0.01 is not allowed; '
            'allowed: decimal text in quotes such as "0.01" (never a number)',
        ]),
        ([('tick = "0.01"', 'tick = "1E-2"')], [
            'venue.toml: instrument[ALFA].tick: "1E-2" is not allowed; '
            'allowed: decimal text in quotes such as "0.01" (never a number)',
        ]),
        ([('tick = "0.01"', 'tick = "0.00"')], [
            "venue.toml: instrument[ALFA].tick: zero; allowed: a decimal above zero in quotes",
        ]),
        ([('partition = "sym-1"', 'partition = "user-1"')], [
            'venue.toml: instrument[ALFA].partition: "user-1" is not allowed; allowed: sym-1, sym-2',
        ]),
        ([('symbol = "BETA"', 'symbol = "ALFA"')], [
            "venue.toml: instrument[ALFA].symbol: there are 2 of it; allowed: once",
        ]),
        ([('runs = ["gateway"]\n', 'runs = ["gateway"]\nhttp_port = 9081\n')], [
            "venue.toml: process.gateway-1.http_port: nothing reads it; allowed: in a process that runs monitor",
        ]),
        ([("http_port = 9080", "http_port = 9001")], [
            "venue.toml: process.monitor.http_port: 9001 is taken by gateway-1; allowed: another",
        ]),
        ([('"matcher:sym-2:a"', '"matcher:sym-2:c"')], [
            'venue.toml: process.matcher-a.runs: "matcher:sym-2:c" is no role; allowed: sequencer, gateway, monitor, '
            "or matcher:P:T, partitioner:P:T, clock:P:T with T = a or b",
        ]),
        ([('"matcher:sym-2:a"', '"clock:sym-9:a"')], [
            'venue.toml: process.matcher-a.runs: "sym-9" is not allowed; allowed: sym-1, sym-2',
        ]),
        ([("[process.clock-b]", "[process.operator]")], [
            "venue.toml: process.operator: no such name; allowed: 1 to 32 of a-z 0-9 -, "
            "none of node, observer, operator",
        ]),
        ([('home = "sequencer"', 'home = "gateway-1"')], [
            'venue.toml: partition.sym-1.home: "gateway-1" is not allowed; allowed: sequencer',
        ]),
        ([('comp_id = "ACME-2"', 'comp_id = "ORDINAL"')], [
            "venue.toml: session[ORDINAL].comp_id: the venue's own; allowed: a CompID of its own",
        ]),
        ([('comp_id = "ACME-2"', 'comp_id = "ACME-9"')], [
            "demo.credentials.toml: passwords.ACME-2: nothing reads it; allowed: the name of a session",
            'demo.credentials.toml: passwords.ACME-9: missing; allowed: session = "argon2 hash" '
            "(ordinal hash-password makes one)",
        ]),
    ],
)  # fmt: skip
def test_every_fault_is_one_line_with_file_key_and_what_is_allowed(
    tmp_path: Path, replacements: list[tuple[str, str]], expected: list[str]
) -> None:
    assert faults(tmp_path, *replacements) == expected


def test_twins_never_share_a_process(tmp_path: Path) -> None:
    both = [('runs = ["matcher:sym-1:a", "matcher:sym-2:a"]', 'runs = ["matcher:sym-1:a", "matcher:sym-1:b"]')]
    assert faults(tmp_path, *both) == [
        "venue.toml: process.matcher-a.runs: both copies of matcher:sym-1; allowed: twins in two processes",
        "venue.toml: process.matcher-b.runs: matcher:sym-1:b runs in matcher-a too; allowed: once",
    ]


def test_roles_of_different_families_never_share_a_process(tmp_path: Path) -> None:
    assert faults(tmp_path, ('runs = ["sequencer"]', 'runs = ["sequencer", "clock:sym-1:a"]')) == [
        "venue.toml: process.sequencer.runs: decoders and sequencer in one process; allowed: roles of one family",
    ]


def test_a_partition_without_a_matcher_is_refused(tmp_path: Path) -> None:
    alone = [('"matcher:sym-1:a", ', ""), ('"matcher:sym-1:b", ', "")]
    assert faults(tmp_path, *alone) == [
        "venue.toml: partition.sym-1: no process runs matcher:sym-1:a or b; allowed: one of each",
    ]


def test_a_limit_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, append="[limits]\nremembered_order = 5\n")
    assert line.startswith("venue.toml: limits.remembered_order: no such key; allowed: frame_bytes, record_bytes, ")


def test_a_limit_takes_a_whole_number(tmp_path: Path) -> None:
    assert faults(tmp_path, append="[limits]\nin_flight_orders = 0\nsegment_bytes = 1.5\n") == [
        "venue.toml: limits.in_flight_orders: 0 is not allowed; allowed: a whole number from 1",
        "venue.toml: limits.segment_bytes: 1.5 is not allowed; allowed: a whole number from 1",
    ]


def test_a_limit_that_does_not_fit_into_another_is_refused(tmp_path: Path) -> None:
    assert faults(tmp_path, append="[limits]\nblock_bytes = 33554432\n") == [
        "venue.toml: limits.block_bytes: above limits.frame_bytes; allowed: at most 16777216",
    ]


def test_a_limit_of_identifiers_is_no_longer_than_a_matcher_reads(tmp_path: Path) -> None:
    assert faults(tmp_path, append="[limits]\nidentifier_bytes = 1025\n") == [
        "venue.toml: limits.identifier_bytes: too large; allowed: at most 1024",
    ]
    assert load_venue(write_demo(tmp_path, append="[limits]\nidentifier_bytes = 1024\n"))


def test_a_limit_of_the_config_replaces_the_default(tmp_path: Path) -> None:
    venue = load_venue(write_demo(tmp_path, append="[limits]\nin_flight_orders = 7\n"))
    assert venue.limits == load_venue(DEMO).limits | {"in_flight_orders": 7}


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_venue(tmp_path / "none.toml")
    assert caught.value.lines == (f"{tmp_path}/none.toml: no such file or directory; allowed: a readable file",)
    broken = tmp_path / "broken.toml"
    broken.write_text("[venue\n")
    with pytest.raises(ConfigError) as caught:
        load_venue(broken)
    assert caught.value.lines == (
        f"{broken}: not TOML: Expected ']' at the end of a table declaration (at line 1, column 7)",
    )


def test_a_password_that_is_not_a_hash_is_refused(tmp_path: Path) -> None:
    file = write_demo(tmp_path)
    credentials = tmp_path / "demo.credentials.toml"
    text = credentials.read_text()
    first = text[text.index("ACME-1 = ") :].splitlines()[0]
    credentials.write_text(text.replace(first, 'ACME-1 = "demo"'))
    with pytest.raises(ConfigError) as caught:
        load_venue(file)
    assert caught.value.lines == (
        f"{credentials}: passwords.ACME-1: not an argon2 hash; allowed: what ordinal hash-password prints",
    )


def test_streams_over_tcp_need_a_shared_secret(tmp_path: Path) -> None:
    listening = ('runs = ["sequencer"]', 'runs = ["sequencer"]\nstreams_port = 9010')
    assert faults(tmp_path, listening) == [
        'demo.credentials.toml: secrets.sequencer: missing; allowed: process = "shared secret of its streams_port"',
    ]
    reaching = ('runs = ["gateway"]', 'runs = ["gateway"]\nreach_sequencer = "tcp"')
    assert faults(tmp_path, reaching) == [
        'venue.toml: process.gateway-1.reach_sequencer: "tcp" is not allowed; '
        'allowed: "unix", as no other process has a streams_port',
    ]


def test_several_faults_are_told_at_once(tmp_path: Path) -> None:
    lines = faults(tmp_path, (ALFA, 'symbol = "ALFA"\npartition = 1'), ("port_base = 9000", 'port_base = "9000"'))
    assert lines == [
        'venue.toml: venue.port_base: "9000" is not allowed; allowed: 1 to 65000: what --port-base replaces',
        "venue.toml: instrument[ALFA].partition: 1 is not allowed; "
        "allowed: the name of a symbol partition of this file",
        'venue.toml: instrument[ALFA].tick: missing; allowed: decimal text in quotes such as "0.01" (never a number)',
        'venue.toml: instrument[ALFA].lot: missing; allowed: decimal text in quotes such as "0.01" (never a number)',
        "venue.toml: instrument[ALFA].largest_order: missing; allowed: lots, 1 to 1000000000",
    ]
