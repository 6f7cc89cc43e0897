"""Fields: what is ambiguous is refused by its reason, and numbers and times have one grammar."""

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.fix import fields as fields_module
from gateway.fix.fields import (
    FieldFault,
    Fields,
    NotANumberError,
    OffUnitError,
    decimal_text,
    parse_timestamp,
    parse_units,
    split_fields,
    timestamp_text,
    whole_number,
    whole_seconds,
)
from tests.gateway.fix.wire import NINE_O_CLOCK, framed, soh, text

SECOND = 1_000_000_000


def fields(body: str) -> dict[str, str] | tuple[int | None, str, dict[str, str]]:
    """The fields of a body, or (reason, tag, what was read) of its fault."""
    parsed = split_fields(soh(body))
    if isinstance(parsed, FieldFault):
        return parsed.reason, text(parsed.tag), {text(tag): text(value) for tag, value in parsed.fields.items()}
    return {text(tag): text(value) for tag, value in parsed.items()}


def test_a_plain_message_is_its_fields_in_order() -> None:
    assert fields("35=D|34=2|11=A=1|58==|") == {"35": "D", "34": "2", "11": "A=1", "58": "="}
    assert fields("35=D|34=2|11=A1|55=ABC|") == {"35": "D", "34": "2", "11": "A1", "55": "ABC"}
    assert fields("35=D|9999=x|") == {"35": "D", "9999": "x"}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("35=D|34=2|1=|11=E1|", (4, "1", {"35": "D", "34": "2", "11": "E1"})),
        ("35=|34=2|", (4, "35", {"34": "2"})),
        ("35=D|38=10|38=1000|", (13, "38", {"35": "D", "38": "10"})),
        ("35=D|34=2|34=3|", (13, "34", {"35": "D", "34": "2"})),
        ("35=D|35=F|34=2|", (None, "35", {"35": "D", "34": "2"})),
        ("35=D|8=FIX.4.4|34=2|", (None, "8", {"35": "D", "34": "2"})),
        ("35=D|9=5|34=2|", (None, "9", {"35": "D", "34": "2"})),
        ("35=D|38=1|38=2|35=F|", (None, "35", {"35": "D", "38": "1"})),
        ("35=D|10=123|34=2|", (14, "10", {"35": "D", "10": "123", "34": "2"})),
        ("35=D|x=1|34=2|", (0, "", {"35": "D", "34": "2"})),
        ("35=D|=1|34=2|", (0, "", {"35": "D", "34": "2"})),
        ("35=D|038=1|34=2|", (0, "038", {"35": "D", "34": "2"})),
        ("35=D|+38=1|34=2|", (0, "", {"35": "D", "34": "2"})),
        ("35=D|no equals|34=2|", (0, "", {"35": "D", "34": "2"})),
        ("35=D||34=2|", (0, "", {"35": "D", "34": "2"})),
        ("35=D|58=x=38|100|34=2|", (0, "100", {"35": "D", "58": "x=38", "34": "2"})),
        ("35=D|1234567890=|34=2|", (4, "1234567890", {"35": "D", "34": "2"})),
        ("35=D|01234567890=1|34=2|", (0, "", {"35": "D", "34": "2"})),
    ],
)
def test_b22_b23_what_is_ambiguous_is_refused_and_reading_goes_on(
    body: str, fault: tuple[int | None, str, dict[str, str]]
) -> None:
    assert fields(body) == fault


def test_b15_data_fields_are_taken_by_length_and_never_looked_into() -> None:
    inner = text(framed("35=8|37=1|34=99|"))
    assert fields(f"35=n|34=2|212={len(inner)}|213={inner}|58=x|") == {
        "35": "n",
        "34": "2",
        "212": str(len(inner)),
        "213": inner,
        "58": "x",
    }
    for length, data in (
        ("90", "91"), ("95", "96"), ("212", "213"), ("348", "349"), ("350", "351"), ("352", "353"), ("354", "355"),
        ("360", "361"), ("362", "363"), ("364", "365"), ("618", "619"), ("621", "622"),
    ):  # fmt: skip
        assert fields(f"35=D|{length}=5|{data}=a|38=|38=1|") == {"35": "D", length: "5", data: "a|38=", "38": "1"}


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("35=A|96=x|95=2|96=ab|34=2|", (13, "96", {"35": "A", "96": "x", "95": "2", "34": "2"})),
        ("35=A|95=5|34=2|", (14, "95", {"35": "A", "95": "5", "34": "2"})),
        ("35=A|95=x|96=ab|34=2|", (6, "95", {"35": "A", "95": "x", "96": "ab", "34": "2"})),
        ("35=A|95=-1|96=ab|34=2|", (6, "95", {"35": "A", "95": "-1", "96": "ab", "34": "2"})),
        ("35=A|95=1|96=ab|34=2|", (6, "95", {"35": "A", "95": "1", "96": "ab", "34": "2"})),
        ("35=A|95=99|96=ab|34=2|", (6, "95", {"35": "A", "95": "99", "96": "ab", "34": "2"})),
        ("35=A|34=2|95=3|96=ab|35=8|", (6, "95", {"35": "A", "34": "2", "95": "3", "96": "ab"})),
    ],
)
def test_a_length_that_does_not_fit_its_data_is_refused(
    body: str, fault: tuple[int | None, str, dict[str, str]]
) -> None:
    assert fields(body) == fault


