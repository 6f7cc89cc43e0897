"""Two real sessions back to back: the initiator and the acceptor are one class and obey one table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.fix.limits import DEFAULT_LIMITS, Limits
from gateway.fix.session import Session, UnidentifiedConnection
from gateway.fix.session_events import (
    ApplicationMessage,
    Event,
    LoggedOn,
    LoggedOut,
    Reference,
    RejectReceived,
    ResendItem,
)
from tests.gateway.fix.wire import ORDER_ENTRY, at, framed, frames, from_venue, soh, text

BODY = soh("11=A1|55=ABC|54=1|60=20260105-09:00:00|38=10|40=2|44=9.90|")


class Pair:
    """A member and a venue, and the bytes between them, which a lost connection loses."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self.member = Session(b"CL1", b"XCHG", frozenset({b"8", b"9", b"j"}), 0, limits)
        self.venue = Session(b"XCHG", b"CL1", ORDER_ENTRY, 0, limits)
        self.at_member: list[Event] = []
        self.at_venue: list[Event] = []
        self.wire: list[str] = []

    def connect(self, reset: bool = False, password: bytes = b"demo", seconds: float = 0) -> None:
        self.member.start(at(seconds), 10, b"CL1", password, reset)
        connection = UnidentifiedConnection(b"FIX.4.4", self.limits, at(seconds))
        logon = connection.receive(self.log(self.member.data_to_send()), at(seconds))
        assert logon is not None
        self.venue.connect(connection, logon, at(seconds))
        if logon.password == b"demo":
            self.at_venue += self.venue.accept_logon(at(seconds))
        else:
            self.venue.refuse_logon(b"LOGON_REFUSED", at(seconds))
        self.exchange(seconds)

    def log(self, data: bytes) -> bytes:
        self.wire += frames(data)
        return data

    def exchange(self, seconds: float = 0) -> None:
        """Carry bytes until both are silent, serving resends as drivers do."""
        for _ in range(50):
            to_venue, to_member = self.log(self.member.data_to_send()), self.log(self.venue.data_to_send())
            if not to_venue and not to_member:
                return
            self.at_venue += self.venue.receive(to_venue, at(seconds))
            self.at_member += self.member.receive(to_member, at(seconds))
            for session, msg_type in ((self.venue, b"8"), (self.member, b"D")):
                while items := session.next_resend_chunk(3):
                    for item in items:
                        session.resend(item, msg_type, body(item), at(seconds))
        raise AssertionError("the two never fall silent")

    def disconnect(self) -> None:
        self.member.disconnected()
        self.venue.disconnected()


def body(item: ResendItem) -> bytes:
    return b"37=%d\x01%b" % (item.reference.position, BODY)


def numbers(events: list[Event]) -> list[int]:
    return [event.msg_seq_num for event in events if isinstance(event, ApplicationMessage)]


def test_logon_with_literal_bytes_messages_and_logout() -> None:
    pair = Pair()
    pair.connect(reset=True)
    assert pair.wire == [
        text(
            framed(
                "35=A|49=CL1|56=XCHG|34=1|52=20260105-09:00:00.000000|98=0|108=10|141=Y|553=CL1|554=demo|",
            )
        ),
        text(from_venue("A", 1, "98=0|108=10|141=Y|")),
    ]
    assert pair.at_member == pair.at_venue == [LoggedOn(1, True, 10, ())]
    pair.member.send_application(b"D", BODY, 0, 0, at(0))
    pair.venue.send_application(b"8", b"37=1\x01", 0, 0, at(0))
    pair.exchange()
    assert (numbers(pair.at_venue), numbers(pair.at_member)) == ([2], [2])
    pair.member.logout(b"bye", at(1))
    pair.exchange(1)
    assert (pair.at_venue[-1], pair.at_member[-1]) == (LoggedOut(b"bye"), LoggedOut(b""))
    assert (pair.member.close_expected, pair.venue.close_expected) == (True, False)
    pair.disconnect()
    pair.connect(seconds=2)
    assert pair.at_member[-1] == pair.at_venue[-1] == LoggedOn(1, False, 10, ())
    assert (pair.member.next_in, pair.venue.next_in) == (pair.venue.next_out, pair.member.next_out) == (5, 5)


