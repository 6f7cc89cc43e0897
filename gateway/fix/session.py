"""A FIX 4.4 session without I/O: bytes and now in, events and bytes out. Acceptor and initiator share it.

A driver does this, and in this order: `receive`, write `data_to_send()`, act on the events, close if `close_expected`;
and calls `on_time` when `next_deadline` has passed.

Acceptor, per connection:
    connection = UnidentifiedConnection(b"FIX.4.4", limits, now)
    logon = connection.receive(data, now)              # None: more bytes are needed, or close_expected
    session = sessions.get(logon.sender_comp_id)       # unknown, wrong target or port, connected: close silently
    session.connect(connection, logon, now)            # stop reading the socket
    ... check logon.username and logon.password in a thread ...
    events = session.accept_logon(now)                 # or session.refuse_logon(text, now); then read on
Initiator, per connection:
    session.start(now, heart_bt_int=30, username=..., password=..., reset=True)
Both: `disconnected()` when the socket is gone, whoever closed it.

What was refused has changed nothing: a refused logon moves no number, and its Logout carries the next outbound number
without using it up.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter

from gateway.fix.dictionary import (
    APPLICATION_MSG_TYPES,
    BUSINESS_MESSAGE_REJECT,
    HEARTBEAT,
    LOGON,
    LOGOUT,
    REJECT,
    REQUIRED_TAGS,
    RESEND_REQUEST,
    SEQUENCE_RESET,
    TEST_REQUEST,
    TIMESTAMP_TAGS,
    BusinessRejectReason,
    SessionRejectReason,
)
from gateway.fix.fields import FieldFault, Fields, parse_timestamp, split_fields, whole_number, whole_seconds
from gateway.fix.framing import Framing
from gateway.fix.inbound_gap import InboundGap, ParkedMessage
from gateway.fix.instant import NANOSECONDS_PER_SECOND, Instant
from gateway.fix.layouts import Layouts
from gateway.fix.limits import DEFAULT_LIMITS, Limits
from gateway.fix.outbound_frames import FrameParts
from gateway.fix.outbound_references import ADMINISTRATIVE, OutboundReferences
from gateway.fix.resends import GapFill, Resends
from gateway.fix.session_events import (
    ApplicationMessage,
    Event,
    ExpectedNumberMoved,
    LoggedOn,
    LoggedOut,
    LogonReceived,
    MessageRejected,
    Reference,
    RejectReceived,
    ResendItem,
    ResendRequested,
)
from gateway.fix.transitions import TAKES_MESSAGES, IllegalOccurrenceError, Occurrence, State, after
from gateway.fix.unidentified_connection import UnidentifiedConnection

__all__ = ["Session", "UnidentifiedConnection"]

_MSG_SEQ_NUM_DIGITS = 18
_REF_MSG_TYPE_BYTES = 8
"""A longer MsgType(35) is not repeated in RefMsgType(372)."""
_SESSION_MSG_TYPES = frozenset({HEARTBEAT, TEST_REQUEST, RESEND_REQUEST, REJECT, SEQUENCE_RESET, LOGOUT, LOGON})

# What ApplicationMessage's constructor does, without the call around it.
_event = tuple.__new__


def _plain_tags(msg_type: bytes) -> Callable[[Fields], tuple[bytes, ...]]:
    """Fetches what decides whether a message is plain: four tags of the header, a timestamp, and the required ones.

    KeyError when one is missing.
    """
    return itemgetter(b"49", b"56", b"34", b"52", _timestamp_tag(msg_type), *REQUIRED_TAGS.get(msg_type, ()))


def _timestamp_tag(msg_type: bytes) -> bytes:
    """The timestamp in the body of a type; of one without, SendingTime."""
    timestamps = TIMESTAMP_TAGS.get(msg_type, (b"52",))
    assert len(timestamps) == 1, "the quick path checks one timestamp"
    return timestamps[0]


class Session:
    """One FIX session: its numbers, references of what was sent, and at most one connection at a time.

    `next_in` and `next_out` are the numbers expected and to be used next; `epoch` says which numbering they belong to
    and grows by one with each reset (the constructor's value is the one before the first). Numbers outlive connections
    but not this object.
    """

    def __init__(
        self,
        our_comp_id: bytes,
        their_comp_id: bytes,
        application_types: frozenset[bytes],
        epoch: int = 0,
        limits: Limits = DEFAULT_LIMITS,
        begin_string: bytes = b"FIX.4.4",
    ) -> None:
        self.next_in = 1
        self.next_out = 1
        self.epoch = epoch
        self.close_expected = False
        self.close_reason = ""
        self.numbered = False
        """Whether a logon was accepted in this object's life. Before, there is nothing a peer could continue."""

        self._our_comp_id = our_comp_id
        self._their_comp_id = their_comp_id
        self._begin_string = begin_string
        self._application_types = application_types
        self._known_types = application_types | _SESSION_MSG_TYPES
        self._plain_tags = {msg_type: _plain_tags(msg_type) for msg_type in application_types}
        self._limits = limits
        self._sending_time_skew = limits.sending_time_skew_s * NANOSECONDS_PER_SECOND

        self._state = State.DISCONNECTED
        self._takes_messages = False
        self._framing: Framing | None = None
        self._logon: LogonReceived | None = None
        self._reset_asked = False
        self._generation = 0
        self._heart_bt_int = 0
        self._heartbeat_interval = 0
        self._last_sent = 0
        self._last_received = 0
        self._test_request_at = -1
        self._state_deadline = 0

        self._layouts = Layouts(begin_string, {b"49": their_comp_id, b"56": our_comp_id})
        self._frames = FrameParts(begin_string, our_comp_id, their_comp_id)
        self._out: list[bytes] = []
        self._references = OutboundReferences(limits.resend_references)
        self._resends = Resends(self._references)
        self._first_unsent = 0
        self._first_kept = 1
        self._overdue = ""
        self._gap = InboundGap(limits.parked_messages)

    # What a driver may ask.

    @property
    def connected(self) -> bool:
        """Whether a connection is attached, whatever its state."""
        return self._state is not State.DISCONNECTED

    @property
    def established(self) -> bool:
        """Whether Logons have been exchanged and no Logout."""
        return self._state is State.ESTABLISHED

    @property
    def resending(self) -> bool:
        """Whether a resend is under way: the driver holds live application messages back until it is over."""
        return self._resends.active

    @property
    def heart_bt_int(self) -> int:
        """HeartBtInt(108) of the connection, in seconds; 0 before a logon."""
        return self._heart_bt_int

    @property
    def garbled(self) -> int:
        """Garbled messages of the present connection."""
        return self._framing.garbled if self._framing else 0

    def data_to_send(self) -> bytes:
        """The bytes to write now. They are handed out once; bytes of a lost connection are gone with it."""
        if not self._out:
            return b""
        data = b"".join(self._out)
        self._out.clear()
        self._first_kept = self.next_out
        return data

    # The life of a connection.

    def connect(self, connection: UnidentifiedConnection, logon: LogonReceived, now: Instant) -> None:
        """Take over an accepted connection whose Logon names this session. Nothing is judged or answered yet.

        Raises IllegalOccurrenceError when the session has a connection already.
        """
        self._attach(connection.framing, now)
        self._logon = logon
        self._state_deadline = connection.next_deadline
        self._go(Occurrence.LOGON_RECEIVED)

    def accept_logon(self, now: Instant) -> list[Event]:
        """The peer is who it says. Judge the Logon's numbers and answer it; then read what came behind it.

        A Logon that is refused is answered with a Logout that says why, and changes nothing. An empty list: refused,
        or the connection was lost meanwhile.
        """
        logon = self._logon
        if self._state is not State.LOGON_RECEIVED or logon is None:
            return []
        refusal = self._logon_fault(logon.fields) or self._logon_number_fault(logon)
        if refusal:
            self._refuse(refusal, now)
            return []
        self._logon = None
        events: list[Event] = []
        self._establish(logon.msg_seq_num, logon.fields, logon.reset_seq_num, now, events)
        if self._framing is not None:
            self._take_frames(self._framing, now, events)
        return events

    def refuse_logon(self, text: bytes | None, now: Instant) -> None:
        """Refuse the Logon with a Logout that carries `text`, or silently. No number moves."""
        if self._state is not State.LOGON_RECEIVED:
            return
        if text is None:
            self._fail("logon refused silently")
        else:
            self._refuse(text.decode("latin-1"), now)

    def start(
        self,
        now: Instant,
        heart_bt_int: int,
        username: bytes | None = None,
        password: bytes | None = None,
        reset: bool = False,
    ) -> None:
        """Begin the initiator's side of a new connection with a Logon; `reset` starts both numberings at 1."""
        self._attach(Framing(self._begin_string, self._limits.message_bytes, self._limits.garbled_messages), now)
        self._state_deadline = now.monotonic + self._limits.logon_timeout_s * NANOSECONDS_PER_SECOND
        if reset:
            self._reset_numbers()
        self._reset_asked = reset
        self.numbered = True
        self._set_heart_bt_int(heart_bt_int)
        body = b"98=0\x01108=%d\x01" % heart_bt_int
        if reset:
            body += b"141=Y\x01"
        if username is not None:
            body += b"553=%b\x01" % username
        if password is not None:
            body += b"554=%b\x01" % password
        self._send(LOGON, body, now)
        self._go(Occurrence.LOGON_SENT)

    def disconnected(self) -> None:
        """The connection is gone, whoever closed it. Numbers and references stay."""
        self._go(Occurrence.CONNECTION_LOST)
        if self._out and not self._first_unsent:
            self._first_unsent = self._first_kept
        self._generation += 1
        self._framing = None
        self._logon = None
        self._out.clear()
        self._resends.clear()
        self._gap = InboundGap(self._limits.parked_messages)
        self.close_expected = False
        self.close_reason = ""
        self._heart_bt_int = 0
        self._overdue = ""

    def logout(self, text: bytes, now: Instant) -> None:
        """Say Logout and wait for the answer: `close_expected` when it has come or is overdue.

        Without an established session there is nobody to say it to, and the connection is to be closed at once.
        """
        if self._state is State.ESTABLISHED:
            self._send(LOGOUT, _text_field(text), now)
            self._state_deadline = now.monotonic + self._limits.logout_timeout_s * NANOSECONDS_PER_SECOND
            self._go(Occurrence.LOGOUT_SENT)
        elif self._state in (State.CONNECTED, State.LOGON_SENT, State.LOGON_RECEIVED):
            self._fail("logout before the logon was complete")

    # What goes out.

    def send_application(self, msg_type: bytes, body: bytes, stream: int, position: int, now: Instant) -> int:
        """Send one application message, as `send_applications` does; returns its MsgSeqNum."""
        self.send_applications(stream, (position,), ((msg_type, body),), now)
        return self.next_out - 1

    def send_applications(
        self, stream: int, positions: Sequence[int], messages: Sequence[tuple[bytes, bytes]], now: Instant
    ) -> None:
        """Number, remember and write application messages, (MsgType, body) each.

        A body is everything behind the header; `stream` and its positions say where the records lie, for a resend.
        While the peer is away the numbers are used all the same: the peer finds the gap at its next logon and asks.
        Raises IllegalOccurrenceError before the first accepted logon, which would take the numbers away again.
        """
        if not self.numbered:
            raise IllegalOccurrenceError("an application message before the first accepted logon")
        if not messages:
            return
        first = self.next_out
        self.next_out = first + len(messages)
        self._references.add_applications(stream, positions, now.wall)
        if self._state is State.ESTABLISHED:
            self._frames.add_frames(self._out, first, now.wall, messages)
            self._last_sent = now.monotonic
        elif not self._first_unsent:
            self._first_unsent = first

    def next_resend_chunk(self, count: int) -> list[ResendItem]:
        """Up to `count` next application messages to send again. Empty: all are handed out, or nobody waits.

        Items may be fetched at leisure and are given to `resend` in this order.
        """
        if self._resends.lost:
            # More was sent during the resend than is remembered. It ends when the clock is next told.
            self._resends.clear()
            self._overdue = self._too_old_text()
        return [
            ResendItem(self._generation, item.msg_seq_num, Reference(item.stream, item.position), item.sending_time)
            for item in self._resends.fetch(count)
        ]

    def resend(self, item: ResendItem, msg_type: bytes, body: bytes, now: Instant) -> bool:
        """Write one item again, with the gap fills before and behind it.

        False: the connection that asked is gone, and so is the resend. Raises ValueError for an item out of order.
        """
        if item.generation != self._generation or not self._resends.active:
            return False
        self._write_gap_fills(self._resends.before(item.msg_seq_num), now)
        self._out.append(self._frames.frame_again(msg_type, item.msg_seq_num, now.wall, body, item.sending_time))
        self._write_gap_fills(self._resends.behind(item.msg_seq_num), now)
        self._last_sent = now.monotonic
        return True

    def reject(
        self, msg_seq_num: int, msg_type: bytes, reason: int, tag: bytes | None, text: str, now: Instant
    ) -> None:
        """Reject(3) of the peer's message `msg_seq_num`; `reason` is SessionRejectReason(373)."""
        body = b"45=%d\x01" % msg_seq_num
        if tag:
            body += b"371=%b\x01" % tag
        if 0 < len(msg_type) <= _REF_MSG_TYPE_BYTES:
            body += b"372=%b\x01" % msg_type
        self._send(REJECT, body + b"373=%d\x01" % reason + _text_field(text.encode("latin-1", "replace")), now)

    def business_reject(
        self, msg_seq_num: int, msg_type: bytes, reason: int, ref_id: bytes | None, text: str, now: Instant
    ) -> None:
        """BusinessMessageReject(j) of the peer's message; `reason` is 380, `ref_id` BusinessRejectRefID(379)."""
        body = b"45=%d\x01372=%b\x01" % (msg_seq_num, msg_type)
        if ref_id:
            body += b"379=%b\x01" % ref_id
        body += b"380=%d\x01" % reason + _text_field(text.encode("latin-1", "replace"))
        self._send(BUSINESS_MESSAGE_REJECT, body, now)

    # Time.

    @property
    def next_deadline(self) -> int | None:
        """When `on_time` is due, in monotonic nanoseconds; None: not before something else happens."""
        if self._state is State.DISCONNECTED or self._state is State.CLOSING:
            return None
        if self._state is not State.ESTABLISHED:
            return self._state_deadline
        if self._overdue:
            return 0
        tested = self._test_request_at > self._last_received
        silent_until = self._last_received + self._heartbeat_interval * (12 if tested else 6) // 5
        deadline = min(self._last_sent + self._heartbeat_interval, silent_until)
        return min(deadline, self._gap_deadline()) if self._gap.asked_until else deadline

    def excuse_silence(self, now: Instant) -> None:
        """We ourselves do not read the peer at present: its silence is no sign that it is gone."""
        self._last_received = now.monotonic

    def on_time(self, now: Instant) -> list[Event]:
        """Do what is due: heartbeat, TestRequest, Logout of a dead peer, end of a handshake that took too long.

        Events are returned as by `receive`; time alone has caused none so far.
        """
        if self._state is State.ESTABLISHED:
            self._keep_alive(now)
        elif self.connected and not self.close_expected and now.monotonic >= self._state_deadline:
            overdue = "Logout" if self._state in (State.LOGOUT_SENT, State.LOGOUT_EXCHANGED) else "Logon"
            self._fail(f"{overdue} not completed in time")
        return []

    def _keep_alive(self, now: Instant) -> None:
        silence = now.monotonic - self._last_received
        # HeartBtInt and a fifth for the way, and the same again for the answer (FIX 4.4 vol. 2, Test Request).
        if self._overdue:
            self._end(self._overdue, now)
        elif silence >= self._heartbeat_interval * 12 // 5:
            self._end(f"no message for 2.4 times HeartBtInt(108) of {self._heart_bt_int} s", now)
        elif self._gap.asked_until and now.monotonic >= self._gap_deadline():
            self._end(f"no answer to ResendRequest from {self.next_in}", now)
        elif silence >= self._heartbeat_interval * 6 // 5 and self._test_request_at <= self._last_received:
            self._test_request_at = now.monotonic
            self._send(TEST_REQUEST, b"112=TEST-%d\x01" % self.next_out, now)
        elif now.monotonic - self._last_sent >= self._heartbeat_interval:
            self._send(HEARTBEAT, b"", now)

    def _gap_deadline(self) -> int:
        return self._gap.progress_at + self._limits.resend_answer_s * NANOSECONDS_PER_SECOND

    # What comes in.

    def receive(self, data: bytes, now: Instant) -> list[Event]:
        """Take bytes of the connection. While a Logon waits to be accepted they are only kept, up to `held_bytes`."""
        events: list[Event] = []
        framing = self._framing
        if framing is None or self.close_expected:
            return events
        framing.receive(data)
        if self._state is State.LOGON_RECEIVED:
            # Until the answer is written nothing is read and nothing takes a number.
            if framing.unread_bytes > self._limits.held_bytes:
                self._fail(f"more than {self._limits.held_bytes} bytes behind a Logon")
            return events
        self._take_frames(framing, now, events)
        return events

    def _take_frames(self, framing: Framing, now: Instant, events: list[Event]) -> None:
        while not self.close_expected:
            if self._takes_messages and not self._gap.highest and self._take_plain_frames(framing, now, events):
                continue
            body = framing.next_frame()
            if body is None:
                break
            # Any complete frame shows that the peer lives, in sequence or not (FIX 4.4 vol. 2, Heartbeat).
            self._last_received = now.monotonic
            if type(body) is not bytes:
                # FIX 4.4 vol. 2, standard header: another BeginString on an established session ends it.
                self._end("Incorrect BeginString", now)
                return
            parsed = split_fields(body)
            if type(parsed) is dict and self._is_plain(parsed, now):
                msg_type = parsed[b"35"]
                events.append(ApplicationMessage(self.next_in, msg_type, parsed, self.epoch))
                self.next_in += 1
                self._layouts.seen(parsed, _timestamp_tag(msg_type))
                if self._gap.highest:
                    self._follow_gap(now, events)
            else:
                self._take_message(parsed, now, events)
        if framing.failure and not self.close_expected:
            self._end(framing.failure, now)

    def _take_plain_frames(self, framing: Framing, now: Instant, events: list[Event]) -> bool:
        """As many plain messages of known layouts as come next, with the outcome that `_is_plain` would have.

        True when the last one was not plain after all: anything may have changed.
        """
        timely = b""
        for layout, match in framing.matched_frames(self._layouts.learned):
            self._last_received = now.monotonic
            values = match.groups()
            number, sending_time, timestamp = layout.pick(values)
            # Messages that arrive together mostly have one time on all of them.
            if sending_time != timely or timestamp != timely:
                timely = sending_time if self._is_timely(sending_time, timestamp, now) else b""
            msg_seq_num = self.next_in
            if not timely or int(number) != msg_seq_num:
                self._take_message(split_fields(match.string[match.start(1) - len(b"35=") : match.end()]), now, events)
                return True
            self.next_in = msg_seq_num + 1
            fields = dict(zip(layout.tags, values, strict=True))
            events.append(_event(ApplicationMessage, (msg_seq_num, layout.msg_type, fields, self.epoch)))
        return False

    def _is_plain(self, fields: Fields, now: Instant) -> bool:
        """Whether this is the usual case: an application message in sequence about which nothing is to be decided.

        Says no rather than yes: what it declines, `_take_message` decides, with the same outcome for a plain message.
        """
        fetch = self._plain_tags.get(fields[b"35"])
        if fetch is None or b"43" in fields or not self._takes_messages:
            return False
        try:
            found = fetch(fields)
        except KeyError:
            return False
        number = found[2]
        if (
            found[0] != self._their_comp_id
            or found[1] != self._our_comp_id
            or not number.isdigit()
            or len(number) > _MSG_SEQ_NUM_DIGITS
            or int(number) != self.next_in
        ):
            return False
        return self._is_timely(found[3], found[4], now)

    def _is_timely(self, sending_time: bytes, timestamp: bytes, now: Instant) -> bool:
        """Whether SendingTime is near our clock and the timestamp of the body is one.

        A second nearer than the limit: what its fraction would decide is decided elsewhere.
        """
        age = whole_seconds(sending_time) * NANOSECONDS_PER_SECOND - now.wall
        return abs(age) <= self._sending_time_skew - NANOSECONDS_PER_SECOND and (
            timestamp == sending_time or whole_seconds(timestamp) >= 0
        )

    def _take_message(self, parsed: Fields | FieldFault, now: Instant, events: list[Event]) -> None:
        """Any message: who sent it, when, and whether its turn has come (FIX 4.4 vol. 2, session protocol)."""
        fields = parsed.fields if isinstance(parsed, FieldFault) else parsed
        if isinstance(parsed, FieldFault) and parsed.reason is None:
            # A second BeginString, BodyLength or MsgType: garbled, ignored, no number used.
            if self._framing is not None:
                self._framing.count_garbled()
            return
        if self._state is State.LOGON_SENT:
            self._take_logon_answer(parsed, now, events)
            return
        if not self._takes_messages:
            return
        msg_seq_num = whole_number(fields.get(b"34", b""), _MSG_SEQ_NUM_DIGITS)
        if msg_seq_num < 0:
            self._end("MsgSeqNum(34) missing or malformed", now)
            return
        if self._end_for_identity(msg_seq_num, fields, now, events):
            return
        msg_type = fields.get(b"35", b"")
        if msg_type == SEQUENCE_RESET and fields.get(b"123", b"N") == b"N":
            self._take_reset_mode(msg_seq_num, parsed, now, events)
        elif msg_type == LOGON and msg_seq_num == 1 and fields.get(b"141") == b"Y" and fields.get(b"43") != b"Y":
            self._take_logon_again(parsed, now, events)
        elif msg_seq_num > self.next_in:
            self._take_early(msg_seq_num, msg_type, parsed, now, events)
        elif msg_seq_num < self.next_in:
            self._take_late(msg_seq_num, msg_type, fields, now, events)
        else:
            self.next_in += 1
            self._dispatch(msg_seq_num, parsed, now, events)
        self._follow_gap(now, events)

    def _end_for_identity(self, msg_seq_num: int, fields: Fields, now: Instant, events: list[Event]) -> bool:
        """Wrong CompIDs or a SendingTime far from our clock: Reject 373=9 or 10, then Logout (FIX 4.4 vol. 2)."""
        sending_time = parse_timestamp(fields.get(b"52", b""))
        if fields.get(b"49", self._their_comp_id) != self._their_comp_id:
            fault = FieldFault(SessionRejectReason.COMP_ID_PROBLEM, b"49", "CompID problem", fields)
        elif fields.get(b"56", self._our_comp_id) != self._our_comp_id:
            fault = FieldFault(SessionRejectReason.COMP_ID_PROBLEM, b"56", "CompID problem", fields)
        elif sending_time >= 0 and abs(sending_time - now.wall) > self._sending_time_skew:
            text = "SendingTime accuracy problem"
            fault = FieldFault(SessionRejectReason.SENDING_TIME_ACCURACY, b"52", text, fields)
        else:
            return False
        if msg_seq_num == self.next_in:
            self.next_in += 1
        self._reject_fault(msg_seq_num, fault, now, events)
        self._end(fault.text, now)
        return True

    def _take_reset_mode(
        self, msg_seq_num: int, parsed: Fields | FieldFault, now: Instant, events: list[Event]
    ) -> None:
        """SequenceReset in reset mode: its own number is ignored, the expected one may only go up (FIX 4.4 vol. 2)."""
        if isinstance(parsed, FieldFault):
            self._reject_fault(msg_seq_num, parsed, now, events)
            return
        fault = _header_fault(parsed) or _body_fault(SEQUENCE_RESET, parsed)
        new_seq_no = whole_number(parsed.get(b"36", b""), _MSG_SEQ_NUM_DIGITS)
        if fault is None and new_seq_no < 0:
            fault = FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, b"36", "NewSeqNo is no number", parsed)
        elif fault is None and new_seq_no < self.next_in:
            text = f"NewSeqNo {new_seq_no} is below the expected {self.next_in}"
            fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"36", text, parsed)
        if fault is not None:
            self._reject_fault(msg_seq_num, fault, now, events)
        elif new_seq_no > self.next_in:
            events.append(ExpectedNumberMoved(self.next_in, new_seq_no))
            self.next_in = new_seq_no
            self._gap.jumped(new_seq_no)

    def _take_early(
        self, msg_seq_num: int, msg_type: bytes, parsed: Fields | FieldFault, now: Instant, events: list[Event]
    ) -> None:
        """Ahead of its turn: kept until the gap before it is closed (FIX 4.4 vol. 2, message recovery).

        Two types are answered at once, or two sides with gaps would wait for each other for ever: ResendRequest, and
        Logout, whose sender will not answer ours; the gap is found again at the next logon.
        """
        served = False
        if isinstance(parsed, dict) and _header_fault(parsed) is None and _body_fault(msg_type, parsed) is None:
            if msg_type == LOGOUT:
                self._take_logout(parsed, now, events)
                return
            if msg_type == RESEND_REQUEST:
                self._take_resend_request(msg_seq_num, parsed, now, events)
                served = True
        self._gap.park(msg_seq_num, ParkedMessage(parsed, served))

    def _take_late(self, msg_seq_num: int, msg_type: bytes, fields: Fields, now: Instant, events: list[Event]) -> None:
        """Below the expected number: a duplicate that says so is ignored, anything else ends the session."""
        if fields.get(b"43") != b"Y":
            self._end(f"MsgSeqNum too low, expecting {self.next_in} but received {msg_seq_num}", now)
            return
        original = fields.get(b"122")
        if original is None:
            if msg_type != SEQUENCE_RESET:
                text = "Required tag missing: OrigSendingTime(122)"
                fault = FieldFault(SessionRejectReason.REQUIRED_TAG_MISSING, b"122", text, fields)
                self._reject_fault(msg_seq_num, fault, now, events)
            return
        original_time = parse_timestamp(original)
        sending_time = parse_timestamp(fields.get(b"52", b""))
        if original_time < 0:
            text = "OrigSendingTime is no UTCTimestamp"
            fault = FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, b"122", text, fields)
            self._reject_fault(msg_seq_num, fault, now, events)
        elif 0 <= sending_time < original_time:
            # Sent before it was first sent (FIX 4.4 vol. 2, OrigSendingTime).
            text = "OrigSendingTime is later than SendingTime"
            fault = FieldFault(SessionRejectReason.SENDING_TIME_ACCURACY, b"122", text, fields)
            self._reject_fault(msg_seq_num, fault, now, events)
            self._end("SendingTime accuracy problem", now)

    def _follow_gap(self, now: Instant, events: list[Event]) -> None:
        """The expected number may have reached parked messages; what is still missing is asked for, once."""
        gap = self._gap
        while gap.highest:
            message = gap.take(self.next_in)
            if message is None:
                break
            msg_seq_num = self.next_in
            self.next_in += 1
            if not message.served:
                self._dispatch(msg_seq_num, message.parsed, now, events)
        gap.passed(self.next_in, now.monotonic)
        if self._takes_messages and gap.ask_from(self.next_in, now.monotonic):
            self._send(RESEND_REQUEST, b"7=%d\x0116=0\x01" % self.next_in, now)

    def _dispatch(self, msg_seq_num: int, parsed: Fields | FieldFault, now: Instant, events: list[Event]) -> None:
        """A message whose turn it is; its number has been used."""
        fields = parsed.fields if isinstance(parsed, FieldFault) else parsed
        msg_type = fields.get(b"35", b"")
        if msg_type and msg_type not in self._known_types:
            self._refuse_msg_type(msg_seq_num, msg_type, fields, now, events)
            return
        fault = parsed if isinstance(parsed, FieldFault) else _header_fault(parsed) or _body_fault(msg_type, parsed)
        if fault is not None:
            self._reject_fault(msg_seq_num, fault, now, events)
        elif msg_type in self._application_types:
            events.append(ApplicationMessage(msg_seq_num, msg_type, fields, self.epoch))
        elif msg_type == TEST_REQUEST:
            self._send(HEARTBEAT, b"112=%b\x01" % fields[b"112"], now)
        elif msg_type == RESEND_REQUEST:
            self._take_resend_request(msg_seq_num, fields, now, events)
        elif msg_type == SEQUENCE_RESET:
            self._take_gap_fill(msg_seq_num, fields, now, events)
        elif msg_type == LOGOUT:
            self._take_logout(fields, now, events)
        elif msg_type == REJECT:
            events.append(RejectReceived(msg_seq_num, fields))
        elif msg_type == LOGON:
            fault = FieldFault(SessionRejectReason.OTHER, b"", "Logon on an established session", fields)
            if fields.get(b"141") == b"Y":
                text = "ResetSeqNumFlag(141)=Y needs MsgSeqNum(34)=1"
                fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"34", text, fields)
            self._reject_fault(msg_seq_num, fault, now, events)

    def _refuse_msg_type(
        self, msg_seq_num: int, msg_type: bytes, fields: Fields, now: Instant, events: list[Event]
    ) -> None:
        if msg_type == BUSINESS_MESSAGE_REJECT:
            # An answer is not answered.
            events.append(RejectReceived(msg_seq_num, fields))
        elif msg_type in APPLICATION_MSG_TYPES:
            reason = BusinessRejectReason.UNSUPPORTED_MESSAGE_TYPE
            self.business_reject(msg_seq_num, msg_type, reason, None, "Unsupported message type", now)
        else:
            # FIX 4.4 vol. 2, Reject: a MsgType that FIX 4.4 does not have.
            fault = FieldFault(SessionRejectReason.INVALID_MSG_TYPE, b"35", "Invalid MsgType", fields)
            self._reject_fault(msg_seq_num, fault, now, events)

    def _take_resend_request(self, msg_seq_num: int, fields: Fields, now: Instant, events: list[Event]) -> None:
        """Cover [BeginSeqNo .. EndSeqNo], 0 and anything beyond the last number meaning the last (FIX 4.4 vol. 2)."""
        begin = whole_number(fields[b"7"], _MSG_SEQ_NUM_DIGITS)
        end = whole_number(fields[b"16"], _MSG_SEQ_NUM_DIGITS)
        last = self.next_out - 1
        fault: FieldFault | None = None
        if begin < 0 or end < 0:
            tag = b"7" if begin < 0 else b"16"
            fault = FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, tag, "Not a number", fields)
        elif not 1 <= begin <= last:
            text = f"BeginSeqNo {begin} is not between 1 and the last number sent, {last}"
            fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"7", text, fields)
        elif 0 < end < begin:
            fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"16", "EndSeqNo is below BeginSeqNo", fields)
        if fault is not None:
            self._reject_fault(msg_seq_num, fault, now, events)
            return
        if begin < self._references.oldest:
            self._end(self._too_old_text(), now)
            return
        if self._resends.active and self._resends.waiting >= self._limits.resend_requests:
            self._end(f"more than {self._limits.resend_requests} ResendRequests waiting", now)
            return
        end = min(end, last) if end else last
        self._write_gap_fills(self._resends.add(begin, end), now)
        if self._resends.active:
            events.append(ResendRequested(begin, end))

    def _take_gap_fill(self, msg_seq_num: int, fields: Fields, now: Instant, events: list[Event]) -> None:
        """SequenceReset-GapFill in its turn: its numbers are covered up to NewSeqNo (FIX 4.4 vol. 2)."""
        new_seq_no = whole_number(fields[b"36"], _MSG_SEQ_NUM_DIGITS)
        fault: FieldFault | None = None
        if fields.get(b"123") != b"Y":
            fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"123", "GapFillFlag is neither Y nor N", fields)
        elif new_seq_no < 0:
            fault = FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, b"36", "NewSeqNo is no number", fields)
        elif new_seq_no <= msg_seq_num:
            text = f"NewSeqNo {new_seq_no} is not above MsgSeqNum {msg_seq_num}"
            fault = FieldFault(SessionRejectReason.VALUE_INCORRECT, b"36", text, fields)
        if fault is not None:
            self._reject_fault(msg_seq_num, fault, now, events)
            return
        self.next_in = new_seq_no
        self._gap.jumped(new_seq_no)

    def _take_logout(self, fields: Fields, now: Instant, events: list[Event]) -> None:
        """The peer says Logout, or answers ours. Whoever said it first closes (FIX 4.4 vol. 2, Logout)."""
        events.append(LoggedOut(fields.get(b"58", b"")))
        if self._state is State.LOGOUT_SENT:
            self._go(Occurrence.LOGOUT_RECEIVED)
            self._expect_close("Logouts exchanged")
            return
        self._send(LOGOUT, b"", now)
        self._state_deadline = now.monotonic + self._limits.logout_timeout_s * NANOSECONDS_PER_SECOND
        self._go(Occurrence.LOGOUT_ANSWERED)
        self._resends.clear()

    # Logons.

    def _take_logon_answer(self, parsed: Fields | FieldFault, now: Instant, events: list[Event]) -> None:
        """An initiator's first message must be a Logon, or a Logout that refuses ours (FIX 4.4 vol. 2, Logon)."""
        if isinstance(parsed, FieldFault):
            self._fail(f"first message is faulty: {parsed.text}")
            return
        msg_seq_num = whole_number(parsed.get(b"34", b""), _MSG_SEQ_NUM_DIGITS)
        if msg_seq_num < 1 or _header_fault(parsed) or self._is_foreign(parsed, now):
            self._fail("first message has a wrong header")
            return
        if parsed[b"35"] == LOGOUT:
            events.append(LoggedOut(parsed.get(b"58", b"")))
            self._go(Occurrence.LOGOUT_RECEIVED)
            self._expect_close("logon refused")
            return
        if parsed[b"35"] != LOGON:
            self._fail("first message is not a Logon")
            return
        reset = parsed.get(b"141") == b"Y"
        refusal = self._logon_fault(parsed)
        if not refusal and reset and not self._reset_asked:
            refusal = "the numbers were reset unasked"
        elif not refusal and msg_seq_num < self.next_in:
            refusal = f"MsgSeqNum too low, expecting {self.next_in} but received {msg_seq_num}"
        if refusal:
            self._send(LOGOUT, _text_field(refusal.encode()), now)
            self._fail(refusal)
            return
        self._go(Occurrence.LOGON_RECEIVED)
        self._set_heart_bt_int(int(parsed[b"108"]))
        self._first_unsent = 0
        events.append(LoggedOn(self.epoch, self._reset_asked, self._heart_bt_int, ()))
        self._pass_logon(msg_seq_num, parsed)
        self._follow_gap(now, events)

    def _is_foreign(self, fields: Fields, now: Instant) -> bool:
        return (
            fields[b"49"] != self._their_comp_id
            or fields[b"56"] != self._our_comp_id
            or abs(parse_timestamp(fields[b"52"]) - now.wall) > self._sending_time_skew
        )

    def _take_logon_again(self, parsed: Fields | FieldFault, now: Instant, events: list[Event]) -> None:
        """Logon with 141=Y and 34=1 on an established session: both numberings begin again (FIX 4.4 vol. 2)."""
        fault = parsed if isinstance(parsed, FieldFault) else _header_fault(parsed)
        if isinstance(parsed, FieldFault) or fault is not None:
            self._end(fault.text if fault else "", now)
            return
        refusal = "Logon after Logout" if self._state is not State.ESTABLISHED else self._logon_fault(parsed)
        if refusal:
            self._end(refusal, now)
            return
        self._go(Occurrence.LOGON_RECEIVED)
        self._establish(1, parsed, True, now, events)

    def _logon_fault(self, fields: Fields) -> str:
        """What is wrong with a Logon's own fields; empty: nothing."""
        limits = self._limits
        heart_bt_int = whole_number(fields.get(b"108", b""), 9)
        if fields.get(b"98") != b"0":
            return "EncryptMethod(98) must be 0"
        if not limits.heart_bt_int_min_s <= heart_bt_int <= limits.heart_bt_int_max_s:
            return f"HeartBtInt(108) must be {limits.heart_bt_int_min_s} to {limits.heart_bt_int_max_s} seconds"
        if fields.get(b"141", b"N") not in (b"Y", b"N"):
            return "ResetSeqNumFlag(141) must be Y or N"
        return ""

    def _logon_number_fault(self, logon: LogonReceived) -> str:
        """What is wrong with the number of a Logon; empty: nothing. Judged after who sent it, and changing nothing."""
        if not self.numbered and not (logon.reset_seq_num and logon.msg_seq_num == 1):
            return "RESET_NEEDED: log on with ResetSeqNumFlag(141)=Y and MsgSeqNum(34)=1; nothing earlier can be resent"
        if logon.reset_seq_num and logon.msg_seq_num != 1:
            return "ResetSeqNumFlag(141)=Y needs MsgSeqNum(34)=1"
        if not logon.reset_seq_num and logon.msg_seq_num < self.next_in:
            return f"MsgSeqNum too low, expecting {self.next_in} but received {logon.msg_seq_num}"
        return ""

    def _establish(self, msg_seq_num: int, fields: Fields, reset: bool, now: Instant, events: list[Event]) -> None:
        """Answer an acceptable Logon. The answer comes before a ResendRequest for a gap before it (FIX 4.4 vol. 2)."""
        unsent: tuple[Reference, ...] = ()
        if reset:
            unsent = self._unsent()
            self._reset_numbers()
        self.numbered = True
        self._first_unsent = 0
        self._set_heart_bt_int(int(fields[b"108"]))
        body = b"98=0\x01108=%d\x01" % self._heart_bt_int
        self._send(LOGON, body + b"141=Y\x01" if reset else body, now)
        self._go(Occurrence.LOGON_SENT)
        events.append(LoggedOn(self.epoch, reset, self._heart_bt_int, unsent))
        self._pass_logon(msg_seq_num, fields)
        self._follow_gap(now, events)

    def _pass_logon(self, msg_seq_num: int, fields: Fields) -> None:
        """The Logon's own number: used when it is the expected one, else it waits behind the gap, already answered."""
        if msg_seq_num == self.next_in:
            self.next_in += 1
        else:
            self._gap.park(msg_seq_num, ParkedMessage(fields, served=True))

    def _unsent(self) -> tuple[Reference, ...]:
        if not self._first_unsent:
            return ()
        return tuple(
            Reference(item.stream, item.position) for item in self._references.applications(self._first_unsent)
        )

    def _reset_numbers(self) -> None:
        self.next_in = 1
        self.next_out = 1
        self.epoch += 1
        self._generation += 1
        self._first_kept = 1
        self._references.clear()
        self._resends.clear()
        self._gap = InboundGap(self._limits.parked_messages)

    # Leaves.

    def _attach(self, framing: Framing, now: Instant) -> None:
        self._go(Occurrence.CONNECTION_MADE)
        self._framing = framing
        self._last_received = now.monotonic

    def _go(self, occurrence: Occurrence) -> None:
        self._state = after(self._state, occurrence)
        self._takes_messages = self._state in TAKES_MESSAGES

    def _set_heart_bt_int(self, seconds: int) -> None:
        self._heart_bt_int = seconds
        self._heartbeat_interval = seconds * NANOSECONDS_PER_SECOND

    def _send(self, msg_type: bytes, body: bytes, now: Instant) -> None:
        """Number and write a session message, or an answer that is never sent again."""
        self._references.add(ADMINISTRATIVE, 0, now.wall)
        self._out.append(self._frames.frame(msg_type, self.next_out, now.wall, body))
        self.next_out += 1
        self._last_sent = now.monotonic

    def _write_gap_fills(self, fills: list[GapFill], now: Instant) -> None:
        for begin, following in fills:
            self._out.append(self._frames.gap_fill(begin, following, now.wall))
            self._last_sent = now.monotonic

    def _reject_fault(self, msg_seq_num: int, fault: FieldFault, now: Instant, events: list[Event]) -> None:
        msg_type = fault.fields.get(b"35", b"")
        reason = SessionRejectReason.OTHER if fault.reason is None else fault.reason
        self.reject(msg_seq_num, msg_type, reason, fault.tag or None, fault.text, now)
        events.append(MessageRejected(msg_seq_num, msg_type, reason, fault.tag or None, fault.text))

    def _refuse(self, text: str, now: Instant) -> None:
        """Answer a Logon with Logout. The number is shown and not used: a refused logon moves none."""
        body = _text_field(text.encode("latin-1", "replace"))
        self._out.append(self._frames.frame(LOGOUT, self.next_out, now.wall, body))
        self._go(Occurrence.LOGOUT_SENT)
        self._expect_close(text)

    def _end(self, text: str, now: Instant) -> None:
        """Tell the peer why, once, and close without waiting for its answer. Before a logon there is nobody to tell."""
        if self._state is State.ESTABLISHED:
            self._send(LOGOUT, _text_field(text.encode("latin-1", "replace")), now)
        self._fail(text)

    def _fail(self, reason: str) -> None:
        self._go(Occurrence.FAILED)
        self._expect_close(reason)

    def _expect_close(self, reason: str) -> None:
        self._resends.clear()
        self.close_expected = True
        self.close_reason = reason

    def _too_old_text(self) -> str:
        return (
            f"RESEND_TOO_OLD: numbers below {self._references.oldest} are no longer kept; "
            "log on with ResetSeqNumFlag(141)=Y"
        )


