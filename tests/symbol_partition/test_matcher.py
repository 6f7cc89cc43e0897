"""Requests in, the whole tape out, literally. Each test is named after the law it defends."""

import pytest

from exchange.records.end_reasons import EndReason
from exchange.records.kinds import Kind
from exchange.records.order_entry import cancel_order, new_order, unacceptable_cancel, unacceptable_order
from exchange.records.reference_data import instrument_added, limit_set, participant_added
from exchange.records.refusals import Refusal
from exchange.records.trade_tape import (
    CancelRefused,
    InputRefused,
    OrderAccepted,
    OrderCanceled,
    OrderRefused,
    Trade,
    TradeHalf,
)
from exchange.symbol_partition.matcher import Matcher
from tests.symbol_partition.tape import (
    BUY,
    DAY,
    EPOCH,
    GTC,
    IOC,
    LIMIT,
    MARKET,
    SELL,
    UNITS,
    SymbolPartition,
    outcomes,
    tape_record,
    time_of,
    trades,
)


def test_a_resting_order_is_accepted_and_nothing_else() -> None:
    partition = SymbolPartition()
    assert partition.order("ACME-1", "A1", BUY, 10, 990, time_in_force=GTC, account="HOUSE") == [
        OrderAccepted(
            Kind.ORDER_ACCEPTED, 5, 0, time_of(5), "ACME", "ACME-1", EPOCH, 5, 5, "A1", "HOUSE", "ALFA", UNITS, BUY,
            LIMIT, GTC, 10, 990,
        )
    ]  # fmt: skip
    assert partition.book() == ([("A1", 990, 10)], [])


def test_acceptance_then_trades_at_the_makers_prices_then_the_remainders_cancel() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", SELL, 4, 1000, account="HOUSE")
    partition.order("BOLT-1", "B1", SELL, 3, 1002, time_in_force=GTC)
    a1 = TradeHalf("ACME", "ACME-1", 5, "A1", "HOUSE", SELL, LIMIT, DAY, 4, 1000, 4, 0, 4000)
    b1 = TradeHalf("BOLT", "BOLT-1", 6, "B1", None, SELL, LIMIT, GTC, 3, 1002, 3, 0, 3006)
    c1 = TradeHalf("CRUX", "CRUX-2", 7, "C1", None, BUY, LIMIT, IOC, 10, 1005, 4, 6, 4000)
    assert partition.order("CRUX-2", "C1", BUY, 10, 1005, time_in_force=IOC) == [
        OrderAccepted(
            Kind.ORDER_ACCEPTED, 7, 0, time_of(7), "CRUX", "CRUX-2", EPOCH, 7, 7, "C1", None, "ALFA", UNITS, BUY, LIMIT,
            IOC, 10, 1005,
        ),
        Trade(Kind.TRADE, 7, 1, time_of(7), 1, "ALFA", UNITS, 1000, 4, a1, c1),
        Trade(
            Kind.TRADE, 7, 3, time_of(7), 2, "ALFA", UNITS, 1002, 3, b1,
            c1._replace(cumulative=7, leaves=3, notional=7006),
        ),
        OrderCanceled(
            Kind.ORDER_CANCELED, 7, 5, time_of(7), "CRUX", "CRUX-2", None, None, None, None, 7, "C1", None, "ALFA",
            UNITS, BUY, LIMIT, IOC, 10, 1005, 7, 7006, EndReason.IMMEDIATE_REMAINDER,
        ),
    ]  # fmt: skip
    assert partition.book() == ([], [])


def test_a_market_order_has_no_price_and_never_rests() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 4, 1)
    for time_in_force in (DAY, GTC, IOC):
        name = f"M{time_in_force}"
        position = partition.next_position
        caused = partition.order("BOLT-1", name, SELL, 6, 5000, order_type=MARKET, time_in_force=time_in_force)
        assert caused[0].price is None
        traded = 4 if time_in_force == DAY else 0
        assert trades(caused) == ([("A1", name, 1, 4)] if traded else [])
        assert caused[-1] == OrderCanceled(
            Kind.ORDER_CANCELED, position, 1 + 2 * (traded > 0), time_of(position), "BOLT", "BOLT-1", None, None, None,
            None, position, name, None, "ALFA", UNITS, SELL, MARKET, time_in_force, 6, None, traded, traded,
            EndReason.MARKET_REMAINDER,
        )  # fmt: skip
    assert partition.book() == ([], [])


