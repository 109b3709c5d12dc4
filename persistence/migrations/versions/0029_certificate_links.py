"""the one-time links by which a company's people send its certificate."""

import sqlalchemy as sa
from alembic import op

revision = '0029'
down_revision = '0028'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'certificado_link',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('usuario_id', sa.BigInteger(), nullable=False),
        sa.Column('conversa', sa.Text(), nullable=False),
        sa.Column('resumo', sa.Text(), nullable=False),
        sa.Column('criado_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.Column('expira_em', sa.DateTime(timezone=True), nullable=False),
        sa.Column('tentativas', sa.Integer(), server_default='0', nullable=False),
        sa.Column('usado_em', sa.DateTime(timezone=True), nullable=True),
        sa.Column('encerrado_em', sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ['empresa_id'], ['empresa.id'], name=op.f('fk_certificado_link_empresa_id_empresa'), ondelete='CASCADE'
        ),
        sa.ForeignKeyConstraint(
            ['usuario_id'], ['usuario.id'], name=op.f('fk_certificado_link_usuario_id_usuario'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_certificado_link')),
        sa.UniqueConstraint('resumo', name=op.f('uq_certificado_link_resumo')),
    )
    op.create_index(op.f('ix_certificado_link_usuario_id'), 'certificado_link', ['usuario_id'], unique=False)
    op.create_index(
        'uq_certificado_link_aberto',
        'certificado_link',
        ['empresa_id'],
        unique=True,
        postgresql_where=sa.text('usado_em IS NULL AND encerrado_em IS NULL'),
    )


def downgrade() -> None:
    op.drop_table('certificado_link')
