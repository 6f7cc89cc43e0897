"""A decoder is a function of its input partition: what could make it anything else is not written in it.

What this cannot see is a dictionary filled in an order that differs between runs; the law of equal bytes under
different PYTHONHASHSEED sees that.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.sources import ROOT, imports, modules, tree, within

BANNED_MODULES = (
    "asyncio", "datetime", "gateway", "logging", "operations", "os", "pathlib", "random", "secrets", "select",
    "signal", "socket", "ssl", "structlog", "subprocess", "sys", "tempfile", "threading", "time", "uuid", "uvloop",
)  # fmt: skip
BANNED_CALLS = ("eval", "exec", "float", "hash", "id", "input", "open", "print")


def decoder_files() -> list[Path]:
    return [path for name, path in modules().items() if within(name, "exchange.symbol_partition", "exchange.records")]


def test_there_are_decoders_to_look_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in decoder_files()}
    assert {"exchange/symbol_partition/matcher.py", "exchange/symbol_partition/user_partitioner.py"} <= names


@pytest.mark.parametrize("path", decoder_files(), ids=lambda path: path.stem)
def test_a_decoder_reaches_no_clock_chance_file_or_network(path: Path) -> None:
    assert [name for name in sorted(imports(path)) if within(name, *BANNED_MODULES)] == []


@pytest.mark.parametrize("path", decoder_files(), ids=lambda path: path.stem)
def test_a_decoder_calls_and_writes_nothing_that_varies(path: Path) -> None:
    assert [f"{path.relative_to(ROOT)}:{line}: {what}" for line, what in varying(tree(path))] == []


def varying(module: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, what) of floats, true division, banned calls and iteration over sets."""
    for node in ast.walk(module):
        match node:
            case ast.Constant(value=float()):
                yield node.lineno, f"float {node.value}"
            case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
                yield node.lineno, "true division"
            case ast.Call(func=ast.Name(id=name)) if name in BANNED_CALLS:
                yield node.lineno, f"call of {name}"
            case ast.For(iter=iterated) | ast.comprehension(iter=iterated) if is_set(iterated):
                yield iterated.lineno, "iteration over a set"
            case ast.Call(func=ast.Name(id="list" | "tuple" | "iter"), args=[argument]) if is_set(argument):
                yield node.lineno, "a set made into a sequence"


def is_set(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
    return False


def test_the_test_sees_what_it_bans() -> None:
    source = "x = 0.5\ny = a / b\nopen('f')\nfor v in {1, 2}:\n    pass\nz = list(set(a))\nw = [v for v in set(a)]\n"
    assert sorted(varying(ast.parse(source))) == [
        (1, "float 0.5"), (2, "true division"), (3, "call of open"), (4, "iteration over a set"),
        (6, "a set made into a sequence"), (7, "iteration over a set"),
    ]  # fmt: skip
