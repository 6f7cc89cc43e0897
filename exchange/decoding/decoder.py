"""The contract of a decoder (architecture, decoders)."""

from collections.abc import Sequence
from typing import Protocol

from exchange.records.record import Draft, Outputs, Record


class Decoder(Protocol):
    """A deterministic function of its input partition (architecture, rule 1).

    No clock, randomness, file, network, logging, float or hash order.

    The laws, tested once for all decoders in tests/laws: equal replay; restoring at k and reading the rest equals
    never stopping; `snapshot(restore(s)) == s`; equal bytes under different PYTHONHASHSEED; `apply` never raises.
    """

    @property
    def kind(self) -> str:
        """The role's name: `matcher`, `partitioner`."""

    @property
    def build(self) -> str:
        """Digest of the sources that make this function."""

    def reads(self, stream: str) -> bool:
        """Whether records of this stream are input. A decoder does not read its own output streams."""

    def apply(self, record: Record) -> Sequence[Draft]:
        """The whole consequence of one record. Total: a bad input gives a refusal record, never an exception."""

    def outputs(
        self, position: int, stream: str, stream_position: int, event_time: int, sequencing_time: int, payload: bytes
    ) -> Outputs:
        """What `apply` gives, from a record's fields: for the runner, which makes no Record and no Draft per record.

        A payload with where it goes. `apply` is this with names, and nothing else.
        """

    def snapshot(self) -> bytes:
        """The state as canonical bytes."""

    def restore(self, snapshot: bytes) -> None:
        """Take the state that `snapshot` returned. Called on a fresh decoder only."""
