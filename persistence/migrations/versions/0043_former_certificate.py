"""A company's former certificate, until the new one has proved itself."""

import sqlalchemy as sa
from alembic import op

revision = '0043'
down_revision = '0042'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'empresa_certificado_anterior',
        sa.Column('id', sa.Uuid(), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('chave_dados', sa.Text(), nullable=False),
        sa.Column('chave', sa.Text(), nullable=False),
        sa.Column('cadeia', sa.Text(), nullable=False),
        sa.Column('substituido_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(
            ['id'],
            ['empresa_certificado.id'],
            name=op.f('fk_empresa_certificado_anterior_id_empresa_certificado'),
            ondelete='CASCADE',
        ),
        sa.ForeignKeyConstraint(
            ['empresa_id'],
            ['empresa.id'],
            name=op.f('fk_empresa_certificado_anterior_empresa_id_empresa'),
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_empresa_certificado_anterior')),
        sa.UniqueConstraint('empresa_id', name=op.f('uq_empresa_certificado_anterior_empresa_id')),
    )


def downgrade() -> None:
    op.drop_table('empresa_certificado_anterior')
