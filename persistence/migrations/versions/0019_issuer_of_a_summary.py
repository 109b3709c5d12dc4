"""a session keeps the version of the company that its revision would be issued with."""

import sqlalchemy as sa
from alembic import op

revision = '0019'
down_revision = '0018'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('session_snapshot', sa.Column('empresa_versao', sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column('session_snapshot', 'empresa_versao')
