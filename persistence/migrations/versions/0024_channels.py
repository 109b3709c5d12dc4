"""a channel for each company and kind of document, remembered by every emission with its environment and key."""

import sqlalchemy as sa
from alembic import op

revision = '0024'
down_revision = '0023'
branch_labels = None
depends_on = None

UNDER_WAY = "status IN ('pendente', 'enviando', 'enviado', 'desconhecido')"


def upgrade() -> None:
    op.create_table(
        'empresa_canal',
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('tipo', sa.Text(), nullable=False),
        sa.Column('canal', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=True),
        sa.Column('atualizado_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_empresa_canal_empresa_id_empresa')),
        sa.PrimaryKeyConstraint('empresa_id', 'tipo', name=op.f('pk_empresa_canal')),
    )
    # The release before writes none of these: its rows are PlugNotas', under our reference, as they say by default.
    op.add_column('nfse_emissao', sa.Column('canal', sa.Text(), server_default='plugnotas', nullable=False))
    op.add_column('nfse_emissao', sa.Column('ambiente', sa.Text(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('chave_natural', sa.Text(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('ausencias', sa.Integer(), server_default='0', nullable=False))
    op.add_column('nfse_emissao', sa.Column('a_preparar', sa.Boolean(), server_default='false', nullable=False))
    op.create_table(
        'nfse_preparo',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column('emissao_id', sa.BigInteger(), nullable=False),
        sa.Column('versao', sa.Integer(), nullable=False),
        sa.Column('payload', sa.LargeBinary(), nullable=False),
        sa.Column('em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(['emissao_id'], ['nfse_emissao.id'], name=op.f('fk_nfse_preparo_emissao_id_nfse_emissao')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_nfse_preparo')),
        sa.UniqueConstraint('emissao_id', 'versao', name=op.f('uq_nfse_preparo_emissao_id_versao')),
    )
    op.create_index(
        'uq_nfse_emissao_chave_em_curso',
        'nfse_emissao',
        ['canal', 'ambiente', 'chave_natural'],
        unique=True,
        postgresql_where=sa.text(f'chave_natural IS NOT NULL AND {UNDER_WAY}'),
    )
    op.create_index(
        'ix_nfse_emissao_chave',
        'nfse_emissao',
        ['chave_natural'],
        postgresql_where=sa.text('chave_natural IS NOT NULL'),
    )


def downgrade() -> None:
    op.drop_table('nfse_preparo')
    op.drop_index('ix_nfse_emissao_chave', table_name='nfse_emissao')
    op.drop_index('uq_nfse_emissao_chave_em_curso', table_name='nfse_emissao')
    for column in ('a_preparar', 'ausencias', 'chave_natural', 'ambiente', 'canal'):
        op.drop_column('nfse_emissao', column)
    op.drop_table('empresa_canal')
