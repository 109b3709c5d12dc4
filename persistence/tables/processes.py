"""Processes: what each one that works says of itself, for the console's page of health."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import metadata, now

disjuntor = sa.Table(
    "disjuntor",
    metadata,
    sa.Column("processo", sa.Text, primary_key=True),  # host:pid:hex
    sa.Column("destino", sa.Text, primary_key=True),  # gateway_envio | gateway_consulta | … | modelo
    sa.Column("aberto", sa.Boolean, nullable=False),  # any of its breakers: the gateway has one for each company
    sa.Column("quantos", sa.Integer, nullable=False, server_default="0"),  # how many of them
    now("mudou_em"),
    now("visto_em"),  # the process was alive then; long ago: it is not any more
)
