"""A company whose numbers nobody could be asked for after a restore is held by itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the moment since when it is held."""
    op.add_column("empresa", sa.Column("restauro_desde", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("empresa", "restauro_desde")
