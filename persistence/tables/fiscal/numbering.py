"""Numbering: how far each sequence has come, and which intent took each number."""

from __future__ import annotations

import sqlalchemy as sa

from persistence.tables.base import MOMENT, id_, metadata, now

numeracao = sa.Table(
    "numeracao",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id"), nullable=False),
    sa.Column("modelo", sa.Text, nullable=False, server_default="nfse"),  # nfse | 55 (NF-e) | 65 (NFC-e)
    sa.Column("municipio", sa.Text, nullable=False),  # IBGE
    sa.Column("serie", sa.Text, nullable=False),
    sa.Column("ambiente", sa.Text, nullable=False),  # producao | homologacao
    sa.Column("primeiro", sa.BigInteger, nullable=False),  # earlier numbers are another program's
    sa.Column("ultimo", sa.BigInteger, nullable=False),
    sa.Column("bloqueado", sa.Text),  # why no number is given out, null when they are
    # The release before names these four in ON CONFLICT, so the model joins them after it: until then a series that
    # numbers one model is refused to another.
    sa.UniqueConstraint("empresa_id", "municipio", "serie", "ambiente"),
    sa.CheckConstraint("modelo IN ('nfse', '55', '65')", name="modelo"),
    sa.CheckConstraint("ambiente IN ('producao', 'homologacao')", name="ambiente"),
    sa.CheckConstraint("primeiro > 0 AND ultimo >= primeiro", name="ordem"),
)

numeracao_uso = sa.Table(
    "numeracao_uso",
    metadata,
    sa.Column("numeracao_id", sa.ForeignKey("numeracao.id"), primary_key=True),
    sa.Column("numero", sa.BigInteger, primary_key=True),
    sa.Column("emissao_id", sa.ForeignKey("nfse_emissao.id"), unique=True),  # the newest attempt under this number
    sa.Column("inutilizado_em", MOMENT),  # the gap is explained: declared void, or put down to its reason
    sa.Column("motivo", sa.Text),
    now("alocado_em"),
)
