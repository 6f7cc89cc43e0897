"""The terminal's language: a line is a FIX body or is not understood, a report is one line."""

import pytest

from gateway.fix.fields import Fields
from operations.terminal_language import HELP, NotUnderstoodError, Terminal

NOON = 1_700_000_000_000_000_000
SENT = "60=20231114-22:13:20.000000"


def body(terminal: Terminal, line: str) -> str:
    command = terminal.command(line, NOON)
    assert isinstance(command, tuple)
    return f"{command[0].decode()}|{command[1].decode()}".replace("\x01", "|")


def fields(text: str) -> Fields:
    return {tag.encode(): value.encode() for tag, _, value in (field.partition("=") for field in text.split("|"))}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("buy ALFA 100 @ 10.50", f"D|11=T-1|55=ALFA|54=1|{SENT}|38=100|40=2|44=10.50|59=0|"),
        ("SELL ALFA 100 @10.50 GTC", f"D|11=T-1|55=ALFA|54=2|{SENT}|38=100|40=2|44=10.50|59=1|"),
        ("buy ALFA 100 ioc", f"D|11=T-1|55=ALFA|54=1|{SENT}|38=100|40=1|59=3|"),
        ("cancel sym-1-7 ALFA sell", f"F|41=NONE|37=sym-1-7|11=T-c1|55=ALFA|54=2|{SENT}|"),
    ],
)
def test_a_line_is_a_fix_message(line: str, expected: str) -> None:
    assert body(Terminal("T"), line) == expected


def test_an_own_order_is_canceled_by_its_number() -> None:
    terminal = Terminal("T")
    terminal.command("buy ALFA 100 @ 10.50", NOON)
    assert body(terminal, "cancel #1") == f"F|41=T-1|11=T-c1|55=ALFA|54=1|{SENT}|"


@pytest.mark.parametrize("line", ["hm", "buy ALFA", "buy ALFA 1 @ 2 soon", "cancel", "cancel 1"])
def test_what_is_no_command_is_not_understood(line: str) -> None:
    with pytest.raises(NotUnderstoodError):
        Terminal("T").command(line, NOON)


def test_help_and_an_empty_list_of_orders_are_texts() -> None:
    assert [Terminal("T").command(line, NOON) for line in ("help", "orders")] == [HELP, "no live orders"]


TERMS = "55=ALFA|54=1|38=100|40=2|44=10.50|59=0"


def test_the_life_of_an_order_is_a_line_for_each_report() -> None:
    terminal = Terminal("T")
    terminal.command("buy ALFA 100 @ 10.50", NOON)
    assert terminal.waits
    head = f"35=8|37=sym-1-7|11=T-1|{TERMS}"
    assert terminal.report(fields(f"{head}|17=sym-1-7-1|150=0|39=0|151=100|14=0|6=0")) == (
        "#1 accepted: buy 100 ALFA @ 10.50 day, OrderID sym-1-7"
    )
    assert not terminal.waits
    assert terminal.report(fields(f"{head}|17=sym-1-9-2|150=F|39=1|32=40|31=10.50|151=60|14=40|6=10.5")) == (
        "#1 traded: buy 40 ALFA @ 10.50, 60 left, average 10.5, ExecID sym-1-9-2"
    )
    assert terminal.command("orders", NOON) == "#1 buy 100 ALFA @ 10.50 day, 60 left, OrderID sym-1-7"
    terminal.command("cancel 1", NOON)
    canceled = f"35=8|37=sym-1-7|11=T-c1|41=T-1|{TERMS}|17=sym-1-11-1|150=4|39=4|151=0|14=40|6=10.5"
    assert terminal.report(fields(canceled)) == "#1 canceled, 40 done, OrderID sym-1-7"
    assert terminal.command("orders", NOON) == "no live orders"
    assert not terminal.waits


def test_refusals_and_orders_of_others_are_shown_too() -> None:
    terminal = Terminal("T")
    terminal.command("buy NOPE 1 @ 1", NOON)
    refused = "35=8|37=sym-1-5|17=sym-1-5-1|150=8|39=8|11=T-1|55=NOPE|54=1|151=0|14=0|6=0|58=UNKNOWN_SYMBOL: no"
    assert terminal.report(fields(refused)) == "#1 refused: UNKNOWN_SYMBOL: no, OrderID sym-1-5"
    assert terminal.report(fields("35=9|37=NONE|11=T-c1|41=NONE|39=8|434=1|102=1|58=UNKNOWN_ORDER: no")) == (
        "cancel refused: UNKNOWN_ORDER: no"
    )
    assert terminal.report(fields(f"35=8|37=sym-1-2|11=X|{TERMS}|17=sym-1-9-1|150=F|39=2|32=5|31=9|151=0|6=9")) == (
        "traded: buy 5 ALFA @ 9, 0 left, average 9, ExecID sym-1-9-1"
    )


def test_a_reject_is_the_answer_to_what_was_waited_for() -> None:
    terminal = Terminal("T")
    terminal.command("buy ALFA 1 @ 1", NOON)
    assert terminal.rejected(fields("35=3|45=2|58=Required tag missing")) == "rejected: Required tag missing"
    assert not terminal.waits
