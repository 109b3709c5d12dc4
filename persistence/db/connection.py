"""One connection to the database: SQLAlchemy Core composes the statements, asyncpg runs them.

SQLAlchemy's own execution costs some three times what asyncpg needs for the same statement (docs/reliability.md), so
each statement is compiled once, for as long as it lives, and only its parameters change hands afterwards. A round trip
is what costs most: writes that nobody waits for are kept, and go out together.

Reads JSON as leniently as it is sent, writes it so that PostgreSQL stores it; refuses only what has no bottom.

Puts several writes into one statement of PostgreSQL: one round trip, and all of them or none.

Tells a database that is away from one that says no; it neither waits nor retries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

import asyncpg
import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler

from state_machine.values.errors import ProsaError
from state_machine.values.text import clean, cleaned, parse_json

__all__ = ["UnstorableError", "clean", "read", "storable"]


class UnstorableError(ProsaError, ValueError):
    """JSON nested deeper than the database and the writer take (about 250 levels)."""

    code = "unstorable"


def read(raw: bytes) -> Any:
    """Parse JSON, lone surrogates and endless numbers included. Raises ``ValueError`` for anything else.

    Its texts are made storable when they are stored (``storable``, ``clean``): a webhook's key is made of them as sent.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        try:
            return parse_json(raw, exact=False)
        except RecursionError as error:
            raise ValueError("nested too deeply to be read") from error


