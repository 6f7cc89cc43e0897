"""Which sessions a user record is reported to, and as which message. Pure."""

from collections.abc import Container, Iterator
from typing import Any

from exchange.records.kinds import Kind
from gateway.fix.execution_report import render

_SESSION = 5
_REQUESTER = 6
_REQUESTER_EPOCH = 7
_ANSWER_EPOCH = 6
_CANCELED = int(Kind.ORDER_CANCELED)
_ANSWERS = frozenset((int(Kind.ORDER_ACCEPTED), int(Kind.ORDER_REFUSED), int(Kind.CANCEL_REFUSED)))


def addressees(fields: tuple[Any, ...]) -> tuple[str, ...]:
    """Reports go to the session that entered the order, answers to the session that asked."""
    entered: str = fields[_SESSION]
    if fields[0] == _CANCELED and fields[_REQUESTER] not in (None, entered):
        return fields[_REQUESTER], entered
    return (entered,)


def answers(fields: tuple[Any, ...]) -> tuple[str, int] | None:
    """(session, session epoch) of the request that this record answers, or None when it answers none."""
    if fields[0] in _ANSWERS:
        return fields[_SESSION], fields[_ANSWER_EPOCH]
    if fields[0] == _CANCELED and fields[_REQUESTER] is not None:
        return fields[_REQUESTER], fields[_REQUESTER_EPOCH]
    return None


def reports(
    fields: tuple[Any, ...], symbol_partition: str, sessions: Container[str]
) -> Iterator[tuple[str, tuple[bytes, bytes]]]:
    """(session, (MsgType, body)) for each of `sessions` that the record is addressed to."""
    for session in addressees(fields):
        if session in sessions:
            yield session, render(fields, symbol_partition, session)
