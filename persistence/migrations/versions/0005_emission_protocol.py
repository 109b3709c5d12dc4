"""the emission protocol whole."""

import sqlalchemy as sa
from alembic import op

revision = '0005'
down_revision = '0004'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('empresa', sa.Column('serie_rps', sa.Text(), nullable=True))
    op.add_column('empresa', sa.Column('primeiro_rps', sa.BigInteger(), server_default='1', nullable=False))
    op.add_column('empresa', sa.Column('suspenso_em', sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column('empresa', sa.Column('sonda_em', sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column('empresa', sa.Column('versao', sa.Integer(), server_default='1', nullable=False))
    op.create_check_constraint(op.f('ck_empresa_primeiro_rps'), 'empresa', 'primeiro_rps > 0')
    op.execute("UPDATE empresa SET suspenso_em = now(), sonda_em = now() WHERE envio_suspenso IS NOT NULL")
    op.add_column('nfse_emissao', sa.Column('serie_rps', sa.Text(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('numero_rps', sa.BigInteger(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('retida', sa.Text(), nullable=True))
    op.create_check_constraint(op.f('ck_nfse_emissao_rps'), 'nfse_emissao', '(serie_rps IS NULL) = (numero_rps IS NULL)')
    op.create_index('uq_nfse_emissao_em_curso', 'nfse_emissao', ['sessao_id', 'revisao'], unique=True, postgresql_where=sa.text("status IN ('pendente', 'enviando', 'enviado', 'desconhecido')"))
    op.add_column('gateway_tentativas', sa.Column('http_status', sa.Integer(), nullable=True))
    op.add_column('gateway_tentativas', sa.Column('pedido', sa.Text(), nullable=True))
    op.add_column('gateway_tentativas', sa.Column('resposta', sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column('gateway_tentativas', 'resposta')
    op.drop_column('gateway_tentativas', 'pedido')
    op.drop_column('gateway_tentativas', 'http_status')
    op.drop_index('uq_nfse_emissao_em_curso', table_name='nfse_emissao')
    op.drop_constraint(op.f('ck_nfse_emissao_rps'), 'nfse_emissao', type_='check')
    op.drop_column('nfse_emissao', 'retida')
    op.drop_column('nfse_emissao', 'numero_rps')
    op.drop_column('nfse_emissao', 'serie_rps')
    op.drop_constraint(op.f('ck_empresa_primeiro_rps'), 'empresa', type_='check')
    op.drop_column('empresa', 'versao')
    op.drop_column('empresa', 'sonda_em')
    op.drop_column('empresa', 'suspenso_em')
    op.drop_column('empresa', 'primeiro_rps')
    op.drop_column('empresa', 'serie_rps')
