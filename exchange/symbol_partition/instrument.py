"""An instrument as the matcher keeps it, and what is remembered of its ended orders."""

from typing import NamedTuple

from exchange.records.order_entry import Side
from exchange.records.reference_data import Units
from exchange.symbol_partition.book import Book
from exchange.symbol_partition.order_rules import LARGEST_INT

_BUY = int(Side.BUY)
_SELL = int(Side.SELL)

NEW = 0
"""FIX OrdStatus(39) of a live order that has not traded."""

PARTLY_FILLED = 1
"""FIX OrdStatus(39) of a live order that has traded."""

FILLED = 2
"""FIX OrdStatus(39) of an order that traded in full."""

CANCELED = 4
"""FIX OrdStatus(39) of an order that ended before."""


class EndedOrder(NamedTuple):
    """What is remembered of an order that has ended; shared by all orders that ended alike."""

    symbol: str
    side: int
    state: int


class Instrument:
    """One instrument of the partition with its book."""

    __slots__ = ("book", "canceled", "filled", "largest_order", "largest_price", "sides", "symbol", "units")

    def __init__(self, symbol: str, units: Units, largest_order: int) -> None:
        self.symbol = symbol
        self.units = units
        self.largest_order = largest_order
        """In lots."""
        self.largest_price = LARGEST_INT // largest_order
        """In ticks: whatever an order trades at, its notional fits a record."""
        self.book = book = Book(symbol)
        self.sides = {_BUY: (book.bids, book.asks), _SELL: (book.asks, book.bids)}
        """By an order's side: where it rests, and what it trades against."""
        self.filled = {side: EndedOrder(symbol, side, FILLED) for side in (_BUY, _SELL)}
        self.canceled = {side: EndedOrder(symbol, side, CANCELED) for side in (_BUY, _SELL)}
