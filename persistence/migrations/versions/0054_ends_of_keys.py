"""A key of the API ends by itself; a client whose person was erased has no name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = depends_on = None


def upgrade() -> None:
    """Add the end; take the obligation and the word that stood for no name away."""
    op.add_column("api_chave", sa.Column("vale_ate", sa.DateTime(timezone=True)))
    op.alter_column("clientes", "nome", nullable=True)
    op.execute("UPDATE clientes SET nome = NULL WHERE nome = 'apagado' AND email IS NULL AND documento IS NULL")


def downgrade() -> None:
    """Take it back."""
    op.execute("UPDATE clientes SET nome = 'apagado' WHERE nome IS NULL")
    op.alter_column("clientes", "nome", nullable=False)
    op.drop_column("api_chave", "vale_ate")
