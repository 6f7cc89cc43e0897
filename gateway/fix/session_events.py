"""What a session tells its driver, in the order in which it happened."""

from typing import NamedTuple

from gateway.fix.fields import Fields


class ApplicationMessage(NamedTuple):
    """A message of one of the session's application types, in sequence, with its required tags present.

    `session_epoch` is the numbering that `msg_seq_num` belongs to: a reset may follow in the same read.
    """

    msg_seq_num: int
    msg_type: bytes
    fields: Fields
    session_epoch: int


class LogonReceived(NamedTuple):
    """The first message of an accepted connection. The driver finds the session and checks the credentials.

    `username` is 553 and `password` 554, or None. Neither may reach a log.
    """

    sender_comp_id: bytes
    target_comp_id: bytes
    username: bytes | None
    password: bytes | None
    msg_seq_num: int
    reset_seq_num: bool
    fields: Fields


class Reference(NamedTuple):
    """An application message by where its record lies: two numbers of the driver's choosing."""

    stream: int
    position: int


class LoggedOn(NamedTuple):
    """The session is established. `reset` says that both numberings began again at 1 under the new `epoch`.

    `unsent` are the application messages that a reset took the numbers from before any connection carried them, oldest
    first: the driver owes them to the peer under new numbers, with PossResend(97)=Y.
    """

    epoch: int
    reset: bool
    heart_bt_int: int
    unsent: tuple[Reference, ...]


class LoggedOut(NamedTuple):
    """Logouts have been exchanged, or the peer refused our Logon. `text` is the peer's 58, empty when absent."""

    text: bytes


class ResendRequested(NamedTuple):
    """The peer asks again for application messages: run `next_resend_chunk` and `resend` until the chunk is empty."""

    begin: int
    end: int


class ResendItem(NamedTuple):
    """One application message to send again, first sent at `sending_time` (nanoseconds UTC).

    `generation` names the connection and numbering that asked; a later one drops the item.
    """

    generation: int
    msg_seq_num: int
    reference: Reference
    sending_time: int


class ExpectedNumberMoved(NamedTuple):
    """The peer's SequenceReset in reset mode moved the next expected number. To be audited."""

    previous: int
    expected: int


class MessageRejected(NamedTuple):
    """We answered a message with Reject(3). `tag` is RefTagID(371) or None, `reason` SessionRejectReason(373)."""

    msg_seq_num: int
    msg_type: bytes
    reason: int
    tag: bytes | None
    text: str


class RejectReceived(NamedTuple):
    """The peer answered a message of ours with Reject(3)."""

    msg_seq_num: int
    fields: Fields


Event = (
    ApplicationMessage | LoggedOn | LoggedOut | ResendRequested | ExpectedNumberMoved | MessageRejected | RejectReceived
)
