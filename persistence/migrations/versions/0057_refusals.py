"""Refusals that no table of ours knows are counted: the same bytes are not sent for ever."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0057"
down_revision = "0054"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the counts."""
    for table in ("nfse_emissao", "cancelamento"):
        op.add_column(table, sa.Column("recusas", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Take them back."""
    for table in ("nfse_emissao", "cancelamento"):
        op.drop_column(table, "recusas")
