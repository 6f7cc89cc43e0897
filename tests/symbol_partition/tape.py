"""A symbol partition for tests: requests go in one by one, and the tape's records come back as their classes."""

from collections.abc import Sequence
from typing import Any

from exchange.records.codec import decode_fields, encode
from exchange.records.kinds import Kind
from exchange.records.order_entry import cancel_order, new_order, order_stream
from exchange.records.record import Draft, Record
from exchange.records.reference_data import instrument_added, limit_set, participant_added
from exchange.records.trade_tape import (
    CancelRefused,
    InputRefused,
    OrderAccepted,
    OrderCanceled,
    OrderRefused,
    Trade,
    TradeHalf,
)
from exchange.symbol_partition.matcher import Matcher

BUY, SELL = 1, 2
MARKET, LIMIT = 1, 2
DAY, GTC, IOC = 0, 1, 3
UNITS = (1, 2, 1, 0)
EPOCH = 7

_CLASSES = {
    Kind.ORDER_ACCEPTED: OrderAccepted,
    Kind.ORDER_REFUSED: OrderRefused,
    Kind.ORDER_CANCELED: OrderCanceled,
    Kind.CANCEL_REFUSED: CancelRefused,
    Kind.INPUT_REFUSED: InputRefused,
}


def time_of(position: int) -> int:
    """The sequencing time that tests give to a position."""
    return 1_750_000_000_000_000_000 + 1_000 * position


def tape_record(payload: bytes) -> Any:
    """A payload of the tape as its record class."""
    fields = decode_fields(payload)
    if fields[0] == Kind.TRADE:
        trade = Trade(*fields)
        return trade._replace(maker=TradeHalf(*trade.maker), taker=TradeHalf(*trade.taker))
    return _CLASSES[Kind(fields[0])](*fields)


class SymbolPartition:
    """One matcher behind a sequence. ALFA and BETA trade; ACME, BOLT and CRUX are participants."""

    def __init__(self, largest_order: int = 1_000_000, remembered_orders: int | None = None) -> None:
        self.matcher = Matcher("sym-1")
        self.records: list[Record] = []
        for symbol in ("ALFA", "BETA"):
            self.put("refdata", instrument_added(symbol, UNITS, largest_order))
        for participant in ("ACME", "BOLT", "CRUX"):
            self.put("refdata", participant_added(participant, "user-1"))
        if remembered_orders is not None:
            self.put("refdata", limit_set("remembered_orders", remembered_orders))

    @property
    def next_position(self) -> int:
        return len(self.records)

    def put_bytes(self, stream: str, payload: bytes) -> Sequence[Draft]:
        """Sequence one payload; the drafts as they are."""
        position = self.next_position
        stream_position = sum(record.stream == stream for record in self.records)
        record = Record(position, stream, stream_position, time_of(position), time_of(position), payload)
        self.records.append(record)
        return self.matcher.apply(record)

    def put(self, stream: str, request: Sequence[Any]) -> list[Any]:
        """Sequence one record; what it causes, as record classes. The bytes must be those of the classes."""
        drafts = self.put_bytes(stream, encode(request))
        caused = [tape_record(draft.payload) for draft in drafts]
        for draft, record in zip(drafts, caused, strict=True):
            assert type(draft) is Draft
            assert draft == ("sym-1", "tape", encode(record))
        return caused

    def order(
        self,
        session: str,
        cl_ord_id: str,
        side: int,
        quantity: int,
        price: int | None,
        *,
        symbol: str = "ALFA",
        order_type: int = LIMIT,
        time_in_force: int = DAY,
        account: str | None = None,
    ) -> list[Any]:
        """A NewOrder from a session such as ACME-1; its MsgSeqNum is its position."""
        request = new_order(
            EPOCH, self.next_position, cl_ord_id, account, symbol, side, order_type, time_in_force, quantity, price
        )
        return self.put(order_stream(session.split("-")[0], session), request)

    def cancel(
        self,
        session: str,
        cl_ord_id: str,
        orig_cl_ord_id: str,
        side: int,
        *,
        order_position: int | None = None,
        symbol: str = "ALFA",
    ) -> list[Any]:
        """A CancelOrder from a session such as ACME-1."""
        request = cancel_order(EPOCH, self.next_position, cl_ord_id, orig_cl_ord_id, order_position, symbol, side)
        return self.put(order_stream(session.split("-")[0], session), request)

    def book(self, symbol: str = "ALFA") -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
        """Bids and asks in the order of trading: ClOrdID, price, leaves."""
        sides = self.matcher.instruments[symbol].book
        bids, asks = (
            [(order.terms[3], order.price, order.leaves) for order in side.orders()]
            for side in (sides.bids, sides.asks)
        )
        return bids, asks


def trades(records: Sequence[Any]) -> list[tuple[str, str, int, int]]:
    """The trades among records: maker's ClOrdID, taker's, price, quantity."""
    return [
        (record.maker.cl_ord_id, record.taker.cl_ord_id, record.price, record.quantity)
        for record in records
        if isinstance(record, Trade)
    ]


def outcomes(records: Sequence[Any]) -> list[str]:
    """The class names of records."""
    return [type(record).__name__ for record in records]
