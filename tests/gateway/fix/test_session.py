"""The acceptor's end of a session against literal bytes: logon, order of numbers, rejects, liveness, logout."""

import pytest
import quickfix

from gateway.fix.dictionary import APPLICATION_MSG_TYPES
from gateway.fix.limits import Limits
from gateway.fix.session import Session, UnidentifiedConnection
from gateway.fix.session_events import (
    ApplicationMessage,
    ExpectedNumberMoved,
    LoggedOn,
    LoggedOut,
    MessageRejected,
    Reference,
    RejectReceived,
    ResendRequested,
)
from gateway.fix.transitions import IllegalOccurrenceError
from tests.gateway.fix.wire import ORDER, ORDER_ENTRY, Venue, at, framed, frames, from_client, from_venue, soh, text

REPORT = soh("37=sym-1-7|17=sym-1-7-0|150=0|39=0|")


@pytest.fixture(params=[0, 1, 50], ids=["whole", "byte by byte", "in pieces"])
def venue(request: pytest.FixtureRequest) -> Venue:
    return Venue(piece=int(request.param), epoch=6)


def order(number: int, body: str = ORDER, epoch: int = 7) -> ApplicationMessage:
    """The event of a D that `from_client` builds."""
    fields = dict(field.split(b"=", 1) for field in from_client("D", number, body)[:-7].split(b"\x01")[2:] if field)
    return ApplicationMessage(number, b"D", fields, epoch)


def sent(msg_type: str, number: int, body: str = "", seconds: float = 0) -> str:
    return text(from_venue(msg_type, number, body, seconds))


# --- Logon


def test_a_logon_with_literal_bytes() -> None:
    venue = Venue()
    venue.connect(soh("8=FIX.4.4|9=71|35=A|49=CL1|56=XCHG|34=1|52=20260105-09:00:00.000000|98=0|108=30|141=Y|10=142|"))
    assert venue.take() == [
        "8=FIX.4.4|9=71|35=A|49=XCHG|56=CL1|34=1|52=20260105-09:00:00.000000|98=0|108=30|141=Y|10=142|"
    ]


def test_logon_order_report_logout(venue: Venue) -> None:
    venue.log_on()
    assert venue.session.established
    assert venue.feed(from_client("D", 2, ORDER) + from_client("D", 3, ORDER)) == [order(2), order(3)]
    assert venue.session.send_application(b"8", REPORT, 0, 41, at(0)) == 2
    assert venue.take() == [sent("8", 2, text(REPORT))]
    assert venue.feed(from_client("5", 4, "58=bye|", 1), 1) == [LoggedOut(b"bye")]
    assert venue.take() == [sent("5", 3, "", 1)]
    assert not venue.session.close_expected
    venue.on_time(10.9)
    assert not venue.session.close_expected
    venue.on_time(11)
    assert venue.session.close_expected
    venue.session.disconnected()
    assert venue.numbers() == (5, 4)


def test_after_a_start_of_the_venue_a_session_must_reset() -> None:
    venue = Venue()
    for body, number in (("98=0|108=30|", 1), ("98=0|108=30|", 7), ("98=0|108=30|141=N|", 1)):
        assert venue.connect(from_client("A", number, body)) == []
        reason = "RESET_NEEDED: log on with ResetSeqNumFlag(141)=Y and MsgSeqNum(34)=1; nothing earlier can be resent"
        assert venue.take() == [sent("5", 1, f"58={reason}|")]
        assert (venue.session.close_expected, venue.session.close_reason) == (True, reason)
        assert not venue.session.numbered
        venue.session.disconnected()
        assert (venue.numbers(), venue.session.epoch) == ((1, 1), 0)
    venue.log_on()


def test_no_application_message_takes_a_number_that_the_first_logon_would_take_away() -> None:
    venue = Venue()
    with pytest.raises(IllegalOccurrenceError):
        venue.session.send_application(b"8", REPORT, 0, 41, at(0))


def test_b01_a_logon_refused_for_its_password_changes_nothing(venue: Venue) -> None:
    venue.log_on()
    venue.feed(b"".join(from_client("0", number) for number in (2, 3, 4)))
    for position in range(8):
        venue.session.send_application(b"8", REPORT, 0, position, at(0))
    venue.take()
    venue.session.disconnected()
    assert venue.numbers() == (5, 10)

    assert venue.connect(from_client("A", 1, "98=0|108=30|141=Y|553=u1|554=WRONG|"), accept=False) == []
    assert venue.take() == [sent("5", 10, "58=LOGON_REFUSED|")]
    assert venue.session.close_expected
    venue.session.disconnected()
    assert (venue.numbers(), venue.session.epoch) == ((5, 10), 7)

    assert venue.connect(from_client("A", 5, "98=0|108=30|553=u1|554=right|")) == [LoggedOn(7, False, 30, ())]
    assert venue.take() == [sent("A", 10, "98=0|108=30|")]
    assert venue.feed(from_client("2", 6, "7=1|16=0|")) == [ResendRequested(1, 10)]
    items = venue.session.next_resend_chunk(100)
    assert [(item.msg_seq_num, item.reference) for item in items] == [
        (number, Reference(0, number - 2)) for number in range(2, 10)
    ]


