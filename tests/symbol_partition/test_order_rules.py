"""One row per refusal, and one per way in which a payload is not a gateway's."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.records.codec import encode
from exchange.records.order_entry import cancel_order, new_order, unacceptable_cancel, unacceptable_order
from exchange.records.refusals import Refusal
from exchange.symbol_partition.order_rules import (
    LARGEST_INT,
    LONGEST_PAYLOAD,
    decode_input,
    is_cancel_order,
    is_new_order,
    is_unacceptable_cancel,
    is_unacceptable_order,
    refusal_of_terms,
)

ORDER = decode_input(encode(new_order(1, 2, "A1", "HOUSE", "ALFA", 1, 2, 0, 10, 990)))
CANCEL = decode_input(encode(cancel_order(1, 2, "C1", "A1", 5, "ALFA", 1)))
BAD_ORDER = decode_input(encode(unacceptable_order(1, 2, "A1", "HOUSE", "ALFA", 1, Refusal.UNKNOWN_SYMBOL, "why")))
BAD_CANCEL = decode_input(encode(unacceptable_cancel(1, 2, "C1", "A1", "ALFA", 1, Refusal.UNKNOWN_SYMBOL, "why")))
CHECKS = [
    (ORDER, is_new_order, {4, 10}),
    (CANCEL, is_cancel_order, {5}),
    (BAD_ORDER, is_unacceptable_order, {4}),
    (BAD_CANCEL, is_unacceptable_cancel, set()),
]


@dataclass
class Limits:
    largest_price: int = 5000
    largest_order: int = 100


@pytest.mark.parametrize(
    ("order_type", "time_in_force", "price", "quantity", "refusal"),
    [
        (3, 2, None, 0, Refusal.UNSUPPORTED_ORDER_TYPE),
        (0, 0, 990, 10, Refusal.UNSUPPORTED_ORDER_TYPE),
        (2, 2, None, 0, Refusal.UNSUPPORTED_TIME_IN_FORCE),
        (1, 4, None, 0, Refusal.UNSUPPORTED_TIME_IN_FORCE),
        (2, 0, None, 0, Refusal.PRICE_MISSING),
        (2, 0, 0, 0, Refusal.PRICE_MALFORMED),
        (2, 0, -5, 0, Refusal.PRICE_MALFORMED),
        (2, 0, 5001, 101, Refusal.PRICE_MALFORMED),
        (2, 0, 5000, 0, Refusal.QUANTITY_MALFORMED),
        (1, 0, None, -1, Refusal.QUANTITY_MALFORMED),
        (1, 0, None, 101, Refusal.QUANTITY_TOO_LARGE),
        (2, 3, 1, 101, Refusal.QUANTITY_TOO_LARGE),
        (2, 3, 5000, 100, None),
        (2, 1, 1, 1, None),
        (2, 0, 990, 10, None),
        (1, 0, None, 1, None),
        (1, 3, 9999, 1, None),
    ],
)
def test_terms_are_refused_for_the_first_reason_that_holds(
    order_type: int, time_in_force: int, price: int | None, quantity: int, refusal: Refusal | None
) -> None:
    assert refusal_of_terms(order_type, time_in_force, price, quantity, Limits()) is refusal


@pytest.mark.parametrize(("fields", "check", "optional"), CHECKS)
def test_a_gateways_record_passes(fields: tuple[Any, ...], check: Any, optional: set[int]) -> None:
    assert check(fields)
    for at in optional:
        assert check((*fields[:at], None, *fields[at + 1 :]))


@pytest.mark.parametrize(("fields", "check", "optional"), CHECKS)
def test_no_field_may_be_of_another_type(fields: tuple[Any, ...], check: Any, optional: set[int]) -> None:
    for at, value in enumerate(fields):
        wrong = [True, 1.0, b"x", (1,), {}] + ([1] if isinstance(value, str) else ["1"])
        if at not in optional:
            wrong.append(None)
        for other in wrong:
            assert not check((*fields[:at], other, *fields[at + 1 :])), (at, other)


@pytest.mark.parametrize(("fields", "check", "optional"), CHECKS)
def test_no_field_may_be_missing_or_added(fields: tuple[Any, ...], check: Any, optional: set[int]) -> None:
    for at in range(len(fields)):
        assert not check(fields[:at])
    assert not check((*fields, 1))
    assert not check((*fields, None))


@pytest.mark.parametrize(("fields", "check", "optional"), CHECKS)
def test_epochs_and_numbers_fit_64_bits(fields: tuple[Any, ...], check: Any, optional: set[int]) -> None:
    for at in (1, 2):
        for value, fits in ((0, True), (LARGEST_INT, True), (-1, False), (LARGEST_INT + 1, False)):
            assert check((*fields[:at], value, *fields[at + 1 :])) is fits


_HOSTILE = st.sampled_from(
    (
        None, True, False, 0, 1, 2, 3, 10, 1000, -1, LARGEST_INT, LARGEST_INT + 1, -(2**63), 0.0, 1.0, 2.0, 10.0,
        "", "A1", b"A1", (), (1,), {}, {1: 2},
    )
)  # fmt: skip


@given(st.dictionaries(st.integers(0, 10), _HOSTILE, max_size=4))
def test_an_order_passes_if_and_only_if_each_field_is_of_its_type_and_range(changes: dict[int, Any]) -> None:
    fields = tuple(changes.get(at, field) for at, field in enumerate(ORDER))
    expected = (int, int, int, str, str, str, int, int, int, int, int)
    proper = all(
        type(field) is wanted or (field is None and at in (4, 10))
        for at, (field, wanted) in enumerate(zip(fields, expected, strict=True))
    )
    assert is_new_order(fields) is (
        proper and 0 <= fields[1] <= LARGEST_INT and 0 <= fields[2] <= LARGEST_INT and fields[6] in (1, 2)
    )


@pytest.mark.parametrize(("fields", "check", "at"), [(ORDER, is_new_order, 6), (CANCEL, is_cancel_order, 7)])
def test_a_side_is_buy_or_sell(fields: tuple[Any, ...], check: Any, at: int) -> None:
    passed = [side for side in range(-1, 6) if check((*fields[:at], side, *fields[at + 1 :]))]
    assert passed == [1, 2]


@pytest.mark.parametrize(
    ("fields", "check"), [(BAD_ORDER, is_unacceptable_order), (BAD_CANCEL, is_unacceptable_cancel)]
)
def test_a_refusal_is_one_of_the_list(fields: tuple[Any, ...], check: Any) -> None:
    passed = [refusal for refusal in range(-1, 100) if check((*fields[:7], refusal, fields[8]))]
    assert passed == [int(refusal) for refusal in Refusal]


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x90", b"\x0a", b"\x81\x01\x02", b"\x92\x0a", b"\x92\x0a\x01\x01"])
def test_bytes_that_are_no_array_decode_to_no_kind(payload: bytes) -> None:
    assert decode_input(payload) == (0,)


def test_a_payload_is_read_up_to_its_limit_and_no_further() -> None:
    longest = encode((10, b"x" * (LONGEST_PAYLOAD - 5)))
    assert len(longest) == LONGEST_PAYLOAD
    assert decode_input(longest)[0] == 10
    assert decode_input(encode((10, b"x" * (LONGEST_PAYLOAD - 4)))) == (0,)
