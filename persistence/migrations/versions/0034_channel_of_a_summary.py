'''by which channel, and in which environment, a session's invoice would be issued.'''

import sqlalchemy as sa
from alembic import op

revision = '0034'
down_revision = '0033'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('session_snapshot', sa.Column('canal', sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column('session_snapshot', 'canal')
