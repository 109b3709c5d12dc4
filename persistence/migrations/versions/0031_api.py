"""keys, clients, proposals and operations of the API."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0031'
down_revision = '0030'
branch_labels = None
depends_on = None


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False)


def _company(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ['empresa_id'], ['empresa.id'], name=op.f(f'fk_{table}_empresa_id_empresa'), ondelete='CASCADE'
    )


def upgrade() -> None:
    op.create_table(
        'api_chave',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('resumo', sa.Text(), nullable=False),
        sa.Column('prefixo', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=False),
        sa.Column('escopos', sa.ARRAY(sa.Text()), server_default='{}', nullable=False),
        _now('criada_em'),
        sa.Column('usada_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column('revogada_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_api_chave')),
        sa.UniqueConstraint('resumo', name=op.f('uq_api_chave_resumo')),
        sa.UniqueConstraint('prefixo', name=op.f('uq_api_chave_prefixo')),
    )
    op.create_table(
        'api_chave_empresa',
        sa.Column('chave_id', sa.BigInteger(), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ['chave_id'], ['api_chave.id'], name=op.f('fk_api_chave_empresa_chave_id_api_chave'), ondelete='CASCADE'
        ),
        _company('api_chave_empresa'),
        sa.PrimaryKeyConstraint('chave_id', 'empresa_id', name=op.f('pk_api_chave_empresa')),
    )
    op.create_index(op.f('ix_api_chave_empresa_empresa_id'), 'api_chave_empresa', ['empresa_id'], unique=False)
    op.create_table(
        'clientes',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('nome', sa.String(255), nullable=False),
        sa.Column('email', sa.String(255), nullable=True),
        sa.Column('documento', sa.String(20), nullable=True),
        sa.Column('idempotencia_key', sa.String(255), nullable=True),
        sa.Column('corpo_sha256', sa.String(64), nullable=True),
        sa.Column('usuario', sa.String(64), nullable=True),
        sa.Column('versao', sa.Integer(), server_default='1', nullable=False),
        _now('criado_em'),
        _now('atualizado_em'),
        _company('clientes'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_clientes')),
        sa.UniqueConstraint(
            'empresa_id', 'idempotencia_key', name=op.f('uq_clientes_empresa_id_idempotencia_key')
        ),
    )
    op.create_index(
        'uq_clientes_email', 'clientes', ['empresa_id', sa.text('lower(email::text)')], unique=True
    )
    op.create_index(
        'ix_clientes_documento', 'clientes', ['documento'], postgresql_where=sa.text('documento IS NOT NULL')
    )
    op.create_table(
        'propostas',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('cliente_id', sa.BigInteger(), nullable=False),
        sa.Column('valor', sa.Numeric(12, 2), nullable=False),
        sa.Column('descricao', sa.Text(), nullable=True),
        sa.Column('competencia', sa.String(7), nullable=True),
        sa.Column('estado', sa.String(20), server_default='rascunho', nullable=False),
        sa.Column('motivo', sa.Text(), nullable=True),
        sa.Column('versao', sa.Integer(), server_default='1', nullable=False),
        sa.Column('idempotencia_key', sa.String(255), nullable=True),
        sa.Column('corpo_sha256', sa.String(64), nullable=True),
        sa.Column('usuario', sa.String(64), nullable=True),
        sa.Column('alterada_por', sa.String(64), nullable=True),
        sa.Column('aprovador_id', sa.BigInteger(), nullable=True),
        sa.Column('sessao_id', sa.Text(), nullable=True),
        sa.Column('enviada_em', sa.TIMESTAMP(timezone=True), nullable=True),
        _now('criada_em'),
        _now('atualizada_em'),
        sa.CheckConstraint('valor > 0', name=op.f('ck_propostas_valor')),
        sa.CheckConstraint(
            "estado IN ('rascunho', 'enviada', 'aceita', 'emitida', 'recusada', 'expirada', 'rejeitada', 'erro', "
            "'cancelada')",
            name=op.f('ck_propostas_estado'),
        ),
        _company('propostas'),
        sa.ForeignKeyConstraint(['cliente_id'], ['clientes.id'], name=op.f('fk_propostas_cliente_id_clientes')),
        sa.ForeignKeyConstraint(
            ['aprovador_id'], ['usuario.id'], name=op.f('fk_propostas_aprovador_id_usuario'), ondelete='SET NULL'
        ),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_propostas')),
        sa.UniqueConstraint('sessao_id', name=op.f('uq_propostas_sessao_id')),
        sa.UniqueConstraint(
            'empresa_id', 'idempotencia_key', name=op.f('uq_propostas_empresa_id_idempotencia_key')
        ),
    )
    op.create_index(op.f('ix_propostas_cliente_id'), 'propostas', ['cliente_id'], unique=False)
    op.create_index(op.f('ix_propostas_aprovador_id'), 'propostas', ['aprovador_id'], unique=False)
    op.create_table(
        'idempotencia_operacoes',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('idempotencia_key', sa.String(255), nullable=False),
        sa.Column('tipo_operacao', sa.String(50), nullable=False),
        sa.Column('entidade_id', sa.BigInteger(), nullable=False),
        sa.Column('resultado', postgresql.JSONB(), nullable=False),
        sa.Column('corpo_sha256', sa.String(64), nullable=False),
        sa.Column('usuario', sa.String(64), nullable=True),
        _now('created_at'),
        _company('idempotencia_operacoes'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_idempotencia_operacoes')),
        sa.UniqueConstraint(
            'empresa_id',
            'idempotencia_key',
            'tipo_operacao',
            name=op.f('uq_idempotencia_operacoes_empresa_id_idempotencia_key_tipo_operacao'),
        ),
    )
    op.create_index('ix_idempotencia_operacoes_created_at', 'idempotencia_operacoes', ['created_at'])


def downgrade() -> None:
    op.drop_table('idempotencia_operacoes')
    op.drop_table('propostas')
    op.drop_table('clientes')
    op.drop_table('api_chave_empresa')
    op.drop_table('api_chave')
