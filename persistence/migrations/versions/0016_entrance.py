"""an arrival enters one index less: a person's words are in that of what waits, and then in that of what is read."""

import sqlalchemy as sa
from alembic import op

revision = '0016'
down_revision = '0015'
branch_labels = None
depends_on = None


def upgrade() -> None:
    _messages("tipo = 'mensagem' AND estado <> 0")


def downgrade() -> None:
    _messages("tipo = 'mensagem'")


def _messages(where: str) -> None:
    op.drop_index('ix_inbox_mensagens', table_name='inbox')
    op.create_index('ix_inbox_mensagens', 'inbox', ['lane', 'id'], postgresql_where=sa.text(where))
