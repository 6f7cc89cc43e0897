"""The matcher: a symbol partition's orders and cancels in, its tape out.

Orders match by price, then by arrival, and trade at the price of the order that rested. One input record's whole
consequence is what one `apply` returns: the acceptance, then its trades, then the cancel of what may not rest.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgpack

from exchange.decoding.build import digest_of_sources
from exchange.records import reference_data, trade_tape
from exchange.records.codec import encode
from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.order_entry import NO_ORDER
from exchange.records.record import Destination, Draft, Outputs, Record
from exchange.records.reference_data import InstrumentAdded, LimitSet, ParticipantAdded
from exchange.records.refusals import Refusal
from exchange.symbol_partition.book import BookSide, Order
from exchange.symbol_partition.cl_ord_ids import REMEMBERED_ORDERS, ClOrdIds, Generation
from exchange.symbol_partition.instrument import FILLED, NEW, PARTLY_FILLED, EndedOrder, Instrument
from exchange.symbol_partition.order_rules import (
    IMMEDIATE_OR_CANCEL,
    LIMIT,
    MARKET,
    decode_input,
    is_cancel_order,
    is_new_order,
    is_unacceptable_cancel,
    is_unacceptable_order,
    refusal_of_terms,
)
from exchange.symbol_partition.reference_data import decode_reference_data

SOURCES = (
    "exchange.records.codec",
    "exchange.records.end_reasons",
    "exchange.records.kinds",
    "exchange.records.order_entry",
    "exchange.records.positions",
    "exchange.records.record",
    "exchange.records.reference_data",
    "exchange.records.refusals",
    "exchange.records.trade_tape",
    "exchange.symbol_partition.book",
    "exchange.symbol_partition.cl_ord_ids",
    "exchange.symbol_partition.instrument",
    "exchange.symbol_partition.matcher",
    "exchange.symbol_partition.order_rules",
    "exchange.symbol_partition.reference_data",
)
"""The modules that make this decoder's function."""

_BUILD = digest_of_sources(SOURCES)

# Plain ints, and local names for what every order touches: the kinds are compared and encoded for each record.
_NEW_ORDER = int(Kind.NEW_ORDER)
_CANCEL_ORDER = int(Kind.CANCEL_ORDER)
_ORDER_ACCEPTED = int(Kind.ORDER_ACCEPTED)
_TRADE = int(Kind.TRADE)
_ORDER_CANCELED = int(Kind.ORDER_CANCELED)
_TAPE = trade_tape.STREAM

_NOT_READ = (_TAPE, "streams")
_ORDER_STREAMS = "orders/"
_SNAPSHOT_FORMAT = 1

# The layout of Order.terms: the first fields of a TradeHalf, in its order.
_PARTICIPANT, _, _ORDER_POSITION, _CL_ORD_ID, _, _SIDE, _ORDER_TYPE, _, _QUANTITY, _PRICE = range(10)


class Entrance(NamedTuple):
    """An order stream: who speaks there. `ids` is None while the participant is unknown to the reference data."""

    participant: str
    session: str
    ids: ClOrdIds | None


class Target(NamedTuple):
    """The order that a cancel names. `order` is None when it has ended; `state` is its FIX OrdStatus(39)."""

    position: int
    state: int
    symbol: str
    side: int
    order: Order | None


