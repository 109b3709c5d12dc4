"""The dashboard's sums, counted now and then, so that opening it costs one row."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, metadata

painel = sa.Table(
    "painel",
    metadata,
    sa.Column("dias", sa.SmallInteger, primary_key=True, autoincrement=False),  # the period that was counted
    sa.Column("dados", JSONB, nullable=False),  # counts of all companies together, and nobody's data
    sa.Column("contado_em", MOMENT, nullable=False),
)
