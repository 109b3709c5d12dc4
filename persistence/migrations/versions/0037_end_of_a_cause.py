"""when the cause ended for which an emission waited."""

import sqlalchemy as sa
from alembic import op

revision = '0037'
down_revision = '0036'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('causa_fim_em', sa.TIMESTAMP(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column('nfse_emissao', 'causa_fim_em')
