"""One connection to the database: SQLAlchemy Core composes the statements, asyncpg runs them.

SQLAlchemy's own execution costs some three times what asyncpg needs for the same statement (docs/performance.md), so
each statement is compiled once, for as long as it lives, and only its parameters change hands afterwards. A round trip
is what costs most: writes that nobody waits for are kept, and go out together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import asyncpg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from persistence.db.together import REFUSED, Write, one_statement
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.sql.base import Executable
    from sqlalchemy.sql.compiler import SQLCompiler

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
