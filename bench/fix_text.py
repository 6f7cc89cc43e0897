"""FIX 4.4 bytes of the load client: what it sends, rendered before the clock starts."""

import datetime

SOH = b"\x01"
VENUE = "ORDINAL"
PASSWORD = "bench"
HEARTBEAT_SECONDS = 30


def utc_timestamp() -> str:
    """UTCTimestamp with milliseconds, now."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H:%M:%S.%f")[:-3]


def frame(message_type: str, sender: str, sequence: int, sending_time: str, body: str) -> bytes:
    """One whole message; `body` is fields divided and ended by SOH."""
    inner = f"35={message_type}\x0134={sequence}\x0149={sender}\x0152={sending_time}\x0156={VENUE}\x01{body}"
    head = f"8=FIX.4.4\x019={len(inner)}\x01{inner}".encode()
    return b"%b10=%03d\x01" % (head, sum(head) & 0xFF)


def logon(sender: str, sequence: int, sending_time: str) -> bytes:
    """Logon(A) that starts both numberings anew."""
    body = f"98=0\x01108={HEARTBEAT_SECONDS}\x01141=Y\x01553={sender}\x01554={PASSWORD}\x01"
    return frame("A", sender, sequence, sending_time, body)


def new_order_body(
    cl_ord_id: str, symbol: str, side: int, quantity: int, price: str, time_in_force: int, transact_time: str
) -> str:
    """Body of a NewOrderSingle(D) for a limit order."""
    return (
        f"1=HOUSE\x0111={cl_ord_id}\x0121=1\x0138={quantity}\x0140=2\x0144={price}\x0154={side}\x0155={symbol}\x01"
        f"59={time_in_force}\x0160={transact_time}\x01"
    )


def cancel_body(cl_ord_id: str, orig_cl_ord_id: str, symbol: str, side: int, quantity: int, transact_time: str) -> str:
    """Body of an OrderCancelRequest(F)."""
    return (
        f"11={cl_ord_id}\x0138={quantity}\x0141={orig_cl_ord_id}\x0154={side}\x0155={symbol}\x0160={transact_time}\x01"
    )
