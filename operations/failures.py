"""How a command ends when it does not end well: one class per exit code, each carrying the lines the user reads."""

from collections.abc import Iterable
from pathlib import Path


class CommandError(Exception):
    """A command that ends with `exit_code` after printing `lines` to stderr."""

    exit_code = 1

    def __init__(self, lines: str | Iterable[str]) -> None:
        self.lines = (lines,) if isinstance(lines, str) else tuple(lines)
        super().__init__("\n".join(self.lines))


class CheckFailedError(CommandError):
    """What was checked is not so, or what was asked for could not be done."""

    exit_code = 1


class WrongUseError(CommandError):
    """The command line or the config asks for something that is not allowed."""

    exit_code = 2


class ConfigError(WrongUseError):
    """A config that no venue can be run from. One line per fault, each with file, key and what is allowed."""


class UnreachableError(CommandError):
    """The venue did not answer."""

    exit_code = 3


class ConfigFaults:
    """Collects one line per fault of a file, so that an operator mends it in one go."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.lines: list[str] = []

    def add(self, key: str, what: str) -> None:
        """A fault at `key`; `what` says what is wrong and what is allowed."""
        self.lines.append(f"{self.file}: {key}: {what}")

    def raise_if_any(self) -> None:
        """ConfigError with every line, when there is one."""
        if self.lines:
            raise ConfigError(self.lines)
