"""An accepted connection says whose it is, or is closed without a word."""

import pytest

from gateway.fix.limits import DEFAULT_LIMITS, Limits
from gateway.fix.session import UnidentifiedConnection
from gateway.fix.session_events import LogonReceived
from tests.gateway.fix.wire import ORDER, at, framed, from_client, soh

LOGON = from_client("A", 1, "98=0|108=30|141=Y|553=u1|554=secret|")


def read(data: bytes, piece: int, limits: Limits = DEFAULT_LIMITS) -> tuple[LogonReceived | None, str]:
    connection = UnidentifiedConnection(b"FIX.4.4", limits, at(0))
    step = piece or len(data)
    for begin in range(0, len(data), step):
        logon = connection.receive(data[begin : begin + step], at(0))
        if logon is not None:
            return logon, connection.close_reason
    assert connection.close_expected == bool(connection.close_reason)
    return None, connection.close_reason


@pytest.fixture(params=[0, 1, 30])
def piece(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_logon_says_whose_session_it_is(piece: int) -> None:
    logon, reason = read(LOGON + from_client("D", 2, ORDER), piece)
    assert logon is not None
    assert logon[:6] == (b"CL1", b"XCHG", b"u1", b"secret", 1, True)
    assert (logon.fields[b"108"], reason) == (b"30", "")
    logon, _ = read(from_client("A", 7, "98=0|108=30|"), piece)
    assert logon is not None
    assert logon[:6] == (b"CL1", b"XCHG", None, None, 7, False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (from_client("D", 1, ORDER), "first message is not a Logon"),
        (from_client("5", 1), "first message is not a Logon"),
        (framed("35=A|49=CL1|56=XCHG|34=1|52=20260105-09:00:00|98=0|108=30|", "FIX.4.2"),
         "BeginString(8) of the first message is another"),
        (from_client("A", 1, "98=0|98=0|"), "first message is faulty: Tag appears more than once"),
        (framed("35=A|56=XCHG|34=1|52=20260105-09:00:00|"),
         "Logon without SenderCompID(49), TargetCompID(56) or MsgSeqNum(34)"),
        (framed("35=A|49=CL1|34=1|52=20260105-09:00:00|"),
         "Logon without SenderCompID(49), TargetCompID(56) or MsgSeqNum(34)"),
        (framed("35=A|49=CL1|56=XCHG|52=20260105-09:00:00|"),
         "Logon without SenderCompID(49), TargetCompID(56) or MsgSeqNum(34)"),
        (from_client("A", 0), "Logon without SenderCompID(49), TargetCompID(56) or MsgSeqNum(34)"),
        (framed("35=A|49=CL1|56=XCHG|34=1|"),
         "SendingTime(52) of the Logon is absent, malformed or too far from our clock"),
        (from_client("A", 1, "", 121), "SendingTime(52) of the Logon is absent, malformed or too far from our clock"),
        (soh("8=FIX.4.4|9=99999|"), "message longer than 65536 bytes"),
        (soh("8=FIX.4.4|9=x|") * 11 + LOGON, "more than 10 garbled messages"),
    ],
)  # fmt: skip
def test_anything_else_is_closed_without_a_word(data: bytes, reason: str, piece: int) -> None:
    assert read(data, piece) == (None, reason)
    assert read(data + LOGON, piece) == (None, reason)


def test_garbage_before_a_logon_is_skipped(piece: int) -> None:
    logon, _ = read(b"GET / HTTP/1.1\r\n\r\n" + LOGON, piece)
    assert logon is not None


def test_a_connection_without_a_logon_is_closed_in_time() -> None:
    connection = UnidentifiedConnection(b"FIX.4.4", DEFAULT_LIMITS, at(0))
    assert connection.next_deadline == at(5).monotonic
    assert connection.receive(LOGON[:-1], at(4)) is None
    connection.on_time(at(4.9))
    assert not connection.close_expected
    connection.on_time(at(5))
    assert (connection.close_expected, connection.close_reason) == (True, "no Logon within 5 s")
    assert connection.receive(LOGON[-1:], at(6)) is None
