"""One order-entry session of this gateway: its FIX session, its order streams, and what it is owed.

Reports owed to a session that is not served live are read positions in its participant's streams, not a queue: nothing
owed sits in memory (architecture, sessions).
"""

from dataclasses import dataclass, field
from typing import Protocol

from exchange.hosting.process_config import SessionEntry
from exchange.records.positions import StreamPosition
from exchange.streams.stream_writer import StreamWriter
from gateway.fix.session import Session


class Connection(Protocol):
    """The socket of a session, as far as delivery needs it."""

    def write_out(self) -> None:
        """Send what the FIX session has rendered, and close if it says so."""

    def check_in_flight(self) -> None:
        """Stop or go on reading the client, by how many of its orders are unanswered."""

    async def drained(self) -> None:
        """Wait until the socket takes more."""


@dataclass(slots=True, eq=False)
class OrderEntrySession:
    """`live` says whether reports go out as they arrive; otherwise `read_from` says what was not sent yet.

    `in_flight` counts the orders and cancels that this gateway has published and not read the answer of, over all
    connections and numberings: neither logging on again nor a reset makes room for more.
    """

    entry: SessionEntry
    user_partition: str
    fix: Session
    writers: dict[str, StreamWriter]
    connection: Connection | None = None
    live: bool = False
    ever_logged_on: bool = False
    read_from: dict[str, StreamPosition] = field(default_factory=dict)
    in_flight: int = 0
    epoch_before: int = field(init=False)
    """The session epoch before the first of this gateway's life: answers up to it belong to an earlier gateway's."""

    def __post_init__(self) -> None:
        self.epoch_before = self.fix.epoch

    @property
    def name(self) -> str:
        """The SenderCompID of the member's end, by which records name the session."""
        return self.entry.comp_id

    def answered(self, session_epoch: int) -> None:
        """A request of this session has its answer."""
        if session_epoch > self.epoch_before and self.in_flight:
            self.in_flight -= 1
