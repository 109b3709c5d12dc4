"""The real servers of the tests: one PostgreSQL and one Valkey for the session, a virgin database for each module."""

from __future__ import annotations

import asyncio
import gc
import itertools
import shutil
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import redis
import structlog
from hypothesis import HealthCheck, settings

from persistence.db.migrate import upgrade
from persistence.embedded import Embedded
from tests import owner
from tests.nightly import size

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

gc.set_threshold(50_000, 20, 100)  # as in the house (bot/cli/words.py)

# What the house logs in this process is captured with the test. Structlog's own default renders every traceback with
# all its locals: seconds of one core for each, in which nothing else runs.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S.%f"),
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

# How long an example takes says how busy the machine is; each test has a deadline of its own (tests/deadlines.py).
settings.register_profile(
    "prosa", max_examples=size(50, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("prosa")

pytest_plugins = ("tests.children", "tests.deadlines")

# Where tests start browsers or processes, or wait for people: `./prosa test --fast` leaves them out. What only reads
# the tree is not among them: it is what a late change breaks.
_PROCESSES = ("base_install", "children", "deadlines", "launcher", "mutants", "patterns")
SLOW = tuple(
    f"{Path(__file__).parent}/{place}"
    for place in (
        *("browser/", "faults/", "proofs/", "road/", "bot/process/", "bot/cli/", "webhooks/console/"),
        *(f"repository/test_{name}.py" for name in _PROCESSES),
    )
)
TOLD_FROM = 60.0  # seconds; a run that took less is told by its own last line
TEMPLATE = "prosa_template"
LOGICAL_DATABASES = 16  # Valkey's default; modules run one after the other, so a number is free again long before

_numbers = itertools.count(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow by where it lives; a marker on a test of another folder says the same of that test.

    Spread over processes, the slow files come first, those of few tests before all, which have the longest ones: what
    begins last decides how long the others wait.
    """
    for item in items:
        if str(item.path).startswith(SLOW):
            item.add_marker("slow")
    if hasattr(config, "workerinput"):
        sizes, last = Counter(item.path for item in items), len(items)
        items.sort(key=lambda item: sizes[item.path] if item.get_closest_marker("slow") else last)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Embedded]:
    """The servers of this session, in a directory of their own that is gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="prosa-tests-"))  # not pytest's: nobody may pass through this one's parents
    try:
        with Embedded.start(home, durable=False) as servers:
            owner.note(servers)
            yield servers
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(embedded: Embedded) -> str:
    """The name of a database that the project's own migrations made; it is only ever copied."""
    _admin(embedded, f"CREATE DATABASE {TEMPLATE}")
    upgrade(_at(embedded.servers.owner_url, TEMPLATE), _at(embedded.servers.database_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture(scope="module")
def owner_url(embedded: Embedded, template_database: str) -> Iterator[str]:
    """The address of this module's database for the account that owns its tables: a test may empty or alter them."""
    name = f"prosa_test_{next(_numbers)}"
    _admin(embedded, f"CREATE DATABASE {name} TEMPLATE {template_database} STRATEGY FILE_COPY")  # half as long
    yield _at(embedded.servers.owner_url, name)
    _admin(embedded, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def database_url(embedded: Embedded, owner_url: str) -> str:
    """`postgresql://…` of a migrated database without rows, this module's own, for the run-time account."""
    return _at(embedded.servers.database_url, urlsplit(owner_url).path.removeprefix("/"))


@pytest.fixture(scope="module")
def redis_url(embedded: Embedded) -> str:
    """`redis://…` of an empty logical database, this module's own."""
    url = urlsplit(embedded.servers.redis_url)._replace(path=f"/{next(_numbers) % LOGICAL_DATABASES}").geturl()
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    return url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests of each folder took, set-up included: where a suite's time goes, seen in every run."""
    took: Counter[str] = Counter()
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if isinstance(report, pytest.TestReport):
            took["/".join(report.nodeid.split("::")[0].split("/")[:3])] += round(report.duration * 1000)
    if sum(took.values()) < TOLD_FROM * 1000:
        return
    terminalreporter.section("seconds by folder, of all processes together")
    for place, milliseconds in took.most_common(30):
        terminalreporter.write_line(f"{milliseconds / 1000:8.1f}  {place}")


def _at(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _admin(embedded: Embedded, statement: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(embedded.servers.owner_url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    _run(execute())


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` on a loop of its own, apart from the one that pytest-asyncio keeps for the module."""
    failed: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            failed.append(error)

    thread = threading.Thread(target=target, daemon=True)  # one that hangs does not hold the end of the tests
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
