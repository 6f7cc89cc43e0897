"""The build of a decoder names exactly the sources that make its function."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

from exchange.decoding.build import digest_of_sources
from exchange.symbol_partition import matcher, user_partitioner

NOT_PART_OF_THE_FUNCTION = {"exchange.decoding.build"}


def imported_modules(module: str, root: Path) -> set[str]:
    """The modules of ours that a module imports, itself and those that they import included."""
    found: set[str] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        if name in found or name in NOT_PART_OF_THE_FUNCTION:
            continue
        found.add(name)
        for node in ast.walk(ast.parse((root / (name.replace(".", "/") + ".py")).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("exchange."):
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    is_module = (root / (inner.replace(".", "/") + ".py")).exists()
                    pending.append(inner if is_module else node.module)
    return found


@pytest.mark.parametrize("decoder", [matcher, user_partitioner])
def test_the_sources_are_those_that_the_decoder_imports(decoder: ModuleType) -> None:
    root = Path(__file__).resolve().parents[2]
    assert set(decoder.SOURCES) == imported_modules(decoder.__name__, root)
    assert list(decoder.SOURCES) == sorted(decoder.SOURCES)


def test_a_changed_source_is_another_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "build_test_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("a = 1\n")
    (package / "two.py").write_text("b = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = ["build_test_package.one", "build_test_package.two"]
    before = digest_of_sources(modules)
    assert before == digest_of_sources(reversed(modules))
    (package / "one.py").write_text("a = 2\n")
    changed = digest_of_sources(modules)
    (package / "one.py").write_text("a = 1\nb = 2\n")
    (package / "two.py").write_text("")
    moved = digest_of_sources(modules)
    assert len({before, changed, moved, digest_of_sources(modules[:1])}) == 4
    monkeypatch.delitem(sys.modules, "build_test_package", raising=False)
