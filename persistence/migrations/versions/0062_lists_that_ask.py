"""A list to addresses that never got a mail waits for a person: which revision was asked about, and how many it asks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = "0062"
down_revision = "0061"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the columns, and what finds whether an address got a mail."""
    op.add_column("lotes", sa.Column("pergunta_revisao", sa.String(16)))
    op.add_column("lotes", sa.Column("pergunta_novos", sa.Integer))
    op.add_column("lotes", sa.Column("pergunta_pessoas", sa.Integer))
    op.create_index("ix_lote_linhas_email", "lote_linhas", ["email"], postgresql_where=sa.text("estado = 'DONE'"))


def downgrade() -> None:
    """Take them away."""
    op.drop_index("ix_lote_linhas_email", table_name="lote_linhas")
    for name in ("pergunta_pessoas", "pergunta_novos", "pergunta_revisao"):
        op.drop_column("lotes", name)
