"""Hostile peers. The one invariant: no exception, always forward progress; and the quick path changes nothing."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.fix.fields import FieldFault, Fields
from gateway.fix.instant import Instant
from gateway.fix.session_events import Event, ResendRequested
from tests.gateway.fix.wire import ORDER, Venue, at, framed, from_client, soh

_TAGS = st.sampled_from(
    [
        "7",
        "8",
        "9",
        "10",
        "16",
        "34",
        "35",
        "36",
        "43",
        "49",
        "52",
        "56",
        "58",
        "60",
        "95",
        "96",
        "98",
        "108",
        "112",
        "122",
        "123",
        "141",
        "453",
        "448",
    ]
)
_VALUES = st.one_of(
    st.sampled_from(["0", "1", "2", "3", "9", "30", "Y", "N", "A", "D", "-1", "", "CL1", "XCHG", "\xe9", "9" * 30]),
    st.sampled_from(["20260105-09:00:00", "20260105-08:59:60.123456", "20270105-09:00:00", "x"]),
    st.text("=0Y|", max_size=5),
)
_TYPES = st.sampled_from(["0", "1", "2", "3", "4", "5", "A", "D", "F", "V", "j", "??", "", "Z9"])
_EXTRA = st.lists(st.tuples(_TAGS, _VALUES), max_size=4).map(
    lambda pairs: "".join(f"{tag}={value}|" for tag, value in pairs)
)
_FRAME = st.one_of(
    st.builds(from_client, _TYPES, st.integers(0, 12), _EXTRA),
    st.builds(lambda number, body: from_client("D", number, body + ORDER), st.integers(1, 12), _EXTRA),
    st.builds(lambda begin, end: from_client("2", 2, f"7={begin}|16={end}|"), st.integers(0, 9), st.integers(0, 9)),
    st.builds(
        lambda number, new: from_client("4", number, f"43=Y|123=Y|36={new}|"), st.integers(1, 9), st.integers(0, 20)
    ),
    st.builds(lambda body: framed(f"35=D|{body}"), _EXTRA),
    st.just(framed("35=0|34=2|", "FIX.4.2")),
    st.just(soh("8=FIX.4.4|9=x|")),
    st.binary(max_size=20),
)
_STREAM = st.lists(_FRAME, min_size=1, max_size=20)


def run(venue: Venue, stream: list[bytes], wait: int) -> tuple[list[Event], bytes, tuple[int, int], str]:
    """Feed it all, let time pass, and serve resends; what happened."""
    events: list[Event] = []
    venue.log_on()
    for position in range(3):
        venue.session.send_application(b"8", b"17=E\x01", 0, position, at(0))
    for step, data in enumerate(stream):
        now = step * wait
        events += venue.feed(data, now)
        assert venue.session.next_deadline is None or venue.session.next_deadline >= 0
        venue.session.on_time(at(now))
        for _ in range(200):
            items = venue.session.next_resend_chunk(2)
            for item in items:
                venue.session.resend(item, b"8", b"17=E\x01", at(now))
            if not items:
                break
        assert not venue.session.resending
        venue.wrote += venue.session.data_to_send()
    return events, venue.wrote, venue.numbers(), venue.session.close_reason


class _NothingIsPlain(Venue):
    """The slow, obvious twin: each message takes the general path."""

    def __init__(self) -> None:
        super().__init__()
        self.session._is_plain = self._never  # type: ignore[method-assign]

    def _never(self, fields: Fields | FieldFault, now: Instant) -> bool:
        return False


@settings(max_examples=300, deadline=None)
@given(_STREAM, st.sampled_from([0, 1, 20]))
def test_no_peer_raises_an_exception_and_the_quick_path_changes_nothing(stream: list[bytes], wait: int) -> None:
    assert run(Venue(), stream, wait) == run(_NothingIsPlain(), stream, wait)


@settings(max_examples=150, deadline=None)
@given(_STREAM, st.integers(1, 60))
def test_how_the_bytes_are_cut_changes_nothing(stream: list[bytes], piece: int) -> None:
    whole, pieces = Venue(), Venue(piece=piece)
    events = run(whole, [b"".join(stream)], 0)
    assert run(pieces, [b"".join(stream)], 0) == events
    assert len([event for event in events[0] if isinstance(event, ResendRequested)]) <= 17


@settings(max_examples=150, deadline=None)
@given(_STREAM)
def test_a_session_survives_whatever_an_earlier_connection_did(stream: list[bytes]) -> None:
    venue = Venue()
    run(venue, stream, 0)
    epoch = venue.session.epoch
    venue.session.disconnected()
    venue.wrote = b""
    venue.log_on()
    assert venue.session.epoch == epoch + 1
    assert venue.numbers() == (2, 2)
