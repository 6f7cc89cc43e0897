"""Logs: one JSON object per line on stderr, with the process and whatever is bound (partition, position, session).

Processes log at their edges; decoders do not log (architecture, rule 1).
"""

import os
import sys
from collections.abc import MutableMapping
from typing import Any, Protocol, cast

_STDERR = 2


def _import_structlog() -> Any:
    """structlog without rich: its console renderer imports rich where that is installed, and nobody here uses it.

    That import would be two thirds of a decoder process's start.
    """
    hide = "rich" not in sys.modules
    if hide:
        sys.modules["rich"] = None  # type: ignore[assignment]  # the documented way to make an import fail
    try:
        import structlog
    finally:
        if hide:
            del sys.modules["rich"]
    return structlog


structlog = _import_structlog()


class Logger(Protocol):
    """What `logger()` returns: an event name and its values, never a formatted sentence."""

    def bind(self, **values: object) -> "Logger":
        """A logger that adds `values` to every event."""

    def debug(self, event: str, **values: object) -> object:
        """An event of use to a developer; not written unless asked for."""

    def info(self, event: str, **values: object) -> object:
        """An event in the life of the process."""

    def warning(self, event: str, **values: object) -> object:
        """An event that somebody should look at; trading goes on."""

    def error(self, event: str, **values: object) -> object:
        """An event that stops something."""

    def exception(self, event: str, **values: object) -> object:
        """An error, with the traceback of the exception being handled."""


class _StderrLines:
    """Writes each line in one call, so that the lines of several processes do not mix, and never fails its caller."""

    def msg(self, message: str) -> None:
        try:
            os.write(_STDERR, message.encode() + b"\n")
        except OSError:
            # A reader of our log that went away is no reason to stop an exchange.
            return

    debug = info = warning = error = critical = exception = fatal = failure = err = log = msg


def set_up_logging(process: str, level: str = "info") -> None:
    """Configure this process's log once, at its start. `process` is on every line; `level` is the lowest written."""

    def lead(_logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        name, level_name = event.pop("event"), "error" if method == "exception" else method
        return {"time": event.pop("time"), "level": level_name, "process": process, "event": name} | dict(event)

    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            lead,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _StderrLines(),
        cache_logger_on_first_use=True,
    )


def logger(**values: object) -> Logger:
    """A logger with `values` bound: partition, position, session, peer. May be made before `set_up_logging`."""
    return cast(Logger, structlog.get_logger(**values))