def test_b23_groups_are_checked_by_count_and_order_and_left_out() -> None:
    parties = "453=2|448=A|447=D|452=1|448=B|447=D|452=3|802=2|523=x|803=1|523=y|"
    assert fields(f"35=D|34=2|{parties}38=10|") == {"35": "D", "34": "2", "453": "2", "38": "10"}
    assert fields("35=D|453=1|448=A|447=D|38=10|") == {"35": "D", "453": "1", "38": "10"}
    assert fields("35=D|453=0|38=10|") == {"35": "D", "453": "0", "38": "10"}
    many = "448=A|447=D|" * 10_000
    assert fields(f"35=D|453=10000|{many}38=10|") == {"35": "D", "453": "10000", "38": "10"}


@pytest.mark.parametrize(
    ("body", "reason", "tag"),
    [
        ("35=D|453=2|448=A|447=D|38=10|", 16, "453"),
        ("35=D|453=1|448=A|448=B|38=10|", 16, "453"),
        ("35=D|453=-1|448=A|38=10|", 6, "453"),
        ("35=D|453=1|447=D|448=A|38=10|", 15, "447"),
        ("35=D|453=1|448=A|447=D|447=P|38=10|", 15, "447"),
        ("35=D|453=1|448=A|447=|38=10|", 4, "447"),
        ("35=D|453=1|448=A|802=1|38=10|", 16, "802"),
    ],
)
def test_b23_a_group_that_differs_from_its_count_is_refused(body: str, reason: int, tag: str) -> None:
    parsed = split_fields(soh(body))
    assert isinstance(parsed, FieldFault)
    assert (parsed.reason, text(parsed.tag)) == (reason, tag)
    assert parsed.fields[b"35"] == b"D"


def test_b21_bytes_are_kept_as_they_came() -> None:
    assert split_fields(b"35=D\x0158=l\x92ordre \xe2\x82\xac\x01") == {b"35": b"D", b"58": b"l\x92ordre \xe2\x82\xac"}


_TAGS = ["35", "34", "38", "58", "453", "448", "447", "95", "96", "212", "213", "8", "9", "10", "0", "x", "", "9999"]
_BODY = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(_TAGS), st.sampled_from(["1", "2", "", "a=b", "x|38=5", "5"])).map("=".join),
        st.text("=|135x\xe9", max_size=8),
    ),
    max_size=12,
).map(lambda parts: "35=D|" + "".join(part + "|" for part in parts))


@settings(max_examples=500)
@given(_BODY)
@example("35=D|58=x=38|100|")
def test_the_quick_path_agrees_with_the_slow_one_and_neither_raises(body: str) -> None:
    quick: Fields | FieldFault = split_fields(soh(body))
    assert quick == fields_module._read_fields(soh(body))


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    assert isinstance(split_fields(b"35=" + data + b"\x01"), (dict, FieldFault))


