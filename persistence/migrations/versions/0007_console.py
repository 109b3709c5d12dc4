"""support console."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0007'
down_revision = '0006'
branch_labels = None
depends_on = None

# The audit is only ever added to: not even the program's own account changes or deletes a row of it.
_APPEND_ONLY = """
CREATE FUNCTION auditoria_so_cresce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'auditoria is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER auditoria_so_cresce BEFORE UPDATE OR DELETE ON auditoria
    FOR EACH ROW EXECUTE FUNCTION auditoria_so_cresce();
CREATE TRIGGER auditoria_nao_esvazia BEFORE TRUNCATE ON auditoria
    FOR EACH STATEMENT EXECUTE FUNCTION auditoria_so_cresce();
"""


def upgrade() -> None:
    op.create_table('staff',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('nome', sa.Text(), nullable=False),
    sa.Column('papel', sa.Text(), nullable=False),
    sa.Column('senha_hash', sa.Text(), nullable=False),
    sa.Column('senha_provisoria', sa.Boolean(), server_default='true', nullable=False),
    sa.Column('totp_segredo', sa.Text(), nullable=False),
    sa.Column('totp_passo', sa.BigInteger(), server_default='0', nullable=False),
    sa.Column('todas_empresas', sa.Boolean(), nullable=False),
    sa.Column('desativado_em', sa.TIMESTAMP(timezone=True), nullable=True),
    sa.Column('criado_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.CheckConstraint("papel IN ('leitura', 'suporte', 'supervisor', 'admin')", name=op.f('ck_staff_papel')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_staff')),
    sa.UniqueConstraint('nome', name=op.f('uq_staff_nome'))
    )
    op.create_table('staff_empresa',
    sa.Column('staff_id', sa.BigInteger(), nullable=False),
    sa.Column('empresa_id', sa.BigInteger(), nullable=False),
    sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_staff_empresa_empresa_id')),
    sa.ForeignKeyConstraint(['staff_id'], ['staff.id'], name=op.f('fk_staff_empresa_staff_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('staff_id', 'empresa_id', name=op.f('pk_staff_empresa'))
    )
    op.create_table('staff_sessao',
    sa.Column('token_hash', sa.LargeBinary(), nullable=False),
    sa.Column('staff_id', sa.BigInteger(), nullable=False),
    sa.Column('criado_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('visto_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.Column('expira_em', sa.TIMESTAMP(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['staff_id'], ['staff.id'], name=op.f('fk_staff_sessao_staff_id'), ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('token_hash', name=op.f('pk_staff_sessao'))
    )
    op.create_index(op.f('ix_staff_sessao_staff_id'), 'staff_sessao', ['staff_id'], unique=False)
    op.create_table('staff_tentativa',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('conta', sa.Text(), nullable=False),
    sa.Column('endereco', sa.Text(), nullable=False),
    sa.Column('em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_staff_tentativa'))
    )
    op.create_index('ix_staff_tentativa_conta', 'staff_tentativa', ['conta', 'em'], unique=False)
    op.create_index('ix_staff_tentativa_endereco', 'staff_tentativa', ['endereco', 'em'], unique=False)
    op.create_table('auditoria',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('staff_id', sa.BigInteger(), nullable=True),
    sa.Column('quem', sa.Text(), nullable=False),
    sa.Column('acao', sa.Text(), nullable=False),
    sa.Column('alvo', sa.Text(), nullable=True),
    sa.Column('empresa_id', sa.BigInteger(), nullable=True),
    sa.Column('motivo', sa.Text(), nullable=True),
    sa.Column('detalhe', postgresql.JSONB(astext_type=sa.Text()), nullable=True),
    sa.Column('correlacao', sa.Text(), nullable=True),
    sa.Column('em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_auditoria'))
    )
    op.create_index('ix_auditoria_alvo', 'auditoria', ['alvo', 'id'], unique=False, postgresql_where=sa.text('alvo IS NOT NULL'))
    op.create_index('ix_auditoria_staff', 'auditoria', ['staff_id', 'id'], unique=False)
    for statement in _APPEND_ONLY.strip().split(';\nCREATE TRIGGER'):
        op.execute(statement if statement.startswith('CREATE FUNCTION') else f'CREATE TRIGGER{statement}')
    op.create_table('anotacao',
    sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
    sa.Column('conversa', sa.Text(), nullable=False),
    sa.Column('sessao_id', sa.Text(), nullable=True),
    sa.Column('quem', sa.Text(), nullable=False),
    sa.Column('texto', sa.Text(), nullable=False),
    sa.Column('em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.ForeignKeyConstraint(['conversa'], ['conversas.conversa'], name=op.f('fk_anotacao_conversa')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_anotacao'))
    )
    op.create_index('ix_anotacao_conversa', 'anotacao', ['conversa', 'em'], unique=False)
    op.create_table('resolvida',
    sa.Column('sessao_id', sa.Text(), nullable=False),
    sa.Column('quem', sa.Text(), nullable=False),
    sa.Column('motivo', sa.Text(), nullable=False),
    sa.Column('em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
    sa.PrimaryKeyConstraint('sessao_id', name=op.f('pk_resolvida'))
    )
    op.add_column('conversas', sa.Column('codigo', sa.Uuid(), server_default=sa.text('gen_random_uuid()'), nullable=False))
    op.add_column('conversas', sa.Column('atendente_id', sa.BigInteger(), nullable=True))
    op.add_column('conversas', sa.Column('assumida_em', sa.TIMESTAMP(timezone=True), nullable=True))
    op.create_unique_constraint(op.f('uq_conversas_codigo'), 'conversas', ['codigo'])
    op.create_foreign_key(op.f('fk_conversas_atendente_id'), 'conversas', 'staff', ['atendente_id'], ['id'])
    op.create_index(op.f('ix_conversas_atendente_id'), 'conversas', ['atendente_id'], unique=False)
    op.create_index('ix_conversas_wa_fim', 'conversas', [sa.literal_column('"right"(wa_id, 8)')], unique=False)
    op.create_index('ix_conversas_desconhecidas', 'conversas', [sa.literal_column('ultima_entrada_em DESC')], unique=False, postgresql_where=sa.text('usuario_id IS NULL'))
    op.create_index('ix_inbox_mensagens', 'inbox', ['lane', 'id'], unique=False, postgresql_where=sa.text("tipo = 'mensagem'"))
    op.create_index('ix_outbox_conversa', 'outbox', ['conversa', 'id'], unique=False)
    op.create_index('ix_session_snapshot_empresa', 'session_snapshot', ['empresa_id', sa.literal_column('id DESC')], unique=False)
    op.create_index('ix_session_snapshot_estado', 'session_snapshot', ['estado', sa.literal_column('id DESC')], unique=False)
    op.create_index('ix_session_snapshot_cnpj', 'session_snapshot', ['cnpj', sa.literal_column('id DESC')], unique=False, postgresql_where=sa.text('cnpj IS NOT NULL'))
    op.create_index('ix_nfse_emissao_criado', 'nfse_emissao', ['criado_em'], unique=False)
    op.create_index('ix_nfse_emissao_olhos', 'nfse_emissao', ['id'], unique=False, postgresql_where=sa.text("status IN ('desconhecido', 'conflito', 'erro')"))
    op.create_index('ix_nfse_processada_numero', 'nfse_processada', ['numero'], unique=False)


def downgrade() -> None:
    op.drop_index('ix_nfse_processada_numero', table_name='nfse_processada')
    op.drop_index('ix_nfse_emissao_olhos', table_name='nfse_emissao')
    op.drop_index('ix_nfse_emissao_criado', table_name='nfse_emissao')
    op.drop_index('ix_session_snapshot_cnpj', table_name='session_snapshot')
    op.drop_index('ix_session_snapshot_estado', table_name='session_snapshot')
    op.drop_index('ix_session_snapshot_empresa', table_name='session_snapshot')
    op.drop_index('ix_outbox_conversa', table_name='outbox')
    op.drop_index('ix_inbox_mensagens', table_name='inbox')
    op.drop_index('ix_conversas_desconhecidas', table_name='conversas')
    op.drop_index('ix_conversas_wa_fim', table_name='conversas')
    op.drop_index(op.f('ix_conversas_atendente_id'), table_name='conversas')
    op.drop_constraint(op.f('fk_conversas_atendente_id'), 'conversas', type_='foreignkey')
    op.drop_constraint(op.f('uq_conversas_codigo'), 'conversas', type_='unique')
    op.drop_column('conversas', 'assumida_em')
    op.drop_column('conversas', 'atendente_id')
    op.drop_column('conversas', 'codigo')
    op.drop_table('resolvida')
    op.drop_table('anotacao')
    op.drop_table('auditoria')
    op.execute('DROP FUNCTION auditoria_so_cresce()')
    op.drop_table('staff_tentativa')
    op.drop_table('staff_sessao')
    op.drop_table('staff_empresa')
    op.drop_table('staff')
