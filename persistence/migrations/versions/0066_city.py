"""A city of its own: an emission keeps its last sending and all its bytes, a company the taxes of its city's code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0066"
down_revision = "0065"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the columns."""
    for name in ("nbs", "ind_op", "class_trib"):
        op.add_column("empresa", sa.Column(name, sa.Text))
    op.add_column("nfse_emissao", sa.Column("ultimo_envio_em", sa.TIMESTAMP(timezone=True)))
    op.add_column(
        "nfse_emissao",
        sa.Column("bytes_antes", ARRAY(sa.LargeBinary), nullable=False, server_default="{}"),
    )
