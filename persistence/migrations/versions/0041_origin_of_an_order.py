"""Where an emission comes from: a session is one kind of origin among others."""

import sqlalchemy as sa
from alembic import op

revision = '0041'
down_revision = '0040'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('origem', sa.Text(), nullable=False, server_default='conversa'))
    op.alter_column('nfse_emissao', 'session_id', nullable=True)
    op.create_check_constraint(
        op.f('ck_nfse_emissao_origem'), 'nfse_emissao', "(origem = 'conversa') = (session_id IS NOT NULL)"
    )
    for name, sign in (('conversa', '='), ('outras', '<>')):
        where = sa.text(f"proxima_acao_em IS NOT NULL AND origem {sign} 'conversa'")
        op.create_index(f'ix_nfse_emissao_fila_{name}', 'nfse_emissao', ['prestador_id', 'proxima_acao_em'], postgresql_where=where)
    op.drop_index('ix_nfse_emissao_fila', table_name='nfse_emissao')  # the release before reads by the index of what is due


def downgrade() -> None:
    op.create_index(
        'ix_nfse_emissao_fila', 'nfse_emissao', ['prestador_id', 'proxima_acao_em'],
        postgresql_where=sa.text('proxima_acao_em IS NOT NULL'),
    )
    op.drop_index('ix_nfse_emissao_fila_conversa', table_name='nfse_emissao')
    op.drop_index('ix_nfse_emissao_fila_outras', table_name='nfse_emissao')
    op.drop_constraint(op.f('ck_nfse_emissao_origem'), 'nfse_emissao')
    op.alter_column('nfse_emissao', 'session_id', nullable=False)
    op.drop_column('nfse_emissao', 'origem')
