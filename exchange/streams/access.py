"""Who may read and write which streams: checked against the identity a peer proved in its hello."""

from collections.abc import Iterable

from exchange.hosting.process_config import Access


class AccessTable:
    """The access entries of a venue, by process and partition."""

    def __init__(self, entries: Iterable[Access]) -> None:
        self._entries = {(entry.process, entry.partition): entry for entry in entries}
        self._processes = {process for process, _ in self._entries}

    def knows(self, process: str) -> bool:
        """Whether any entry names this process."""
        return process in self._processes

    def may_write(self, process: str, partition: str, stream: str) -> bool:
        """Whether the process may open the stream for writing."""
        entry = self._entries.get((process, partition))
        return entry is not None and _matches(entry.writes, stream)

    def may_read(self, process: str, partition: str, streams: Iterable[str] | None) -> bool:
        """Whether the process may read the streams; None means the whole partition."""
        entry = self._entries.get((process, partition))
        if entry is None:
            return False
        return all(_matches(entry.reads, stream) for stream in (("*",) if streams is None else streams))


def _matches(patterns: Iterable[str], stream: str) -> bool:
    return any(stream.startswith(pattern[:-1]) if pattern.endswith("*") else stream == pattern for pattern in patterns)
