"""Whom a user record is reported to, and whose request it answers. Pure."""

from typing import Any

from exchange.records.kinds import Kind

_SESSION = 5
_ANSWERED_EPOCH = 6
_REQUESTER = 6
_REQUESTER_EPOCH = 7
_BEACON = int(Kind.BEACON)
_CANCELED = int(Kind.ORDER_CANCELED)
_ANSWERS = frozenset((int(Kind.ORDER_ACCEPTED), int(Kind.ORDER_REFUSED), int(Kind.CANCEL_REFUSED)))


def recipients(fields: tuple[Any, ...]) -> tuple[tuple[str, int | None], ...]:
    """The sessions that a record is reported to, each with the session epoch of its request that this answers, or None.

    Reports go to the session that entered the order, answers to the session that asked; a beacon goes to none.
    """
    kind = fields[0]
    if kind in _ANSWERS:
        return ((fields[_SESSION], fields[_ANSWERED_EPOCH]),)
    if kind == _BEACON:
        return ()
    if kind != _CANCELED or fields[_REQUESTER] is None:
        return ((fields[_SESSION], None),)
    asked = (fields[_REQUESTER], fields[_REQUESTER_EPOCH])
    return (asked,) if fields[_REQUESTER] == fields[_SESSION] else (asked, (fields[_SESSION], None))