@pytest.mark.parametrize(
    ("stamp", "nanoseconds"),
    [
        ("20260105-09:00:00", NINE_O_CLOCK),
        ("20260105-09:00:00.123", NINE_O_CLOCK + 123_000_000),
        ("20260105-09:00:00.123456", NINE_O_CLOCK + 123_456_000),
        ("20260105-09:00:00.123456789", NINE_O_CLOCK + 123_456_789),
        ("20260105-08:59:60", NINE_O_CLOCK),
        ("20240229-00:00:00", 1_709_164_800 * SECOND),
        ("20260105-09:00:00.1", -1),
        ("20260105-09:00:00.", -1),
        ("20260105-09:00:00.12a", -1),
        ("20260105-09:00:00,123", -1),
        ("20260105-09:00:00.1234567890", -1),
        ("20260105-24:00:00", -1),
        ("20260105-25:00:00", -1),
        ("20260105-09:60:00", -1),
        ("20260105-09:00:61", -1),
        ("20260230-09:00:00", -1),
        ("20250229-09:00:00", -1),
        ("20261305-09:00:00", -1),
        ("19691231-23:59:59", -1),
        ("19600101-00:00:00", -1),
        ("2026-01-05T09:00:00Z", -1),
        ("20260105 09:00:00", -1),
        ("20260105-09-00:00", -1),
        ("20260105-09:00-00", -1),
        ("+2260105-09:00:00", -1),
        ("20260105-9:00:00", -1),
        ("", -1),
    ],
)
def test_b14_timestamps_have_no_or_three_or_six_or_nine_digits(stamp: str, nanoseconds: int) -> None:
    for _ in range(2):  # once read, once remembered
        assert parse_timestamp(stamp.encode()) == nanoseconds
        assert whole_seconds(stamp.encode()) == (nanoseconds // SECOND if nanoseconds >= 0 else -1)


@given(st.integers(0, 4_000_000_000 * SECOND))
def test_a_timestamp_comes_back_in_microseconds(nanoseconds: int) -> None:
    assert parse_timestamp(timestamp_text(nanoseconds)) == nanoseconds // 1_000 * 1_000


def test_timestamps_of_many_seconds_cost_bounded_memory() -> None:
    for second in range(3_000):
        assert parse_timestamp(timestamp_text(NINE_O_CLOCK + second * SECOND)) == NINE_O_CLOCK + second * SECOND
    assert len(fields_module._seconds_of_text) <= 1_024
    assert len(fields_module._text_of_seconds) <= 1_024


@pytest.mark.parametrize(
    ("number", "units"),
    [
        ("10.05", 201), ("10", 200), ("10.", 200), ("0", 0), (".05", 1), ("10.0500", 201), ("00010.05", 201),
        ("999999999999.95", 19_999_999_999_999),
    ],
)  # fmt: skip
def test_a_number_is_a_whole_count_of_its_unit(number: str, units: int) -> None:
    assert parse_units(number.encode(), 5, 2) == units


@pytest.mark.parametrize(
    "number",
    # The last three: nineteen digits, and digits of other scripts.
    [
        *("", ".", "-1", "+1", "1_000", "1E5", "1e5", "NaN", "inf", "0x10", " 1", "1 ", "1,5", "1.2.3", "1..2"),
        *("1" * 19, "0" * 19, "1" * 5_000, "\u0661", "\xb2"),
    ],
)
def test_only_digits_and_one_point_are_a_number(number: str) -> None:
    with pytest.raises(NotANumberError):
        parse_units(number.encode("utf-8"), 5, 2)


@pytest.mark.parametrize("number", ["10.06", "10.051", "0.01", "10.0500001"])
def test_a_number_between_two_units_is_no_count_of_them(number: str) -> None:
    with pytest.raises(OffUnitError):
        parse_units(number.encode(), 5, 2)


def test_a_count_that_no_record_carries_is_no_number() -> None:
    assert parse_units(b"9.22337203685477580", 1, 18) == 9_223_372_036_854_775_800
    with pytest.raises(NotANumberError):
        parse_units(b"9.22337203685477581", 1, 18)


@given(st.integers(0, 10**12), st.sampled_from([(1, 0), (1, 2), (5, 2), (25, 4), (10, 0), (1, 8)]))
def test_decimal_text_comes_back_exactly(units: int, unit: tuple[int, int]) -> None:
    mantissa, decimals = unit
    written = decimal_text(units * mantissa, decimals)
    assert Fraction(written.decode()) == Fraction(units * mantissa, 10**decimals)
    if len(written.replace(b".", b"")) <= 18:
        assert parse_units(written, mantissa, decimals) == units


def test_decimal_text_shows_all_decimals() -> None:
    assert decimal_text(1000, 2) == b"10.00"
    assert decimal_text(5, 2) == b"0.05"
    assert decimal_text(-5, 2) == b"-0.05"
    assert decimal_text(7, 0) == b"7"


def test_whole_numbers_may_be_padded_and_nothing_else() -> None:
    assert [whole_number(value, 4) for value in (b"0", b"0007", b"1234", b"12345", b"", b"-1", b"1.0", b" 1")] == [
        0, 7, 1234, -1, -1, -1, -1, -1,
    ]  # fmt: skip
