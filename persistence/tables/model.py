"""The model: what asking it took, day by day."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import metadata


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


modelo_uso = sa.Table(
    "modelo_uso",
    metadata,
    sa.Column("dia", sa.Date, primary_key=True),  # in Brazil
    sa.Column("modelo", sa.Text, primary_key=True),
    _count("chamadas"),  # requests that left
    _count("sem_conta"),  # of them, those whose answer told no count, or never came
    _count("entrada"),  # tokens, as the server counted them
    _count("saida"),
)
