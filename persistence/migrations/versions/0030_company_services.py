"""the national service codes among which a company's invoices are, beside its main one."""

import sqlalchemy as sa
from alembic import op

revision = '0030'
down_revision = '0029'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'empresa_servico',
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('codigo', sa.Text(), nullable=False),
        sa.Column('descricao', sa.Text(), nullable=True),
        sa.Column('nbs', sa.Text(), nullable=True),
        sa.Column('criado_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.CheckConstraint("codigo ~ '^[0-9]{6}$'", name=op.f('ck_empresa_servico_codigo')),
        sa.CheckConstraint("nbs ~ '^1[0-9]{8}$'", name=op.f('ck_empresa_servico_nbs')),
        sa.ForeignKeyConstraint(
            ['empresa_id'], ['empresa.id'], name=op.f('fk_empresa_servico_empresa_id_empresa'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('empresa_id', 'codigo', name=op.f('pk_empresa_servico')),
    )


def downgrade() -> None:
    op.drop_table('empresa_servico')
