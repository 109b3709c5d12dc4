"""What all tables share: metadata with its naming rule, and the column shapes used everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

MONEY = sa.Numeric(12, 2)  # BRL
MOMENT = sa.TIMESTAMP(timezone=True)  # aware, UTC


def now(name: str) -> sa.Column[object]:
    """Return a column that holds the moment of insertion, by the database's clock."""
    return sa.Column(name, MOMENT, nullable=False, server_default=sa.func.now())


def id_() -> sa.Column[int]:
    """Return an identity primary key."""
    return sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True)


def literals(words: Iterable[str]) -> str:
    """Return the words of a closed set as SQL literals, for ``IN (…)``; they are our own constants."""
    return ", ".join(f"'{word}'" for word in sorted(words))


def name_search(table: str, name: str, **more: Any) -> sa.Index:
    """Return an index by which a part of a name is found, in any case and without accents; ``name`` is SQL."""
    what = sa.text(f"sem_acento({name}) gin_trgm_ops")
    return sa.Index(f"ix_{table}_nome", what, postgresql_using="gin", **more)
