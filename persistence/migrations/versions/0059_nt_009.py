"""What NT 009 asks of a company of the Simples: how it pays IBS and CBS, and the activity of each service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0057"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add both."""
    op.add_column("empresa", sa.Column("apuracao_ibscbs", sa.Text))
    op.create_check_constraint(op.f("ck_empresa_apuracao_ibscbs"), "empresa", "apuracao_ibscbs IN ('1', '2', '3')")
    op.add_column("empresa_servico", sa.Column("atividade_sn", sa.Text))
    op.create_check_constraint(op.f("ck_empresa_servico_atividade_sn"), "empresa_servico", "atividade_sn ~ '^[0-9]{2}$'")


def downgrade() -> None:
    """Take them away."""
    op.drop_column("empresa_servico", "atividade_sn")
    op.drop_column("empresa", "apuracao_ibscbs")
