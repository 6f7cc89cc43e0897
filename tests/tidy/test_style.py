"""Style that matters is a failing test, not a review remark."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.tidy.sources import ROOT, modules, text_files, tree

LONGEST_FUNCTION = 70
EMPTY_PROMISES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
VAGUE_NAMES = ("utils", "util", "common", "helpers", "manager", "misc")


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_every_function_fits_a_screen() -> None:
    long = [
        f"{name}.{function.name}: {function.end_lineno - function.lineno + 1} lines"
        for name, path in modules().items()
        for function in functions(path)
        if function.end_lineno is not None and function.end_lineno - function.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_every_module_says_what_it_is() -> None:
    assert [name for name, path in modules().items() if not ast.get_docstring(tree(path))] == []


def test_what_is_public_says_what_it_does() -> None:
    silent = [
        f"{name}.{node.name}"
        for name, path in modules().items()
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in modules() if name.rpartition(".")[2] in VAGUE_NAMES] == []


@pytest.mark.parametrize("path", text_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_names_no_machine_and_promises_nothing(path: Path) -> None:
    text = path.read_text()
    here = [str(ROOT), str(Path.home()), sys.prefix]
    assert [place for place in here if place in text] == []
    if path != Path(__file__):
        assert EMPTY_PROMISES.findall(text) == []
