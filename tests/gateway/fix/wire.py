"""FIX text with `|` for SOH, and sessions on a clock set by hand. Frames follow the plain rule, not our code."""

from collections.abc import Sequence

from gateway.fix.instant import Instant
from gateway.fix.limits import DEFAULT_LIMITS, Limits
from gateway.fix.session import Session, UnidentifiedConnection
from gateway.fix.session_events import Event, LoggedOn

NINE_O_CLOCK = 1_767_603_600_000_000_000
"""2026-01-05 09:00:00 UTC in nanoseconds."""

ORDER_ENTRY = frozenset({b"D", b"F"})
ORDER = "11=A1|55=ABC|54=1|60=20260105-09:00:00|38=10|40=2|44=9.90|"


def at(seconds: float) -> Instant:
    """So many seconds after nine; the monotonic clock started at another time."""
    nanoseconds = round(seconds * 1_000_000_000)
    return Instant(5_000_000_000 + nanoseconds, NINE_O_CLOCK + nanoseconds)


def soh(text: str) -> bytes:
    """Text with `|` for SOH as bytes."""
    return text.replace("|", "\x01").encode("latin-1")


def text(data: bytes) -> str:
    """Bytes with `|` for SOH."""
    return data.decode("latin-1").replace("\x01", "|")


def framed(body: str, begin_string: str = "FIX.4.4") -> bytes:
    """A frame around a body that starts at 35=."""
    begin = soh(f"8={begin_string}|9={len(soh(body))}|{body}")
    return begin + soh(f"10={sum(begin) % 256:03d}|")


def stamp(seconds: float) -> str:
    """SendingTime(52) at `at(seconds)`, for times within the hour."""
    microseconds = round(seconds * 1_000_000)
    minutes, microseconds = divmod(microseconds, 60_000_000)
    return f"20260105-09:{minutes:02d}:{microseconds // 1_000_000:02d}.{microseconds % 1_000_000:06d}"


def from_client(msg_type: str, number: int, body: str = "", seconds: float = 0) -> bytes:
    """A frame of member CL1."""
    return framed(f"35={msg_type}|49=CL1|56=XCHG|34={number}|52={stamp(seconds)}|{body}")


def from_venue(msg_type: str, number: int, body: str = "", seconds: float = 0) -> bytes:
    """A frame of the venue to CL1."""
    return framed(f"35={msg_type}|49=XCHG|56=CL1|34={number}|52={stamp(seconds)}|{body}")


def frames(data: bytes) -> list[str]:
    """The frames in bytes that hold nothing else, as text."""
    found = []
    while data:
        end = data.index(b"\x0110=") + 8
        found.append(text(data[:end]))
        data = data[end:]
    return found


class Venue:
    """The acceptor's end of a session, and everything it said and wrote. `piece` bytes are fed at a time; 0 is all."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, piece: int = 0, epoch: int = 0) -> None:
        self.session = Session(b"XCHG", b"CL1", ORDER_ENTRY, epoch, limits)
        self.limits = limits
        self.piece = piece
        self.wrote = b""

    def pieces(self, data: bytes) -> Sequence[bytes]:
        """The bytes as they are fed."""
        step = self.piece or max(1, len(data))
        return [data[begin : begin + step] for begin in range(0, len(data), step)]

    def feed(self, data: bytes, seconds: float = 0) -> list[Event]:
        """Receive bytes on the established connection."""
        events: list[Event] = []
        for piece in self.pieces(data):
            events += self.session.receive(piece, at(seconds))
            self.wrote += self.session.data_to_send()
        return events

    def connect(self, data: bytes, seconds: float = 0, accept: bool = True) -> list[Event]:
        """A new connection whose first bytes these are; the Logon is accepted or its password refused."""
        connection = UnidentifiedConnection(b"FIX.4.4", self.limits, at(seconds))
        logon = None
        pieces = list(self.pieces(data))
        while pieces and logon is None:
            logon = connection.receive(pieces.pop(0), at(seconds))
        assert logon is not None, connection.close_reason
        self.session.connect(connection, logon, at(seconds))
        events: list[Event] = []
        for piece in pieces:
            events += self.session.receive(piece, at(seconds))
        if accept:
            events += self.session.accept_logon(at(seconds))
        else:
            self.session.refuse_logon(b"LOGON_REFUSED", at(seconds))
        self.wrote += self.session.data_to_send()
        return events

    def log_on(self, heart_bt_int: int = 30, seconds: float = 0) -> None:
        """The usual beginning: both numberings at 1, Logon exchanged, next-in 2 and next-out 2."""
        body = f"98=0|108={heart_bt_int}|141=Y|"
        events = self.connect(from_client("A", 1, body, seconds), seconds)
        assert events == [LoggedOn(self.session.epoch, True, heart_bt_int, ())]
        assert self.take() == [text(from_venue("A", 1, body, seconds))]

    def on_time(self, seconds: float) -> None:
        """The clock says so."""
        assert self.session.on_time(at(seconds)) == []
        self.wrote += self.session.data_to_send()

    def take(self) -> list[str]:
        """The frames written since last asked, as text."""
        wrote, self.wrote = self.wrote + self.session.data_to_send(), b""
        return frames(wrote)

    def numbers(self) -> tuple[int, int]:
        """(next-in, next-out)."""
        return self.session.next_in, self.session.next_out
