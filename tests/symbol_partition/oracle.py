"""The matcher as slow and as obvious as it can be written: all orders ever entered in one list, searched each time.

It shares no code with the matcher but the record classes and the enumerations. It assumes well-formed input and a limit
of remembered ids that was set before the first order.
"""

from dataclasses import dataclass, field
from typing import Any

from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.order_entry import CancelOrder, NewOrder
from exchange.records.refusals import Refusal
from exchange.records.trade_tape import CancelRefused, OrderAccepted, OrderCanceled, OrderRefused, Trade, TradeHalf

BUY, SELL = 1, 2


@dataclass
class SlowOrder:
    """One order and all its fills."""

    participant: str
    session: str
    position: int
    request: NewOrder
    fills: list[tuple[int, int]] = field(default_factory=list)
    canceled: bool = False

    @property
    def cumulative(self) -> int:
        return sum(lots for _, lots in self.fills)

    @property
    def leaves(self) -> int:
        return 0 if self.canceled else self.request.quantity - self.cumulative

    @property
    def state(self) -> int:
        if self.canceled:
            return 4
        if self.leaves == 0:
            return 2
        return 1 if self.fills else 0

    def half(self) -> TradeHalf:
        request = self.request
        return TradeHalf(
            self.participant, self.session, self.position, request.cl_ord_id, request.account, request.side,
            request.order_type, request.time_in_force, request.quantity, request.price, self.cumulative, self.leaves,
            sum(price * lots for price, lots in self.fills),
        )  # fmt: skip


