"""A note that no conversation ordered can be cancelled: nobody in a chat is told."""

from alembic import op

revision = '0042'
down_revision = '0041'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column('cancelamento', 'conversa', nullable=True)


def downgrade() -> None:
    op.alter_column('cancelamento', 'conversa', nullable=False)