def test_a_filled_immediate_or_market_order_is_not_canceled() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", SELL, 10, 1000)
    for name, order_type, price in (("I1", LIMIT, 1000), ("M1", MARKET, None)):
        caused = partition.order("BOLT-1", name, BUY, 5, price, order_type=order_type, time_in_force=IOC)
        assert outcomes(caused) == ["OrderAccepted", "Trade"]


def test_the_remainder_of_a_resting_order_stands_first_at_its_own_price() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", SELL, 4, 1000)
    caused = partition.order("BOLT-1", "B1", BUY, 10, 1001)
    assert outcomes(caused) == ["OrderAccepted", "Trade"]
    assert partition.book() == ([("B1", 1001, 6)], [])
    half = partition.order("CRUX-1", "C1", SELL, 1, 900)[1].maker
    assert (half.cumulative, half.leaves, half.notional) == (5, 5, 4 * 1000 + 1001)


def test_instruments_do_not_meet() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", SELL, 4, 1000)
    assert outcomes(partition.order("BOLT-1", "B1", BUY, 4, 1000, symbol="BETA")) == ["OrderAccepted"]


def test_a_partial_fill_keeps_its_place_in_the_queue() -> None:
    """B32."""
    partition = SymbolPartition()
    partition.order("ACME-1", "P1", BUY, 10, 500)
    partition.order("BOLT-1", "P2", BUY, 10, 500)
    assert trades(partition.order("CRUX-1", "S1", SELL, 4, 500)) == [("P1", "S1", 500, 4)]
    assert trades(partition.order("CRUX-1", "S2", SELL, 8, 500)) == [("P1", "S2", 500, 6), ("P2", "S2", 500, 2)]


def test_no_trade_of_nothing_and_no_dust() -> None:
    """B35: an exact fill ends the walk; three fills of a third end the order and its level; 200 of 309 leave 109."""
    partition = SymbolPartition()
    partition.order("ACME-1", "S1", SELL, 5, 1000)
    partition.order("ACME-1", "S2", SELL, 5, 1001)
    assert trades(partition.order("BOLT-1", "B1", BUY, 5, 1005)) == [("S1", "B1", 1000, 5)]
    partition.order("BOLT-1", "B2", BUY, 3, 900)
    leaves = [partition.order("CRUX-1", f"C{n}", SELL, 1, 900)[1].maker.leaves for n in range(3)]
    assert leaves == [2, 1, 0]
    assert partition.book() == ([], [("S2", 1001, 5)])
    partition.order("BOLT-1", "B3", BUY, 100, 800)
    partition.order("BOLT-1", "B4", BUY, 100, 800)
    partition.order("CRUX-1", "C9", SELL, 309, 800)
    assert partition.book() == ([], [("C9", 800, 109), ("S2", 1001, 5)])


def test_a_cancel_ends_its_order_and_names_its_request() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990, account="HOUSE")
    partition.order("BOLT-1", "B1", SELL, 4, 990)
    assert partition.cancel("ACME-2", "K1", "A1", BUY) == [
        OrderCanceled(
            Kind.ORDER_CANCELED, 7, 0, time_of(7), "ACME", "ACME-1", "ACME-2", EPOCH, 7, "K1", 5, "A1", "HOUSE", "ALFA",
            UNITS, BUY, LIMIT, DAY, 10, 990, 4, 3960, EndReason.REQUESTED,
        )
    ]  # fmt: skip
    assert partition.book() == ([], [])


def test_a_fill_overtakes_a_cancel_and_the_cancel_learns_it() -> None:
    """B26: the fill carries the order's own id; the late cancel gets the order's true state."""
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    assert trades(partition.order("BOLT-1", "B1", SELL, 10, 990)) == [("A1", "B1", 990, 10)]
    assert partition.cancel("ACME-1", "C1", "A1", BUY) == [
        CancelRefused(
            Kind.CANCEL_REFUSED, 7, 0, time_of(7), "ACME", "ACME-1", EPOCH, 7, "C1", "A1", 5, 2,
            Refusal.TOO_LATE_TO_CANCEL, "",
        )
    ]  # fmt: skip


def test_a_second_cancel_learns_that_the_order_is_canceled() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    partition.cancel("ACME-1", "C1", "A1", BUY)
    (by_id,) = partition.cancel("ACME-1", "C2", "A1", BUY)
    (by_position,) = partition.cancel("ACME-1", "C3", "A1", BUY, order_position=5)
    for refused in (by_id, by_position):
        assert (refused.refusal, refused.order_position, refused.order_state) == (Refusal.TOO_LATE_TO_CANCEL, 5, 4)


