"""The words, held to the code: links lead somewhere, tables are complete, queries run, commands exist."""

from __future__ import annotations

import ast
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import pytest
import typer

from bot.settings import Settings
from persistence.tables import metadata
from proofs.__main__ import app
from state_machine.invoice.session import REASON_ON_ENTRY, Estado
from state_machine.protocol.emission import StatusEmissao
from telemetry.metrics import Metrics
from tests import children

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
READMES = (ROOT / "README.md", DOCS / "README.pt-BR.md")
CONTRIBUTING, INDEX = (DOCS / name for name in ("CONTRIBUTING.md", "index.md"))
SETTINGS, RUNBOOK, CLI = (DOCS / name for name in ("settings.md", "runbook.md", "cli.md"))
ARCHITECTURE, STAFF = (DOCS / name for name in ("arquitetura.md", "console.md"))
# Read by docker compose, not by the program.
COMPOSE_ONLY = {"POSTGRES_PASSWORD", "POSTGRES_APP_PASSWORD", "REDIS_PASSWORD"}

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SQL = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```(?:sh)?\n(.*?)^```$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|\s)(?:\./)?prosa ([a-z]+)(?: ([a-z]+(?:-[a-z]+)*))?")
MODULE = re.compile(
    r"`((?:bot|extractor|gateway|operations|persistence|proofs|state_machine|telemetry|tests|webhooks)/[\w/]+\.py)`"
)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MACHINE = re.compile(r"(?<![\w.])/(?:home|Users|work|mnt)/\w")  # an absolute path of somebody's machine
REGISTRY = re.compile(r"https?://[^\s'\"]*(?:/simple\b|pypi|pythonhosted)|--(?:extra-)?index-url[ =]")
PATH = re.compile(r"[\w.-]+(?:/[\w-]+)+(?:\.\w+)*")
SEAM = re.compile(r"^\| an? .+ \| `([\w/]+\.py)` \|$", re.MULTILINE)
LINES_OF_A_RECIPE = 9
LINES_OF_A_RECORD = 40
FEATURES, FILES_OF_A_WAY = 40, 25
FORMER_RECORDS = range(1, 73)  # the numbers that issues, commits and releases of before November 2026 name
# Whoever adds words takes others away.
WORDS = dict.fromkeys(READMES, 600) | {CONTRIBUTING: 1_500}
WORDS_OF_RECORDS, WORDS_OF_ALL = 7_500, 45_000
RECORD = re.compile(
    r"# \d+\. [^\n]+\n\nStatus: .+?\n\n\*\*[^*]+\.\*\*\n\n## Situation\n.+\n## Decision\n.+\n## Consequences\n.+",
    re.DOTALL,
)
FORMER = re.compile(r"^\| \d+ \| \[[^|]+\| ([\d, ]+) \|$", re.MULTILINE)


