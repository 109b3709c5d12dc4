"""The history of the database, and the numbers that the authority was seen to know beyond it."""

import sqlalchemy as sa
from alembic import op

revision = '0036'
down_revision = '0035'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'historia',
        sa.Column('id', sa.SmallInteger(), server_default='1', autoincrement=False, nullable=False),
        sa.Column('servidor', sa.Text(), nullable=False),
        sa.Column('linha', sa.Integer(), nullable=False),
        sa.Column('banco', sa.Text(), nullable=False),
        sa.Column('batida', sa.BigInteger(), server_default='0', nullable=False),
        sa.Column('maior_emissao', sa.BigInteger(), server_default='0', nullable=False),
        sa.Column('suspeita', sa.Text(), nullable=True),
        sa.Column('suspeita_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column('restaurado_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.CheckConstraint('id = 1', name=op.f('ck_historia_uma')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_historia')),
    )
    op.create_table(
        'numero_visto',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('municipio', sa.Text(), nullable=False),
        sa.Column('serie', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=False),
        sa.Column('numero', sa.BigInteger(), nullable=False),
        sa.Column('referencia', sa.Text(), nullable=True),
        sa.Column('visto_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_numero_visto_empresa_id_empresa')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_numero_visto')),
        sa.UniqueConstraint(
            'empresa_id', 'municipio', 'serie', 'ambiente', 'numero', name=op.f('uq_numero_visto_empresa_id_municipio_serie_ambiente_numero')
        ),
    )
    op.create_index('ix_numero_visto_referencia', 'numero_visto', ['empresa_id', 'referencia'])


def downgrade() -> None:
    op.drop_table('numero_visto')
    op.drop_table('historia')
