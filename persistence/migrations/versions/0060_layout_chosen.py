"""Which layout the national channel makes in an environment, where the calendar was not right."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0060"
down_revision = "0059"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "nacional_leiaute",
        sa.Column("ambiente", sa.Text, primary_key=True),
        sa.Column("escolha", sa.Text),
        sa.Column("parado_em", sa.DateTime(timezone=True)),
        sa.Column("detalhe", sa.Text),
        sa.Column("quem", sa.Text),
        sa.Column("alterado_em", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("escolha IN ('1.01', 'nt009')", name=op.f("ck_nacional_leiaute_escolha")),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("nacional_leiaute")