@pytest.mark.parametrize(
    ("filled", "request_", "refusal", "order_position", "order_state"),
    [
        (0, ("A1", "A1", None, "BETA", SELL), Refusal.DUPLICATE_CL_ORD_ID, 5, 0),
        (3, ("C1", "A1", None, "NONE", SELL), Refusal.UNKNOWN_SYMBOL, 5, 1),
        (0, ("C1", "A9", None, "BETA", BUY), Refusal.UNKNOWN_ORDER, None, None),
        (0, ("C1", "A1", 99, "ALFA", BUY), Refusal.UNKNOWN_ORDER, None, None),
        (0, ("C1", "A1", -1, "ALFA", BUY), Refusal.UNKNOWN_ORDER, None, None),
        (3, ("C1", "A1", None, "BETA", BUY), Refusal.ORDER_MISMATCH, 5, 1),
        (0, ("C1", "A9", 5, "ALFA", SELL), Refusal.ORDER_MISMATCH, 5, 0),
        (10, ("C1", "A1", 5, "ALFA", SELL), Refusal.ORDER_MISMATCH, 5, 2),
        (10, ("C1", "A1", 5, "ALFA", BUY), Refusal.TOO_LATE_TO_CANCEL, 5, 2),
    ],
)
def test_a_cancel_is_refused_for_the_first_reason_that_holds(
    filled: int,
    request_: tuple[str, str, int | None, str, int],
    refusal: Refusal,
    order_position: int | None,
    order_state: int | None,
) -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    if filled:
        partition.order("BOLT-1", "B1", SELL, filled, 990)
    cl_ord_id, orig_cl_ord_id, position, symbol, side = request_
    caused = partition.cancel("ACME-1", cl_ord_id, orig_cl_ord_id, side, order_position=position, symbol=symbol)
    assert outcomes(caused) == ["CancelRefused"]
    assert (caused[0].refusal, caused[0].order_position, caused[0].order_state) == (
        refusal,
        order_position,
        order_state,
    )
    assert partition.book()[0] == ([("A1", 990, 10 - filled)] if filled < 10 else [])


def test_a_cancel_finds_its_order_by_position_whatever_orig_cl_ord_id_says() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    partition.order("ACME-1", "A2", BUY, 10, 990)
    (canceled,) = partition.cancel("ACME-1", "C1", "A2", BUY, order_position=5)
    assert canceled.order_cl_ord_id == "A1"
    assert partition.book() == ([("A2", 990, 10)], [])


def test_nobody_cancels_for_another_participant() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    for name, position in (("C1", None), ("C2", 5)):
        (refused,) = partition.cancel("BOLT-1", name, "A1", BUY, order_position=position)
        assert (refused.refusal, refused.order_position) == (Refusal.UNKNOWN_ORDER, None)


def test_a_cl_ord_id_works_once_and_its_second_use_touches_nothing() -> None:
    """B28: while the order lives, after it is filled, from another session, for cancels, and after a restart."""
    partition = SymbolPartition()
    partition.order("BOLT-1", "S1", SELL, 20, 1000)
    assert trades(partition.order("ACME-1", "X1", BUY, 10, 1000)) == [("S1", "X1", 1000, 10)]
    for session in ("ACME-1", "ACME-2"):
        position = partition.next_position
        assert partition.order(session, "X1", BUY, 10, 1000) == [
            OrderRefused(
                Kind.ORDER_REFUSED, position, 0, time_of(position), "ACME", session, EPOCH, position, "X1", None,
                "ALFA", BUY, Refusal.DUPLICATE_CL_ORD_ID, "",
            )
        ]  # fmt: skip
    restored = Matcher("sym-1")
    restored.restore(partition.matcher.snapshot())
    partition.matcher = restored
    assert outcomes(partition.order("ACME-1", "X1", BUY, 10, 1000)) == ["OrderRefused"]
    (refused,) = partition.cancel("ACME-1", "X1", "X1", BUY)
    assert (refused.refusal, refused.order_state) == (Refusal.DUPLICATE_CL_ORD_ID, 2)
    assert partition.book() == ([], [("S1", 1000, 10)])
    assert outcomes(partition.order("BOLT-1", "X1", BUY, 10, 900)) == ["OrderAccepted"], "ids are a participant's own"


