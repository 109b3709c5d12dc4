"""The database's own history: on which server it was written, how far, and what the authority knows beyond it."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, id_, metadata, now

historia = sa.Table(
    "historia",
    metadata,
    sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False, server_default="1"),
    sa.Column("servidor", sa.Text, nullable=False),  # system_identifier of the cluster that was written to
    sa.Column("linha", sa.Integer, nullable=False),  # its timeline: a promoted replica begins another
    sa.Column("banco", sa.Text, nullable=False),  # oids of the database and of nfse_emissao: a dump makes others
    sa.Column("batida", sa.BigInteger, nullable=False, server_default="0"),  # grows while workers run
    sa.Column("maior_emissao", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("suspeita", sa.Text),  # what makes us think that something was forgotten; null: nothing does
    sa.Column("suspeita_em", MOMENT),
    sa.Column("restaurado_em", MOMENT),  # an operator said so: summaries shown before it are shown again
    sa.CheckConstraint("id = 1", name="uma"),
)

numero_visto = sa.Table(
    "numero_visto",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("municipio", sa.Text, nullable=False),  # IBGE
    sa.Column("serie", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao
    sa.Column("numero", sa.BigInteger, nullable=False),
    sa.Column("referencia", sa.Text),  # as the note carries it; null: it carries none, so it is not ours
    now("visto_em"),
    sa.UniqueConstraint("empresa_id", "municipio", "serie", "ambiente", "numero"),
    sa.Index("ix_numero_visto_referencia", "empresa_id", "referencia"),
)
