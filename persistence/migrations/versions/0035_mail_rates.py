"""when mails left, by which a domain's share of a minute is known."""

import sqlalchemy as sa
from alembic import op

revision = '0035'
down_revision = '0034'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        'ix_lote_linhas_last_attempt',
        'lote_linhas',
        ['last_attempt'],
        postgresql_where=sa.text('last_attempt IS NOT NULL'),
    )


def downgrade() -> None:
    op.drop_index('ix_lote_linhas_last_attempt', table_name='lote_linhas')
