"""The limits of a FIX connection and session: each with a name, a default and a consequence (architecture, rule 15)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a peer may ask of us. The name of a field is its key in `[limits]` of the config."""

    message_bytes: int = 65_536
    """Longest frame, from `8=` to the last SOH. A longer one cannot be skipped safely: Logout, saying so, and close."""

    garbled_messages: int = 10
    """Garbled frames ignored in one connection. One more: Logout, saying so, and close."""

    held_bytes: int = 1_048_576
    """Bytes kept unread behind a Logon while its credentials are checked. More: close."""

    parked_messages: int = 1_000
    """Messages kept that came ahead of a gap. Further ones are dropped and asked for again when the gap is closed."""

    resend_references: int = 100_000
    """Newest outbound numbers that can be sent again. A ResendRequest for older ones: Logout, saying so, and close."""

    resend_requests: int = 16
    """ResendRequests of the peer waiting behind the one being answered. One more: Logout, saying so, and close."""

    resend_answer_s: int = 30
    """How long a gap of ours may see no progress after our ResendRequest. Longer: Logout, saying so, and close."""

    logon_timeout_s: int = 5
    """Time from the connection to a completed logon. Longer: close."""

    logout_timeout_s: int = 10
    """How long we wait for the answer to our Logout, or for the peer to close after ours. Longer: close."""

    sending_time_skew_s: int = 120
    """Largest distance of the peer's SendingTime(52) from our clock. Larger: Reject 373=10, Logout and close."""

    heart_bt_int_min_s: int = 1
    """Smallest HeartBtInt(108). Below: the logon is refused with a Logout that says so."""

    heart_bt_int_max_s: int = 300
    """Largest HeartBtInt(108). Above: the logon is refused with a Logout that says so."""

    identifier_bytes: int = 64
    """Longest ClOrdID(11), OrigClOrdID(41), OrderID(37), Account(1) or Symbol(55). A longer one: Reject 373=5."""

    connections: int = 1_000
    """Open connections of a gateway's port. One more: closed at once, and logged."""

    credential_checks: int = 2
    """Passwords checked at the same time, one for each session. Further logons wait, within their logon_timeout_s."""

    outbound_bytes: int = 4_194_304
    """Bytes written and not taken by the peer. More: nothing further is sent to it until it reads."""


DEFAULT_LIMITS = Limits()