def _header_fault(fields: Fields) -> FieldFault | None:
    """A fault of the header that costs the message, not the session (FIX 4.4 vol. 2, standard header)."""
    for tag in (b"49", b"56", b"52"):
        if tag not in fields:
            return FieldFault(SessionRejectReason.REQUIRED_TAG_MISSING, tag, "Required tag missing", fields)
    if parse_timestamp(fields[b"52"]) < 0:
        return FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, b"52", "Incorrect data format for value", fields)
    if fields.get(b"43", b"N") not in (b"Y", b"N"):
        return FieldFault(SessionRejectReason.VALUE_INCORRECT, b"43", "Value is incorrect for this tag", fields)
    return None


def _body_fault(msg_type: bytes, fields: Fields) -> FieldFault | None:
    """A required tag that is missing, or a timestamp that is none (FIX 4.4 vol. 2, message tables)."""
    for tag in REQUIRED_TAGS.get(msg_type, ()):
        if tag not in fields:
            return FieldFault(SessionRejectReason.REQUIRED_TAG_MISSING, tag, "Required tag missing", fields)
    for tag in TIMESTAMP_TAGS.get(msg_type, ()):
        if parse_timestamp(fields[tag]) < 0:
            text = "Incorrect data format for value"
            return FieldFault(SessionRejectReason.INCORRECT_DATA_FORMAT, tag, text, fields)
    return None


def _text_field(text: bytes) -> bytes:
    """Text(58), or nothing: an empty field is never sent."""
    return b"58=%b\x01" % text.replace(b"\x01", b" ") if text else b""
