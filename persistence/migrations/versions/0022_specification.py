"""the gateway's own JSON beside our reading of it, notes found by key, a sequence's document model and its block."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0022'
down_revision = '0021'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Rows of older releases keep their reading in resposta_gateway: readers look into both.
    op.add_column('nfse_emissao', sa.Column('leitura_gateway', postgresql.JSONB(), nullable=True))
    # Not CONCURRENTLY: it waits for every open transaction, and another replica's waits for the lock of the migrations.
    op.create_index('ix_nfse_processada_chave', 'nfse_processada', ['chave'], postgresql_where=sa.text('chave IS NOT NULL'))
    op.add_column('numeracao', sa.Column('modelo', sa.Text(), server_default='nfse', nullable=False))
    op.add_column('numeracao', sa.Column('bloqueado', sa.Text(), nullable=True))
    op.create_check_constraint(op.f('ck_numeracao_modelo'), 'numeracao', "modelo IN ('nfse', '55', '65')")


def downgrade() -> None:
    op.drop_constraint(op.f('ck_numeracao_modelo'), 'numeracao')
    op.drop_column('numeracao', 'bloqueado')
    op.drop_column('numeracao', 'modelo')
    op.drop_index('ix_nfse_processada_chave', table_name='nfse_processada')
    op.drop_column('nfse_emissao', 'leitura_gateway')
