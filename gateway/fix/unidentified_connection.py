"""An accepted connection until its first message says whose session it is."""

from gateway.fix.dictionary import LOGON
from gateway.fix.fields import FieldFault, parse_timestamp, split_fields, whole_number
from gateway.fix.framing import Framing
from gateway.fix.instant import NANOSECONDS_PER_SECOND, Instant
from gateway.fix.limits import Limits
from gateway.fix.session_events import LogonReceived


class UnidentifiedConnection:
    """Reads the first message, which must be a Logon; anything else is answered with silence (FIX 4.4 vol. 2, Logon).

    `close_expected` is set when the connection is to be closed without a word, and `close_reason` says why, for the
    log. Bytes behind the Logon stay unread for the session that takes the connection over.
    """

    def __init__(self, begin_string: bytes, limits: Limits, now: Instant) -> None:
        self.close_expected = False
        self.close_reason = ""
        self.framing = Framing(begin_string, limits.message_bytes, limits.garbled_messages)
        self.next_deadline = now.monotonic + limits.logon_timeout_s * NANOSECONDS_PER_SECOND
        """When the logon is overdue, in monotonic nanoseconds."""
        self._sending_time_skew = limits.sending_time_skew_s * NANOSECONDS_PER_SECOND
        self._logon_timeout_s = limits.logon_timeout_s

    def receive(self, data: bytes, now: Instant) -> LogonReceived | None:
        """Take bytes. None: more are needed, or `close_expected`."""
        if self.close_expected:
            return None
        self.framing.receive(data)
        body = self.framing.next_frame()
        if self.framing.failure:
            self._close(self.framing.failure)
        elif type(body) is bytes:
            logon = self._read_logon(body, now)
            if isinstance(logon, LogonReceived):
                return logon
            self._close(logon)
        elif body is not None:
            self._close("BeginString(8) of the first message is another")
        return None

    def _read_logon(self, body: bytes, now: Instant) -> LogonReceived | str:
        """The Logon, or what is wrong with it."""
        fields = split_fields(body)
        if isinstance(fields, FieldFault):
            return f"first message is faulty: {fields.text}"
        if fields[b"35"] != LOGON:
            return "first message is not a Logon"
        msg_seq_num = whole_number(fields.get(b"34", b""), 18)
        if msg_seq_num < 1 or b"49" not in fields or b"56" not in fields:
            return "Logon without SenderCompID(49), TargetCompID(56) or MsgSeqNum(34)"
        sending_time = parse_timestamp(fields.get(b"52", b""))
        if abs(sending_time - now.wall) > self._sending_time_skew:
            return "SendingTime(52) of the Logon is absent, malformed or too far from our clock"
        return LogonReceived(
            fields[b"49"],
            fields[b"56"],
            fields.get(b"553"),
            fields.get(b"554"),
            msg_seq_num,
            fields.get(b"141") == b"Y",
            fields,
        )

    def on_time(self, now: Instant) -> None:
        """To be called when `next_deadline` has passed."""
        if now.monotonic >= self.next_deadline and not self.close_expected:
            self._close(f"no Logon within {self._logon_timeout_s} s")

    def _close(self, reason: str) -> None:
        self.close_expected = True
        self.close_reason = reason