@cache
def pages() -> tuple[Path, ...]:
    """Every Markdown page of ours."""
    return (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")))


def rows(page: Path, header: str) -> dict[str, list[str]]:
    """The rows of the tables of ``page`` whose first column is called ``header``, by their first cell without marks."""
    found: dict[str, list[str]] = {}
    inside = False
    for line in page.read_text().splitlines():
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        inside = line.startswith("|") and (inside or first == header)
        if inside and first.startswith("`"):
            found[first.strip("`")] = others
    return found


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of ``page``."""
    plain = FENCE.sub("", page.read_text())
    lower = (unicodedata.normalize("NFC", title).strip().lower() for title in HEADING.findall(plain))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in lower}


def commands() -> Iterator[tuple[str, str | None]]:
    """Every command of the program, and of its groups."""
    group = typer.main.get_command(app)
    for name, command in getattr(group, "commands").items():  # noqa: B009
        yield name, None
        for inner in getattr(command, "commands", {}):
            yield name, inner


def tracked() -> list[Path]:
    """Every file that a clone has."""
    listed = children.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """A link to a file, an image or a heading of ours finds it."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    """A page does not send the reader to a file that was renamed."""
    for name in MODULE.findall(page.read_text()):
        assert (ROOT / name).is_file(), name


def test_every_path_of_contributing_exists() -> None:
    """What CONTRIBUTING sends its readers to is a path of this tree."""
    inline = re.findall(r"`([^`]+)`", FENCE.sub("", CONTRIBUTING.read_text()))
    named = [path for code in inline for path in PATH.findall(code)]
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("seam", SEAM.findall(CONTRIBUTING.read_text()))
def test_a_recipe_stands_at_the_head_of_the_module_that_is_changed_first(seam: str) -> None:
    """The module of each row of "To add" says the steps, and every path that it names exists."""
    module = ROOT / seam
    _, _, steps = (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n\nTo add ")
    assert steps
    assert len(steps.splitlines()) <= LINES_OF_A_RECIPE
    assert [
        path for path in PATH.findall(steps) if not ((ROOT / path).exists() or (module.parent / path).exists())
    ] == []


def test_no_recipe_is_missing_in_contributing() -> None:
    """A module that says steps has its row, by which a stranger finds it."""
    written = {
        str(path.relative_to(ROOT)) for path in tracked() if path.suffix == ".py" and "\nTo add " in path.read_text()
    }
    assert written == set(SEAM.findall(CONTRIBUTING.read_text()))


def test_the_index_names_every_page() -> None:
    """No page of the documentation is an orphan."""
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in LINK.findall(INDEX.read_text())}
    missing = [page.name for page in DOCS.rglob("*.md") if page.name != "index.md" and page.resolve() not in linked]
    assert missing == []


def test_decision_records_are_short_and_numbered_without_gaps() -> None:
    """A record has its number in name and title, and the numbers have no gap."""
    records = {int(record.name[:4]): record.read_text() for record in sorted((DOCS / "adr").glob("*.md"))}
    assert list(records) == list(range(1, len(records) + 1))
    for number, text in records.items():
        assert text.startswith(f"# {number}. "), number
        assert len(text.splitlines()) <= LINES_OF_A_RECORD, number


def test_every_former_number_of_a_record_leads_to_one_of_today() -> None:
    """The index names each number that records once had, at one record of today."""
    named = [int(number) for cell in FORMER.findall(INDEX.read_text()) for number in cell.split(", ")]
    assert sorted(named) == [*FORMER_RECORDS]


def test_the_words_stay_few() -> None:
    """A page that everybody reads is short, and all pages together have a bound."""
    words = {page: len(page.read_text().split()) for page in pages()}
    assert {page.name: words[page] for page, most in WORDS.items() if words[page] > most} == {}
    assert sum(count for page, count in words.items() if page.parent.name == "adr") <= WORDS_OF_RECORDS
    assert sum(words.values()) <= WORDS_OF_ALL


@pytest.mark.parametrize("record", sorted((DOCS / "adr").glob("*.md")), ids=lambda record: record.name[:4])
def test_a_decision_record_begins_with_its_decision(record: Path) -> None:
    """A record gives its status, one sentence in bold to be quoted, then situation, decision and consequences."""
    assert RECORD.fullmatch(record.read_text())


def test_the_table_of_settings_is_complete() -> None:
    """Operators find every setting, and none that does not exist."""
    assert rows(SETTINGS, "variable").keys() == {f"PROSA_{name.upper()}" for name in Settings.model_fields}


@pytest.mark.parametrize("name", Settings.model_fields)
def test_the_table_of_settings_gives_the_defaults(name: str) -> None:
    """What operators read as the default is what they get; nothing is the default of what is required or absent."""
    default = Settings.model_fields[name].default
    shown = rows(SETTINGS, "variable")[f"PROSA_{name.upper()}"][0]
    if isinstance(default, tuple):
        default = ",".join(f"{part:g}" for part in default)
    if isinstance(default, str | int | float | Path) and str(default):
        assert shown.split("`")[1] in {str(default), str(default).removesuffix(".0")}
    else:
        assert shown.split(",")[0] in {"required", "none", "embedded"}


def test_the_example_environment_names_every_setting_and_holds_no_secret() -> None:
    """`.env.example` is a whole template: each setting once, those that must be filled in empty."""
    text = (ROOT / ".env.example").read_text()
    lines = re.findall(r"^(# )?([A-Z0-9_]+)=(.*)$", text, re.MULTILINE)
    assert {name for _, name, _ in lines} - COMPOSE_ONLY == {f"PROSA_{name.upper()}" for name in Settings.model_fields}
    assert [name for commented, name, value in lines if not commented and value] == []


def test_the_table_of_metrics_is_the_one_in_the_code() -> None:
    """Each metric stands in the operators' table with its name, kind, labels and meaning, and no other does."""
    table = rows(RUNBOOK, "metric")
    described = {line.name: line for line in Metrics().table()}
    assert table.keys() == described.keys()
    for name, line in described.items():
        assert table[name] == [line.kind, ", ".join(f"`{label}`" for label in line.labels), line.help]


def test_every_log_event_that_operators_are_told_of_exists() -> None:
    """An event in the operators' table is one that the code writes."""
    modules = [path for path in tracked() if path.suffix == ".py" and not path.is_relative_to(ROOT / "tests")]
    source = "\n".join(path.read_text() for path in modules)
    lines = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| (?:info|warning|error)", RUNBOOK.read_text(), re.MULTILINE)
    events = [event for cell in lines for event in re.findall(r"[a-z_]+", cell)]
    assert len(events) > len(lines) > 0
    assert [event for event in events if f'"{event}"' not in source] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    """What a reader is told to type is something that the program knows."""
    known = set(commands())
    names = {name for name, _ in known}
    groups = {name for name, inner in known if inner}
    for block, inline in CODE.findall(page.read_text()):
        for name, inner in COMMAND.findall(block or inline):
            assert name in names, name
            if name in groups and inner:
                assert (name, inner) in known, f"{name} {inner}"


def test_the_page_of_commands_lists_every_command() -> None:
    """Whoever looks for a command finds each of them on one page."""
    said = set(re.findall(r"`prosa ([a-z]+(?: [a-z]+(?:-[a-z]+)*)?)", CLI.read_text()))
    groups = {name for name, inner in commands() if inner}
    wanted = {f"{name} {inner}" if inner else name for name, inner in commands() if inner or name not in groups}
    assert wanted <= said


def test_the_two_readmes_tell_the_same() -> None:
    """Neither README has a section or a link that the other lacks."""
    english, portuguese = (readme.read_text() for readme in READMES)
    assert len(HEADING.findall(FENCE.sub("", english))) == len(HEADING.findall(FENCE.sub("", portuguese)))
    first, second = (
        {file for target in LINK.findall(page.read_text()) if (file := (page.parent / target).resolve()) not in READMES}
        for page in READMES
    )
    assert first == second


def test_support_reads_every_state_with_its_reason() -> None:
    """Support's tables name each state with the reason that its snapshot gets, and each status of an emission."""
    states, statuses = (rows(STAFF, header) for header in ("estado", "status"))
    for estado in Estado:
        reason = REASON_ON_ENTRY[estado]
        assert states[estado][1] == (f"`{reason}`" if reason else "o anterior")
    assert {status.value for status in StatusEmissao} <= statuses.keys()


def test_the_feature_map_and_the_way_of_a_message_are_true() -> None:
    """Whoever looks for a capability finds its folders, and the files of a message's way are there, and few."""
    text = ARCHITECTURE.read_text()
    maps, way = (
        re.findall(r"`([\w/]+(?:\.py)?)`", text.partition(f"\n## {title}\n")[2].partition("\n## ")[0])
        for title in ("Feature map", "The way of a message")
    )
    assert len(maps) > FEATURES
    assert [path for path in maps if not (ROOT / path).exists()] == []
    files = {path for path in way if path.endswith(".py")}
    assert FILES_OF_A_WAY >= len(files) > FILES_OF_A_WAY // 2
    assert [path for path in files if not (ROOT / path).is_file()] == []


def test_the_architecture_names_every_table() -> None:
    """A newcomer finds what each table holds."""
    text = ARCHITECTURE.read_text()
    assert [name for name in metadata.tables if f"`{name}`" not in text] == []


async def test_support_queries_run_on_the_schema(database_url: str) -> None:
    """Every SQL statement of support's page is understood by a database of this version."""
    statements = [
        statement
        for block in SQL.findall(STAFF.read_text())
        for statement in block.split(";\n")
        if statement.strip() and statement.strip() not in {"BEGIN", "COMMIT"}
    ]
    assert len(statements) > 10
    connection = await asyncpg.connect(database_url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        for statement in statements:
            await connection.fetch(statement)
        await transaction.rollback()
    finally:
        await connection.close()


def test_no_file_knows_a_machine_or_a_registry() -> None:
    """A clone says nothing of where it was made, and fetches packages from wherever its user does."""
    told = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # pictures, fonts
        told += [f"{path.relative_to(ROOT)}: {found[0]}" for found in MACHINE.finditer(text)]
        told += [f"{path.relative_to(ROOT)}: {found[0]}" for found in REGISTRY.finditer(text)]
    assert told == []
