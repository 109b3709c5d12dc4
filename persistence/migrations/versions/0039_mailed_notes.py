"""The notes that a mail carries where its row has no text."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = '0039'
down_revision = '0038'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('lote_linhas', sa.Column('notas', JSONB(), nullable=True))


def downgrade() -> None:
    op.drop_column('lote_linhas', 'notas')