def storable(value: object) -> str:
    """Return JSON text for a ``jsonb`` column. Raises ``UnstorableError``."""
    try:
        text = orjson.dumps(value)
        if b"\\u0000" in text:  # or an innocent backslash that looks like it: cleaning changes nothing then
            text = orjson.dumps(cleaned(value))
    except TypeError:  # surrogates, integers beyond 64 bits, depth
        try:
            text = orjson.dumps(cleaned(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise UnstorableError("nested too deeply to be stored") from error
    return text.decode()


REFUSED = "PR001"  # SQLSTATE of ``exigir_linhas``, whose message is the number of the write that it refuses
_PLACE = re.compile(r"\$(\d+)")
_KEPT = 256  # texts: there are as many as kinds of turns


@dataclass(frozen=True, slots=True)
class Write:
    """An INSERT, UPDATE or DELETE onto one table, with ``$1`` … in its text.

    ``rows`` is how many it must touch, ``None`` for any number; ``otherwise`` is raised if it touches others.
    """

    sql: str
    arguments: Sequence[Any]
    onto: str
    returns: bool  # the text has a RETURNING of its own
    rows: int | None = None
    otherwise: Exception | None = None


def one_statement(writes: Sequence[Write]) -> tuple[str, list[Any]]:
    """Return a text, and its arguments, that does what ``writes`` do, all at once: none sees what another wrote."""
    shapes = tuple((write.sql, len(write.arguments), write.returns, write.rows) for write in writes)
    return _text(shapes), [argument for write in writes for argument in write.arguments]


@lru_cache(_KEPT)
def _text(shapes: tuple[tuple[str, int, bool, int | None], ...]) -> str:
    parts: list[str] = []
    checks: list[str] = []
    before = 0
    for number, (sql, count, returns, rows) in enumerate(shapes):
        parts.append(f"w{number} AS ({_moved(sql, before)}{'' if returns else ' RETURNING 1'})")
        if rows is not None:
            found = f"(SELECT count(*) FROM w{number})"  # noqa: S608 - a number of ours
            checks.append(f"exigir_linhas({found}, {rows}, {number})")
        before += count
    return f"WITH {', '.join(parts)} SELECT {', '.join(checks) or '1'}"


def _moved(sql: str, by: int) -> str:
    """Number the places of a text from ``$1 + by`` on."""
    return _PLACE.sub(lambda found: f"${int(found[1]) + by}", sql)


_DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call] # SQLAlchemy types no dialect
_WORDS = re.compile(r"[()]|'(?:[^']|'')*'|\b(?:SELECT|VALUES|INSERT|UPDATE|DELETE|RETURNING)\b")


class Row(asyncpg.Record):  # type: ignore[misc] # asyncpg ships no types
    """A record whose columns are attributes too: ``row.id``, ``row["id"]`` or ``row[0]``."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class RowCountError(ProsaError, LookupError):
    """A statement gave another number of rows than there must be."""

    code = "row_count"


@dataclass(slots=True)  # not frozen: that takes three times as long to make, and each statement makes one
class Result:
    """What a statement gave: all its rows, and how many it touched."""

    rows: Sequence[Row]
    rowcount: int

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def all(self) -> list[Row]:
        """Return every row."""
        return list(self.rows)

    def first(self) -> Row | None:
        """Return the first row, ``None`` if there is none."""
        return self.rows[0] if self.rows else None

    def one(self) -> Row:
        """Return the only row; raises ``RowCountError``."""
        if len(self.rows) != 1:
            raise RowCountError(f"{len(self.rows)} rows where there must be one")
        return self.rows[0]

    def one_or_none(self) -> Row | None:
        """Return the only row, ``None`` if there is none; raises ``RowCountError`` if there are more."""
        return self.one() if self.rows else None

    def scalar_one(self) -> Any:
        """Return the first column of the only row; raises ``RowCountError``."""
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        """Return the first column of the only row, ``None`` if there is none; raises ``RowCountError``."""
        return self.one()[0] if self.rows else None

    def scalars(self) -> list[Any]:
        """Return the first column of every row."""
        return [row[0] for row in self.rows]


class Connection:
    """What a transaction, or single statements, are run on.

    With ``atomic`` its statements are one transaction, which begins with the first of them and ends with ``finish`` or
    ``abandon``; without, each is committed by itself.
    """

    __slots__ = ("_atomic", "_begun", "_driver", "_later")

    def __init__(self, driver: Any, *, atomic: bool = False) -> None:
        self._driver = driver
        self._atomic = atomic
        self._begun = False
        self._later: list[Write] = []

    def later(
        self,
        statement: Executable,
        values: Mapping[str, Any] | None = None,
        *,
        rows: int | None = None,
        otherwise: Exception | None = None,
        onto: str = "",
    ) -> None:
        """Write this before whatever is executed next, or at the end; ``otherwise`` is raised then.

        ``onto`` is the table's name, for a statement that is text. Raises what composing a statement raises.
        """
        given = values or {}
        compiled = _compiled(statement, given)
        dml: Any = statement
        name = onto or dml.table.name
        self.later_write(Write(compiled.sql, compiled.arguments(given), name, compiled.rows, rows, otherwise))

    def later_write(self, write: Write) -> None:
        """Do the same with PostgreSQL's own text."""
        self._later.append(write)

    async def finish(self) -> None:
        """Write what waits and commit; raises what the writes raise, and then nothing of them stands."""
        if not self._begun and not _apart(self._later):
            await self._write()  # one statement commits itself
            return
        await self._ready()
        if self._begun:
            await self._driver.execute("COMMIT")

    async def abandon(self) -> None:
        """Undo everything; what waits is not written."""
        self._later = []
        if self._begun:
            await self._driver.execute("ROLLBACK")

    async def execute(
        self, statement: Executable, values: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> Result:
        """Run a statement of SQLAlchemy Core; a list of ``values`` runs it once for each, an empty one never.

        Raises what asyncpg raises, ``KeyError`` for a parameter without a value, ``TypeError`` for a list that is to
        be given to ``IN (…)``.
        """
        if values is not None and not isinstance(values, Mapping):
            for each in values:
                await self.execute(statement, each)
            return Result((), len(values))
        given = values or {}
        compiled = _compiled(statement, given)
        return await self._run(compiled.sql, compiled.arguments(given), rows=compiled.rows)

    async def scalar(self, statement: Executable, values: Mapping[str, Any] | None = None) -> Any:
        """Return the first column of the first row, ``None`` without rows."""
        row = (await self.execute(statement, values)).first()
        return row[0] if row is not None else None

    async def exec_driver_sql(self, sql: str, arguments: Sequence[Any] = ()) -> Result:
        """Run PostgreSQL's own text with ``$1`` … in it."""
        rows = _SQL_ROWS.get(sql)
        if rows is None:
            rows = _SQL_ROWS[sql] = _gives_rows(sql)
        return await self._run(sql, arguments, rows=rows)

    async def _run(self, sql: str, arguments: Sequence[Any], *, rows: bool) -> Result:
        if self._later or (self._atomic and not self._begun):
            await self._ready()
        if rows:
            found = await self._driver.fetch(sql, *arguments)
            return Result(found, len(found))
        status: str = await self._driver.execute(sql, *arguments)
        count = status.rpartition(" ")[2]
        return Result((), int(count) if count.isdigit() else 0)

    async def _ready(self) -> None:
        """Begin, and write what waits."""
        if self._atomic and not self._begun:
            self._begun = True  # also if we never hear that it did
            await self._driver.execute("BEGIN")
        while self._later:
            await self._write()

    async def _write(self) -> None:
        """Write what waits, up to the second write onto a table: one statement keeps no order of its own."""
        count = _apart(self._later) or len(self._later)
        now, self._later = self._later[:count], self._later[count:]
        if not now:
            return
        sql, arguments = one_statement(now)
        try:
            await self._driver.fetch(sql, *arguments)
        except asyncpg.PostgresError as error:
            refused = now[int(str(error))].otherwise if error.sqlstate == REFUSED else None
            if refused is None:
                raise
            raise refused from None


def _apart(writes: Sequence[Write]) -> int:
    """Return the place of the first write onto a table that an earlier one is onto, 0 for none."""
    seen: set[str] = set()
    for place, write in enumerate(writes):
        if write.onto in seen:
            return place
        seen.add(write.onto)
    return 0


@dataclass(frozen=True, slots=True)
class _Compiled:
    """``pick`` takes the parameters in their order; ``fixed`` are the values of those that are not given each time.

    ``processors`` hold the places of those that are not sent as they are given.
    """

    sql: str
    rows: bool
    pick: Callable[[Mapping[str, Any]], Sequence[Any]]
    fixed: Mapping[str, Any]
    processors: Sequence[tuple[int, Callable[[Any], Any]]]

    def arguments(self, given: Mapping[str, Any]) -> list[Any]:
        values = list(self.pick({**self.fixed, **given} if self.fixed else given))
        for position, process in self.processors:
            values[position] = process(values[position])
        return values


_STATEMENTS: WeakKeyDictionary[Executable, dict[tuple[str, ...], _Compiled]] = WeakKeyDictionary()
_SQL_ROWS: dict[str, bool] = {}  # texts of exec_driver_sql: constants of ours


def _compiled(statement: Executable, given: Mapping[str, Any]) -> _Compiled:
    variants = _STATEMENTS.get(statement)
    if variants is None:
        variants = _STATEMENTS[statement] = {}
    columns = tuple(given)
    found = variants.get(columns)
    if found is None:
        found = variants[columns] = _compile(statement, columns)
    return found


def _compile(statement: Any, columns: Sequence[str]) -> _Compiled:
    compiled: SQLCompiler = statement.compile(dialect=_DIALECT, column_keys=list(columns) or None)
    given = {name for name, bind in compiled.binds.items() if bind.required}
    if any(compiled.binds[name].expanding for name in given):
        raise TypeError("a list that is given each time is compared with = ANY(…), not with IN (…)")
    state = compiled.construct_expanded_state(dict.fromkeys(given))  # IN (…) gets one parameter for each value
    names = tuple(state.positiontup or ())
    fixed = {name: value for name, value in state.parameters.items() if name not in given}
    found = [(position, _processor(compiled.binds.get(name))) for position, name in enumerate(names)]
    processors = [(position, process) for position, process in found if process]
    return _Compiled(state.statement, _gives_rows(state.statement), _picker(names), fixed, processors)


def _picker(names: Sequence[str]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda given: [given[name] for name in names]  # of one name an ``itemgetter`` gives the bare value


def _processor(bind: sa.BindParameter[Any] | None) -> Callable[[Any], Any] | None:
    if bind is None or isinstance(bind.type, sa.JSON):  # one of a list; or written by asyncpg's codec
        return None
    return bind.type.dialect_impl(_DIALECT).bind_processor(_DIALECT)


def _gives_rows(sql: str) -> bool:
    """Whether a statement gives rows: the verb outside all parentheses selects, or something is returned there."""
    depth = 0
    verb = ""
    for word in _WORDS.findall(sql):
        if word in "()":
            depth += 1 if word == "(" else -1
        elif not depth and not word.startswith("'"):
            if word == "RETURNING":
                return True
            verb = verb or word
    return verb in {"SELECT", "VALUES"}


# SQLSTATE prefixes: PostgreSQL manual, appendix A
_GONE = (
    "08",  # connection lost or refused
    "25006",  # read only: this server is no longer the primary, or not yet
    "25P03",  # cut for having idled in a transaction
    "57P",  # shutting down, crashed, starting up, dropped, cut by an operator
)
_PASSING = (
    *_GONE,
    "40",  # rolled back for another's sake: deadlock, serialisation
    "53",  # out of connections, memory or disk
    "55P03",  # another's transaction held a lock for all the time that we wait for one
    "57",  # statement cancelled
    "58",  # I/O error of its machine
)
_CANCELLED = "57014"
_OBJECTIONS = ("22", "23", "54")  # data exception, constraint violation, program limit exceeded


class DatabaseAwayError(ProsaError, ConnectionError):
    """The database does not answer now; nothing was decided about the data, so the sender should keep it."""

    code = "database_away"


def is_objection(error: BaseException) -> bool:
    """True when the database refuses these very data: sending them again would end the same way."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_OBJECTIONS)


def is_gone(error: BaseException | None) -> bool:
    """True when this connection, or the server at its other end, is of no more use: connections made anew may be."""
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state.startswith(_GONE)


def ran_out_of_time(error: BaseException) -> bool:
    """True when a statement had all its time (57014, or the driver's ``TimeoutError``) and the database was there.

    It is an attempt of whoever asked for it: the same statement over the same rows may never be quicker. It is no proof
    that the database is away, since that has errors of its own: no connection is to be had (``DatabaseAwayError``), or
    it breaks (08, 57P). Neither is another's lock, of which PostgreSQL tells before our time ends (55P03,
    ``engine.LOCK_TIMEOUT``). On a line that went dead a statement runs out of time too, but once at most: the attempt
    is counted by a commit, so by a database that is back, and no row is claimed meanwhile.
    """
    if isinstance(error, TimeoutError):
        return True
    return getattr(error, "sqlstate", None) == _CANCELLED


def is_outage(error: BaseException) -> bool:
    """True when trying the same again later may succeed although nothing about the data changes."""
    if isinstance(error, (TimeoutError, OSError)):  # OSError: no route, no such host, refused, reset
        return True
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_PASSING)
    return isinstance(error, (asyncpg.InterfaceError, asyncpg.InternalClientError)) or (  # met in mid-operation
        error.__cause__ is not None and error.__cause__ is not error and is_outage(error.__cause__)
    )
