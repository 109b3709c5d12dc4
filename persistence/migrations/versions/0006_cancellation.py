"""cancellation of an issued note."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0006'
down_revision = '0005'
branch_labels = None
depends_on = None

_TALKING = "estado IN ('aguardando_motivo', 'aguardando_confirmacao')"
_IN_CHAT = f"{_TALKING} AND pedido_por = 'conversa'"
_LIVE = "estado IN ('aguardando_motivo', 'aguardando_confirmacao', 'pendente')"
_ASIDE = "sessao_id IS NULL AND chave IS NULL"


def upgrade() -> None:
    op.add_column('nfse_processada', sa.Column('cancelado_em', sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column('nfse_processada', sa.Column('protocolo_cancelamento', sa.Text(), nullable=True))
    op.create_table('cancelamento',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('emissao_id', sa.BigInteger(), nullable=False),
    sa.Column('conversa', sa.Text(), nullable=False),
    sa.Column('pedido_por', sa.Text(), nullable=False),
    sa.Column('estado', sa.Text(), nullable=False),
    sa.Column('codigo', sa.Text(), nullable=True),
    sa.Column('motivo', sa.Text(), nullable=True),
    sa.Column('versao', sa.Integer(), nullable=False),
    sa.Column('expira_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('envio', sa.Text(), nullable=True),
    sa.Column('confirmado_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('protocolo', sa.Text(), nullable=True),
    sa.Column('recusa', sa.Text(), nullable=True),
    sa.Column('resposta_gateway', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('erro_mensagem', sa.Text(), nullable=True),
    sa.Column('consultas', sa.Integer(), server_default='0', nullable=False),
    sa.Column('envios', sa.Integer(), server_default='0', nullable=False),
    sa.Column('vigente_desde', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('avisado_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('dica_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('proxima_acao_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('lease_until', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('epoch', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('correlacao', sa.Text(), nullable=True),
    sa.Column('criado_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('encerrado_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.CheckConstraint("estado <> 'pendente' OR (motivo IS NOT NULL AND codigo IS NOT NULL)", name=op.f('ck_cancelamento_motivo')),
    sa.CheckConstraint("proxima_acao_em IS NULL OR estado = 'pendente'", name=op.f('ck_cancelamento_acao')),
    sa.ForeignKeyConstraint(['conversa'], ['conversas.conversa'], name=op.f('fk_cancelamento_conversa')),
    sa.ForeignKeyConstraint(['emissao_id'], ['nfse_emissao.id'], name=op.f('fk_cancelamento_emissao_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_cancelamento'))
    )
    op.create_index('uq_cancelamento_vivo', 'cancelamento', ['emissao_id'], unique=True, postgresql_where=sa.text(_LIVE))
    op.create_index('uq_cancelamento_conversando', 'cancelamento', ['conversa'], unique=True, postgresql_where=sa.text(_IN_CHAT))
    op.create_index('ix_cancelamento_conversa', 'cancelamento', ['conversa', sa.literal_column('id DESC')], unique=False)
    op.create_index('ix_cancelamento_deadline', 'cancelamento', ['expira_em'], unique=False, postgresql_where=sa.text(_TALKING))
    op.create_index('ix_cancelamento_due', 'cancelamento', ['proxima_acao_em'], unique=False, postgresql_where=sa.text('proxima_acao_em IS NOT NULL'))
    op.create_index('ix_outbox_aside', 'outbox', ['conversa', 'criado_em'], unique=False, postgresql_where=sa.text(_ASIDE))
    op.create_index(op.f('ix_cancelamento_emissao_id'), 'cancelamento', ['emissao_id'], unique=False)


def downgrade() -> None:
    op.drop_index('ix_outbox_aside', table_name='outbox', postgresql_where=sa.text(_ASIDE))
    op.drop_table('cancelamento')
    op.drop_column('nfse_processada', 'protocolo_cancelamento')
    op.drop_column('nfse_processada', 'cancelado_em')
