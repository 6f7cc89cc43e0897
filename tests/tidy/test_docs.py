"""Documents are true: they name only what exists, and what they list is what the code has."""

import re
from dataclasses import fields

import pytest

from operations.cli import app
from operations.config_tables import (
    CredentialsTables,
    DurabilityTable,
    InstrumentTable,
    ParticipantTable,
    PartitionTable,
    ProcessTable,
    SessionTable,
    VenueTable,
)
from operations.limits import DEFAULTS
from tests.tidy.sources import ROOT

DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_COMMAND = re.compile(r"\bordinal ([a-z][a-z-]*)")
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def command_names() -> set[str]:
    return {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback is not None
    }


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_names_only_commands_that_exist(document) -> None:  # type: ignore[no-untyped-def]
    code = " ".join(_CODE.findall(document.read_text()))
    assert set(_COMMAND.findall(code)) - command_names() == set()
    assert set(re.findall(r"\bmake ([a-z][a-z-]*)", code)) - make_targets() == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_links_only_to_files_that_exist(document) -> None:  # type: ignore[no-untyped-def]
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text())
    missing = [target for target in targets if "://" not in target and not (document.parent / target).exists()]
    assert missing == []


def test_every_limit_is_documented_with_its_default() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| ([0-9 ]+) \| \S", (ROOT / "docs" / "limits.md").read_text(), re.MULTILINE)
    assert {name: int(default.replace(" ", "")) for name, default in rows} == DEFAULTS


def test_every_key_of_the_config_is_documented() -> None:
    text = (ROOT / "docs" / "config.md").read_text()
    tables = {
        "[venue]": VenueTable,
        "[durability]": DurabilityTable,
        "[partition.NAME]": PartitionTable,
        "[process.NAME]": ProcessTable,
        "[[instrument]]": InstrumentTable,
        "[[participant]]": ParticipantTable,
        "[[session]]": SessionTable,
    }
    for heading, table in tables.items():
        section = text.split(f"## `{heading}`")[1].split("\n## ")[0]
        assert set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == set(table.model_fields), heading
    for key in CredentialsTables.model_fields:
        assert f"`[{key}]`" in text


def test_the_architecture_has_the_chapters_that_the_code_cites() -> None:
    headings = {line.strip("# ").lower() for line in (ROOT / "docs" / "architecture.md").read_text().splitlines()}
    rules = re.findall(r"^(\d+)\. \*\*", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    cited: set[str] = set()
    for path in sorted(ROOT.glob("exchange/**/*.py")) + sorted(ROOT.glob("gateway/**/*.py")):
        cited.update(re.findall(r"\(architecture, ([^):]+)", path.read_text()))
    cited_rules = {name.removeprefix("rule ") for name in cited if name.startswith("rule ")}
    chapters = {name.replace("\n", " ") for name in cited if not name.startswith("rule")}
    assert cited_rules <= set(rules)
    assert {re.sub(r"\s+", " ", chapter) for chapter in chapters} <= headings


def test_limits_of_two_pieces_never_share_a_key() -> None:
    from exchange.streams.limits import StreamLimits
    from gateway.fix.limits import Limits

    assert not {field.name for field in fields(StreamLimits)} & {field.name for field in fields(Limits)}
