"""By which channel a company's sending is stopped."""

import sqlalchemy as sa
from alembic import op

revision = '0040'
down_revision = '0039'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('empresa', sa.Column('suspenso_canal', sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column('empresa', 'suspenso_canal')
