"""staff have a name that customers read, and refusals that are our fault are found by an index."""

import sqlalchemy as sa
from alembic import op

revision = '0023'
down_revision = '0022'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('staff', sa.Column('exibicao', sa.Text(), nullable=True))
    op.create_index('ix_session_snapshot_recusa_nossa', 'session_snapshot', ['updated_at'], unique=False, postgresql_where=sa.text("estado = 'rejeitado' AND pendente IS NULL"))


def downgrade() -> None:
    op.drop_index('ix_session_snapshot_recusa_nossa', table_name='session_snapshot')
    op.drop_column('staff', 'exibicao')
