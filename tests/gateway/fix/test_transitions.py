"""The table of states: what may follow what, and what follows for both sides alike."""

from itertools import product

import pytest

from gateway.fix.transitions import TAKES_MESSAGES, TRANSITIONS, IllegalOccurrenceError, Occurrence, State, after


def follow(*occurrences: Occurrence) -> State:
    state = State.DISCONNECTED
    for occurrence in occurrences:
        state = after(state, occurrence)
    return state


def test_either_side_may_say_logon_first() -> None:
    sent_first = (Occurrence.CONNECTION_MADE, Occurrence.LOGON_SENT, Occurrence.LOGON_RECEIVED)
    received_first = (Occurrence.CONNECTION_MADE, Occurrence.LOGON_RECEIVED, Occurrence.LOGON_SENT)
    assert follow(*sent_first) is follow(*received_first) is State.ESTABLISHED


def test_whoever_says_logout_first_closes_and_the_other_waits_for_it() -> None:
    established = (Occurrence.CONNECTION_MADE, Occurrence.LOGON_SENT, Occurrence.LOGON_RECEIVED)
    assert follow(*established, Occurrence.LOGOUT_SENT, Occurrence.LOGOUT_RECEIVED) is State.CLOSING
    assert follow(*established, Occurrence.LOGOUT_ANSWERED) is State.LOGOUT_EXCHANGED


def test_every_state_may_be_lost_and_leads_back_to_the_start() -> None:
    for state in State:
        assert after(state, Occurrence.CONNECTION_LOST) is State.DISCONNECTED


def test_every_state_is_reached_and_every_connected_one_can_fail() -> None:
    reached = {following for row in TRANSITIONS.values() for following in row.values()}
    assert reached == set(State) == set(TRANSITIONS)
    assert {state for state in State if Occurrence.FAILED in TRANSITIONS[state]} == set(State) - {
        State.DISCONNECTED,
        State.CLOSING,
    }


def test_what_the_table_does_not_hold_is_refused() -> None:
    for state, occurrence in product(State, Occurrence):
        if occurrence in TRANSITIONS[state]:
            continue
        with pytest.raises(IllegalOccurrenceError, match=f"{occurrence.name} in {state.name}"):
            after(state, occurrence)


def test_messages_are_taken_between_logon_and_the_second_logout() -> None:
    assert {State.ESTABLISHED, State.LOGOUT_SENT} == TAKES_MESSAGES
