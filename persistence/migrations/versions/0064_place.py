"""What an integrator says of where the work was done stands with its proposal."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0064"
down_revision = "0063"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add a column."""
    op.add_column("propostas", sa.Column("prestacao", JSONB(none_as_null=True)))