def test_a_refused_logon_is_an_event_of_the_member() -> None:
    pair = Pair()
    pair.connect(reset=True, password=b"wrong")
    assert (pair.at_member, pair.at_venue) == ([LoggedOut(b"LOGON_REFUSED")], [])
    assert (pair.member.close_reason, pair.venue.close_reason) == ("logon refused", "LOGON_REFUSED")
    assert not pair.venue.numbered


def test_what_was_lost_with_a_connection_is_recovered_on_the_next_on_both_sides() -> None:
    pair = Pair()
    pair.connect(reset=True)
    for position in range(5):
        pair.member.send_application(b"D", BODY, 0, position, at(0))
        pair.venue.send_application(b"8", b"37=%d\x01" % position, 0, position, at(0))
    pair.member.data_to_send(), pair.venue.data_to_send()  # written to a dead socket
    pair.disconnect()
    pair.connect(seconds=1)
    assert numbers(pair.at_venue) == numbers(pair.at_member) == [2, 3, 4, 5, 6]
    assert pair.member.next_in == pair.venue.next_out
    assert pair.venue.next_in == pair.member.next_out
    quiet = len(pair.wire)
    pair.exchange(2)
    assert len(pair.wire) == quiet


def test_two_idle_sessions_keep_each_other_alive() -> None:
    pair = Pair()
    pair.connect(reset=True)
    for now in range(1, 120):
        pair.member.on_time(at(now))
        pair.venue.on_time(at(now))
        pair.exchange(now)
    assert not pair.member.close_expected
    assert not pair.venue.close_expected
    assert {frame.split("|")[2] for frame in pair.wire[2:]} == {"35=0"}


def test_rejects_come_back_as_events() -> None:
    pair = Pair()
    pair.connect(reset=True)
    pair.member.send_application(b"D", b"11=A1\x01", 0, 0, at(0))
    pair.member.send_application(b"V", b"262=M1\x01", 0, 1, at(0))
    pair.exchange()
    first, second = pair.at_member[1:]
    assert isinstance(first, RejectReceived)
    assert (first.fields[b"371"], first.fields[b"373"]) == (b"55", b"1")
    assert isinstance(second, ApplicationMessage)
    assert (second.msg_type, second.fields[b"380"]) == (b"j", b"3")


def answer(data: bytes, reset: bool = False, known: int = 1) -> tuple[list[Event], Session]:
    """What a member that has just sent its Logon makes of these bytes."""
    member = Session(b"CL1", b"XCHG", frozenset({b"8"}))
    member.next_in = known
    member.start(at(0), 10, reset=reset)
    member.data_to_send()
    return member.receive(data, at(0)), member


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (from_venue("8", 1, "37=1|"), "first message is not a Logon"),
        (from_venue("A", 1, "98=0|98=0|"), "first message is faulty: Tag appears more than once"),
        (from_venue("A", 1, "98=0|108=10|", 121), "first message has a wrong header"),
        (framed("35=A|49=OTHER|56=CL1|34=1|52=20260105-09:00:00|98=0|108=10|"), "first message has a wrong header"),
        (framed("35=A|49=XCHG|56=CL1|52=20260105-09:00:00|98=0|108=10|"), "first message has a wrong header"),
        (framed("35=A|49=XCHG|56=CL1|34=1|98=0|108=10|"), "first message has a wrong header"),
        (framed("35=A|49=XCHG|56=CL1|34=1|52=20260105-09:00:00|98=0|108=10|", "FIX.4.2"), "Incorrect BeginString"),
        (soh("8=FIX.4.4|9=x|") * 11, "more than 10 garbled messages"),
    ],
)
def test_an_initiator_hangs_up_on_anything_but_a_logon_or_a_logout(data: bytes, reason: str) -> None:
    events, member = answer(data)
    assert (events, member.close_reason, member.data_to_send()) == ([], reason, b"")


