"""what is undecided of an emission, and whether its note's content was compared."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0017'
down_revision = '0016'
branch_labels = None
depends_on = None

# The outcomes of a submission after which the gateway certainly has nothing of it.
CERTAIN = "('NotSent', 'Postponed', 'Misconfigured', 'Rejected')"


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('em_duvida', sa.Boolean(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('recusa', postgresql.JSONB(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('rodadas', sa.Integer(), server_default='0', nullable=False))
    op.add_column('nfse_emissao', sa.Column('sem_conteudo_desde', sa.DateTime(timezone=True), nullable=True))
    op.add_column('nfse_emissao', sa.Column('desejado_em', sa.DateTime(timezone=True), nullable=True))
    op.add_column('nfse_processada', sa.Column('conteudo_visto_em', sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        'ix_nfse_emissao_concluida_de_novo',
        'nfse_emissao',
        ['sessao_id', 'revisao'],
        postgresql_where=sa.text("status = 'concluido' AND tentativa > 1"),
    )
    op.create_index(
        'ix_nfse_emissao_espera_pessoa', 'nfse_emissao', ['id'], postgresql_where=sa.text("retida = 'pessoa'")
    )
    # Certain is what has only submissions on record that were certainly not accepted: a crash is followed by a question.
    op.execute(f"""
        UPDATE nfse_emissao e SET em_duvida = t.incertas > 0 OR (t.chamadas = 0 AND e.enviado_em IS NOT NULL)
        FROM (
            SELECT n.id, count(g.id) AS chamadas,
                count(g.id) FILTER (WHERE g.operacao <> 'submit' OR g.resultado NOT IN {CERTAIN}) AS incertas
            FROM nfse_emissao n LEFT JOIN gateway_tentativas g ON g.emissao_id = n.id
            WHERE n.status NOT IN ('concluido', 'dispensado')
            GROUP BY n.id
        ) t
        WHERE t.id = e.id
    """)


def downgrade() -> None:
    op.drop_index('ix_nfse_emissao_espera_pessoa', table_name='nfse_emissao')
    op.drop_index('ix_nfse_emissao_concluida_de_novo', table_name='nfse_emissao')
    op.drop_column('nfse_processada', 'conteudo_visto_em')
    for column in ('desejado_em', 'sem_conteudo_desde', 'rodadas', 'recusa', 'em_duvida'):
        op.drop_column('nfse_emissao', column)
