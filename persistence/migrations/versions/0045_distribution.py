"""How far the authority's lists of documents were read, and the notes that nobody here made."""

import sqlalchemy as sa
from alembic import op

revision = '0045'
down_revision = '0044'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'distribuicao',
        sa.Column('canal', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=False),
        sa.Column('cnpj', sa.Text(), nullable=False),
        sa.Column('nsu', sa.BigInteger(), server_default='0', nullable=False),
        sa.Column('reler_de', sa.BigInteger(), server_default='0', nullable=False),
        sa.Column('relido_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.Column('proxima_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.Column('calado_ate', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('canal', 'ambiente', 'cnpj', name=op.f('pk_distribuicao')),
    )
    op.create_table(
        'nota_de_fora',
        sa.Column('canal', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=False),
        sa.Column('chave', sa.Text(), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('id_dps', sa.Text(), nullable=False),
        sa.Column('numero', sa.Text(), nullable=True),
        sa.Column('valor', sa.Numeric(12, 2), nullable=True),
        sa.Column('emitida_em', sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column('situacao', sa.Text(), nullable=False),
        sa.Column('serie', sa.Text(), nullable=True),
        sa.Column('numero_dps', sa.BigInteger(), nullable=True),
        sa.Column('visto_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_nota_de_fora_empresa_id_empresa')),
        sa.PrimaryKeyConstraint('canal', 'ambiente', 'chave', name=op.f('pk_nota_de_fora')),
    )
    op.create_index('ix_nota_de_fora_empresa', 'nota_de_fora', ['empresa_id', 'emitida_em'])


def downgrade() -> None:
    op.drop_table('nota_de_fora')
    op.drop_table('distribuicao')
