"""What one types at the FIX terminal and what it says back. Pure: text to FIX bodies, reports to text."""

import re
from dataclasses import dataclass

from gateway.fix.dictionary import NEW_ORDER_SINGLE, ORDER_CANCEL_REQUEST
from gateway.fix.fields import Fields, timestamp_text

HELP = """\
buy|sell SYMBOL QUANTITY [@ PRICE] [day|gtc|ioc]   without a price: a market order
cancel NUMBER                                      an order of this terminal, by the number behind its #
cancel ORDERID SYMBOL buy|sell                     any order of this participant
orders                                             the live orders of this terminal
help, quit"""

_ORDER = re.compile(
    r"(?P<side>buy|sell)\s+(?P<symbol>\S+)\s+(?P<quantity>\S+)(?:\s+@\s*(?P<price>\S+))?(?:\s+(?P<tif>day|gtc|ioc))?",
    re.IGNORECASE,
)
_CANCEL_OWN = re.compile(r"cancel\s+#?(?P<number>\d+)", re.IGNORECASE)
_CANCEL_ANY = re.compile(r"cancel\s+(?P<order_id>\S+)\s+(?P<symbol>\S+)\s+(?P<side>buy|sell)", re.IGNORECASE)
_SIDES = {"buy": b"1", "sell": b"2"}
_TIMES_IN_FORCE = {"day": b"0", "gtc": b"1", "ioc": b"3"}
_SIDE_NAMES = {side: name for name, side in _SIDES.items()}
_TIME_IN_FORCE_NAMES = {code: name for name, code in _TIMES_IN_FORCE.items()}
_LIVE = (b"0", b"1")


class NotUnderstoodError(ValueError):
    """A line that is no command; the text says what is."""


@dataclass(slots=True)
class TypedOrder:
    """An order of this terminal, as its last report left it."""

    number: int
    cl_ord_id: str
    symbol: str
    side: bytes
    state: bytes = b""
    text: str = ""


class Terminal:
    """Orders of this terminal by number. `prefix` makes its ClOrdIDs unlike those of any other."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._orders: dict[int, TypedOrder] = {}
        self._requests = 0
        self._awaited: set[str] = set()

    @property
    def waits(self) -> bool:
        """Whether an order or cancel has had no answer yet."""
        return bool(self._awaited)

    def command(self, line: str, wall: int) -> tuple[bytes, bytes] | str:
        """(MsgType, body) to send, or a text to show. NotUnderstoodError for anything else."""
        if line.lower() == "help":
            return HELP
        if line.lower() == "orders":
            live = [order.text for order in self._orders.values() if order.state in _LIVE]
            return "\n".join(live) or "no live orders"
        if match := _ORDER.fullmatch(line):
            return NEW_ORDER_SINGLE, self._new_order(match, wall)
        if match := _CANCEL_OWN.fullmatch(line):
            order = self._orders.get(int(match["number"]))
            if order is None:
                raise NotUnderstoodError(f"there is no order #{match['number']}")
            return ORDER_CANCEL_REQUEST, self._cancel(order.cl_ord_id, "", order.symbol, order.side, wall)
        if match := _CANCEL_ANY.fullmatch(line):
            side = _SIDES[match["side"].lower()]
            return ORDER_CANCEL_REQUEST, self._cancel("NONE", match["order_id"], match["symbol"], side, wall)
        raise NotUnderstoodError(f"not understood: {line}\n{HELP}")

    def _new_order(self, match: re.Match[str], wall: int) -> bytes:
        number = len(self._orders) + 1
        order = TypedOrder(number, f"{self._prefix}-{number}", match["symbol"], _SIDES[match["side"].lower()])
        self._orders[number] = order
        self._awaited.add(order.cl_ord_id)
        price = match["price"]
        fields = [
            (b"11", order.cl_ord_id.encode()),
            (b"55", order.symbol.encode()),
            (b"54", order.side),
            (b"60", timestamp_text(wall)),
            (b"38", match["quantity"].encode()),
            (b"40", b"2" if price else b"1"),
            *([(b"44", price.encode())] if price else []),
            (b"59", _TIMES_IN_FORCE[(match["tif"] or "day").lower()]),
        ]
        return _body(fields)

    def _cancel(self, orig_cl_ord_id: str, order_id: str, symbol: str, side: bytes, wall: int) -> bytes:
        self._requests += 1
        cl_ord_id = f"{self._prefix}-c{self._requests}"
        self._awaited.add(cl_ord_id)
        fields = [
            (b"41", orig_cl_ord_id.encode()),
            *([(b"37", order_id.encode())] if order_id else []),
            (b"11", cl_ord_id.encode()),
            (b"55", symbol.encode()),
            (b"54", side),
            (b"60", timestamp_text(wall)),
        ]
        return _body(fields)

    def report(self, fields: Fields) -> str:
        """One line for an application message of the venue."""
        text = {name: value.decode("latin-1") for name, value in fields.items()}
        cl_ord_id = text.get(b"11", "")
        self._awaited.discard(cl_ord_id)
        if fields[b"35"] == b"9":
            return f"cancel refused: {text.get(b'58', text.get(b'102', ''))}"
        if fields[b"35"] != b"8":
            self._awaited.clear()
            return f"message {text[b'35']}: {text.get(b'58', '')}"
        order = self._order(cl_ord_id) or self._order(text.get(b"41", ""))
        line = _REPORTS.get(fields[b"150"], _other)(text)
        label = f"#{order.number} " if order is not None else ""
        if order is not None:
            order.state = fields[b"39"]
            order.text = f"#{order.number} {_order_text(text)}, {text[b'151']} left, OrderID {text[b'37']}"
        return f"{label}{line}"

    def rejected(self, fields: Fields) -> str:
        """One line for a Reject(3) of one of our messages, which will have no other answer."""
        self._awaited.clear()
        return f"rejected: {fields.get(b'58', b'').decode('latin-1')}"

    def _order(self, cl_ord_id: str) -> TypedOrder | None:
        return next((order for order in self._orders.values() if order.cl_ord_id == cl_ord_id), None)


def _body(fields: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%b=%b\x01" % field for field in fields)


def _order_text(text: dict[bytes, str]) -> str:
    side = _SIDE_NAMES.get(text.get(b"54", "").encode(), "?")
    price = f" @ {text[b'44']}" if b"44" in text else ""
    time_in_force = _TIME_IN_FORCE_NAMES.get(text.get(b"59", "").encode(), "")
    return f"{side} {text.get(b'38', '?')} {text.get(b'55', '?')}{price} {time_in_force}".rstrip()


def _accepted(text: dict[bytes, str]) -> str:
    return f"accepted: {_order_text(text)}, OrderID {text[b'37']}"


def _traded(text: dict[bytes, str]) -> str:
    side = _SIDE_NAMES.get(text[b"54"].encode(), "?")
    return (
        f"traded: {side} {text[b'32']} {text[b'55']} @ {text[b'31']}, {text[b'151']} left, "
        f"average {text[b'6']}, ExecID {text[b'17']}"
    )


def _canceled(text: dict[bytes, str]) -> str:
    why = f": {text[b'58']}" if b"58" in text else ""
    return f"canceled{why}, {text[b'14']} done, OrderID {text[b'37']}"


def _refused(text: dict[bytes, str]) -> str:
    return f"refused: {text.get(b'58', text.get(b'103', ''))}, OrderID {text[b'37']}"


def _other(text: dict[bytes, str]) -> str:
    return f"ExecType {text[b'150']}: {_order_text(text)}"


_REPORTS = {b"0": _accepted, b"F": _traded, b"4": _canceled, b"8": _refused}
