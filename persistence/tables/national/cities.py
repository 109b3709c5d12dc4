"""Cities: what each agreed to with the national environment, its rate for a service; and the layout in force."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, metadata, now

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

nacional_leiaute = sa.Table(
    "nacional_leiaute",  # no row: the calendar holds, and nothing is stopped
    metadata,
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("escolha", sa.Text),  # 1.01 | nt009: instead of the calendar's
    sa.Column("parado_em", MOMENT),  # when the authority refused the layout in force; null: documents are sent
    sa.Column("detalhe", sa.Text),  # of that refusal, in the authority's words
    sa.Column("quem", sa.Text),  # who chose
    now("alterado_em"),
    sa.CheckConstraint("escolha IN ('1.01', 'nt009')", name="escolha"),
)