class Matcher:
    """The decoder of kind `matcher` for one symbol partition; see exchange.decoding.decoder.Decoder."""

    kind = "matcher"
    build = _BUILD

    def __init__(self, partition: str) -> None:
        self._to_tape = (partition, _TAPE)
        self.instruments: dict[str, Instrument] = {}
        """By symbol, in creation order; for others to read."""
        self._participants: dict[str, ClOrdIds] = {}
        self._remembered_orders = REMEMBERED_ORDERS
        # By stream name; derived from the name and the participants, so it is no part of the state.
        self._entrances: dict[str, Entrance] = {}

    def reads(self, stream: str) -> bool:
        """Everything but its own tape and the records that bind stream numbers to names."""
        return stream not in _NOT_READ

    def apply(self, record: Record) -> Sequence[Draft]:
        """The tape records that one input record causes; none for reference data, ticks and foreign streams."""
        return [Draft(*destination, payload) for destination, payload in self.outputs(*record)]

    def outputs(
        self, position: int, stream: str, stream_position: int, event_time: int, now: int, payload: bytes
    ) -> Outputs:
        """What `apply` gives, from the fields of a record; see exchange.decoding.decoder.Decoder."""
        entrance = self._entrances.get(stream)
        if entrance is None:
            if not stream.startswith(_ORDER_STREAMS):
                if stream == reference_data.STREAM:
                    self._take_reference_data(payload)
                return ()
            entrance = self._find_entrance(stream)
            if entrance is None:
                return self._refuse_input(position, now, stream)
        fields = decode_input(payload)
        kind = fields[0]
        if kind == _NEW_ORDER and is_new_order(fields):
            return self._enter(position, now, entrance, fields)
        if kind == _CANCEL_ORDER and is_cancel_order(fields):
            return self._cancel(position, now, entrance, fields)
        if kind == Kind.UNACCEPTABLE_ORDER and is_unacceptable_order(fields):
            return self._refuse_unacceptable_order(position, now, entrance, fields)
        if kind == Kind.UNACCEPTABLE_CANCEL and is_unacceptable_cancel(fields):
            return self._refuse_unacceptable_cancel(position, now, entrance, fields)
        return self._refuse_input(position, now, stream)

    # Inputs other than orders and cancels

    def _take_reference_data(self, payload: bytes) -> None:
        added = decode_reference_data(payload)
        if isinstance(added, InstrumentAdded):
            if added.symbol not in self.instruments:
                self.instruments[added.symbol] = Instrument(added.symbol, added.units, added.largest_order)
        elif isinstance(added, ParticipantAdded):
            if added.participant not in self._participants:
                self._participants[added.participant] = ClOrdIds()
        elif isinstance(added, LimitSet) and added.name == "remembered_orders":
            self._remembered_orders = added.value

    def _find_entrance(self, stream: str) -> Entrance | None:
        """The entrance of a stream named `orders/<participant>/<session>`, None if that is not its form."""
        parts = stream.split("/")
        if len(parts) != 3 or not parts[1] or not parts[2]:
            return None
        _, participant, session = parts
        entrance = Entrance(participant, session, self._participants.get(participant))
        if entrance.ids is not None:
            self._entrances[stream] = entrance
        return entrance

    def _refuse_input(self, position: int, now: int, stream: str) -> Outputs:
        refused = trade_tape.InputRefused(
            kind=int(Kind.INPUT_REFUSED),
            cause=position,
            ordinal=0,
            transact_time=now,
            stream=stream,
            detail="not a record that a gateway writes",
        )
        return self._alone(encode(refused))

    # Orders

    def _enter(self, position: int, now: int, entrance: Entrance, fields: tuple[Any, ...]) -> Outputs:
        """A NewOrder: refuse it, or accept it, trade it, and let the remainder rest or end."""
        (
            _, session_epoch, msg_seq_num, cl_ord_id, account, symbol, side, order_type, time_in_force, quantity, price,
        ) = fields  # fmt: skip
        participant, session, ids = entrance
        if ids is None:
            return self._refuse(position, now, entrance, fields, Refusal.UNKNOWN_PARTICIPANT, "")
        if ids.knows(cl_ord_id):
            return self._refuse(position, now, entrance, fields, Refusal.DUPLICATE_CL_ORD_ID, "")
        instrument = self.instruments.get(symbol)
        if instrument is None:
            return self._refuse(position, now, entrance, fields, Refusal.UNKNOWN_SYMBOL, "")
        refusal = refusal_of_terms(order_type, time_in_force, price, quantity, instrument)
        if refusal is not None:
            return self._refuse(position, now, entrance, fields, refusal, "")
        if order_type == MARKET:
            price = None
        # The order of the fields is that of OrderAccepted and that of TradeHalf.
        accepted = (
            _ORDER_ACCEPTED, position, 0, now, participant, session, session_epoch, msg_seq_num, position, cl_ord_id,
            account, symbol, instrument.units, side, order_type, time_in_force, quantity, price,
        )  # fmt: skip
        terms = (
            participant, session, position, cl_ord_id, account, side, order_type, time_in_force, quantity, price,
        )  # fmt: skip
        outputs = [(self._to_tape, encode(accepted))]
        own, opposite = instrument.sides[side]
        fills = opposite.take(price, quantity)
        if fills:
            leaves, notional = self._trade(position, now, instrument, terms, fills, outputs)
        else:
            leaves, notional = quantity, 0
        if leaves and order_type == LIMIT and time_in_force != IMMEDIATE_OR_CANCEL:
            order = Order(price, leaves, notional, terms, ids)
            own.add(order)
            ids.rest(cl_ord_id, position, order)
        elif leaves:
            self._end_remainder(position, now, instrument, Order(price, leaves, notional, terms, ids), outputs)
        else:
            ids.remember(cl_ord_id, position, instrument.filled[side], self._remembered_orders)
        return outputs

    def _trade(
        self,
        position: int,
        now: int,
        instrument: Instrument,
        terms: tuple[Any, ...],
        fills: Sequence[tuple[Order, int]],
        outputs: list[tuple[Destination, bytes]],
    ) -> tuple[int, int]:
        """Add a Trade per fill and end the makers that are filled; returns the taker's leaves and notional."""
        to_tape = self._to_tape
        symbol = instrument.symbol
        units = instrument.units
        quantity = leaves = terms[_QUANTITY]
        notional = 0
        for number, (maker, lots) in enumerate(fills, 1):
            price = maker.price
            leaves -= lots
            notional += price * lots
            maker_terms = maker.terms
            maker_leaves = maker.leaves
            # The order of the fields is that of Trade and of TradeHalf.
            trade = (
                _TRADE, position, 2 * number - 1, now, number, symbol, units, price, lots,
                (*maker_terms, maker_terms[_QUANTITY] - maker_leaves, maker_leaves, maker.notional),
                (*terms, quantity - leaves, leaves, notional),
            )  # fmt: skip
            outputs.append((to_tape, encode(trade)))
            if not maker_leaves:
                ended = instrument.filled[maker_terms[_SIDE]]
                maker.owner.end(maker_terms[_CL_ORD_ID], maker_terms[_ORDER_POSITION], ended, self._remembered_orders)
        return leaves, notional

    def _end_remainder(
        self, position: int, now: int, instrument: Instrument, order: Order, outputs: list[tuple[Destination, bytes]]
    ) -> None:
        """End what an order may not rest with: a market order's remainder, or an immediate-or-cancel order's."""
        terms = order.terms
        reason = EndReason.MARKET_REMAINDER if terms[_ORDER_TYPE] == MARKET else EndReason.IMMEDIATE_REMAINDER
        ordinal = 2 * len(outputs) - 1  # behind one report for the acceptance and two for each trade
        payload = _canceled(position, ordinal, now, (None, None, None, None), instrument, order, reason)
        outputs.append((self._to_tape, payload))
        canceled = instrument.canceled[terms[_SIDE]]
        order.owner.remember(terms[_CL_ORD_ID], position, canceled, self._remembered_orders)

    def _refuse_unacceptable_order(
        self, position: int, now: int, entrance: Entrance, fields: tuple[Any, ...]
    ) -> Outputs:
        _, _, _, cl_ord_id, _, _, _, refusal, detail = fields
        if entrance.ids is None:
            return self._refuse(position, now, entrance, fields, Refusal.UNKNOWN_PARTICIPANT, "")
        if entrance.ids.knows(cl_ord_id):
            return self._refuse(position, now, entrance, fields, Refusal.DUPLICATE_CL_ORD_ID, "")
        return self._refuse(position, now, entrance, fields, Refusal(refusal), detail)

    def _refuse(
        self, position: int, now: int, entrance: Entrance, fields: tuple[Any, ...], refusal: Refusal, detail: str
    ) -> Outputs:
        """Refuse the order whose fields these are: NewOrder and UnacceptableOrder begin alike."""
        _, session_epoch, msg_seq_num, cl_ord_id, account, symbol, side = fields[:7]
        if entrance.ids is not None and refusal != Refusal.DUPLICATE_CL_ORD_ID:
            entrance.ids.remember(cl_ord_id, NO_ORDER, None, self._remembered_orders)
        refused = trade_tape.OrderRefused(
            kind=int(Kind.ORDER_REFUSED),
            cause=position,
            ordinal=0,
            transact_time=now,
            participant=entrance.participant,
            session=entrance.session,
            session_epoch=session_epoch,
            msg_seq_num=msg_seq_num,
            cl_ord_id=cl_ord_id,
            account=account,
            symbol=symbol,
            side=side,
            refusal=int(refusal),
            detail=detail,
        )
        return self._alone(encode(refused))

    # Cancels

    def _cancel(self, position: int, now: int, entrance: Entrance, fields: tuple[Any, ...]) -> Outputs:
        """A CancelOrder: take its order out of the book, or say why not."""
        _, session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id, order_position, symbol, side = fields
        ids = entrance.ids
        if ids is None:
            return self._refuse_cancel(position, now, entrance, fields, None, Refusal.UNKNOWN_PARTICIPANT, "")
        target = _target(ids, orig_cl_ord_id, order_position)
        if ids.knows(cl_ord_id):
            return self._refuse_cancel(position, now, entrance, fields, target, Refusal.DUPLICATE_CL_ORD_ID, "")
        instrument = self.instruments.get(symbol)
        if instrument is None:
            return self._refuse_cancel(position, now, entrance, fields, target, Refusal.UNKNOWN_SYMBOL, "")
        if target is None:
            return self._refuse_cancel(position, now, entrance, fields, None, Refusal.UNKNOWN_ORDER, "")
        if target.symbol != symbol or target.side != side:
            return self._refuse_cancel(position, now, entrance, fields, target, Refusal.ORDER_MISMATCH, "")
        order = target.order
        if order is None:
            return self._refuse_cancel(position, now, entrance, fields, target, Refusal.TOO_LATE_TO_CANCEL, "")
        order.side.remove(order)
        ids.remember(cl_ord_id, NO_ORDER, None, self._remembered_orders)
        ids.end(order.terms[_CL_ORD_ID], target.position, instrument.canceled[side], self._remembered_orders)
        request = (entrance.session, session_epoch, msg_seq_num, cl_ord_id)
        return self._alone(_canceled(position, 0, now, request, instrument, order, EndReason.REQUESTED))

    def _refuse_unacceptable_cancel(
        self, position: int, now: int, entrance: Entrance, fields: tuple[Any, ...]
    ) -> Outputs:
        _, _, _, cl_ord_id, orig_cl_ord_id, _, _, refusal, detail = fields
        ids = entrance.ids
        if ids is None:
            return self._refuse_cancel(position, now, entrance, fields, None, Refusal.UNKNOWN_PARTICIPANT, "")
        target = _target(ids, orig_cl_ord_id, None)
        if ids.knows(cl_ord_id):
            return self._refuse_cancel(position, now, entrance, fields, target, Refusal.DUPLICATE_CL_ORD_ID, "")
        return self._refuse_cancel(position, now, entrance, fields, target, Refusal(refusal), detail)

    def _refuse_cancel(
        self,
        position: int,
        now: int,
        entrance: Entrance,
        fields: tuple[Any, ...],
        target: Target | None,
        refusal: Refusal,
        detail: str,
    ) -> Outputs:
        """Refuse the cancel whose fields these are: CancelOrder and UnacceptableCancel begin alike."""
        _, session_epoch, msg_seq_num, cl_ord_id, orig_cl_ord_id = fields[:5]
        if entrance.ids is not None and refusal != Refusal.DUPLICATE_CL_ORD_ID:
            entrance.ids.remember(cl_ord_id, NO_ORDER, None, self._remembered_orders)
        refused = trade_tape.CancelRefused(
            kind=int(Kind.CANCEL_REFUSED),
            cause=position,
            ordinal=0,
            transact_time=now,
            participant=entrance.participant,
            session=entrance.session,
            session_epoch=session_epoch,
            msg_seq_num=msg_seq_num,
            cl_ord_id=cl_ord_id,
            orig_cl_ord_id=orig_cl_ord_id,
            order_position=None if target is None else target.position,
            order_state=None if target is None else target.state,
            refusal=int(refusal),
            detail=detail,
        )
        return self._alone(encode(refused))

    def _alone(self, payload: bytes) -> Outputs:
        return ((self._to_tape, payload),)

    # State

    def snapshot(self) -> bytes:
        """The state: instruments and participants in creation order, orders in priority order, ids as remembered."""
        return encode(
            (
                _SNAPSHOT_FORMAT,
                self._remembered_orders,
                [
                    (
                        instrument.symbol,
                        instrument.units,
                        instrument.largest_order,
                        [_order_state(order) for order in instrument.book.bids.orders()],
                        [_order_state(order) for order in instrument.book.asks.orders()],
                    )
                    for instrument in self.instruments.values()
                ],
                [
                    (participant, _generation_state(ids.younger), _generation_state(ids.older))
                    for participant, ids in self._participants.items()
                ],
            )
        )

    def restore(self, snapshot: bytes) -> None:
        """Take the state of a snapshot. ValueError if it is of a format that this build does not read."""
        state = msgpack.unpackb(snapshot, use_list=False)
        if state[0] != _SNAPSHOT_FORMAT:
            raise ValueError(f"matcher snapshot of format {state[0]}; this build reads {_SNAPSHOT_FORMAT}")
        _, self._remembered_orders, instruments, participants = state
        self._participants = {participant: ClOrdIds() for participant, _, _ in participants}
        for symbol, units, largest_order, bids, asks in instruments:
            instrument = self.instruments[symbol] = Instrument(symbol, units, largest_order)
            self._restore_orders(instrument.book.bids, bids)
            self._restore_orders(instrument.book.asks, asks)
        for participant, younger, older in participants:
            ids = self._participants[participant]
            self._restore_generation(ids.younger, younger)
            self._restore_generation(ids.older, older)

    def _restore_orders(self, side: BookSide, states: Sequence[tuple[Any, ...]]) -> None:
        for terms, leaves, notional in states:
            ids = self._participants[terms[_PARTICIPANT]]
            order = Order(terms[_PRICE], leaves, notional, terms, ids)
            side.add(order)
            ids.rest(terms[_CL_ORD_ID], terms[_ORDER_POSITION], order)

    def _restore_generation(self, generation: Generation, states: Sequence[tuple[Any, ...]]) -> None:
        for cl_ord_id, position, ended in states:
            generation.positions[cl_ord_id] = position
            if ended is not None:
                symbol, side, state = ended
                instrument = self.instruments[symbol]
                alike = instrument.filled if state == FILLED else instrument.canceled
                generation.ended[position] = alike[side]


