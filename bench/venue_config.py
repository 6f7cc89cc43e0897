"""What the bench knows of `bench/bench.toml`: who logs on, and how many may be unanswered."""

from pathlib import Path

CONFIG = Path(__file__).with_name("bench.toml")
PARTICIPANTS = ("ACME", "BOLT", "CRUX", "DUNE")
COMP_IDS = tuple(f"{participant}-{number}" for participant in PARTICIPANTS for number in (1, 2))
WINDOW = 500
ORDERS = 200_000
SEED = 1
ORDER_ENTRY_OFFSET = 1
PORT_OFFSETS = (1, 2, 3, 80)
