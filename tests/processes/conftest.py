"""What process tests share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A directory with a short name: the path of a Unix socket has room for 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="ordinal-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)
