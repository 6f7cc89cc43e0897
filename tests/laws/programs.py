"""Input partitions for the laws of decoders: sequences that bring each decoder into every kind of state."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from exchange.decoding.decoder import Decoder
from exchange.records.codec import encode
from exchange.records.order_entry import cancel_order, new_order, unacceptable_cancel, unacceptable_order
from exchange.records.positions import Nanoseconds, Position, StreamPosition
from exchange.records.record import Draft, Record
from exchange.records.reference_data import instrument_added, limit_set, participant_added
from exchange.records.refusals import Refusal
from exchange.symbol_partition.matcher import Matcher
from exchange.symbol_partition.user_partitioner import UserPartitioner


class Case(NamedTuple):
    """One decoder under the laws."""

    name: str
    make: Callable[[], Decoder]


CASES = (
    Case("matcher", lambda: Matcher("sym-1")),
    Case("partitioner", lambda: UserPartitioner("sym-1")),
)
"""Every decoder of the venue belongs here."""

SESSIONS = ("ACME-1", "ACME-2", "BOLT-1", "CRUX-1", "NOBODY-1")
STREAMS = ("refdata", "clock", "tape", "streams", "elsewhere", "orders/ACME", *(
    f"orders/{session.split('-')[0]}/{session}" for session in SESSIONS
))  # fmt: skip


class SequencedPartition:
    """A symbol partition that grows: what a matcher emits is sequenced behind its cause, as its runner does."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._stream_ends: dict[str, int] = {}
        self._matcher = Matcher("sym-1")

    def put(self, stream: str, payload: bytes) -> None:
        """Sequence one payload and all that it causes."""
        record = self._append(stream, payload)
        if self._matcher.reads(stream):
            for draft in self._matcher.apply(record):
                self._append(draft.stream, draft.payload)

    def _append(self, stream: str, payload: bytes) -> Record:
        position = len(self.records)
        stream_position = self._stream_ends.get(stream, 0)
        self._stream_ends[stream] = stream_position + 1
        now = Nanoseconds(1_750_000_000_000_000_000 + position)
        record = Record(Position(position), stream, StreamPosition(stream_position), now, now, payload)
        self.records.append(record)
        return record


def program(seed: int, length: int) -> list[Record]:
    """A seeded input partition: late reference data, orders, cancels, refusals, ticks and damaged bytes."""
    choice = random.Random(seed)
    sequence = SequencedPartition()
    sequence.put("refdata", encode(instrument_added("ALFA", (1, 2, 1, 0), 50)))
    sequence.put("refdata", encode(participant_added("ACME", "user-1")))
    sequence.put("refdata", encode(limit_set("remembered_orders", choice.choice((3, 10, 1000)))))
    late = [
        instrument_added("BETA", (5, 1, 1, 0), 1000),
        participant_added("BOLT", "user-2"),
        participant_added("CRUX", "user-1"),
        participant_added("ACME", "user-9"),
        limit_set("remembered_orders", 4),
    ]
    for number in range(length):
        if number % 9 == 4 and late:
            sequence.put("refdata", encode(late.pop(0)))
        elif number % 11 == 7:
            sequence.put("clock", b"")
        else:
            session = choice.choice(SESSIONS)
            payload = encode(_request(choice, len(sequence.records)))
            if choice.random() < 0.04:
                payload = damaged(choice, payload)
            sequence.put(f"orders/{session.split('-')[0]}/{session}", payload)
    return sequence.records


def damaged(choice: random.Random, payload: bytes) -> bytes:
    """The payload with one byte changed, or cut short."""
    at = choice.randrange(len(payload))
    return payload[:at] + bytes([choice.randrange(256)]) * choice.randrange(2) + payload[at + 1 :]


def _request(choice: random.Random, position: int) -> Sequence[Any]:
    cl_ord_id = f"X{choice.randrange(60)}" if choice.random() < 0.2 else f"N{position}"
    symbol = choice.choice(("ALFA", "ALFA", "ALFA", "BETA", "NONE"))
    side = choice.choice((1, 2))
    draw = choice.random()
    if draw < 0.65:
        return new_order(
            1, position, cl_ord_id, choice.choice((None, "HOUSE")), symbol, side, 2, choice.choice((0, 1, 3)),
            choice.randrange(0, 55), choice.choice((None, *range(95, 106))),
        )  # fmt: skip
    if draw < 0.72:
        return new_order(1, position, cl_ord_id, None, symbol, side, 1, 3, choice.randrange(1, 40), None)
    if draw < 0.94:
        order_position = choice.choice((None, choice.randrange(position + 1)))
        orig_cl_ord_id = f"N{max(0, position - choice.randrange(30))}"
        return cancel_order(1, position, cl_ord_id, orig_cl_ord_id, order_position, symbol, side)
    if draw < 0.97:
        return unacceptable_order(1, position, cl_ord_id, None, "?", side, Refusal.PRICE_OFF_TICK, "Price(44) 0.001")
    return unacceptable_cancel(1, position, cl_ord_id, "N9", "?", side, Refusal.UNKNOWN_SYMBOL, "Symbol(55) ?")


def apply_all(decoder: Decoder, records: Sequence[Record]) -> list[list[Draft]]:
    """What each record that the decoder reads causes."""
    return [list(decoder.apply(record)) for record in records if decoder.reads(record.stream)]