class SlowMatcher:
    """Whole partitions, one request at a time."""

    def __init__(self, largest_order: int, remembered_orders: int) -> None:
        self.symbols = ("ALFA", "BETA")
        self.participants = ("ACME", "BOLT", "CRUX")
        self.units = (1, 2, 1, 0)
        self.largest_order = largest_order
        self.remembered_orders = remembered_orders
        self.orders: list[SlowOrder] = []
        self.ended: dict[str, list[tuple[str, int | None]]] = {participant: [] for participant in self.participants}

    def remembered(self, participant: str) -> list[tuple[str, int | None]]:
        """This generation of N ids and the one before, with the positions of those that named an order."""
        ended = self.ended.get(participant, [])
        generation = len(ended) // self.remembered_orders
        return ended[max(0, generation - 1) * self.remembered_orders :]

    def live(self) -> list[SlowOrder]:
        return [order for order in self.orders if order.leaves > 0]

    def is_known(self, participant: str, cl_ord_id: str) -> bool:
        live = (order.request.cl_ord_id for order in self.live() if order.participant == participant)
        return cl_ord_id in live or cl_ord_id in [remembered for remembered, _ in self.remembered(participant)]

    def side_of_book(self, symbol: str, side: int) -> list[SlowOrder]:
        """Live orders by price, then by arrival."""
        resting = [order for order in self.live() if (order.request.symbol, order.request.side) == (symbol, side)]
        sign = -1 if side == BUY else 1
        return sorted(resting, key=lambda order: (sign * (order.request.price or 0), order.position))

    def new_order(self, position: int, now: int, participant: str, session: str, request: NewOrder) -> list[Any]:
        refusal = self.refusal_of_order(participant, request)
        if refusal is not None:
            if refusal not in (Refusal.UNKNOWN_PARTICIPANT, Refusal.DUPLICATE_CL_ORD_ID):
                self.ended[participant].append((request.cl_ord_id, None))
            return [
                OrderRefused(
                    Kind.ORDER_REFUSED, position, 0, now, participant, session, request.session_epoch,
                    request.msg_seq_num, request.cl_ord_id, request.account, request.symbol, request.side, refusal, "",
                )
            ]  # fmt: skip
        taker = SlowOrder(participant, session, position, request)
        tape: list[Any] = [
            OrderAccepted(
                Kind.ORDER_ACCEPTED, position, 0, now, participant, session, request.session_epoch, request.msg_seq_num,
                position, request.cl_ord_id, request.account, request.symbol, self.units, request.side,
                request.order_type, request.time_in_force, request.quantity, request.price,
            )
        ]  # fmt: skip
        number = 0
        while taker.leaves > 0:
            opposite = self.side_of_book(request.symbol, SELL if request.side == BUY else BUY)
            if not opposite:
                break
            maker = opposite[0]
            price = maker.request.price
            assert price is not None
            if request.price is not None:
                if request.side == BUY and price > request.price:
                    break
                if request.side == SELL and price < request.price:
                    break
            lots = min(maker.leaves, taker.leaves)
            maker.fills.append((price, lots))
            taker.fills.append((price, lots))
            number += 1
            tape.append(
                Trade(
                    Kind.TRADE, position, 2 * number - 1, now, number, request.symbol, self.units, price, lots,
                    maker.half(), taker.half(),
                )
            )  # fmt: skip
            if maker.leaves == 0:
                self.ended[maker.participant].append((maker.request.cl_ord_id, maker.position))
        reason = None
        if request.order_type == 1:
            reason = EndReason.MARKET_REMAINDER
        elif request.time_in_force == 3:
            reason = EndReason.IMMEDIATE_REMAINDER
        if taker.leaves > 0 and reason is not None:
            tape.append(self.end(taker, position, 2 * number + 1, now, (None, None, None, None), reason))
        elif taker.leaves == 0:
            self.ended[participant].append((request.cl_ord_id, position))
        self.orders.append(taker)
        return tape

    def refusal_of_order(self, participant: str, request: NewOrder) -> Refusal | None:
        price, quantity = request.price, request.quantity
        refusals = [
            (Refusal.UNKNOWN_PARTICIPANT, participant not in self.participants),
            (
                Refusal.DUPLICATE_CL_ORD_ID,
                participant in self.participants and self.is_known(participant, request.cl_ord_id),
            ),
            (Refusal.UNKNOWN_SYMBOL, request.symbol not in self.symbols),
            (Refusal.UNSUPPORTED_ORDER_TYPE, request.order_type not in (1, 2)),
            (Refusal.UNSUPPORTED_TIME_IN_FORCE, request.time_in_force not in (0, 1, 3)),
            (Refusal.PRICE_MISSING, request.order_type == 2 and price is None),
            (Refusal.PRICE_MALFORMED, request.order_type == 2 and price is not None and price < 1),
            (Refusal.QUANTITY_MALFORMED, quantity < 1),
            (Refusal.QUANTITY_TOO_LARGE, quantity > self.largest_order),
        ]
        return next((refusal for refusal, holds in refusals if holds), None)

    def cancel(self, position: int, now: int, participant: str, session: str, request: CancelOrder) -> list[Any]:
        order = self.named(participant, request)
        if participant not in self.participants:
            refusal = Refusal.UNKNOWN_PARTICIPANT
        elif self.is_known(participant, request.cl_ord_id):
            refusal = Refusal.DUPLICATE_CL_ORD_ID
        else:
            self.ended[participant].append((request.cl_ord_id, None))
            if request.symbol not in self.symbols:
                refusal = Refusal.UNKNOWN_SYMBOL
            elif order is None:
                refusal = Refusal.UNKNOWN_ORDER
            elif (order.request.symbol, order.request.side) != (request.symbol, request.side):
                refusal = Refusal.ORDER_MISMATCH
            elif order.leaves == 0:
                refusal = Refusal.TOO_LATE_TO_CANCEL
            else:
                asked = (session, request.session_epoch, request.msg_seq_num, request.cl_ord_id)
                return [self.end(order, position, 0, now, asked, EndReason.REQUESTED)]
        return [
            CancelRefused(
                Kind.CANCEL_REFUSED, position, 0, now, participant, session, request.session_epoch, request.msg_seq_num,
                request.cl_ord_id, request.orig_cl_ord_id, order.position if order else None,
                order.state if order else None, refusal, "",
            )
        ]  # fmt: skip

    def named(self, participant: str, request: CancelOrder) -> SlowOrder | None:
        """The order a cancel names, if it lives or is remembered."""
        for order in self.orders:
            if order.participant != participant:
                continue
            if order.leaves == 0 and (order.request.cl_ord_id, order.position) not in self.remembered(participant):
                continue
            if request.order_position is not None:
                if order.position == request.order_position:
                    return order
            elif order.request.cl_ord_id == request.orig_cl_ord_id:
                return order
        return None

    def end(
        self, order: SlowOrder, position: int, ordinal: int, now: int, asked: tuple[Any, ...], reason: EndReason
    ) -> OrderCanceled:
        order.canceled = True
        self.ended[order.participant].append((order.request.cl_ord_id, order.position))
        request = order.request
        return OrderCanceled(
            Kind.ORDER_CANCELED, position, ordinal, now, order.participant, order.session, *asked, order.position,
            request.cl_ord_id, request.account, request.symbol, self.units, request.side, request.order_type,
            request.time_in_force, request.quantity, request.price, order.cumulative,
            sum(price * lots for price, lots in order.fills), reason,
        )  # fmt: skip
