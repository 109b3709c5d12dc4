"""each company's queue of emissions, whose person waits without a word, and how many breakers of a kind are open."""

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'
branch_labels = None
depends_on = None

UNDER_WAY = "status IN ('pendente', 'enviando', 'enviado', 'desconhecido')"


def upgrade() -> None:
    op.add_column('disjuntor', sa.Column('quantos', sa.Integer(), server_default='0', nullable=False))
    op.create_index('ix_nfse_emissao_fila', 'nfse_emissao', ['prestador_id', 'proxima_acao_em'], postgresql_where=sa.text('proxima_acao_em IS NOT NULL'))
    op.create_index('ix_nfse_emissao_avisar', 'nfse_emissao', ['criado_em'], postgresql_where=sa.text(f'avisado_em IS NULL AND {UNDER_WAY}'))


def downgrade() -> None:
    op.drop_index('ix_nfse_emissao_avisar', table_name='nfse_emissao')
    op.drop_index('ix_nfse_emissao_fila', table_name='nfse_emissao')
    op.drop_column('disjuntor', 'quantos')
