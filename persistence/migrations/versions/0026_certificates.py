"""the companies' A1 certificates, each sealed under a data key of its own."""

import sqlalchemy as sa
from alembic import op

revision = '0026'
down_revision = '0025'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'empresa_certificado',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('chave_dados', sa.Text(), nullable=True),
        sa.Column('chave', sa.Text(), nullable=True),
        sa.Column('cadeia', sa.Text(), nullable=True),
        sa.Column('impressao', sa.Text(), nullable=False),
        sa.Column('titular', sa.Text(), nullable=False),
        sa.Column('valido_de', sa.DateTime(timezone=True), nullable=False),
        sa.Column('valido_ate', sa.DateTime(timezone=True), nullable=False),
        sa.Column('criado_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.Column('substituido_em', sa.DateTime(timezone=True), nullable=True),
        sa.Column('destruido_em', sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ['empresa_id'],
            ['empresa.id'],
            name=op.f('fk_empresa_certificado_empresa_id_empresa'),
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_empresa_certificado')),
        sa.CheckConstraint(
            'num_nonnulls(chave_dados, chave, cadeia) = CASE WHEN destruido_em IS NULL THEN 3 ELSE 0 END',
            name=op.f('ck_empresa_certificado_destruido'),
        ),
    )
    op.create_index(
        'uq_empresa_certificado_atual',
        'empresa_certificado',
        ['empresa_id'],
        unique=True,
        postgresql_where=sa.text('destruido_em IS NULL'),
    )


def downgrade() -> None:
    op.drop_table('empresa_certificado')