def test_a_logon_may_be_refused_silently(venue: Venue) -> None:
    connection = UnidentifiedConnection(b"FIX.4.4", venue.limits, at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=30|141=Y|"), at(0))
    assert logon is not None
    venue.session.connect(connection, logon, at(0))
    venue.session.refuse_logon(None, at(0))
    assert (venue.take(), venue.session.close_expected) == ([], True)


def test_b03_a_logon_too_low_gets_the_same_answer_each_time_and_moves_nothing(venue: Venue) -> None:
    venue.log_on()
    venue.feed(b"".join(from_client("0", number) for number in range(2, 40)))
    venue.session.disconnected()
    for number in (12, 12, 12, 39):
        assert venue.connect(from_client("A", number, "98=0|108=30|")) == []
        assert venue.take() == [sent("5", 2, f"58=MsgSeqNum too low, expecting 40 but received {number}|")]
        assert venue.session.close_expected
        venue.session.disconnected()
        assert venue.numbers() == (40, 2)
    assert venue.connect(from_client("A", 40, "98=0|108=30|")) == [LoggedOn(7, False, 30, ())]
    assert venue.take() == [sent("A", 2, "98=0|108=30|")]
    assert venue.numbers() == (41, 3)


@pytest.mark.parametrize(
    ("number", "body", "text"),
    [
        (1, "98=1|108=30|141=Y|", "EncryptMethod(98) must be 0"),
        (1, "108=30|141=Y|", "EncryptMethod(98) must be 0"),
        (1, "98=0|141=Y|", "HeartBtInt(108) must be 1 to 300 seconds"),
        (1, "98=0|108=0|141=Y|", "HeartBtInt(108) must be 1 to 300 seconds"),
        (1, "98=0|108=301|141=Y|", "HeartBtInt(108) must be 1 to 300 seconds"),
        (1, "98=0|108=-5|141=Y|", "HeartBtInt(108) must be 1 to 300 seconds"),
        (1, "98=0|108=30|141=X|", "ResetSeqNumFlag(141) must be Y or N"),
        (2, "98=0|108=30|141=Y|", "ResetSeqNumFlag(141)=Y needs MsgSeqNum(34)=1"),
    ],
)
def test_a_logon_whose_terms_are_wrong_is_told_why_and_moves_nothing(
    venue: Venue, number: int, body: str, text: str
) -> None:
    venue.log_on()
    venue.session.disconnected()
    assert venue.connect(from_client("A", number, body)) == []
    assert venue.take() == [sent("5", 2, f"58={text}|")]
    assert venue.session.close_reason == text
    venue.session.disconnected()
    assert (venue.numbers(), venue.session.epoch) == ((2, 2), 7)


@pytest.mark.parametrize("heart_bt_int", [1, 300])
def test_the_asked_heart_bt_int_is_echoed(venue: Venue, heart_bt_int: int) -> None:
    venue.log_on(heart_bt_int)
    assert venue.session.heart_bt_int == heart_bt_int


def test_b05_until_the_logon_is_answered_nothing_else_takes_a_number(venue: Venue) -> None:
    venue.log_on(1)
    venue.session.disconnected()
    connection = UnidentifiedConnection(b"FIX.4.4", venue.limits, at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=1|141=Y|"), at(0))
    assert logon is not None
    venue.session.connect(connection, logon, at(0))
    assert venue.session.next_deadline == at(5).monotonic
    venue.on_time(4)
    assert venue.session.receive(from_client("1", 2, "112=x|", 4), at(4)) == []
    venue.session.send_application(b"8", REPORT, 0, 41, at(4))
    assert venue.take() == []
    assert venue.session.accept_logon(at(4)) == [LoggedOn(8, True, 1, (Reference(0, 41),))]
    assert venue.take() == [sent("A", 1, "98=0|108=1|141=Y|", 4), sent("0", 2, "112=x|", 4)]


def test_a_logon_that_is_not_accepted_in_time_is_closed(venue: Venue) -> None:
    connection = UnidentifiedConnection(b"FIX.4.4", venue.limits, at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=1|141=Y|"), at(1))
    assert logon is not None
    venue.session.connect(connection, logon, at(1))
    venue.on_time(5)
    assert (venue.take(), venue.session.close_reason) == ([], "Logon not completed in time")
    assert venue.session.accept_logon(at(6)) == []
    venue.session.refuse_logon(b"late", at(6))
    assert venue.take() == []


def test_what_came_behind_a_logon_is_read_after_its_answer(venue: Venue) -> None:
    logon = from_client("A", 1, "98=0|108=30|141=Y|")
    events = venue.connect(logon + from_client("D", 2, ORDER) + from_client("1", 3, "112=x|"))
    assert events == [LoggedOn(7, True, 30, ()), order(2)]
    assert venue.take() == [sent("A", 1, "98=0|108=30|141=Y|"), sent("0", 2, "112=x|")]


def test_bytes_behind_a_logon_are_bounded() -> None:
    venue = Venue(Limits(held_bytes=100))
    connection = UnidentifiedConnection(b"FIX.4.4", venue.limits, at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=30|141=Y|"), at(0))
    assert logon is not None
    venue.session.connect(connection, logon, at(0))
    venue.session.receive(b"x" * 100, at(0))
    assert not venue.session.close_expected
    venue.session.receive(b"x", at(0))
    assert venue.session.close_reason == "more than 100 bytes behind a Logon"
    assert venue.session.accept_logon(at(0)) == []


def test_a_session_has_one_connection_at_a_time(venue: Venue) -> None:
    venue.log_on()
    assert venue.session.connected
    with pytest.raises(IllegalOccurrenceError):
        venue.log_on()
    assert venue.session.established


def test_a_logon_too_high_is_answered_first_and_then_the_gap_is_asked_for(venue: Venue) -> None:
    venue.log_on()
    venue.session.disconnected()
    assert venue.connect(from_client("A", 5, "98=0|108=30|")) == [LoggedOn(7, False, 30, ())]
    assert venue.take() == [sent("A", 2, "98=0|108=30|"), sent("2", 3, "7=2|16=0|")]
    resent = "43=Y|122=20260105-09:00:00|" + ORDER
    assert venue.feed(from_client("D", 2, resent) + from_client("4", 3, "43=Y|123=Y|36=6|")) == [order(2, resent)]
    assert (venue.take(), venue.numbers()) == ([], (6, 4))


def test_a_reset_in_session_starts_both_numberings_again(venue: Venue) -> None:
    venue.log_on()
    first = venue.feed(
        from_client("D", 2, ORDER) + from_client("A", 1, "98=0|108=20|141=Y|") + from_client("D", 2, ORDER)
    )
    assert first == [order(2), LoggedOn(8, True, 20, ()), order(2, epoch=8)]
    assert venue.take() == [sent("A", 1, "98=0|108=20|141=Y|")]
    assert venue.numbers() == (3, 2)


def test_a_reset_in_session_with_wrong_terms_ends_the_session(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("A", 1, "98=0|108=0|141=Y|")) == []
    assert venue.take() == [sent("5", 2, "58=HeartBtInt(108) must be 1 to 300 seconds|")]
    assert venue.session.close_expected


def test_a_logon_on_a_live_session_is_rejected(venue: Venue) -> None:
    venue.log_on()
    reason = "Logon on an established session"
    assert venue.feed(from_client("A", 2, "98=0|108=20|")) == [MessageRejected(2, b"A", 99, None, reason)]
    reset = "ResetSeqNumFlag(141)=Y needs MsgSeqNum(34)=1"
    assert venue.feed(from_client("A", 3, "98=0|108=20|141=Y|")) == [MessageRejected(3, b"A", 5, b"34", reset)]
    assert venue.take() == [
        sent("3", 2, f"45=2|372=A|373=99|58={reason}|"),
        sent("3", 3, f"45=3|371=34|372=A|373=5|58={reset}|"),
    ]
    assert venue.feed(from_client("A", 1, "43=Y|122=20260105-09:00:00|98=0|108=20|141=Y|")) == []
    assert (venue.take(), venue.numbers()) == ([], (4, 4))


# --- identity and time


@pytest.mark.parametrize(
    ("header", "tag"), [("49=CL2|56=XCHG|", "49"), ("49=CL1|56=OTHER|", "56")], ids=["sender", "target"]
)
def test_wrong_comp_ids_in_mid_session_are_rejected_and_end_it(venue: Venue, header: str, tag: str) -> None:
    venue.log_on()
    bad = framed(f"35=0|{header}34=2|52=20260105-09:00:00|")
    assert venue.feed(bad + from_client("D", 3, ORDER)) == [MessageRejected(2, b"0", 9, tag.encode(), "CompID problem")]
    assert venue.take() == [
        sent("3", 2, f"45=2|371={tag}|372=0|373=9|58=CompID problem|"),
        sent("5", 3, "58=CompID problem|"),
    ]
    assert (venue.session.close_expected, venue.numbers()) == (True, (3, 4))


def test_another_begin_string_in_mid_session_ends_it(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(framed("35=0|49=CL1|56=XCHG|34=2|52=20260105-09:00:00|", "FIX.4.2")) == []
    assert venue.take() == [sent("5", 2, "58=Incorrect BeginString|")]
    assert (venue.session.close_expected, venue.numbers()) == (True, (2, 3))


@pytest.mark.parametrize(
    "stamp",
    ["09:00:00", "09:00:00.123", "09:00:00.123456", "09:00:00.123456789", "08:58:00", "09:02:00", "09:01:60"],
)
def test_b14_times_of_any_usual_precision_within_two_minutes_are_taken(venue: Venue, stamp: str) -> None:
    venue.log_on()
    venue.feed(framed(f"35=1|49=CL1|56=XCHG|34=2|52=20260105-{stamp}|112=x|"))
    assert venue.take() == [sent("0", 2, "112=x|")]
    events = venue.feed(framed(f"35=D|49=CL1|56=XCHG|34=3|52=20260105-{stamp}|{ORDER}"))
    assert [type(event) for event in events] == [ApplicationMessage]


@pytest.mark.parametrize("stamp", ["20260105-08:57:59.999999", "20260105-09:02:00.000001", "20260106-09:00:00"])
@pytest.mark.parametrize("msg_type", ["0", "D"])
def test_b14_a_time_too_far_from_our_clock_is_rejected_and_ends_the_session(
    venue: Venue, stamp: str, msg_type: str
) -> None:
    venue.log_on()
    reason = "SendingTime accuracy problem"
    body = ORDER if msg_type == "D" else ""
    assert venue.feed(framed(f"35={msg_type}|49=CL1|56=XCHG|34=2|52={stamp}|{body}")) == [
        MessageRejected(2, msg_type.encode(), 10, b"52", reason)
    ]
    assert venue.take() == [
        sent("3", 2, f"45=2|371=52|372={msg_type}|373=10|58={reason}|"),
        sent("5", 3, f"58={reason}|"),
    ]
    assert (venue.session.close_expected, venue.numbers()) == (True, (3, 4))


@pytest.mark.parametrize(
    "stamp", ["20260105-09:00:00.1", "20260105-25:00:00", "20260230-09:00:00", "2026-01-05T09:00:00Z"]
)
def test_b14_a_malformed_time_costs_the_message_not_the_session(venue: Venue, stamp: str) -> None:
    venue.log_on()
    reason = "Incorrect data format for value"
    assert venue.feed(framed(f"35=D|49=CL1|56=XCHG|34=2|52={stamp}|{ORDER}")) == [
        MessageRejected(2, b"D", 6, b"52", reason)
    ]
    body = ORDER.replace("60=20260105-09:00:00", f"60={stamp}")
    assert venue.feed(from_client("D", 3, body)) == [MessageRejected(3, b"D", 6, b"60", reason)]
    assert venue.take() == [
        sent("3", 2, f"45=2|371=52|372=D|373=6|58={reason}|"),
        sent("3", 3, f"45=3|371=60|372=D|373=6|58={reason}|"),
    ]
    assert venue.numbers() == (4, 4)


# --- rejects


@pytest.mark.parametrize(
    ("msg_type", "body", "tag"),
    [("D", ORDER, tag) for tag in ("11", "55", "54", "60", "40")]
    + [("F", "41=A1|11=C1|55=ABC|54=1|60=20260105-09:00:00|", tag) for tag in ("41", "11", "55", "54", "60")]
    + [("1", "112=x|", "112"), ("2", "7=1|16=0|", "7"), ("2", "7=1|16=0|", "16"), ("3", "45=1|", "45")],
)
def test_a_required_tag_that_is_missing_is_named(venue: Venue, msg_type: str, body: str, tag: str) -> None:
    venue.log_on()
    body = "".join(field + "|" for field in body.split("|")[:-1] if not field.startswith(tag + "="))
    reason = "Required tag missing"
    assert venue.feed(from_client(msg_type, 2, body)) == [
        MessageRejected(2, msg_type.encode(), 1, tag.encode(), reason)
    ]
    assert venue.take() == [sent("3", 2, f"45=2|371={tag}|372={msg_type}|373=1|58={reason}|")]
    assert (venue.numbers(), venue.session.close_expected) == ((3, 3), False)


@pytest.mark.parametrize("tag", ["49", "56", "52"])
def test_a_required_tag_of_the_header_that_is_missing_is_named(venue: Venue, tag: str) -> None:
    venue.log_on()
    header = "35=D|49=CL1|56=XCHG|34=2|52=20260105-09:00:00|"
    header = "".join(field + "|" for field in header.split("|")[:-1] if not field.startswith(tag + "="))
    assert venue.feed(framed(header + ORDER)) == [MessageRejected(2, b"D", 1, tag.encode(), "Required tag missing")]
    assert venue.numbers() == (3, 3)


@pytest.mark.parametrize("header", ["", "34=x|", "34=-2|", "34=1234567890123456789|"])
def test_a_message_without_a_number_ends_the_session(venue: Venue, header: str) -> None:
    venue.log_on()
    assert venue.feed(framed(f"35=D|49=CL1|56=XCHG|{header}52=20260105-09:00:00|{ORDER}")) == []
    assert venue.take() == [sent("5", 2, "58=MsgSeqNum(34) missing or malformed|")]
    assert (venue.session.close_expected, venue.numbers()) == (True, (2, 3))


@pytest.mark.parametrize(
    ("body", "reason", "tag", "text"),
    [
        ("1=|" + ORDER, 4, "1", "Tag specified without a value"),
        (ORDER + "38=1000|", 13, "38", "Tag appears more than once"),
        (ORDER + "34=3|", 13, "34", "Tag appears more than once"),
        (ORDER + "10=000|", 14, "10", "Tag specified out of required order"),
        (ORDER + "038=1|", 0, "038", "Invalid tag number"),
        (ORDER + "453=2|448=A|", 16, "453", "Incorrect NumInGroup count"),
        (ORDER + "453=1|447=D|448=A|", 15, "447", "Repeating group fields out of order"),
        (ORDER + "354=9|355=abc|", 6, "354", "Length does not match the data"),
    ],
)
def test_b22_b23_one_reject_no_order_and_the_number_is_used(
    venue: Venue, body: str, reason: int, tag: str, text: str
) -> None:
    venue.log_on()
    assert venue.feed(from_client("D", 2, body) + from_client("D", 3, ORDER)) == [
        MessageRejected(2, b"D", reason, tag.encode(), text),
        order(3),
    ]
    assert venue.take() == [sent("3", 2, f"45=2|371={tag}|372=D|373={reason}|58={text}|")]
    assert venue.numbers() == (4, 3)


def test_b15_an_order_with_data_that_holds_fields_is_one_order(venue: Venue) -> None:
    venue.log_on()
    (event,) = venue.feed(from_client("D", 2, ORDER + "354=8|355=a|38=999|58=x|"))
    assert isinstance(event, ApplicationMessage)
    assert (event.fields[b"38"], event.fields[b"355"], event.fields[b"58"]) == (b"10", soh("a|38=999"), b"x")


def test_b21_bytes_that_are_no_ascii_break_nothing_and_come_through(venue: Venue) -> None:
    venue.log_on()
    for number, value in ((2, b"l\x92ordre"), (3, "10 \u20ac".encode())):
        body = f"35=D|49=CL1|56=XCHG|34={number}|52=20260105-09:00:00|{ORDER}58={value.decode('latin-1')}|"
        (event,) = venue.feed(framed(body))
        assert isinstance(event, ApplicationMessage)
        assert event.fields[b"58"] == value
        venue.session.send_application(b"8", b"58=" + value + b"\x01", 0, number, at(0))
        assert venue.take() == [sent("8", number, f"58={value.decode('latin-1')}|")]


def test_a_second_msg_type_is_garbled_ignored_and_counted(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("D", 2, ORDER + "35=F|") + from_client("D", 2, ORDER)) == [order(2)]
    assert (venue.take(), venue.session.garbled, venue.numbers()) == ([], 1, (3, 2))


def test_too_many_garbled_messages_end_the_connection_and_the_peer_is_told(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(b"8=FIX.4.4\x019=x\x01" * 10 + from_client("D", 2, ORDER)) == [order(2)]
    assert venue.feed(from_client("D", 3, ORDER + "35=F|") + from_client("D", 3, ORDER)) == []
    assert venue.take() == [sent("5", 2, "58=more than 10 garbled messages|")]
    assert (venue.session.close_expected, venue.numbers()) == (True, (3, 3))


def test_b25_a_message_above_the_limit_ends_the_connection_and_the_peer_is_told(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("B", 2, "95=1048576|96=" + "x" * 1_048_576 + "|")) == []
    assert venue.take() == [sent("5", 2, "58=message longer than 65536 bytes|")]
    assert venue.session.close_expected


def test_known_types_get_a_business_reject_and_unknown_ones_a_reject(venue: Venue) -> None:
    venue.log_on()
    unsupported = sorted(APPLICATION_MSG_TYPES - ORDER_ENTRY - {b"j"})
    for number, msg_type in enumerate(unsupported, 2):
        assert venue.feed(from_client(msg_type.decode(), number, "262=M1|269=0|269=1|")) == []
    assert venue.take() == [
        sent("j", number, f"45={number}|372={msg_type.decode()}|380=3|58=Unsupported message type|")
        for number, msg_type in enumerate(unsupported, 2)
    ]
    following = len(unsupported) + 2
    for number, msg_type in enumerate(["Z9", "x1", "ZZZZZZZZZ", "\xe9"], following):
        assert venue.feed(from_client(msg_type, number)) == [
            MessageRejected(number, msg_type.encode("latin-1"), 11, b"35", "Invalid MsgType")
        ]
    assert venue.take() == [
        sent("3", following, f"45={following}|371=35|372=Z9|373=11|58=Invalid MsgType|"),
        sent("3", following + 1, f"45={following + 1}|371=35|372=x1|373=11|58=Invalid MsgType|"),
        sent("3", following + 2, f"45={following + 2}|371=35|373=11|58=Invalid MsgType|"),
        sent("3", following + 3, f"45={following + 3}|371=35|372=\xe9|373=11|58=Invalid MsgType|"),
    ]


def test_an_empty_msg_type_is_a_tag_without_value(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("", 2)) == [MessageRejected(2, b"", 4, b"35", "Tag specified without a value")]
    assert venue.take() == [sent("3", 2, "45=2|371=35|373=4|58=Tag specified without a value|")]


def test_answers_are_not_answered(venue: Venue) -> None:
    venue.log_on()
    for number, msg_type in ((2, "3"), (3, "j")):
        (event,) = venue.feed(from_client(msg_type, number, "45=1|58=why|"))
        assert isinstance(event, RejectReceived)
        assert (event.msg_seq_num, event.fields[b"58"]) == (number, b"why")
    assert (venue.take(), venue.numbers()) == ([], (4, 2))


def test_a_driver_may_reject(venue: Venue) -> None:
    venue.log_on()
    venue.session.reject(2, b"D", 5, b"54", "Side must be 1 or 2", at(0))
    venue.session.business_reject(3, b"D", 4, b"A1", "later", at(0))
    venue.session.reject(4, b"D", 99, None, "a\x01b", at(0))
    assert venue.take() == [
        sent("3", 2, "45=2|371=54|372=D|373=5|58=Side must be 1 or 2|"),
        sent("j", 3, "45=3|372=D|379=A1|380=4|58=later|"),
        sent("3", 4, "45=4|372=D|373=99|58=a b|"),
    ]


# --- numbers


def test_a_number_too_low_ends_the_session_with_both_numbers(venue: Venue) -> None:
    venue.log_on()
    venue.feed(b"".join(from_client("0", number) for number in range(2, 20)))
    assert venue.feed(from_client("D", 12, ORDER) + from_client("D", 20, ORDER)) == []
    assert venue.take() == [sent("5", 2, "58=MsgSeqNum too low, expecting 20 but received 12|")]
    assert (venue.session.close_expected, venue.numbers()) == (True, (20, 3))


def test_a_duplicate_that_says_so_is_ignored(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("D", 2, ORDER))
    assert venue.feed(from_client("D", 2, "43=Y|122=20260105-09:00:00|" + ORDER)) == []
    assert venue.feed(from_client("D", 2, "43=Y|122=20260105-08:00:00|" + ORDER)) == []
    assert (venue.take(), venue.numbers(), venue.session.close_expected) == ([], (3, 2), False)


def test_a_duplicate_needs_its_first_sending_time(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("D", 2, ORDER))
    missing = "Required tag missing: OrigSendingTime(122)"
    malformed = "OrigSendingTime is no UTCTimestamp"
    later = "OrigSendingTime is later than SendingTime"
    assert venue.feed(from_client("D", 2, "43=Y|" + ORDER)) == [MessageRejected(2, b"D", 1, b"122", missing)]
    assert venue.feed(from_client("D", 2, "43=Y|122=x|" + ORDER)) == [MessageRejected(2, b"D", 6, b"122", malformed)]
    assert venue.take() == [
        sent("3", 2, f"45=2|371=122|372=D|373=1|58={missing}|"),
        sent("3", 3, f"45=2|371=122|372=D|373=6|58={malformed}|"),
    ]
    assert not venue.session.close_expected
    assert venue.feed(from_client("D", 2, "43=Y|122=20260105-09:00:01|" + ORDER)) == [
        MessageRejected(2, b"D", 10, b"122", later)
    ]
    assert venue.take() == [
        sent("3", 4, f"45=2|371=122|372=D|373=10|58={later}|"),
        sent("5", 5, "58=SendingTime accuracy problem|"),
    ]
    assert (venue.session.close_expected, venue.numbers()) == (True, (3, 6))


def test_poss_dup_with_an_unseen_number_is_a_message(venue: Venue) -> None:
    venue.log_on()
    body = "43=Y|122=20260105-08:59:00|" + ORDER
    assert venue.feed(from_client("D", 2, body)) == [order(2, body)]
    assert venue.feed(from_client("D", 3, "43=N|" + ORDER)) == [order(3, "43=N|" + ORDER)]
    wrong = "Value is incorrect for this tag"
    assert venue.feed(from_client("D", 4, "43=X|" + ORDER)) == [MessageRejected(4, b"D", 5, b"43", wrong)]


def test_b09_late_gap_fills_and_resets(venue: Venue) -> None:
    venue.log_on()
    venue.feed(b"".join(from_client("0", number) for number in range(2, 20)))
    assert venue.numbers() == (20, 2)
    assert venue.feed(from_client("4", 12, "43=Y|122=20260105-09:00:00|123=Y|36=18|")) == []
    assert venue.feed(from_client("4", 12, "43=Y|123=Y|36=18|")) == []
    assert (venue.take(), venue.numbers()) == ([], (20, 2))
    assert venue.feed(from_client("4", 1, "36=50|")) == [ExpectedNumberMoved(20, 50)]
    assert venue.feed(from_client("4", 1, "123=N|36=50|")) == []
    assert (venue.take(), venue.numbers()) == ([], (50, 2))
    lower = "NewSeqNo 30 is below the expected 50"
    assert venue.feed(from_client("4", 50, "36=30|")) == [MessageRejected(50, b"4", 5, b"36", lower)]
    assert venue.take() == [sent("3", 2, f"45=50|371=36|372=4|373=5|58={lower}|")]
    assert venue.numbers() == (50, 3)
    assert venue.feed(from_client("4", 12, "123=Y|36=18|")) == []
    assert venue.take() == [sent("5", 3, "58=MsgSeqNum too low, expecting 50 but received 12|")]
    assert venue.session.close_expected


@pytest.mark.parametrize(
    ("body", "reason", "tag", "text", "next_in"),
    [
        ("123=Y|36=2|", 5, "36", "NewSeqNo 2 is not above MsgSeqNum 2", 3),
        ("123=Y|36=1|", 5, "36", "NewSeqNo 1 is not above MsgSeqNum 2", 3),
        ("123=Y|36=x|", 6, "36", "NewSeqNo is no number", 3),
        ("123=Y|", 1, "36", "Required tag missing", 3),
        ("123=X|36=9|", 5, "123", "GapFillFlag is neither Y nor N", 3),
        ("36=x|", 6, "36", "NewSeqNo is no number", 2),
        ("123=N|", 1, "36", "Required tag missing", 2),
        ("36=|", 4, "36", "Tag specified without a value", 2),
    ],
)
def test_b09_a_sequence_reset_that_says_nothing_useful_is_rejected(
    venue: Venue, body: str, reason: int, tag: str, text: str, next_in: int
) -> None:
    venue.log_on()
    assert venue.feed(from_client("4", 2, body)) == [MessageRejected(2, b"4", reason, tag.encode(), text)]
    assert venue.take() == [sent("3", 2, f"45=2|371={tag}|372=4|373={reason}|58={text}|")]
    assert venue.numbers() == (next_in, 3)


# --- liveness


def test_b14_heartbeats_carry_the_time_of_their_writing(venue: Venue) -> None:
    venue.log_on(30)
    for number in range(10):
        now = 30 * (number + 1)
        venue.feed(from_client("0", number + 2, "", now - 1), now - 1)
        assert venue.session.next_deadline == at(now).monotonic
        venue.on_time(now - 0.001)
        assert venue.take() == []
        venue.on_time(now)
        assert venue.take() == [sent("0", number + 2, "", now)]


def test_a_silent_peer_is_tested_and_then_given_up(venue: Venue) -> None:
    venue.log_on(10)
    venue.on_time(10)
    assert venue.take() == [sent("0", 2, "", 10)]
    assert venue.session.next_deadline == at(12).monotonic
    venue.on_time(11.999)
    assert venue.take() == []
    venue.on_time(12)
    assert venue.take() == [sent("1", 3, "112=TEST-3|", 12)]
    assert venue.session.next_deadline == at(22).monotonic
    venue.on_time(22)
    assert venue.take() == [sent("0", 4, "", 22)]
    venue.on_time(23.999)
    assert (venue.take(), venue.session.close_expected) == ([], False)
    venue.on_time(24)
    reason = "no message for 2.4 times HeartBtInt(108) of 10 s"
    assert venue.take() == [sent("5", 5, f"58={reason}|", 24)]
    assert (venue.session.close_expected, venue.session.close_reason) == (True, reason)
    assert venue.session.next_deadline is None
    venue.on_time(100)
    assert venue.take() == []


def test_b11_any_complete_frame_shows_that_the_peer_lives(venue: Venue) -> None:
    venue.log_on(10)
    for number, now in ((50, 11), (60, 22), (2, 33)):  # ahead of its turn, and a duplicate
        poss_dup = "43=Y|122=20260105-09:00:00|" if number == 2 else ""
        venue.feed(from_client("0", number, poss_dup, now), now)
        venue.session.on_time(at(now + 11.999))
        assert "35=1" not in "".join(venue.take()), now
    venue.on_time(45)
    assert [frame.split("|")[2] for frame in venue.take()] == ["35=1"]
    assert not venue.session.close_expected
    venue.feed(b"8=FIX.4.4\x019=", 56)
    venue.on_time(57)
    assert venue.session.close_expected


def test_a_peer_that_we_do_not_read_is_not_given_up(venue: Venue) -> None:
    venue.log_on(10)
    for now in (12, 24, 36, 48, 60):
        venue.session.excuse_silence(at(now))
        venue.on_time(now)
        assert "35=1" not in "".join(venue.take()), now
    assert not venue.session.close_expected
    venue.on_time(72)
    assert "35=1" in "".join(venue.take())


def test_an_answered_test_request_starts_a_new_silence(venue: Venue) -> None:
    venue.log_on(10)
    venue.on_time(12)
    venue.feed(from_client("0", 2, "112=TEST-2|", 13), 13)
    venue.take()
    venue.on_time(24.9)
    assert venue.take() == [sent("0", 3, "", 24.9)]
    venue.on_time(25)
    assert venue.take() == [sent("1", 4, "112=TEST-4|", 25)]


def test_b68_steps_of_the_wall_clock_end_no_session() -> None:
    venue = Venue()
    venue.log_on(10)
    stepped = at(5)._replace(wall=at(3_605).wall)
    venue.session.on_time(stepped)
    assert venue.session.data_to_send() == b""
    assert venue.session.next_deadline == at(10).monotonic


def test_a_test_request_is_answered_with_its_id(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("1", 2, "112=\u00e9 = 1|"))
    assert venue.take() == [sent("0", 2, "112=\u00e9 = 1|")]


# --- logout


def test_our_logout_waits_for_the_answer_and_then_closes(venue: Venue) -> None:
    venue.log_on()
    venue.session.logout(b"VENUE_STOPS", at(1))
    assert venue.take() == [sent("5", 2, "58=VENUE_STOPS|", 1)]
    assert not venue.session.established
    assert venue.session.next_deadline == at(11).monotonic
    venue.session.logout(b"again", at(1))
    assert venue.take() == []
    assert venue.feed(from_client("D", 2, ORDER) + from_client("2", 3, "7=1|16=0|")) == [order(2)]
    assert venue.take() == [sent("4", 1, "43=Y|122=20260105-09:00:00.000000|123=Y|36=3|")]
    assert venue.feed(from_client("5", 4) + from_client("D", 5, ORDER)) == [LoggedOut(b"")]
    assert (venue.take(), venue.session.close_expected) == ([], True)
    assert venue.numbers() == (5, 3)


def test_our_logout_without_an_answer_closes_in_time(venue: Venue) -> None:
    venue.log_on()
    venue.session.logout(b"", at(1))
    assert venue.take() == [sent("5", 2, "", 1)]
    venue.on_time(11)
    assert (venue.take(), venue.session.close_reason) == ([], "Logout not completed in time")


def test_nothing_is_read_after_the_peers_logout(venue: Venue) -> None:
    venue.log_on()
    stream = from_client("5", 2) + from_client("D", 3, ORDER) + framed("35=D|35=F|")
    assert venue.feed(stream) == [LoggedOut(b"")]
    assert (venue.take(), venue.numbers()) == ([sent("5", 2)], (3, 3))


def test_a_logout_ahead_of_a_gap_is_answered_and_the_gap_is_found_at_the_next_logon(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("5", 4)) == [LoggedOut(b"")]
    assert (venue.take(), venue.numbers()) == ([sent("5", 2)], (2, 3))
    venue.session.disconnected()
    venue.connect(from_client("A", 5, "98=0|108=30|"))
    assert venue.take() == [sent("A", 3, "98=0|108=30|"), sent("2", 4, "7=2|16=0|")]


def test_a_logout_while_a_logon_waits_just_closes(venue: Venue) -> None:
    connection = UnidentifiedConnection(b"FIX.4.4", venue.limits, at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=30|141=Y|"), at(0))
    assert logon is not None
    venue.session.connect(connection, logon, at(0))
    venue.session.logout(b"VENUE_STOPS", at(0))
    assert (venue.take(), venue.session.close_expected) == ([], True)


# --- over connections


def test_what_happens_while_the_peer_is_away_takes_numbers_and_is_asked_for(venue: Venue) -> None:
    venue.log_on()
    venue.session.disconnected()
    assert venue.session.next_deadline is None
    assert [venue.session.send_application(b"8", REPORT, 0, n, at(0)) for n in (41, 42)] == [2, 3]
    assert venue.take() == []
    assert venue.connect(from_client("A", 2, "98=0|108=30|", 9), 9) == [LoggedOn(7, False, 30, ())]
    assert venue.take() == [sent("A", 4, "98=0|108=30|", 9)]
    assert venue.feed(from_client("2", 3, "7=2|16=3|", 9), 9) == [ResendRequested(2, 3)]
    for item in venue.session.next_resend_chunk(9):
        assert venue.session.resend(item, b"8", REPORT, at(9))
    assert venue.take() == [
        sent("8", number, "43=Y|122=20260105-09:00:00.000000|" + text(REPORT), 9) for number in (2, 3)
    ]


def test_a_reset_names_what_no_connection_has_carried(venue: Venue) -> None:
    venue.log_on()
    venue.session.send_application(b"8", REPORT, 0, 40, at(0))
    venue.take()
    venue.session.send_application(b"8", REPORT, 0, 41, at(0))  # rendered, never handed out
    venue.session.disconnected()
    venue.session.send_application(b"8", REPORT, 1, 42, at(0))
    owed = (Reference(0, 41), Reference(1, 42))
    assert venue.connect(from_client("A", 1, "98=0|108=30|141=Y|")) == [LoggedOn(8, True, 30, owed)]
    assert venue.take() == [sent("A", 1, "98=0|108=30|141=Y|")]
    assert venue.numbers() == (2, 2)
    venue.session.disconnected()
    assert venue.connect(from_client("A", 1, "98=0|108=30|141=Y|")) == [LoggedOn(9, True, 30, ())]


def test_a_second_reset_names_what_the_first_numbering_did_not_carry(venue: Venue) -> None:
    venue.log_on()
    for position in range(5):
        venue.session.send_application(b"8", REPORT, 0, position, at(0))
    venue.take()
    connection_reset = from_client("A", 1, "98=0|108=30|141=Y|")
    assert venue.session.receive(connection_reset, at(0)) == [LoggedOn(8, True, 30, ())]
    venue.session.send_application(b"8", REPORT, 0, 41, at(0))
    venue.session.disconnected()
    assert venue.connect(connection_reset) == [LoggedOn(9, True, 30, (Reference(0, 41),))]


def test_b13_nothing_of_a_lost_connection_reaches_the_next_one(venue: Venue) -> None:
    venue.log_on()
    venue.session.send_application(b"8", REPORT, 0, 41, at(0))
    venue.take()
    venue.feed(from_client("D", 5, ORDER) + from_client("2", 6, "7=1|16=0|") + from_client("D", 7, ORDER)[:50])
    venue.session.send_application(b"8", REPORT, 0, 42, at(0))
    (item,) = venue.session.next_resend_chunk(1)
    venue.wrote = b""
    venue.session.disconnected()
    assert venue.connect(from_client("A", 2, "98=0|108=30|")) == [LoggedOn(7, False, 30, ())]
    assert not venue.session.resending
    assert not venue.session.resend(item, b"8", REPORT, at(0))
    assert venue.take() == [sent("A", 5, "98=0|108=30|")]
    assert venue.feed(from_client("D", 3, ORDER)) == [order(3)]
    assert venue.session.next_resend_chunk(1) == []


def test_limits_are_those_of_the_session() -> None:
    session = Session(b"XCHG", b"CL1", ORDER_ENTRY, limits=Limits(logon_timeout_s=2, sending_time_skew_s=5))
    connection = UnidentifiedConnection(b"FIX.4.4", Limits(logon_timeout_s=2), at(0))
    logon = connection.receive(from_client("A", 1, "98=0|108=30|141=Y|"), at(0))
    assert logon is not None
    session.connect(connection, logon, at(0))
    assert session.next_deadline == at(2).monotonic
    session.accept_logon(at(0))
    session.receive(from_client("0", 2, "", 0), at(5.1))
    assert session.close_expected


def test_frames_of_a_long_session_all_have_three_digits_and_a_true_length(venue: Venue) -> None:
    venue.log_on()
    for number in range(2, 1_002):
        venue.session.send_application(b"8", b"58=%b\x01" % (b"x" * (number % 600)), 0, number, at(number / 1_000))
    wrote = venue.session.data_to_send()
    assert frames(wrote) == [
        text(from_venue("8", number, f"58={'x' * (number % 600)}|", number / 1_000)) for number in range(2, 1_002)
    ]


def test_a_stock_quickfix_dictionary_takes_each_session_message(dictionary: quickfix.DataDictionary) -> None:
    venue = Venue()
    venue.connect(from_client("A", 1, "98=0|108=30|"))
    wrote = venue.take()
    venue.session.disconnected()
    venue.connect(from_client("A", 1, "98=0|108=30|141=Y|"))
    venue.on_time(30)
    venue.on_time(36)
    venue.feed(from_client("1", 2, "112=x|"))
    venue.feed(from_client("2", 3, "7=1|16=0|"))
    venue.feed(from_client("V", 4) + from_client("Z9", 5) + from_client("D", 6, "11=A1|38=1|38=1|"))
    venue.feed(from_client("D", 9, ORDER))
    venue.session.business_reject(9, b"D", 4, b"A1", "later", at(0))
    venue.session.logout(b"bye", at(0))
    wrote += venue.take()
    assert {frame.split("|")[2][3:] for frame in wrote} == set("A0124j35")
    for frame in wrote:
        message = quickfix.Message(soh(frame).decode("latin-1"), dictionary, True)
        dictionary.validate(message)
        assert message.toString().count("\x01") == frame.count("|")
