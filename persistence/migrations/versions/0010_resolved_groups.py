"""groups of failures that somebody resolved."""

import sqlalchemy as sa
from alembic import op

revision = '0010'
down_revision = '0009'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('grupo_resolvido',
    sa.Column('empresa_id', sa.BigInteger(), nullable=False),
    sa.Column('status', sa.Text(), nullable=False),
    sa.Column('grupo', sa.Text(), nullable=False),
    sa.Column('quem', sa.Text(), nullable=False),
    sa.Column('motivo', sa.Text(), nullable=False),
    sa.Column('em', sa.TIMESTAMP(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_grupo_resolvido_empresa_id')),
    sa.PrimaryKeyConstraint('empresa_id', 'status', 'grupo', name=op.f('pk_grupo_resolvido'))
    )


def downgrade() -> None:
    op.drop_table('grupo_resolvido')