def _target(ids: ClOrdIds, orig_cl_ord_id: str, order_position: int | None) -> Target | None:
    """The live or remembered order that a cancel names: by its position if given, else by its ClOrdID."""
    order = ids.live_order(orig_cl_ord_id, order_position)
    if order is not None:
        terms = order.terms
        state = NEW if order.leaves == terms[_QUANTITY] else PARTLY_FILLED
        return Target(terms[_ORDER_POSITION], state, order.side.symbol, terms[_SIDE], order)
    remembered = ids.ended_order(orig_cl_ord_id, order_position)
    if remembered is None:
        return None
    position, ended = remembered
    return Target(position, ended.state, ended.symbol, ended.side, None)


def _canceled(
    position: int,
    ordinal: int,
    now: int,
    request: tuple[str | None, int | None, int | None, str | None],
    instrument: Instrument,
    order: Order,
    reason: EndReason,
) -> bytes:
    """An OrderCanceled; `request` is the requester's session, epoch, MsgSeqNum and ClOrdID."""
    participant, session, order_position, cl_ord_id, account, side, order_type, time_in_force, quantity, price = (
        order.terms
    )
    # The order of the fields is that of OrderCanceled.
    canceled = (
        _ORDER_CANCELED, position, ordinal, now, participant, session, *request, order_position, cl_ord_id, account,
        instrument.symbol, instrument.units, side, order_type, time_in_force, quantity, price, quantity - order.leaves,
        order.notional, int(reason),
    )  # fmt: skip
    return encode(canceled)


def _order_state(order: Order) -> tuple[tuple[Any, ...], int, int]:
    return order.terms, order.leaves, order.notional


def _generation_state(generation: Generation) -> list[tuple[str, int, EndedOrder | None]]:
    return [
        (cl_ord_id, position, generation.ended.get(position)) for cl_ord_id, position in generation.positions.items()
    ]
