"""Why an order ended without a fill: a closed list."""

from enum import IntEnum


class EndReason(IntEnum):
    """`reason` of OrderCanceled."""

    REQUESTED = 1
    """A member's cancel request."""
    IMMEDIATE_REMAINDER = 2
    """What an immediate-or-cancel order could not trade at once."""
    MARKET_REMAINDER = 3
    """What a market order could not trade at once: market orders never rest."""
