"""What a channel is to make a request of, and the very bytes that are sent, each in a column that says so."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = '0048'
down_revision = '0047'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('intencao', JSONB(), nullable=True))
    op.add_column('nfse_emissao', sa.Column('bytes', sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column('nfse_emissao', 'bytes')
    op.drop_column('nfse_emissao', 'intencao')
