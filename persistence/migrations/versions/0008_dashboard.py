"""sums of the dashboard."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0008'
down_revision = '0007'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('painel',
    sa.Column('dias', sa.SmallInteger(), autoincrement=False, nullable=False),
    sa.Column('dados', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('contado_em', sa.TIMESTAMP(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('dias', name=op.f('pk_painel'))
    )


def downgrade() -> None:
    op.drop_table('painel')
