"""who approves what other systems propose for a company, and the proposals that wait for their approver."""

import sqlalchemy as sa
from alembic import op

revision = '0032'
down_revision = '0031'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'empresa_aprovador',
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('usuario_id', sa.BigInteger(), nullable=False),
        sa.Column('definido_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(
            ['empresa_id'],
            ['empresa.id'],
            name=op.f('fk_empresa_aprovador_empresa_id_empresa'),
            ondelete='CASCADE',
        ),
        sa.ForeignKeyConstraint(
            ['usuario_id'],
            ['usuario.id'],
            name=op.f('fk_empresa_aprovador_usuario_id_usuario'),
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('empresa_id', name=op.f('pk_empresa_aprovador')),
    )
    op.create_index(op.f('ix_empresa_aprovador_usuario_id'), 'empresa_aprovador', ['usuario_id'], unique=False)
    op.create_index(
        'ix_propostas_esperam',
        'propostas',
        ['aprovador_id', 'enviada_em'],
        unique=False,
        postgresql_where=sa.text("estado = 'enviada' AND sessao_id IS NULL"),
    )


def downgrade() -> None:
    op.drop_index('ix_propostas_esperam', table_name='propostas')
    op.drop_table('empresa_aprovador')
