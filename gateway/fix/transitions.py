"""The states of a FIX session on one connection, as a table.

Two rules. Everything that decides what may follow what lives in this file. And this file does not know which side we
are: each of the two Logons and each of the two Logouts is an occurrence of its own, so whoever sends first passes
through one state and whoever receives first through the other, and both are held to the same law.

A connection is opened; both sides say Logon, in either order; the session is established; both sides say Logout, in
either order; the connection is closed. A Logon on an established session is a reset of its numbers (FIX 4.4 vol. 2,
ResetSeqNumFlag) and is answered like the first one. At any point either side may refuse, or the connection may break.
"""

from enum import Enum, auto


class State(Enum):
    """Where a session stands."""

    DISCONNECTED = auto()
    CONNECTED = auto()
    LOGON_SENT = auto()
    LOGON_RECEIVED = auto()
    ESTABLISHED = auto()
    LOGOUT_SENT = auto()
    LOGOUT_EXCHANGED = auto()
    CLOSING = auto()


class Occurrence(Enum):
    """What happened to it."""

    CONNECTION_MADE = auto()
    LOGON_SENT = auto()
    LOGON_RECEIVED = auto()
    LOGOUT_SENT = auto()
    LOGOUT_RECEIVED = auto()
    LOGOUT_ANSWERED = auto()
    FAILED = auto()
    CONNECTION_LOST = auto()


class IllegalOccurrenceError(Exception):
    """Our side did what the table does not allow: a fault of the driver, never of the peer."""


TRANSITIONS: dict[State, dict[Occurrence, State]] = {
    State.DISCONNECTED: {
        Occurrence.CONNECTION_MADE: State.CONNECTED,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.CONNECTED: {
        Occurrence.LOGON_SENT: State.LOGON_SENT,
        Occurrence.LOGON_RECEIVED: State.LOGON_RECEIVED,
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.LOGON_SENT: {
        Occurrence.LOGON_RECEIVED: State.ESTABLISHED,
        # A refused logon is answered with Logout or with nothing; there is no session yet that could be ended.
        Occurrence.LOGOUT_RECEIVED: State.CLOSING,
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.LOGON_RECEIVED: {
        Occurrence.LOGON_SENT: State.ESTABLISHED,
        Occurrence.LOGOUT_SENT: State.CLOSING,
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.ESTABLISHED: {
        Occurrence.LOGON_RECEIVED: State.LOGON_RECEIVED,
        Occurrence.LOGOUT_SENT: State.LOGOUT_SENT,
        Occurrence.LOGOUT_ANSWERED: State.LOGOUT_EXCHANGED,
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.LOGOUT_SENT: {
        # Whoever said Logout first closes the connection (FIX 4.4 vol. 2, Logout).
        Occurrence.LOGOUT_RECEIVED: State.CLOSING,
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.LOGOUT_EXCHANGED: {
        Occurrence.FAILED: State.CLOSING,
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
    State.CLOSING: {
        Occurrence.CONNECTION_LOST: State.DISCONNECTED,
    },
}


def after(state: State, occurrence: Occurrence) -> State:
    """The state that follows. Raises IllegalOccurrenceError for what the table does not hold."""
    following = TRANSITIONS[state].get(occurrence)
    if following is None:
        raise IllegalOccurrenceError(f"{occurrence.name} in {state.name}")
    return following


TAKES_MESSAGES = frozenset({State.ESTABLISHED, State.LOGOUT_SENT})
"""States in which the peer's messages are read in sequence. After our Logout the peer may still ask for resends."""
