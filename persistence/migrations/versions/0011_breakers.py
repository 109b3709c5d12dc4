"""what each process says of its circuit breakers."""

import sqlalchemy as sa
from alembic import op

revision = '0011'
down_revision = '0010'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('disjuntor',
    sa.Column('processo', sa.Text(), nullable=False),
    sa.Column('destino', sa.Text(), nullable=False),
    sa.Column('aberto', sa.Boolean(), nullable=False),
    sa.Column('mudou_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('visto_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('processo', 'destino', name=op.f('pk_disjuntor'))
    )


def downgrade() -> None:
    op.drop_table('disjuntor')
