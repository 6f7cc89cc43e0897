"""What a run's reports say, read after the clock has stopped: every request answered once, both halves of trades.

Also the times: when each request was sent (or due) and when its answer came.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.load_client import LoadClient, LoadSession
from bench.order_program import OrderProgram

Fields = dict[bytes, bytes]
NEW, REFUSED, CANCELED, TRADED = b"0", b"8", b"4", b"F"


class ReportError(AssertionError):
    """The reports do not add up."""


@dataclass(slots=True)
class OrderState:
    """An order as its reports tell it."""

    symbol: bytes
    side: bytes
    filled: int = 0
    leaves: int = 0


@dataclass(slots=True)
class RunReports:
    """A run's outcome. Times are nanoseconds of one clock; `answer_delays` are those of NewOrderSingle(D) only."""

    requests: int = 0
    refused: int = 0
    reports: int = 0
    trades: int = 0
    first_send: int = 0
    last_report: int = 0
    answer_delays: list[int] = field(default_factory=list)
    answers: list[tuple[int, int]] = field(default_factory=list)
    """(sent or due, answered) of every request, in no order."""
    arrivals: list[int] = field(default_factory=list)
    live: list[tuple[int, str, str, int, int]] = field(default_factory=list)
    """(session, ClOrdID, symbol, side, leaves) of each order that did not end."""

    @property
    def new_orders(self) -> int:
        """How many of the requests were orders, not cancels."""
        return len(self.answer_delays)

    @property
    def seconds(self) -> float:
        """From the first request to the last report."""
        return (self.last_report - self.first_send) / 1e9

    @property
    def orders_per_second(self) -> float:
        """Requests over that time."""
        return self.requests / self.seconds


class _Ledger:
    """Fills by symbol and side, and the halves of each trade."""

    def __init__(self) -> None:
        self.filled: Counter[tuple[bytes, bytes]] = Counter()
        self.halves: dict[bytes, list[tuple[bytes, bytes, bytes]]] = defaultdict(list)

    def add(self, fields: Fields) -> None:
        self.filled[fields[b"55"], fields[b"54"]] += int(fields[b"32"])
        if b"527" in fields:
            self.halves[fields[b"55"] + fields[b"527"]].append((fields[b"54"], fields[b"31"], fields[b"32"]))

    def check(self) -> None:
        """Bought is sold in every symbol, and each trade id has a buyer and a seller at one price and quantity."""
        for symbol in {symbol for symbol, _ in self.filled}:
            bought, sold = self.filled[symbol, b"1"], self.filled[symbol, b"2"]
            if bought != sold:
                raise ReportError(f"{symbol.decode()}: bought {bought}, sold {sold}")
        for trade, halves in self.halves.items():
            if len(halves) != 2 or {half[0] for half in halves} != {b"1", b"2"} or halves[0][1:] != halves[1][1:]:
                raise ReportError(f"trade {trade.decode()}: halves {halves}")


def check_run(client: LoadClient, program: OrderProgram, trades: bool = True) -> RunReports:
    """Read all reports of the last run; ReportError when a request has no answer or two, or fills do not add up.

    With `trades` false the counterparty only acknowledges.
    """
    result = RunReports(requests=len(program))
    ledger = _Ledger()
    orders: dict[bytes, tuple[int, OrderState]] = {}
    for number, session in enumerate(client.sessions):
        _read_session(number, session, program, result, orders, ledger)
    result.first_send = min(session.sends[0][0] for session in client.sessions if session.sends)
    result.last_report = max(result.arrivals)
    if trades:
        ledger.check()
        result.live = [
            (number, order_id.decode(), state.symbol.decode(), int(state.side), state.leaves)
            for order_id, (number, state) in orders.items()
            if state.leaves
        ]
    return result


def _read_session(
    number: int,
    session: LoadSession,
    program: OrderProgram,
    result: RunReports,
    orders: dict[bytes, tuple[int, OrderState]],
    ledger: _Ledger,
) -> None:
    kinds = program.kinds[number]
    sent_at = [0] * len(kinds)
    for at, first, count in session.sends:
        sent_at[first : first + count] = [at] * count
    answered = bytearray(len(kinds))
    for arrived, fields in _reports(session):
        result.reports += 1
        exec_type = fields.get(b"150", b"")
        if fields[b"35"] == b"9" or b"41" in fields or exec_type in (NEW, REFUSED):
            index = int(fields[b"11"][-6:])
            answered[index] += 1
            result.answers.append((sent_at[index], arrived))
            if kinds[index] == ord("D"):
                result.answer_delays.append(arrived - sent_at[index])
        if exec_type == REFUSED:
            result.refused += 1
        elif exec_type == NEW:
            state = OrderState(fields.get(b"55", b""), fields[b"54"], leaves=int(fields[b"151"]))
            orders[fields[b"11"]] = (number, state)
        elif exec_type:
            _follow_order(fields, orders, ledger, result)
    result.arrivals += [arrived for arrived, _ in session.arrivals]
    wrong = [index for index, times in enumerate(answered) if times != 1]
    if wrong:
        raise ReportError(f"{session.comp_id}: {len(wrong)} requests not answered exactly once, first {wrong[0]}")


def _follow_order(
    fields: Fields, orders: dict[bytes, tuple[int, OrderState]], ledger: _Ledger, result: RunReports
) -> None:
    traded = fields[b"150"] == TRADED
    if traded:
        result.trades += fields[b"54"] == b"1"
        ledger.add(fields)
    order_id = fields.get(b"41", fields[b"11"])
    if order_id not in orders:
        return  # entered in an earlier run of the same sessions
    state = orders[order_id][1]
    if traded:
        state.filled += int(fields[b"32"])
        if state.filled != int(fields[b"14"]):
            raise ReportError(f"order {order_id.decode()}: CumQty {int(fields[b'14'])}, fills sum to {state.filled}")
    state.leaves = int(fields[b"151"])


def _reports(session: LoadSession) -> Iterator[tuple[int, Fields]]:
    """Each ExecutionReport(8) and OrderCancelReject(9) with its arrival time."""
    for arrived, chunk in session.arrivals:
        for message in chunk.split(b"\x018=FIX"):
            fields: Fields = dict(part.split(b"=", 1) for part in message.split(b"\x01") if b"=" in part)
            if fields.get(b"35") in (b"8", b"9"):
                yield arrived, fields


def percentile(values: list[int], share: float) -> int:
    """The value below which `share` of them lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
