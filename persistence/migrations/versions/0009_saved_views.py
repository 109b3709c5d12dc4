"""saved views of the queue."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0009'
down_revision = '0008'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('staff_vista',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('staff_id', sa.BigInteger(), nullable=False),
    sa.Column('nome', sa.Text(), nullable=False),
    sa.Column('filtros', postgresql.JSONB(astext_type=sa.Text()), nullable=False),
    sa.Column('criado_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['staff_id'], ['staff.id'], name=op.f('fk_staff_vista_staff_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_staff_vista')),
    sa.UniqueConstraint('staff_id', 'nome', name=op.f('uq_staff_vista_staff_id_nome'))
    )


def downgrade() -> None:
    op.drop_table('staff_vista')
