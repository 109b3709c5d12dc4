"""batches of mails, their rows, the queue of batches and the suppression list."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0033'
down_revision = '0032'
branch_labels = None
depends_on = None


def _moment(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.TIMESTAMP(timezone=True), nullable=True)


def _now(name: str) -> sa.Column[object]:
    return sa.Column(name, sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), server_default='0', nullable=False)


def _company(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ['empresa_id'], ['empresa.id'], name=op.f(f'fk_{table}_empresa_id_empresa'), ondelete='CASCADE'
    )


def _batch(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ['lote_id'], ['lotes.id'], name=op.f(f'fk_{table}_lote_id_lotes'), ondelete='CASCADE'
    )


def upgrade() -> None:
    op.create_table(
        'lotes',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('tipo', sa.String(20), nullable=False),
        sa.Column('nome_arquivo', sa.String(255), nullable=False),
        sa.Column('sha256', sa.String(64), nullable=False),
        sa.Column('assunto', sa.Text(), nullable=True),
        sa.Column('mensagem', sa.Text(), nullable=True),
        sa.Column('estado', sa.String(30), server_default='lendo', nullable=False),
        sa.Column('revisao', sa.String(16), nullable=False),
        _count('linhas'),
        _count('ignoradas'),
        _count('iguais'),
        sa.Column('status', sa.String(20), server_default='PENDING', nullable=False),
        _count('attempts'),
        _moment('last_attempt'),
        sa.Column('epoch', sa.BigInteger(), server_default='0', nullable=False),
        sa.Column('erro', sa.Text(), nullable=True),
        sa.Column('usuario', sa.String(64), nullable=True),
        sa.Column('confirmado_por', sa.String(64), nullable=True),
        _moment('confirmado_em'),
        _now('criado_em'),
        _now('atualizado_em'),
        sa.CheckConstraint(
            "estado IN ('lendo', 'aguardando_confirmacao', 'processando', 'pausado', 'concluido', 'cancelado', "
            "'recusado')",
            name=op.f('ck_lotes_estado'),
        ),
        sa.CheckConstraint(
            "status IN ('PENDING', 'QUEUED', 'PROCESSING', 'DONE', 'FAILED')", name=op.f('ck_lotes_status')
        ),
        sa.CheckConstraint("tipo IN ('envio')", name=op.f('ck_lotes_tipo')),
        _company('lotes'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_lotes')),
        sa.UniqueConstraint('empresa_id', 'nome_arquivo', 'sha256', name=op.f('uq_lotes_empresa_id_nome_arquivo_sha256')),
    )
    op.create_index('ix_lotes_sha256', 'lotes', ['empresa_id', 'sha256'])
    op.create_index(
        'ix_lotes_last_attempt', 'lotes', ['last_attempt'], postgresql_where=sa.text("status = 'PROCESSING'")
    )
    op.create_table(
        'lote_linhas',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('lote_id', sa.BigInteger(), nullable=False),
        sa.Column('chave', sa.String(300), nullable=False),
        sa.Column('linha', sa.Integer(), nullable=False),
        sa.Column('estado', sa.String(20), server_default='PENDING', nullable=False),
        sa.Column('email', sa.String(255), nullable=True),
        sa.Column('dados', postgresql.JSONB(), server_default='{}', nullable=False),
        sa.Column('problemas', postgresql.JSONB(), server_default='[]', nullable=False),
        sa.Column('token', sa.String(64), nullable=False),
        sa.Column('attempts', sa.SmallInteger(), server_default='0', nullable=False),
        sa.Column('incertas', sa.SmallInteger(), server_default='0', nullable=False),
        _moment('last_attempt'),
        _moment('a_partir_de'),
        sa.Column('external_id', sa.String(255), nullable=True),
        _now('criado_em'),
        _now('atualizado_em'),
        sa.CheckConstraint(
            "estado IN ('PENDING', 'PROCESSING', 'DONE', 'FAILED', 'INVALID', 'IGNORADA', 'CANCELADA')",
            name=op.f('ck_lote_linhas_estado'),
        ),
        _batch('lote_linhas'),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_lote_linhas')),
        sa.UniqueConstraint('token', name=op.f('uq_lote_linhas_token')),
        sa.UniqueConstraint('lote_id', 'chave', name=op.f('uq_lote_linhas_lote_id_chave')),
    )
    op.create_index('ix_lote_linhas_estado', 'lote_linhas', ['lote_id', 'estado', 'id'])
    op.create_table(
        'lote_fila',
        sa.Column('lote_id', sa.BigInteger(), nullable=False),
        _now('a_partir_de'),
        _batch('lote_fila'),
        sa.PrimaryKeyConstraint('lote_id', name=op.f('pk_lote_fila')),
    )
    op.create_index(op.f('ix_lote_fila_a_partir_de'), 'lote_fila', ['a_partir_de'])
    op.create_table(
        'email_suprimido',
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('email', sa.String(255), nullable=False),
        sa.Column('motivo', sa.Text(), nullable=False),
        _now('criado_em'),
        _company('email_suprimido'),
        sa.PrimaryKeyConstraint('empresa_id', 'email', name=op.f('pk_email_suprimido')),
    )


def downgrade() -> None:
    op.drop_table('email_suprimido')
    op.drop_table('lote_fila')
    op.drop_table('lote_linhas')
    op.drop_table('lotes')
