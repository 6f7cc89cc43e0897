"""The stock FIX 4.4 dictionary of QuickFIX, as another package installs it."""

from collections.abc import Iterator
from importlib.resources import as_file, files

import pytest
import quickfix


@pytest.fixture(scope="session")
def dictionary() -> Iterator[quickfix.DataDictionary]:
    """What a stock client validates with."""
    with as_file(files("fixcore") / "specs" / "FIX44.xml") as path:
        yield quickfix.DataDictionary(str(path))
