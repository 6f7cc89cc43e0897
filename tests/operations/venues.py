"""Small venues for tests: the demo config with a part replaced, written where the test says."""

from functools import cache
from pathlib import Path

from operations.config import load_venue
from operations.venue import Venue

DEMO = Path(__file__).parents[2] / "config" / "demo.toml"


def write_demo(directory: Path, *replacements: tuple[str, str], append: str = "") -> Path:
    """The demo config in `directory`, each (old, new) replaced once, with its credentials beside it."""
    text = DEMO.read_text()
    for old, new in replacements:
        assert old in text, f"the demo config no longer says {old!r}"
        text = text.replace(old, new, 1)
    file = directory / "venue.toml"
    file.write_text(text + append)
    (directory / "demo.credentials.toml").write_text(DEMO.with_name("demo.credentials.toml").read_text())
    return file


@cache
def demo_venue() -> Venue:
    """The demo venue as it stands in `config/`."""
    return load_venue(DEMO)
