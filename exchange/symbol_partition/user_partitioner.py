"""The user partitioner: a symbol partition's tape in, what each participant is told out.

Each participant has one stream per symbol partition, in the participant's own user partition; a record of the tape
goes to the participants it concerns and to nobody else (architecture, sessions: delivery).
"""

from collections.abc import Sequence
from typing import Any

from msgpack import unpackb

from exchange.decoding.build import digest_of_sources
from exchange.records import clock, reference_data, trade_tape
from exchange.records.codec import encode
from exchange.records.kinds import Kind
from exchange.records.record import Destination, Draft, Outputs, Record
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


class UserPartitioner:
    """The decoder of kind `partitioner` for one symbol partition; see exchange.decoding.decoder.Decoder."""

    kind = "partitioner"
    build = _BUILD

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._deliveries: dict[str, Destination] = {}

    def reads(self, stream: str) -> bool:
        """The tape, the clock and the reference data; what members ask for reaches them as the tape's answer."""
        return stream in _READ

    def apply(self, record: Record) -> Sequence[Draft]:
        """What one record tells participants; nothing for one that is malformed or concerns no known participant."""
        return [Draft(*delivery, payload) for delivery, payload in self.outputs(*record)]

    def outputs(
        self, position: int, stream: str, stream_position: int, event_time: int, sequencing_time: int, payload: bytes
    ) -> Outputs:
        """What `apply` gives, from the fields of a record; see exchange.decoding.decoder.Decoder."""
        if stream == _TAPE:
            return self._deliver(payload)
        if stream == clock.STREAM:
            return self._deliver_beacons(stream_position, position, sequencing_time, payload)
        if stream == reference_data.STREAM:
            self._take_reference_data(payload)
        return ()

    def _deliver(self, payload: bytes) -> Outputs:
        try:
            fields = unpackb(payload, use_list=False)
        except Exception:  # msgpack raises a dozen kinds; none is more than "malformed"
            return ()
        if type(fields) is not tuple or not fields:
            return ()
        kind = fields[0]
        if type(kind) is not int:
            return ()
        if kind == _TRADE:
            return self._deliver_fills(fields)
        if kind not in _FORWARDED or len(fields) <= _PARTICIPANT:
            return ()
        participant = fields[_PARTICIPANT]
        delivery = self._deliveries.get(participant) if type(participant) is str else None
        if delivery is None:
            return ()
        return ((delivery, payload),)

    def _deliver_fills(self, trade: tuple[Any, ...]) -> Outputs:
        if len(trade) != _TRADE_FIELDS or type(trade[2]) is not int:
            return ()
        _, cause, ordinal, now, number, symbol, units, price, quantity, maker, taker = trade
        outputs: list[tuple[Destination, bytes]] = []
        for half, liquidity in ((maker, _ADDED), (taker, _REMOVED)):
            if type(half) is not tuple or len(half) != _HALF_FIELDS or type(half[0]) is not str:
                return ()
            delivery = self._deliveries.get(half[0])
            if delivery is not None:
                # The order of the fields is that of Fill; a half gives those from its participant to its notional,
                # with the instrument between its account and its side.
                (
                    participant, session, order_position, cl_ord_id, account, side, order_type, time_in_force,
                    ordered, limit, cumulative, leaves, notional,
                ) = half  # fmt: skip
                fill = (
                    _FILL, cause, ordinal, now, participant, session, order_position, cl_ord_id, account, symbol, units,
                    side, order_type, time_in_force, ordered, limit, cumulative, leaves, notional, price, quantity,
                    liquidity, number,
                )  # fmt: skip
                try:
                    payload = encode(fill)
                except (ValueError, OverflowError):  # nested deeper, or larger, than any record of ours
                    return ()
                outputs.append((delivery, payload))
            ordinal += 1
        return outputs

    def _deliver_beacons(self, tick: int, position: int, sequencing_time: int, payload: bytes) -> Outputs:
        if payload != clock.TICK_PAYLOAD:
            return ()
        told = encode(beacon(tick, position, sequencing_time))
        return [(delivery, told) for delivery in self._deliveries.values()]

    def _take_reference_data(self, payload: bytes) -> None:
        added = decode_reference_data(payload)
        if isinstance(added, ParticipantAdded) and added.participant not in self._deliveries:
            stream = user_stream(self._partition, added.participant)
            self._deliveries[added.participant] = (added.user_partition, stream)

    def snapshot(self) -> bytes:
        """The state: each participant's user partition, in creation order."""
        return encode(
            (
                _SNAPSHOT_FORMAT,
                [(participant, user_partition) for participant, (user_partition, _) in self._deliveries.items()],
            )
        )

    def restore(self, snapshot: bytes) -> None:
        """Take the state of a snapshot. ValueError if it is of a format that this build does not read."""
        state = unpackb(snapshot, use_list=False)
        if state[0] != _SNAPSHOT_FORMAT:
            raise ValueError(f"partitioner snapshot of format {state[0]}; this build reads {_SNAPSHOT_FORMAT}")
        for participant, user_partition in state[1]:
            self._deliveries[participant] = (user_partition, user_stream(self._partition, participant))
