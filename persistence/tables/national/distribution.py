"""What the authority distributes: how far each company's list was read, and the notes that nobody here made."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, MONEY, metadata, now

distribuicao = sa.Table(
    "distribuicao",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("cnpj", sa.Text, primary_key=True),
    sa.Column("nsu", sa.BigInteger, nullable=False, server_default="0"),  # what follows it is asked for next
    sa.Column("reler_de", sa.BigInteger, nullable=False, server_default="0"),  # what follows it was read once
    now("relido_em"),  # when reading went back to ``reler_de`` last
    now("proxima_em"),
    sa.Column("calado_ate", MOMENT),  # until then the authority wants no question, of nobody; null: no such word
)

nota_de_fora = sa.Table(
    "nota_de_fora",
    metadata,
    sa.Column("canal", sa.Text, primary_key=True),
    sa.Column("ambiente", sa.Text, primary_key=True),  # producao | homologacao
    sa.Column("chave", sa.Text, primary_key=True),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("id_dps", sa.Text, nullable=False),  # empty where it has none
    sa.Column("numero", sa.Text),
    sa.Column("valor", MONEY),
    sa.Column("emitida_em", MOMENT, nullable=False),
    sa.Column("situacao", sa.Text, nullable=False),  # autorizada | cancelada | substituida
    sa.Column("serie", sa.Text),  # ours, of which it took ``numero_dps``; null: another one
    sa.Column("numero_dps", sa.BigInteger),
    now("visto_em"),
    sa.Index("ix_nota_de_fora_empresa", "empresa_id", "emitida_em"),
)
