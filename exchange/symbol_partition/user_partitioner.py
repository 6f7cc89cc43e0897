"""The user partitioner: a symbol partition's tape in, what each participant is told out.

Each participant has one stream per symbol partition, in the participant's own user partition; a record of the tape
goes to the participants it concerns and to nobody else (architecture, sessions: delivery).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgpack

from exchange.decoding.build import digest_of_sources
from exchange.records import clock, reference_data, trade_tape
from exchange.records.codec import MalformedPayloadError, decode_fields, encode
from exchange.records.kinds import Kind
from exchange.records.record import Draft, Record
from exchange.records.reference_data import ParticipantAdded
from exchange.records.user_feed import Liquidity, beacon, user_stream
from exchange.symbol_partition.reference_data import decode_reference_data

SOURCES = (
    "exchange.records.clock",
    "exchange.records.codec",
    "exchange.records.kinds",
    "exchange.records.order_entry",
    "exchange.records.positions",
    "exchange.records.record",
    "exchange.records.reference_data",
    "exchange.records.refusals",
    "exchange.records.trade_tape",
    "exchange.records.user_feed",
    "exchange.symbol_partition.order_rules",
    "exchange.symbol_partition.reference_data",
    "exchange.symbol_partition.user_partitioner",
)
"""The modules that make this decoder's function."""

_BUILD = digest_of_sources(SOURCES)

_TRADE = int(Kind.TRADE)
_FILL = int(Kind.FILL)
_ADDED = Liquidity.ADDED
_REMOVED = Liquidity.REMOVED
_TAPE = trade_tape.STREAM
_READ = (_TAPE, clock.STREAM, reference_data.STREAM)
_FORWARDED = tuple(map(int, (Kind.ORDER_ACCEPTED, Kind.ORDER_CANCELED, Kind.ORDER_REFUSED, Kind.CANCEL_REFUSED)))
_PARTICIPANT = 4
_TRADE_FIELDS = len(trade_tape.Trade._fields)
_HALF_FIELDS = len(trade_tape.TradeHalf._fields)
_SNAPSHOT_FORMAT = 1


# What Draft's constructor does, without the call around it: half the cost.
_draft = tuple.__new__


class Delivery(NamedTuple):
    """Where one participant's records go."""

    user_partition: str
    stream: str


class UserPartitioner:
    """The decoder of kind `partitioner` for one symbol partition; see exchange.decoding.decoder.Decoder."""

    kind = "partitioner"
    build = _BUILD

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._deliveries: dict[str, Delivery] = {}

    def reads(self, stream: str) -> bool:
        """The tape, the clock and the reference data; what members ask for reaches them as the tape's answer."""
        return stream in _READ

    def apply(self, record: Record) -> Sequence[Draft]:
        """What one record tells participants; nothing for one that is malformed or concerns no known participant."""
        _, stream, _, _, _, payload = record
        if stream == _TAPE:
            return self._deliver(payload)
        if stream == clock.STREAM:
            return self._deliver_beacons(record)
        if stream == reference_data.STREAM:
            self._take_reference_data(payload)
        return ()

    def _deliver(self, payload: bytes) -> Sequence[Draft]:
        try:
            fields = decode_fields(payload)
        except MalformedPayloadError:
            return ()
        kind = fields[0]
        if kind == _TRADE:
            return self._deliver_fills(fields)
        if kind not in _FORWARDED or len(fields) <= _PARTICIPANT:
            return ()
        participant = fields[_PARTICIPANT]
        delivery = self._deliveries.get(participant) if type(participant) is str else None
        if delivery is None:
            return ()
        return (_draft(Draft, (*delivery, payload)),)

    def _deliver_fills(self, trade: tuple[Any, ...]) -> Sequence[Draft]:
        if len(trade) != _TRADE_FIELDS or type(trade[2]) is not int:
            return ()
        _, cause, ordinal, now, number, symbol, units, price, quantity, maker, taker = trade
        drafts: list[Draft] = []
        for half, liquidity in ((maker, _ADDED), (taker, _REMOVED)):
            if type(half) is not tuple or len(half) != _HALF_FIELDS or type(half[0]) is not str:
                return ()
            delivery = self._deliveries.get(half[0])
            if delivery is not None:
                # The order of the fields is that of Fill; a half gives those from its participant to its notional,
                # with the instrument between its account and its side.
                fill = (
                    _FILL, cause, ordinal, now, *half[:5], symbol, units, *half[5:], price, quantity, liquidity, number,
                )  # fmt: skip
                try:
                    payload = encode(fill)
                except (ValueError, OverflowError):  # nested deeper, or larger, than any record of ours
                    return ()
                drafts.append(_draft(Draft, (*delivery, payload)))
            ordinal += 1
        return drafts

    def _deliver_beacons(self, record: Record) -> Sequence[Draft]:
        if record.payload != clock.TICK_PAYLOAD:
            return ()
        payload = encode(beacon(record.stream_position, record.position, record.sequencing_time))
        return [Draft(*delivery, payload) for delivery in self._deliveries.values()]

    def _take_reference_data(self, payload: bytes) -> None:
        added = decode_reference_data(payload)
        if isinstance(added, ParticipantAdded) and added.participant not in self._deliveries:
            stream = user_stream(self._partition, added.participant)
            self._deliveries[added.participant] = Delivery(added.user_partition, stream)

    def snapshot(self) -> bytes:
        """The state: each participant's user partition, in creation order."""
        return encode(
            (
                _SNAPSHOT_FORMAT,
                [(participant, delivery.user_partition) for participant, delivery in self._deliveries.items()],
            )
        )

    def restore(self, snapshot: bytes) -> None:
        """Take the state of a snapshot. ValueError if it is of a format that this build does not read."""
        state = msgpack.unpackb(snapshot, use_list=False)
        if state[0] != _SNAPSHOT_FORMAT:
            raise ValueError(f"partitioner snapshot of format {state[0]}; this build reads {_SNAPSHOT_FORMAT}")
        for participant, user_partition in state[1]:
            self._deliveries[participant] = Delivery(user_partition, user_stream(self._partition, participant))
