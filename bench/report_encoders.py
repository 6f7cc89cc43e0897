"""ExecutionReport(8) to bytes, for part `codec`: ours from records through the FIX session, peers from ready texts."""

import random
import time
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import quickfix
import simplefix
from fixcore.message.message import Message as FixcoreMessage

from bench.fix_text import HEARTBEAT_SECONDS, VENUE, frame, utc_timestamp
from exchange.records.kinds import Kind
from exchange.records.order_entry import OrderType, Side, TimeInForce
from exchange.records.trade_tape import OrderAccepted
from exchange.records.user_feed import Fill, Liquidity
from gateway.fix.execution_report import RENDERERS
from gateway.fix.instant import Instant
from gateway.fix.session import Session

MEMBER = "ACME-1"
SYMBOL_PARTITION = "sym-1"
UNITS = (1, 2, 1, 0)
TRANSACT_TIME = 1_767_323_045_678_000_000
SEED = 1
ORDERS = 20_000
"""Orders of 200 prices and 1,000 quantities: the terms of most are rendered cold at their first report."""
REPORTS_AT_ONCE = 32
"""The gateway renders and frames together what one block brings for a session; the peers have no such call."""
HEADER_TAGS = (8, 9, 35, 34, 49, 52, 56)
Pairs = list[tuple[int, str]]


def field_pairs(message: bytes) -> Pairs:
    """Tags and values in order, CheckSum left out."""
    pairs = [part.split(b"=", 1) for part in message.split(b"\x01")[:-2]]
    return [(int(tag), value.decode()) for tag, value in pairs]


def peers(pairs: Pairs) -> dict[str, Callable[[], bytes | str]]:
    """Each builds the message anew and serialises it, BodyLength and CheckSum computed."""

    def with_simplefix() -> bytes:
        message = simplefix.FixMessage()
        for tag, value in pairs:
            message.append_pair(tag, value)
        encoded: bytes = message.encode()
        return encoded

    def with_quickfix() -> str:
        message = quickfix.Message()
        header = message.getHeader()
        for tag, value in pairs:
            (header if tag in HEADER_TAGS else message).setField(tag, value)
        text: str = message.toString()
        return text

    def with_fixcore() -> bytes:
        message = FixcoreMessage()
        for tag, value in pairs:
            if tag in HEADER_TAGS:
                message.header.set(tag, value)
            else:
                message.set_field(tag, value)
        return message.encode()

    return {"simplefix": with_simplefix, "quickfix": with_quickfix, "fixcore-engine": with_fixcore}


def ordinal() -> Callable[[], bytes]:
    """Ours: REPORTS_AT_ONCE acceptances and fills of one order after the other, rendered, numbered and framed."""
    session = _established_session()
    chance = random.Random(SEED)
    records = cycle([record for number in range(ORDERS) for record in _reports_of_order(number, chance)])
    now = Instant(time.monotonic_ns(), time.time_ns())
    partition, positions = SYMBOL_PARTITION.encode(), range(REPORTS_AT_ONCE)

    def encode() -> bytes:
        messages = [RENDERERS[record[0]](record, partition, MEMBER) for record in islice(records, REPORTS_AT_ONCE)]
        session.send_applications(0, positions, messages, now)
        return session.data_to_send()

    return encode


def encoders() -> dict[str, Callable[[], bytes | str]]:
    """All of them; the peers build the fields of one of our fill reports."""
    ours = ordinal()
    return {"ordinal": ours, **peers(field_pairs(_last_frame(ours())))}


def _last_frame(frames: bytes) -> bytes:
    return frames[frames.rindex(b"8=FIX") :]


def _established_session() -> Session:
    session = Session(VENUE.encode(), MEMBER.encode(), frozenset((b"D", b"F")))
    now = Instant(time.monotonic_ns(), time.time_ns())
    session.start(now, HEARTBEAT_SECONDS, reset=True)
    answer = f"98=0\x01108={HEARTBEAT_SECONDS}\x01141=Y\x01"
    session.receive(frame("A", MEMBER, 1, utc_timestamp(), answer), now)
    session.data_to_send()
    if not session.established:
        raise ValueError(f"no FIX session: {session.close_reason}")
    return session


def _reports_of_order(number: int, chance: random.Random) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a participant is told of an order that rests and is then filled."""
    position = 1_000_000 + number
    cl_ord_id = f"t3-{number:06}"
    price, quantity = chance.randint(9_900, 10_100), chance.randint(1, 1_000)
    side, order_type, time_in_force = int(Side.BUY), int(OrderType.LIMIT), int(TimeInForce.DAY)
    accepted = OrderAccepted(
        Kind.ORDER_ACCEPTED, position, 1, TRANSACT_TIME, "ACME", MEMBER, 1, number + 2, position, cl_ord_id, "HOUSE",
        "ALFA", UNITS, side, order_type, time_in_force, quantity, price,
    )  # fmt: skip
    fill = Fill(
        Kind.FILL, position + 40, 1, TRANSACT_TIME, "ACME", MEMBER, position, cl_ord_id, "HOUSE", "ALFA", UNITS, side,
        order_type, time_in_force, quantity, price, quantity, 0, price * quantity, price, quantity, Liquidity.ADDED, 1,
    )  # fmt: skip
    return tuple(accepted), tuple(fill)
