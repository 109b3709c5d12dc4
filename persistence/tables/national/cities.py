"""Cities: what each agreed to with the national environment, and its rate for a service."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, metadata

cidade_parametro = sa.Table(
    "cidade_parametro",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("municipio_ibge", sa.Text, primary_key=True),
    sa.Column("codigo", sa.Text, primary_key=True),  # cTribNac: six digits
    sa.Column("aderente", sa.Boolean),  # to the national environment
    sa.Column("emissor", sa.Boolean),  # its companies may issue there
    sa.Column("convenio_em", MOMENT),  # when both were told last; null: never
    sa.Column("aliquota", sa.Numeric),  # percent; null: the city has none for this code
    sa.Column("aliquota_em", MOMENT),  # when that was told last; null: never
    sa.Column("tentado_em", MOMENT, nullable=False),
)