def test_a_duplicate_does_not_disturb_the_original() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 10, 990)
    partition.order("ACME-1", "A1", SELL, 5, 1010)
    partition.cancel("ACME-1", "A1", "A1", BUY)
    (canceled,) = partition.cancel("ACME-1", "C1", "A1", BUY)
    assert (canceled.order_position, canceled.quantity) == (5, 10)
    (refused,) = partition.cancel("ACME-1", "C2", "A1", BUY, order_position=6)
    assert refused.refusal == Refusal.UNKNOWN_ORDER, "a refused duplicate is no order"


def test_ids_of_refused_orders_and_of_all_cancels_are_used_up() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "R1", BUY, 10, None)
    partition.order("ACME-1", "A1", BUY, 10, 990)
    partition.cancel("ACME-1", "F1", "A9", BUY)
    partition.cancel("ACME-1", "F2", "A1", BUY)
    partition.put("orders/ACME/ACME-1", unacceptable_order(1, 2, "U1", None, "ZZ", BUY, Refusal.UNKNOWN_SYMBOL, ""))
    partition.put("orders/ACME/ACME-1", unacceptable_cancel(1, 2, "U2", "A1", "ZZ", BUY, Refusal.UNKNOWN_SYMBOL, ""))
    for used in ("R1", "A1", "F1", "F2", "U1", "U2"):
        assert partition.order("ACME-2", used, BUY, 1, 990)[0].refusal == Refusal.DUPLICATE_CL_ORD_ID
    assert partition.cancel("ACME-1", "F3", "R1", BUY)[0].refusal == Refusal.UNKNOWN_ORDER
    assert partition.cancel("ACME-1", "F4", "F1", BUY)[0].refusal == Refusal.UNKNOWN_ORDER


def test_what_a_gateway_could_not_convert_is_refused_with_its_reason_after_the_id_is_judged() -> None:
    partition = SymbolPartition()
    stream = "orders/ACME/ACME-1"
    order = unacceptable_order(3, 8, "U1", "HOUSE", "alfa", 0, Refusal.PRICE_OFF_TICK, "Price(44) 1.005")
    assert partition.put(stream, order) == [
        OrderRefused(
            Kind.ORDER_REFUSED, 5, 0, time_of(5), "ACME", "ACME-1", 3, 8, "U1", "HOUSE", "alfa", 0,
            Refusal.PRICE_OFF_TICK, "Price(44) 1.005",
        )
    ]  # fmt: skip
    assert partition.put(stream, order)[0][-2:] == (Refusal.DUPLICATE_CL_ORD_ID, "")
    partition.order("ACME-1", "A1", BUY, 10, 990)
    cancel = unacceptable_cancel(3, 9, "U2", "A1", "alfa", SELL, Refusal.UNKNOWN_SYMBOL, "Symbol(55) alfa")
    assert partition.put(stream, cancel) == [
        CancelRefused(
            Kind.CANCEL_REFUSED, 8, 0, time_of(8), "ACME", "ACME-1", 3, 9, "U2", "A1", 7, 0, Refusal.UNKNOWN_SYMBOL,
            "Symbol(55) alfa",
        )
    ]  # fmt: skip
    assert partition.put(stream, cancel)[0][-2:] == (Refusal.DUPLICATE_CL_ORD_ID, "")
    assert partition.book()[0] == [("A1", 990, 10)]


def test_an_unknown_participant_is_refused_first_and_leaves_no_trace() -> None:
    partition = SymbolPartition()
    state = partition.matcher.snapshot()
    stream = "orders/NOBODY/N-1"
    requests = [
        new_order(1, 2, "N1", None, "ZZ", BUY, 9, 9, 0, None),
        unacceptable_order(1, 3, "N1", None, "ZZ", BUY, Refusal.UNKNOWN_SYMBOL, "ZZ"),
        cancel_order(1, 4, "N1", "N1", None, "ZZ", BUY),
        unacceptable_cancel(1, 5, "N1", "N1", "ZZ", BUY, Refusal.UNKNOWN_SYMBOL, "ZZ"),
    ]
    for request in requests:
        assert partition.put(stream, request)[0][-2:] == (Refusal.UNKNOWN_PARTICIPANT, "")
    assert partition.matcher.snapshot() == state
    partition.put("refdata", participant_added("NOBODY", "user-2"))
    assert outcomes(partition.put(stream, new_order(1, 2, "N1", None, "ALFA", BUY, LIMIT, DAY, 1, 5))) == [
        "OrderAccepted"
    ]


