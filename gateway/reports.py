"""Whom a user record is reported to, and whose request it answers. Pure."""

from typing import Any, cast

from exchange.records.kinds import Kind

_SESSION = 5
_REQUESTER = 6
_REQUESTER_EPOCH = 7
_ANSWER_EPOCH = 6
_BEACON = int(Kind.BEACON)
_CANCELED = int(Kind.ORDER_CANCELED)
_ANSWERS = frozenset((int(Kind.ORDER_ACCEPTED), int(Kind.ORDER_REFUSED), int(Kind.CANCEL_REFUSED)))


def addressees(fields: tuple[Any, ...]) -> tuple[str, ...]:
    """Reports go to the session that entered the order, answers to the session that asked; a beacon goes to none."""
    kind = fields[0]
    if kind == _BEACON:
        return ()
    if kind == _CANCELED and fields[_REQUESTER] not in (None, fields[_SESSION]):
        return fields[_REQUESTER], fields[_SESSION]
    return (fields[_SESSION],)


def answered_epoch(fields: tuple[Any, ...], session: str) -> int | None:
    """The session epoch of the request that this record answers to `session`; None when it answers none of its."""
    kind = fields[0]
    if kind in _ANSWERS:
        return cast(int, fields[_ANSWER_EPOCH])
    if kind == _CANCELED and fields[_REQUESTER] == session:
        return cast(int, fields[_REQUESTER_EPOCH])
    return None
