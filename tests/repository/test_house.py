"""The laws of the house that no other tool watches."""

from __future__ import annotations

import ast
import asyncio
import io
import re
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import create_async_engine

from bot.house import open_house
from bot.settings import Settings
from persistence.db.engine import for_sqlalchemy
from persistence.rows import TIPOS
from persistence.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 600  # lines; a module beyond it holds two nouns
FULLEST = 12  # modules; a folder beyond it holds two subjects
MOST = 330  # modules of production, migrations apart: a new file is a decision
MIDDLE = 180  # lines: half of the modules hold at least as many
MOST_BY_PLACE = 4  # values of a call; more are told apart by their types, or by name
PACKAGES = (
    "bot",
    "extractor",
    "gateway",
    "operations",
    "persistence",
    "proofs",
    "state_machine",
    "telemetry",
    "webhooks",
)


FOUND_FREE = re.compile("(free|unused|find|pick|available)_?(tcp|udp)?_?port", re.IGNORECASE)
BINDS = re.compile(r"\.(bind|create_server)\(")
MAY_FIND = {  # files that bind a port of the system's choice by hand, and why nobody else can be given it
    "persistence/embedded/process.py": "the server's start is tried again when its port was taken",
    "tests/held_port.py": "the port is held for as long as it is used",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_longer_than_a_newcomer_reads_at_once(package: str) -> None:
    """Who writes line 301 splits the module by its nouns."""
    modules = (ROOT / package).rglob("*.py")
    assert not [f"{path.relative_to(ROOT)}" for path in modules if len(path.read_text().splitlines()) > LONGEST]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_holds_more_than_a_newcomer_sees_at_once(package: str) -> None:
    """Who adds the thirteenth module gives a subject its own folder; migrations are a row, not a subject."""
    folders = Counter(path.parent for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py")
    del folders[ROOT / "persistence" / "migrations" / "versions"]
    assert not [f"{path.relative_to(ROOT)}" for path, modules in folders.items() if modules > FULLEST]


def test_the_house_is_made_of_modules_and_not_of_crumbs() -> None:
    """Who adds a module that one other needs writes it into that one; what is changed together stands together."""
    sizes = [
        len(path.read_text().splitlines())
        for package in set(PACKAGES) - {"proofs"}
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py" and "migrations" not in path.parts
    ]
    assert len(sizes) <= MOST
    assert median(sizes) >= MIDDLE


def test_the_migrations_make_what_the_tables_say(database_url: str) -> None:
    """A migrated database and ``persistence.tables`` are the same."""

    def differences(connection: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata))

    async def compare() -> list[Any]:
        engine = create_async_engine(for_sqlalchemy(database_url))
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(differences)
        finally:
            await engine.dispose()

    assert asyncio.run(compare()) == []


def test_nobody_finds_a_free_port_and_lets_it_go() -> None:
    """Between the look and the bind it may be given to anybody: who serves binds port 0, and says where it listens."""
    found = []
    for folder in (*PACKAGES, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if name not in MAY_FIND and name != f"tests/{Path(__file__).name}":
                found += [f"{name}:{line}" for line in _ports_found(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "s.bind(('127.0.0.1', 0))",
        "s.bind(address=('', 0))",
        "socket.create_server(('127.0.0.1', 0))",
        "port = _free_port()",
        "def test(unused_tcp_port): pass",
    ],
)
def test_a_port_that_is_found_free_is_seen(code: str) -> None:
    """Each way of doing it."""
    assert list(_ports_found(code)) == [1]


def test_a_server_that_binds_its_own_port_is_not_one() -> None:
    """Asyncio and aiohttp bind and listen in one step."""
    code = "asyncio.start_server(serve, '127.0.0.1', 0)\nweb.TCPSite(runner, '127.0.0.1', 0)\ns.bind(('', 80))"
    assert list(_ports_found(code)) == []


def _ports_found(code: str) -> Iterator[int]:
    if not (BINDS.search(code) or FOUND_FREE.search(code)):
        return  # to parse all that there is takes seconds
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Attribute(attr="bind" | "create_server"), args=args, keywords=keywords):
                if any(_any_port(value) for value in (*args, *(keyword.value for keyword in keywords))):
                    yield node.lineno
            case ast.Name(id=name, lineno=line) | ast.arg(arg=name, lineno=line) if FOUND_FREE.search(name):
                yield line


def _any_port(value: ast.expr) -> bool:
    return isinstance(value, ast.Tuple) and bool(value.elts) and ast.unparse(value.elts[-1]) == "0"


async def test_every_kind_of_inbox_row_that_we_know_has_a_handler(database_url: str, redis_url: str) -> None:
    """What has no handler is set aside in the end."""
    settings = Settings(
        whatsapp_phone_number_id="1",
        whatsapp_access_token=SecretStr("token-for-the-tests"),
        plugnotas_api_key=SecretStr("key-for-the-tests"),
        gateway_webhook_secret=SecretStr("webhook-for-the-tests"),
    )
    async with open_house(settings, database_url, redis_url) as house:
        assert set(house.worker._handlers) == TIPOS


def test_an_arrival_is_made_of_a_typed_row() -> None:
    """Whoever puts a row into the inbox says its kind by its type: no words of ``tipo``, no dictionaries."""
    found = []
    for folder in set(PACKAGES) - {"proofs"}:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += [f"{path.relative_to(ROOT)}:{line}" for line in _untyped_arrivals(path.read_text())]
    assert found == []


def test_an_arrival_made_by_hand_is_seen() -> None:
    """The scan finds the constructor, and lets ``Arrival.of`` through."""
    assert list(_untyped_arrivals("Arrival('k', 'l', 'prazo', {}, 'c', True)\nArrival.of(row, chave='k')")) == [1]


def _untyped_arrivals(code: str) -> Iterator[int]:
    if "Arrival(" not in code:
        return
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Name(id="Arrival"), lineno=line):
                yield line


