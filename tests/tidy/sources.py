"""The repository's own files, for the tests that read them."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("exchange", "gateway", "operations")


@cache
def modules() -> dict[str, Path]:
    """Module name to file, for every module of the packages."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__init__.py"
    }


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), str(path))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, `from a import b` as both `a` and `a.b`."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def within(module: str, *packages: str) -> bool:
    """Whether a module is one of the packages or lies in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def text_files() -> list[Path]:
    """Every file of the repository that people write."""
    suffixes = {".py", ".md", ".toml", ".yml", ".cfg", ".json", ".fix", ""}
    skipped = {".git", ".venv", "data", "build", "out", "__pycache__"}
    return [
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file()
        and path.suffix in suffixes
        and not any(part in skipped or part.endswith(("_cache", ".egg-info")) for part in path.relative_to(ROOT).parts)
        and not path.name.startswith(".coverage")
        and ".hypothesis" not in path.parts
    ]
