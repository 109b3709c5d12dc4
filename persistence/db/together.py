"""Puts several writes into one statement of PostgreSQL: one round trip, and all of them or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

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
