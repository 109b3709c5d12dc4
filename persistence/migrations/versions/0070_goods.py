"""Goods: what a company says of itself as a seller, its products, a numbering for each model, items of a proposal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0070"
down_revision = "0069"
branch_labels = depends_on = None

_NOW = sa.text("now()")
_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables and columns; a series of RPS and one of goods may have one name."""
    op.create_table(
        "empresa_comercio",
        sa.Column("empresa_id", sa.BigInteger, sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("inscricao_estadual", sa.Text, nullable=False),
        sa.Column("endereco", JSONB(none_as_null=True)),
        sa.Column("serie_nfe", sa.Integer, nullable=False, server_default="1"),
        sa.Column("primeiro_nfe", sa.BigInteger, nullable=False, server_default="1"),
        sa.Column("serie_nfce", sa.Integer, nullable=False, server_default="1"),
        sa.Column("primeiro_nfce", sa.BigInteger, nullable=False, server_default="1"),
        sa.Column("parado_ate", _MOMENT),
        sa.Column("atualizado_em", _MOMENT, nullable=False, server_default=_NOW),
        sa.CheckConstraint("serie_nfe BETWEEN 1 AND 889 AND serie_nfce BETWEEN 1 AND 889", name="serie"),
        sa.CheckConstraint("primeiro_nfe > 0 AND primeiro_nfce > 0", name="primeiro"),
    )
    op.create_table(
        "produtos",
        sa.Column("empresa_id", sa.BigInteger, sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("codigo", sa.Text, primary_key=True),
        sa.Column("texto", sa.Text, nullable=False),
        sa.Column("ncm", sa.Text, nullable=False),
        sa.Column("cfop", sa.Text, nullable=False),
        sa.Column("csosn", sa.Text, nullable=False),
        sa.Column("unidade", sa.Text, nullable=False),
        sa.Column("preco", sa.Numeric(12, 2), nullable=False),
        sa.Column("criado_em", _MOMENT, nullable=False, server_default=_NOW),
        sa.Column("atualizado_em", _MOMENT, nullable=False, server_default=_NOW),
        sa.CheckConstraint("preco > 0", name="preco"),
    )
    op.drop_constraint("uq_numeracao_empresa_id_municipio_serie_ambiente", "numeracao")
    op.create_unique_constraint(
        "uq_numeracao_empresa_id_modelo_municipio_serie_ambiente",
        "numeracao",
        ["empresa_id", "modelo", "municipio", "serie", "ambiente"],
    )
    op.add_column("numeracao", sa.Column("canal", sa.Text))
    op.add_column("propostas", sa.Column("documento_fiscal", sa.Text, nullable=False, server_default="nfse"))
    op.add_column("propostas", sa.Column("itens", JSONB(none_as_null=True)))
    op.create_check_constraint("documento_fiscal", "propostas", "documento_fiscal IN ('nfse', 'nfe', 'nfce')")
