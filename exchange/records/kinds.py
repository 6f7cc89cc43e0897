"""The closed enumeration of record kinds. A number, once used, is never given another meaning."""

from enum import IntEnum


class Kind(IntEnum):
    """First field of every payload; the empty payload is TICK."""

    STREAM_BOUND = 1

    NEW_ORDER = 10
    CANCEL_ORDER = 11
    UNACCEPTABLE_ORDER = 12
    UNACCEPTABLE_CANCEL = 13

    INSTRUMENT_ADDED = 20
    PARTICIPANT_ADDED = 21
    LIMIT_SET = 22

    TICK = 30

    ORDER_ACCEPTED = 40
    ORDER_REFUSED = 41
    TRADE = 42
    ORDER_CANCELED = 43
    CANCEL_REFUSED = 44
    INPUT_REFUSED = 45

    FILL = 60
    BEACON = 61
