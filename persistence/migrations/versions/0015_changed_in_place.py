"""messages and conversations are changed in place: no index has a column that changes often."""

import sqlalchemy as sa
from alembic import op

revision = '0015'
down_revision = '0014'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("UPDATE outbox SET erro = 'no reason given' WHERE status = 'falhou' AND erro IS NULL")
    op.drop_index('ix_outbox_failed', table_name='outbox')
    op.create_index('ix_outbox_failed', 'outbox', ['criado_em'], postgresql_where=sa.text('erro IS NOT NULL'))
    op.execute('ALTER TABLE outbox SET (fillfactor = 60)')
    op.drop_index('ix_conversas_desconhecidas', table_name='conversas')
    op.create_index(
        'ix_conversas_desconhecidas', 'conversas', ['criado_em'], postgresql_where=sa.text('usuario_id IS NULL')
    )
    op.execute('ALTER TABLE conversas SET (fillfactor = 70)')


def downgrade() -> None:
    op.execute('ALTER TABLE conversas RESET (fillfactor)')
    op.drop_index('ix_conversas_desconhecidas', table_name='conversas')
    op.create_index(
        'ix_conversas_desconhecidas',
        'conversas',
        [sa.literal_column('ultima_entrada_em DESC')],
        postgresql_where=sa.text('usuario_id IS NULL'),
    )
    op.execute('ALTER TABLE outbox RESET (fillfactor)')
    op.drop_index('ix_outbox_failed', table_name='outbox')
    op.create_index('ix_outbox_failed', 'outbox', ['criado_em'], postgresql_where=sa.text("status = 'falhou'"))
