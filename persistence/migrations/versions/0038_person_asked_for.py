"""A conversation whose person asked for one of the staff."""

import sqlalchemy as sa
from alembic import op

revision = '0038'
down_revision = '0037'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('conversas', sa.Column('pessoa_pedida_em', sa.TIMESTAMP(timezone=True), nullable=True))
    op.add_column('conversas', sa.Column('pessoa_motivo', sa.Text(), nullable=True))
    op.create_index(
        'ix_conversas_pessoa_pedida', 'conversas', ['conversa'], postgresql_where=sa.text('pessoa_pedida_em IS NOT NULL')
    )


def downgrade() -> None:
    op.drop_index('ix_conversas_pessoa_pedida', table_name='conversas')
    op.drop_column('conversas', 'pessoa_motivo')
    op.drop_column('conversas', 'pessoa_pedida_em')
