"""Why an order or a cancel is refused: a closed list, in order of precedence (architecture, rule 10).

When several hold, the first in this order is given. Names travel to members at the front of Text(58).
"""

from enum import IntEnum


class Refusal(IntEnum):
    """Numbers are written into records and never change meaning; the order of members is the precedence."""

    UNKNOWN_PARTICIPANT = 1
    """The participant is not in this partition's reference data."""
    DUPLICATE_CL_ORD_ID = 2
    """ClOrdID(11) names a live order of this participant, or one of the remembered ended or refused ones."""
    UNKNOWN_SYMBOL = 3
    """Symbol(55) is not an instrument of this venue, or not one of the partition it was sent to."""
    UNSUPPORTED_ORDER_TYPE = 4
    """OrdType(40) is neither market nor limit."""
    UNSUPPORTED_TIME_IN_FORCE = 5
    """TimeInForce(59) is none of day, good till cancel, immediate or cancel."""
    PRICE_MISSING = 6
    """A limit order without Price(44)."""
    PRICE_MALFORMED = 7
    """Price(44) is not a plain decimal number within the limits."""
    PRICE_OFF_TICK = 8
    """Price(44) is not a multiple of the instrument's tick."""
    QUANTITY_MISSING = 9
    """OrderQty(38) is absent."""
    QUANTITY_MALFORMED = 10
    """OrderQty(38) is not a plain positive decimal number within the limits."""
    QUANTITY_OFF_LOT = 11
    """OrderQty(38) is not a multiple of the instrument's lot."""
    QUANTITY_TOO_LARGE = 12
    """OrderQty(38) is above the instrument's largest order."""
    UNKNOWN_ORDER = 20
    """A cancel names an order that this partition does not remember for this participant."""
    ORDER_MISMATCH = 21
    """A cancel names an order whose symbol or side differs."""
    TOO_LATE_TO_CANCEL = 22
    """A cancel names an order that has ended."""
