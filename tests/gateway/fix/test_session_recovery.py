"""Gaps in both directions: full cover of what the peer asks for, one request for what we miss, no waiting circle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.fix.limits import Limits
from gateway.fix.session_events import ApplicationMessage, LoggedOn, MessageRejected, Reference, ResendRequested
from tests.gateway.fix.wire import ORDER, Venue, at, from_client, from_venue, soh, text

DUP = "43=Y|122=20260105-09:00:00.000000|"


@pytest.fixture(params=[0, 1], ids=["whole", "byte by byte"])
def venue(request: pytest.FixtureRequest) -> Venue:
    return Venue(piece=int(request.param))


def sent(msg_type: str, number: int, body: str = "", seconds: float = 0) -> str:
    return text(from_venue(msg_type, number, body, seconds))


def report(venue: Venue, position: int, seconds: float = 0) -> None:
    venue.session.send_application(b"8", soh(f"17=E{position}|"), 0, position, at(seconds))


def serve(venue: Venue, chunk: int = 2, seconds: float = 0) -> None:
    """What a driver does with a ResendRequested."""
    while items := venue.session.next_resend_chunk(chunk):
        for item in items:
            assert venue.session.resend(item, b"8", soh(f"17=E{item.reference.position}|"), at(seconds))


def orders(events: list[object]) -> list[int]:
    return [event.msg_seq_num for event in events if isinstance(event, ApplicationMessage)]


def test_b06_two_sides_with_gaps_do_not_wait_for_each_other(venue: Venue) -> None:
    venue.log_on()
    venue.feed(b"".join(from_client("0", number) for number in range(2, 10)))
    for position in range(18):
        report(venue, position)
    venue.take()
    venue.session.disconnected()
    assert venue.numbers() == (10, 20)
    assert venue.connect(from_client("A", 15, "98=0|108=30|")) == [LoggedOn(1, False, 30, ())]
    assert venue.feed(from_client("2", 16, "7=12|16=0|")) == [ResendRequested(12, 21)]
    serve(venue)
    assert venue.take() == [
        sent("A", 20, "98=0|108=30|"),
        sent("2", 21, "7=10|16=0|"),
        *(sent("8", number, f"{DUP}17=E{number - 2}|") for number in range(12, 20)),
        sent("4", 20, f"{DUP}123=Y|36=22|"),
    ]
    assert venue.feed(from_client("4", 10, "43=Y|122=20260105-09:00:00|123=Y|36=17|")) == []
    assert (venue.take(), venue.numbers()) == ([], (17, 22))
    assert orders(venue.feed(from_client("D", 17, ORDER))) == [17]


def test_b06_a_request_served_early_is_not_served_again_in_its_turn(venue: Venue) -> None:
    venue.log_on()
    report(venue, 0)
    venue.take()
    assert venue.feed(from_client("2", 4, "7=1|16=0|")) == [ResendRequested(1, 2)]
    serve(venue)
    assert venue.take() == [
        sent("2", 3, "7=2|16=0|"),
        sent("4", 1, f"{DUP}123=Y|36=2|"),
        sent("8", 2, f"{DUP}17=E0|"),
    ]
    events = venue.feed(from_client("D", 2, "43=Y|" + ORDER) + from_client("D", 3, "43=Y|" + ORDER))
    assert [type(event) for event in events] == [ApplicationMessage, ApplicationMessage]
    assert (venue.take(), venue.numbers()) == ([], (5, 4))


def test_a_gap_closed_by_a_plain_message_reaches_what_was_kept(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("D", 3, ORDER)) == []
    assert orders(venue.feed(from_client("D", 2, ORDER))) == [2, 3]
    assert orders(venue.feed(from_client("D", 4, ORDER))) == [4]


def test_a_logout_of_the_peer_ends_its_resend(venue: Venue) -> None:
    venue.log_on()
    report(venue, 0)
    venue.feed(from_client("2", 2, "7=1|16=0|"))
    (item,) = venue.session.next_resend_chunk(1)
    venue.feed(from_client("5", 3))
    assert not venue.session.resending
    assert not venue.session.resend(item, b"8", soh("17=E0|"), at(0))


def test_b13_an_item_of_an_earlier_connection_is_not_sent_on_a_later_one(venue: Venue) -> None:
    venue.log_on()
    report(venue, 0)
    venue.feed(from_client("2", 2, "7=2|16=2|"))
    (old,) = venue.session.next_resend_chunk(1)
    venue.session.disconnected()
    venue.wrote = b""
    venue.connect(from_client("A", 3, "98=0|108=30|") + from_client("2", 4, "7=2|16=2|"))
    (new,) = venue.session.next_resend_chunk(1)
    venue.take()
    assert not venue.session.resend(old, b"8", soh("17=E0|"), at(0))
    assert venue.session.resend(new, b"8", soh("17=E0|"), at(0))
    assert venue.take() == [sent("8", 2, f"{DUP}17=E0|")]


def test_b08_every_request_gets_full_and_consecutive_cover(venue: Venue) -> None:
    venue.log_on(10)
    report(venue, 0)
    report(venue, 1)
    venue.on_time(10)
    venue.feed(from_client("1", 2, "112=x|", 10), 10)
    assert len(venue.take()) == 4
    assert venue.numbers() == (3, 6)
    later = "43=Y|122=20260105-09:00:10.000000|"

    assert venue.feed(from_client("2", 3, "7=1|16=0|", 10), 10) == [ResendRequested(1, 5)]
    serve(venue, seconds=10)
    assert venue.take() == [
        sent("4", 1, f"{later}123=Y|36=2|", 10),
        sent("8", 2, f"{DUP}17=E0|", 10),
        sent("8", 3, f"{DUP}17=E1|", 10),
        sent("4", 4, f"{later}123=Y|36=6|", 10),
    ]
    assert venue.feed(from_client("2", 4, "7=2|16=3|", 10), 10) == [ResendRequested(2, 3)]
    serve(venue, seconds=10)
    assert venue.take() == [sent("8", 2, f"{DUP}17=E0|", 10), sent("8", 3, f"{DUP}17=E1|", 10)]
    assert venue.feed(from_client("2", 5, "7=3|16=99|", 10), 10) == [ResendRequested(3, 5)]
    serve(venue, seconds=10)
    assert venue.take() == [sent("8", 3, f"{DUP}17=E1|", 10), sent("4", 4, f"{later}123=Y|36=6|", 10)]
    assert venue.feed(from_client("2", 6, "7=4|16=5|", 10), 10) == []
    assert venue.take() == [sent("4", 4, f"{later}123=Y|36=6|", 10)]
    assert not venue.session.resending

    above = "BeginSeqNo 6 is not between 1 and the last number sent, 5"
    assert venue.feed(from_client("2", 7, "7=6|16=0|", 10), 10) == [MessageRejected(7, b"2", 5, b"7", above)]
    below = "EndSeqNo is below BeginSeqNo"
    assert venue.feed(from_client("2", 8, "7=4|16=2|", 10), 10) == [MessageRejected(8, b"2", 5, b"16", below)]
    zero = "BeginSeqNo 0 is not between 1 and the last number sent, 7"
    assert venue.feed(from_client("2", 9, "7=0|16=0|", 10), 10) == [MessageRejected(9, b"2", 5, b"7", zero)]
    assert venue.feed(from_client("2", 10, "7=x|16=0|", 10), 10) == [MessageRejected(10, b"2", 6, b"7", "Not a number")]
    assert venue.feed(from_client("2", 11, "7=1|16=-1|", 10), 10) == [
        MessageRejected(11, b"2", 6, b"16", "Not a number")
    ]
    assert venue.take() == [
        sent("3", 6, f"45=7|371=7|372=2|373=5|58={above}|", 10),
        sent("3", 7, f"45=8|371=16|372=2|373=5|58={below}|", 10),
        sent("3", 8, f"45=9|371=7|372=2|373=5|58={zero}|", 10),
        sent("3", 9, "45=10|371=7|372=2|373=6|58=Not a number|", 10),
        sent("3", 10, "45=11|371=16|372=2|373=6|58=Not a number|", 10),
    ]
    assert venue.numbers() == (12, 11)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.booleans(), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(1, 31), st.integers(0, 40)), min_size=1, max_size=4),
    st.integers(1, 7),
)
def test_b08_walking_the_answers_covers_each_range_without_hole_or_overlap(
    kinds: list[bool], ranges: list[tuple[int, int]], chunk: int
) -> None:
    venue = Venue()
    venue.log_on()
    applications = set()
    for application in kinds:
        if application:
            applications.add(venue.session.next_out)
            report(venue, venue.session.next_out)
        else:
            venue.feed(from_client("1", venue.session.next_in, "112=x|"))
    venue.take()
    last = venue.session.next_out - 1
    asked = [(begin, end) for begin, end in ranges if begin <= last and (end == 0 or end >= begin)]
    for begin, end in asked:
        venue.feed(from_client("2", venue.session.next_in, f"7={begin}|16={end}|"))
    serve(venue, chunk)
    answers = [dict(field.split("=", 1) for field in frame.split("|")[:-1]) for frame in venue.take()]
    for begin, end in asked:
        following = begin
        while following <= (min(end, last) or last):
            answer = answers.pop(0)
            assert (answer["43"], int(answer["34"])) == ("Y", following)
            if answer["35"] == "8":
                assert answer["17"] == f"E{following}"
                following += 1
            else:
                assert answer["123"] == "Y"
                assert applications.isdisjoint(range(following, int(answer["36"])))
                following = int(answer["36"])
                assert answer["35"] == "4"
        assert following == (min(end, last) or last) + 1
    assert answers == []
    assert not venue.session.resending


def test_requests_behind_one_another_are_answered_in_turn(venue: Venue) -> None:
    venue.log_on()
    for position in range(3):
        report(venue, position)
    venue.take()
    stream = from_client("2", 2, "7=3|16=3|") + from_client("2", 3, "7=1|16=1|") + from_client("2", 4, "7=2|16=0|")
    assert venue.feed(stream) == [ResendRequested(3, 3), ResendRequested(1, 1), ResendRequested(2, 4)]
    assert venue.take() == []
    serve(venue)
    assert venue.take() == [
        sent("8", 3, f"{DUP}17=E1|"),
        sent("4", 1, f"{DUP}123=Y|36=2|"),
        sent("8", 2, f"{DUP}17=E0|"),
        sent("8", 3, f"{DUP}17=E1|"),
        sent("8", 4, f"{DUP}17=E2|"),
    ]


def test_requests_waiting_are_bounded(venue: Venue) -> None:
    venue = Venue(Limits(resend_requests=2))
    venue.log_on()
    report(venue, 0)
    venue.take()
    venue.feed(b"".join(from_client("2", number, "7=1|16=0|") for number in (2, 3, 4)))
    assert not venue.session.close_expected
    venue.feed(from_client("2", 5, "7=1|16=0|"))
    assert venue.take() == [sent("5", 3, "58=more than 2 ResendRequests waiting|")]
    assert venue.session.close_expected
    assert venue.session.next_resend_chunk(9) == []


def test_what_is_no_longer_kept_is_said_and_never_gap_filled(venue: Venue) -> None:
    venue = Venue(Limits(resend_references=5))
    venue.log_on()
    for position in range(8):
        report(venue, position)
    venue.take()
    assert venue.feed(from_client("2", 2, "7=5|16=0|")) == [ResendRequested(5, 9)]
    serve(venue)
    assert venue.take() == [sent("8", number, f"{DUP}17=E{number - 2}|") for number in range(5, 10)]
    assert venue.feed(from_client("2", 3, "7=4|16=4|")) == []
    said = "58=RESEND_TOO_OLD: numbers below 5 are no longer kept; log on with ResetSeqNumFlag(141)=Y|"
    assert venue.take() == [sent("5", 10, said)]
    assert venue.session.close_expected


def test_what_is_forgotten_during_a_resend_is_said_too() -> None:
    venue = Venue(Limits(resend_references=5))
    venue.log_on()
    for position in range(4):
        report(venue, position)
    venue.take()
    assert venue.feed(from_client("2", 2, "7=1|16=0|")) == [ResendRequested(1, 5)]
    (item,) = venue.session.next_resend_chunk(1)
    for position in range(4, 12):
        report(venue, position)
    venue.take()
    assert venue.session.resend(item, b"8", soh("17=E0|"), at(0))
    assert venue.session.next_resend_chunk(1) == []
    assert not venue.session.resending
    assert venue.session.next_deadline == 0
    venue.take()
    venue.on_time(1)
    said = "58=RESEND_TOO_OLD: numbers below 9 are no longer kept; log on with ResetSeqNumFlag(141)=Y|"
    assert venue.take() == [sent("5", 14, said, 1)]
    assert venue.session.close_expected


def test_what_was_due_on_a_lost_connection_is_not_due_on_the_next() -> None:
    venue = Venue(Limits(resend_references=2))
    venue.log_on()
    report(venue, 0)
    venue.feed(from_client("2", 2, "7=2|16=2|"))
    report(venue, 1)
    report(venue, 2)
    assert venue.session.next_resend_chunk(1) == []
    assert venue.session.next_deadline == 0
    venue.session.disconnected()
    assert venue.session.heart_bt_int == 0
    venue.wrote = b""
    venue.connect(from_client("A", 3, "98=0|108=30|"))
    venue.on_time(1)
    assert venue.take() == [sent("A", 5, "98=0|108=30|")]


def test_a_resend_waits_for_its_driver_and_carries_the_first_sending_time(venue: Venue) -> None:
    venue.log_on()
    report(venue, 0, 1)
    report(venue, 1, 2)
    venue.take()
    venue.feed(from_client("2", 2, "7=2|16=0|", 3), 3)
    assert (venue.take(), venue.session.resending) == ([], True)
    first, second = venue.session.next_resend_chunk(5)
    assert (first.reference, second.reference) == (Reference(0, 0), Reference(0, 1))
    assert venue.session.next_resend_chunk(5) == []
    assert venue.session.resending
    with pytest.raises(ValueError, match="message 9 is not the next one"):
        venue.session.resend(first._replace(msg_seq_num=9), b"8", b"", at(4))
    assert venue.session.resend(first, b"8", soh("17=E0|"), at(4))
    with pytest.raises(ValueError, match="message 2 is not the next one"):
        venue.session.resend(first, b"8", soh("17=E0|"), at(4))
    assert venue.session.resend(second, b"8", soh("17=E1|"), at(5))
    assert not venue.session.resending
    assert venue.take() == [
        sent("8", 2, "43=Y|122=20260105-09:00:01.000000|17=E0|", 4),
        sent("8", 3, "43=Y|122=20260105-09:00:02.000000|17=E1|", 5),
    ]
    assert not venue.session.resend(second, b"8", soh("17=E1|"), at(5))


def test_b11_heartbeats_and_answers_go_out_during_a_resend(venue: Venue) -> None:
    venue.log_on(10)
    report(venue, 0)
    report(venue, 1)
    venue.take()
    venue.feed(from_client("2", 2, "7=1|16=0|"))
    first, second = venue.session.next_resend_chunk(2)
    venue.session.resend(first, b"8", soh("17=E0|"), at(1))
    venue.take()
    venue.on_time(11)
    venue.feed(from_client("1", 3, "112=x|", 11.5), 11.5)
    venue.session.resend(second, b"8", soh("17=E1|"), at(12))
    assert venue.take() == [
        sent("0", 4, "", 11),
        sent("0", 5, "112=x|", 11.5),
        sent("8", 3, f"{DUP}17=E1|", 12),
    ]
    assert not venue.session.resending


def test_a_gap_is_asked_for_once_and_what_came_early_is_kept(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("D", 4, ORDER) + from_client("D", 5, ORDER) + from_client("D", 7, ORDER)) == []
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    assert venue.numbers() == (2, 3)
    assert orders(venue.feed(from_client("D", 2, "43=Y|" + ORDER))) == [2]
    assert venue.take() == []
    assert orders(venue.feed(from_client("D", 3, "43=Y|" + ORDER))) == [3, 4, 5]
    assert venue.take() == [sent("2", 3, "7=6|16=0|")]
    # The answer to the first request runs over what is known, and the answer to the second over nothing new.
    dup = "43=Y|122=20260105-09:00:00|"
    assert venue.feed(from_client("D", 4, dup + ORDER) + from_client("D", 5, dup + ORDER)) == []
    assert orders(venue.feed(from_client("D", 6, dup + ORDER))) == [6, 7]
    assert venue.feed(from_client("D", 7, dup + ORDER)) == []
    assert (venue.take(), venue.numbers()) == ([], (8, 4))
    assert orders(venue.feed(from_client("D", 8, ORDER))) == [8]


def test_rejects_of_early_messages_come_in_their_turn(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("D", 3, ORDER + "38=7|") + from_client("1", 4, "112=x|")) == []
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    events = venue.feed(from_client("4", 2, "43=Y|123=Y|36=3|"))
    assert events == [MessageRejected(3, b"D", 13, b"38", "Tag appears more than once")]
    assert venue.take() == [
        sent("3", 3, "45=3|371=38|372=D|373=13|58=Tag appears more than once|"),
        sent("0", 4, "112=x|"),
    ]
    assert venue.numbers() == (5, 5)


def test_an_early_request_that_is_faulty_is_rejected_in_its_turn(venue: Venue) -> None:
    venue.log_on()
    assert venue.feed(from_client("2", 3, "7=1|")) == []
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    assert venue.feed(from_client("0", 2)) == [MessageRejected(3, b"2", 1, b"16", "Required tag missing")]


def test_messages_kept_are_bounded_and_the_rest_is_asked_for_again() -> None:
    venue = Venue(Limits(parked_messages=2))
    venue.log_on()
    venue.feed(b"".join(from_client("D", number, ORDER) for number in (4, 5, 6, 7)))
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    assert orders(venue.feed(from_client("D", 2, "43=Y|" + ORDER) + from_client("D", 3, "43=Y|" + ORDER))) == [
        2,
        3,
        4,
        5,
    ]
    assert venue.take() == [sent("2", 3, "7=6|16=0|")]
    assert orders(venue.feed(from_client("D", 6, "43=Y|" + ORDER) + from_client("D", 7, "43=Y|" + ORDER))) == [6, 7]
    assert (venue.take(), venue.numbers()) == ([], (8, 4))


def test_a_gap_fill_that_jumps_over_what_was_kept_covers_it(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("D", 4, ORDER) + from_client("D", 9, ORDER))
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    assert venue.feed(from_client("4", 2, "43=Y|123=Y|36=7|")) == []
    assert venue.take() == [sent("2", 3, "7=7|16=0|")]
    assert venue.feed(from_client("D", 10, ORDER)) == []
    assert venue.take() == []
    assert orders(venue.feed(from_client("4", 7, "43=Y|123=Y|36=9|"))) == [9, 10]
    assert (venue.take(), venue.numbers()) == ([], (11, 4))


def test_a_reset_over_a_gap_reaches_what_was_kept(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("D", 4, ORDER) + from_client("D", 9, ORDER))
    venue.take()
    assert orders(venue.feed(from_client("4", 1, "36=9|"))) == [9]
    assert (venue.take(), venue.numbers()) == ([], (10, 3))


def test_a_gap_without_progress_ends_the_connection(venue: Venue) -> None:
    venue.log_on(300)
    venue.feed(from_client("D", 5, ORDER))
    assert venue.take() == [sent("2", 2, "7=2|16=0|")]
    assert venue.session.next_deadline == at(30).monotonic
    venue.feed(from_client("D", 2, "43=Y|" + ORDER, 20), 20)
    venue.feed(from_client("D", 6, ORDER, 40), 40)
    assert venue.session.next_deadline == at(50).monotonic
    venue.on_time(49.9)
    assert (venue.take(), venue.session.close_expected) == ([], False)
    venue.on_time(50)
    assert venue.take() == [sent("5", 3, "58=no answer to ResendRequest from 3|", 50)]
    assert venue.session.close_expected


def test_a_closed_gap_has_no_deadline(venue: Venue) -> None:
    venue.log_on(300)
    venue.feed(from_client("D", 3, ORDER) + from_client("D", 2, "43=Y|" + ORDER))
    assert venue.session.next_deadline == at(300).monotonic


def test_a_logout_among_what_was_kept_ends_the_reading(venue: Venue) -> None:
    venue.log_on()
    venue.feed(from_client("D", 3, ORDER) + from_client("D", 4, ORDER))
    venue.take()
    venue.feed(from_client("D", 2, "43=Y|" + ORDER))
    assert venue.numbers() == (5, 3)
    venue.feed(from_client("5", 8))
    assert venue.take() == [sent("5", 3)]