@pytest.mark.parametrize(
    ("body", "reset", "known", "reason"),
    [
        ("98=0|108=10|141=Y|", False, 1, "the numbers were reset unasked"),
        ("98=1|108=10|", False, 1, "EncryptMethod(98) must be 0"),
        ("98=0|108=10|", False, 7, "MsgSeqNum too low, expecting 7 but received 1"),
    ],
)
def test_an_initiator_says_why_it_does_not_take_an_answer(body: str, reset: bool, known: int, reason: str) -> None:
    events, member = answer(from_venue("A", 1, body), reset, known)
    assert (events, member.close_reason) == ([], reason)
    assert frames(member.data_to_send()) == [
        text(framed(f"35=5|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000000|58={reason}|"))
    ]


def test_an_initiator_asks_for_a_gap_before_the_answer() -> None:
    events, member = answer(from_venue("A", 4, "98=0|108=20|"))
    assert events == [LoggedOn(0, False, 20, ())]
    assert frames(member.data_to_send()) == [
        text(framed("35=2|49=CL1|56=XCHG|34=2|52=20260105-09:00:00.000000|7=1|16=0|"))
    ]
    assert member.next_deadline == at(20).monotonic


def test_an_initiator_without_an_answer_gives_up_in_time() -> None:
    _, member = answer(b"")
    assert member.next_deadline == at(5).monotonic
    member.on_time(at(5))
    assert member.close_reason == "Logon not completed in time"


def test_an_initiator_keeps_what_it_sent_while_away() -> None:
    member = Session(b"CL1", b"XCHG", frozenset({b"8"}))
    member.start(at(0), 10, reset=True)
    member.disconnected()
    assert member.send_application(b"D", BODY, 0, 0, at(0)) == 2
    member.start(at(0), 10)
    member.data_to_send()
    member.receive(from_venue("A", 1, "98=0|108=10|"), at(0))
    assert member.receive(from_venue("2", 2, "7=1|16=0|"), at(0)) != []
    assert [item.reference for item in member.next_resend_chunk(9)] == [Reference(0, 0)]


_STEPS = st.lists(
    st.sampled_from(["order", "report", "carry", "cut", "lose", "test", "time", "reset"]), min_size=1, max_size=40
)


@settings(max_examples=150, deadline=None)
@given(_STEPS)
def test_whatever_is_lost_every_message_arrives_once_and_in_order(steps: list[str]) -> None:
    pair, now = Pair(), 0
    sent: dict[str, list[int]] = {"order": [], "report": []}
    pair.connect(reset=True)
    for position, step in enumerate(steps):
        if step == "order":
            pair.member.send_application(b"D", b"37=%d\x01%b" % (position, BODY), 0, position, at(now))
            sent[step].append(position)
        elif step == "report":
            pair.venue.send_application(b"8", b"37=%d\x01%b" % (position, BODY), 0, position, at(now))
            sent[step].append(position)
        elif step == "carry":
            pair.exchange(now)
        elif step == "lose":
            pair.member.data_to_send()
            pair.venue.data_to_send()
        elif step == "time":
            now += 7
            pair.member.on_time(at(now))
            pair.venue.on_time(at(now))
        if step in ("cut", "lose") or pair.member.close_expected or pair.venue.close_expected:
            pair.disconnect()
            pair.connect(seconds=now)
    pair.disconnect()
    pair.connect(seconds=now)
    for events, messages in ((pair.at_venue, sent["order"]), (pair.at_member, sent["report"])):
        arrived = [int(event.fields[b"37"]) for event in events if isinstance(event, ApplicationMessage)]
        assert arrived == messages
