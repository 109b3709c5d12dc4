"""Operation: which replica runs which slot, what each process says of itself, and sums for the console."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, metadata, now

job_slots = sa.Table(
    "job_slots",
    metadata,
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("slot", MOMENT, primary_key=True),  # the scheduled time, not the moment of running
    now("tomado_em"),
)

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

painel = sa.Table(
    "painel",
    metadata,
    sa.Column("dias", sa.SmallInteger, primary_key=True, autoincrement=False),  # the period that was counted
    sa.Column("dados", JSONB, nullable=False),  # counts of all companies together, and nobody's data
    sa.Column("contado_em", MOMENT, nullable=False),
)


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
