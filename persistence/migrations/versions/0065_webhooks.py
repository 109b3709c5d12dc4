"""Other systems are told what became of notes and proposals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0065"
down_revision = "0064"
branch_labels = depends_on = None

_OF_KEY = "CASE WHEN left(usuario, 11) = 'prosa_test_' THEN 'homologacao' ELSE 'producao' END"
MOMENT = sa.TIMESTAMP(timezone=True)


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, MOMENT, nullable=False, server_default=sa.func.now())


def upgrade() -> None:
    """Add the endpoints and what is delivered to them."""
    op.create_table(
        "webhook",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("empresa_id", sa.BigInteger, sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
        sa.Column("ambiente", sa.Text, sa.Computed(_OF_KEY, persisted=True), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("eventos", sa.ARRAY(sa.Text), nullable=False),
        sa.Column("segredo", sa.Text, nullable=False),
        sa.Column("usuario", sa.String(64), nullable=False),
        sa.Column("desligado_em", MOMENT),
        _now("criado_em"),
    )
    op.create_index(op.f("ix_webhook_empresa_id"), "webhook", ["empresa_id"])
    op.create_table(
        "webhook_entrega",
        sa.Column("id", sa.Uuid, primary_key=True, server_default=sa.text("gen_random_uuid()")),
        sa.Column("webhook_id", sa.Uuid, sa.ForeignKey("webhook.id", ondelete="CASCADE"), nullable=False),
        sa.Column("evento", sa.Text, nullable=False),
        sa.Column("chave", sa.Text, nullable=False),
        sa.Column("emissao_id", sa.BigInteger, sa.ForeignKey("nfse_emissao.id", ondelete="CASCADE")),
        sa.Column("proposta_id", sa.BigInteger),
        sa.Column("estado", sa.Text, nullable=False, server_default="pendente"),
        sa.Column("tentativas", sa.Integer, nullable=False, server_default="0"),
        sa.Column("falha", sa.Text),
        sa.Column("a_partir_de", MOMENT, nullable=False, server_default=sa.func.now()),
        sa.Column("lease_until", MOMENT),
        sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
        _now("criado_em"),
        _now("atualizado_em"),
        sa.UniqueConstraint("webhook_id", "chave"),
        sa.CheckConstraint("estado IN ('desistida', 'entregue', 'pendente')", name="estado"),
    )
    op.create_index(op.f("ix_webhook_entrega_emissao_id"), "webhook_entrega", ["emissao_id"])
    op.create_index(
        "ix_webhook_entrega_pendente",
        "webhook_entrega",
        ["a_partir_de"],
        postgresql_where=sa.text("estado = 'pendente'"),
    )