def test_at_least_the_limit_and_at_most_twice_as_many_ids_are_remembered() -> None:
    partition = SymbolPartition(remembered_orders=4)
    for number in range(12):
        name = f"A{number}"
        partition.order("ACME-1", name, BUY, 1, None)
        used = [f"A{older}" for older in range(number + 1)]
        ids = partition.matcher._participants["ACME"]
        remembered = [older for older in used if ids.knows(older)]
        assert remembered == used[-len(remembered) :], "the latest are remembered"
        assert min(4, number + 1) <= len(remembered) < 8
    assert outcomes(partition.order("ACME-1", "A0", BUY, 1, 990)) == ["OrderAccepted"]


def test_a_live_order_is_never_forgotten() -> None:
    partition = SymbolPartition(remembered_orders=1)
    partition.order("ACME-1", "LIVE", BUY, 1, 990)
    for number in range(20):
        partition.order("ACME-1", f"R{number}", BUY, 1, None)
    assert partition.order("ACME-1", "LIVE", BUY, 1, 990)[0].refusal == Refusal.DUPLICATE_CL_ORD_ID
    assert outcomes(partition.cancel("ACME-1", "C1", "LIVE", BUY)) == ["OrderCanceled"]


def test_the_limit_is_what_was_set_last_and_100_000_before() -> None:
    partition = SymbolPartition()
    assert partition.matcher._remembered_orders == 100_000
    partition.put("refdata", limit_set("remembered_orders", 7))
    partition.put("refdata", limit_set("in_flight_orders", 9))
    assert partition.matcher._remembered_orders == 7


@pytest.mark.parametrize(
    ("stream", "payload"),
    [
        ("orders/ACME/ACME-1", b""),
        ("orders/ACME/ACME-1", b"\xc1"),
        ("orders/ACME/ACME-1", b"\x90"),
        ("orders/ACME/ACME-1", b"\x92\x0a\x01"),
        ("orders/ACME/ACME-1", b"\x92\x63\x01"),
        ("orders/ACME/ACME-1", b"\xdd\xff\xff\xff\xff\x01"),
        ("orders/NOBODY/N-1", b"\x92\x0a\x01"),
        ("orders/ACME", b"\x92\x0a\x01"),
        ("orders/", b""),
        ("orders//ACME-1", b""),
        ("orders/ACME/", b""),
        ("orders/ACME/ACME-1/2", b""),
    ],
)
def test_what_no_gateway_writes_is_refused_as_input(stream: str, payload: bytes) -> None:
    partition = SymbolPartition()
    (draft,) = partition.put_bytes(stream, payload)
    assert draft.partition == "sym-1"
    assert tape_record(draft.payload) == InputRefused(
        Kind.INPUT_REFUSED, 5, 0, time_of(5), stream, "not a record that a gateway writes"
    )


def test_reference_data_and_ticks_and_foreign_streams_cause_nothing() -> None:
    partition = SymbolPartition()
    state = partition.matcher.snapshot()
    for stream, payload in (("clock", b""), ("refdata", b"\xc1"), ("something", b"\x92\x0a\x01"), ("ordersX", b"")):
        assert list(partition.put_bytes(stream, payload)) == []
    assert partition.matcher.snapshot() == state


def test_what_exists_is_not_added_again() -> None:
    partition = SymbolPartition()
    partition.order("ACME-1", "A1", BUY, 1, 990)
    state = partition.matcher.snapshot()
    partition.put("refdata", instrument_added("ALFA", (5, 0, 1, 0), 1))
    partition.put("refdata", participant_added("ACME", "user-9"))
    assert partition.matcher.snapshot() == state


def test_no_notional_outgrows_a_record() -> None:
    partition = SymbolPartition(largest_order=2**62)
    assert partition.order("ACME-1", "A1", SELL, 2**62, 2)[0].refusal == Refusal.PRICE_MALFORMED
    assert outcomes(partition.order("ACME-1", "A2", SELL, 2**62, 1)) == ["OrderAccepted"]
    (_, trade) = partition.order("BOLT-1", "B1", BUY, 2**62, None, order_type=MARKET)
    assert trade.taker.notional == 2**62


def test_the_matcher_reads_all_but_its_tape_and_the_stream_names() -> None:
    matcher = Matcher("sym-1")
    streams = ("orders/ACME/ACME-1", "refdata", "clock", "tape", "streams", "new")
    assert [stream for stream in streams if not matcher.reads(stream)] == ["tape", "streams"]


def test_a_snapshot_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 99"):
        Matcher("sym-1").restore(b"\x91\x63")