def test_who_takes_many_values_of_a_kind_takes_them_by_name() -> None:
    """Two values of one type, given by place among more than four, can be swapped and nobody is told."""
    found = []
    for package in ("bot/cli", "operations"):
        for path in sorted((ROOT / package).rglob("*.py")):
            found += [f"{path.relative_to(ROOT)}: {name}" for name in _confusable(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "def f(a: A, b: B, c: C, x: str, y: str | None = None): pass",
        "@dataclass(frozen=True)\nclass Form:\n    a: A\n    b: B\n    c: C\n    x: str\n    y: str = ''",
    ],
)
def test_values_that_can_be_swapped_are_seen(code: str) -> None:
    """A function or a record, whether a value may be missing or not."""
    assert list(_confusable(code)) != []


@pytest.mark.parametrize(
    "code",
    [
        "def f(a: A, b: B, c: C, *, x: str, y: str): pass",
        "def f(a: A, b: B, x: str, y: str): pass",
        "def f(a: A, b: B, c: C, x: Annotated[str, Option()], y: str): pass",
        "@dataclass(kw_only=True)\nclass Form:\n    a: A\n    b: B\n    c: C\n    x: str\n    y: str",
    ],
)
def test_values_that_cannot_be_swapped_are_not(code: str) -> None:
    """By name, or four at most; and the command line gives a command its words by name."""
    assert list(_confusable(code)) == []


def _confusable(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                taken = [each.annotation for each in node.args.posonlyargs + node.args.args]
            case ast.ClassDef() if node.decorator_list and "kw_only" not in ast.unparse(node.decorator_list[0]):
                taken = [each.annotation for each in node.body if isinstance(each, ast.AnnAssign)]
            case _:
                continue
        kinds = Counter(ast.unparse(kind).removesuffix(" | None") for kind in taken if kind is not None)
        if kinds.total() > MOST_BY_PLACE and max(kinds.values()) > 1 and not any("Annotated" in kind for kind in kinds):
            yield node.name


def test_every_deadline_of_its_own_has_a_reason() -> None:
    """A comment on the line of the marker says why the test is slow."""
    bare = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text()
        if "mark.timeout" not in source:
            continue
        lines = {
            node.lineno
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.timeout"
        }
        comments = {
            token.start[0]
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        bare += [f"{path.relative_to(ROOT)}:{line}" for line in sorted(lines - comments)]
    assert bare == []
