"""How many bytes the file of a list had: a company may send so many a day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the column; of the lists that are there already nobody knows."""
    op.add_column("lotes", sa.Column("tamanho", sa.Integer, server_default="0", nullable=False))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("lotes", "tamanho")
