"""Where a company's month goes by mail: its accountant's address."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0071"
down_revision = "0070"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the column; nobody is written to before an address is said."""
    op.add_column("empresa", sa.Column("email_contador", sa.Text))
