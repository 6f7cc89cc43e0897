"""Law: a learned layout changes how fast a message is read, never what it says.

One session learns layouts, its twin never does; both get the same bytes, sound and spoilt.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.fix import layouts
from gateway.fix.fields import Fields
from gateway.fix.layouts import Layouts
from gateway.fix.limits import DEFAULT_LIMITS
from tests.gateway.fix.wire import ORDER, Venue, framed, from_client, soh, stamp

CANCEL = "41=A1|11=C1|55=ABC|54=1|60=20260105-09:00:00|"
LATER = "11=A1|55=ABC|54=1|60=20260105-09:00:01.250|38=10|40=2|44=9.90|"
BODIES = (
    ("D", ORDER),
    ("D", LATER),
    ("D", ORDER + "59=0|"),
    ("F", CANCEL),
    ("D", ORDER.replace("11=A1", "11=A=1")),
    ("D", ORDER.replace("11=A1", "11=\xe9\xff")),
    ("D", ORDER.replace("|38=10", "|38=")),
    ("D", ORDER.replace("60=20260105-09:00:00", "60=20260105-25:00:00")),
    ("D", ORDER.replace("60=20260105-09:00:00", "60=now")),
    ("D", ORDER + "44=9.90|"),
    ("D", ORDER.replace("55=ABC|", "")),
    ("D", "43=Y|" + ORDER),
    ("D", "43=Y|122=20260105-09:00:00|" + ORDER),
    ("D", "453=1|448=X|447=D|452=1|" + ORDER),
    ("D", "453=1|" + ORDER),
    ("D", "453=0|" + ORDER),
    ("D", "453=5|" + ORDER),
    ("D", "95=1|96=a|" + ORDER),
    ("D", "95=9|96=a|" + ORDER),
    ("D", "95=8|96=a|44=9.9|" + ORDER),
    ("D", "8013=x|" + ORDER),
    ("1", "112=ping|"),
    ("0", ""),
    ("j", "45=2|372=8|380=0|"),
    ("8", "37=1|"),
    ("4", "123=Y|36=9|"),
    ("2", "7=1|16=0|"),
)


def header(msg_type: str, number: str, sender: str = "CL1", target: str = "XCHG", seconds: float = 0) -> str:
    return f"35={msg_type}|49={sender}|56={target}|34={number}|52={stamp(seconds)}|"


ODD_BUT_SOUND = (
    ("D", "453=1|448=X|447=D|452=1|" + ORDER),
    ("D", "453=0|" + ORDER),
    ("D", "95=1|96=a|" + ORDER),
    ("D", "8013=x|" + ORDER),
)
"""Messages whose groups and data are checked as they are read: a layout must not lose those checks."""


class NeverLearns(Layouts):
    def seen(self, fields: Fields, timestamp_tag: bytes) -> None:
        pass


def primed(learning: bool) -> Venue:
    """A session that has read messages of several layouts often enough to know them, unless it may not learn."""
    venue = Venue()
    if not learning:
        venue.session._layouts = NeverLearns(b"FIX.4.4", {})
    venue.log_on()
    number = 2
    for msg_type, body in (*BODIES[:4], *ODD_BUT_SOUND) * 5:
        assert len(venue.feed(from_client(msg_type, number, body))) == 1
        number += 1
    assert len(venue.session._layouts.learned) == (3 if learning else 0)
    return venue


def resummed(frame: bytes) -> bytes:
    """The frame with the CheckSum that its bytes have."""
    return frame[:-7] + b"10=%03d\x01" % (sum(frame[:-7]) % 256)


FIRST = 2 + 5 * (4 + 4)
spoiling = st.sampled_from(
    (
        lambda frame: frame,
        lambda frame: frame,
        lambda frame: frame,
        lambda frame: frame[:-8] + b"\x0110=000\x01",
        lambda frame: resummed(frame.replace(b"\x019=1", b"\x019=01", 1)),
        lambda frame: resummed(frame.replace(b"\x019=1", b"\x019=2", 1)),
        lambda frame: resummed(frame.replace(b"\x019=1", b"\x019=", 1)),
        lambda frame: b"noise" + frame,
        lambda frame: frame[: len(frame) // 2],
        lambda frame: frame + frame,
        lambda frame: frame.replace(b"8=FIX.4.4", b"8=FIX.4.2", 1),
        lambda frame: frame.replace(b"\x0149=", b"\x01\x0149=", 1),
    )
)
numbers = st.sampled_from((0, 0, 0, 0, 0, 0, 1, 3, -1, -2))
odd_headers = st.sampled_from(("", "", "", "", "", "sender", "target", "old", "early", "zeros"))
messages = st.lists(st.tuples(st.sampled_from(BODIES), numbers, odd_headers, spoiling), min_size=1, max_size=8)


def odd_frame(msg_type: str, body: str, number: int, odd: str) -> bytes:
    match odd:
        case "sender":
            return framed(header(msg_type, str(number), sender="CL2") + body)
        case "target":
            return framed(header(msg_type, str(number), target="XCHGE") + body)
        case "old":
            return framed(header(msg_type, str(number), seconds=0).replace("09:00", "08:00") + body)
        case "early":
            return framed(header(msg_type, str(number), seconds=119.5) + body)
        case "zeros":
            return framed(header(msg_type, f"00{number}") + body)
    return from_client(msg_type, number, body)


@settings(max_examples=600, deadline=None)
@given(messages, st.integers(0, 300))
def test_a_learned_layout_changes_nothing_but_speed(
    program: list[tuple[tuple[str, str], int, str, object]], piece: int
) -> None:
    data, number = b"", FIRST
    for (msg_type, body), ahead, odd, spoil in program:
        data += spoil(odd_frame(msg_type, body, max(1, number + ahead), odd))  # type: ignore[operator]
        number += 1
    same_outcome(data, piece)


@pytest.mark.parametrize("body", [body for msg_type, body in BODIES if msg_type == "D"])
def test_an_odd_message_behind_a_plain_one_is_read_as_it_would_be_alone(body: str) -> None:
    same_outcome(from_client("D", FIRST, ORDER) + from_client("D", FIRST + 1, body), 0)


@pytest.mark.parametrize("length", [b"113", b"0112", b"12", b"1120"])
def test_a_body_length_that_is_not_the_bodys_makes_no_frame(length: bytes) -> None:
    frame = from_client("D", FIRST, ORDER)
    assert b"\x019=112\x01" in frame
    same_outcome(resummed(frame.replace(b"\x019=112\x01", b"\x019=%b\x01" % length)) + frame, 0)


def same_outcome(data: bytes, piece: int) -> None:
    outcomes = []
    for learning in (True, False):
        venue = primed(learning)
        venue.piece = piece
        events = venue.feed(data)
        session = venue.session
        outcomes.append((events, venue.wrote, venue.numbers(), session.garbled, session.close_reason))
    assert outcomes[0] == outcomes[1]


def test_a_message_longer_than_the_limit_ends_the_session_also_when_its_layout_is_known() -> None:
    venue = primed(True)
    order = from_client("D", FIRST, ORDER.replace("11=A1", "11=" + "A" * DEFAULT_LIMITS.message_bytes))
    assert venue.feed(order) == []
    assert venue.session.close_reason == f"message longer than {DEFAULT_LIMITS.message_bytes} bytes"


def test_layouts_are_learned_after_a_few_messages_and_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "_COUNTED", 2)
    learning = Layouts(b"FIX.4.4", {b"49": b"CL1", b"56": b"XCHG"})

    def see(*tags: str) -> int:
        fields: Fields = {b"35": b"D", b"49": b"CL1", b"34": b"2", b"52": b"now"} | {tag.encode(): b"1" for tag in tags}
        learning.seen(fields, b"52")
        return len(learning.learned)

    assert [see("60") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert [see("60", "1") for _ in range(3)] == [1, 1, 1]
    see("60", "2")  # one layout more than are counted: all begin again
    assert [see("60", "1") for _ in range(4)] == [1, 1, 1, 2]
    for tag in range(100, 200):
        for _ in range(4):
            see("60", str(tag))
    assert len(learning.learned) == 8
    assert [layout.tags for layout in learning.learned[:2]] == [
        (b"35", b"49", b"34", b"52", b"60"),
        (b"35", b"49", b"34", b"52", b"60", b"1"),
    ]
    found = learning.learned[0].match(soh("junk8=FIX.4.4|9=40|35=D|49=CL1|34=17|52=then|60=x|10=000|"), 4)
    assert found is not None
    assert found.groups() == (b"D", b"CL1", b"17", b"then", b"x")


def test_a_message_of_too_many_tags_is_not_learned() -> None:
    learning = Layouts(b"FIX.4.4", {})
    fields: Fields = {b"35": b"D", b"34": b"2", b"52": b"now"} | {b"%d" % tag: b"1" for tag in range(100, 162)}
    for _ in range(10):
        learning.seen(fields, b"52")
    assert learning.learned == []
