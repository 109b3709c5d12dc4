"""Sweeps through tables that grow remember how far they have come; a company's lists in the API have an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0069"
down_revision = "0066"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add their table, and the indexes."""
    op.create_table(
        "varredura",
        sa.Column("nome", sa.Text, primary_key=True),
        sa.Column("desde", sa.BigInteger, nullable=False, server_default="0"),
    )
    for table in ("clientes", "propostas"):
        op.create_index(f"ix_{table}_lista", table, ["empresa_id", "ambiente", "id"])
