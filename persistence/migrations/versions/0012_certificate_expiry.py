"""until when a company's certificate is good."""

import sqlalchemy as sa
from alembic import op

revision = '0012'
down_revision = '0011'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('empresa', sa.Column('certificado_vence', sa.Date(), nullable=True))


def downgrade() -> None:
    op.drop_column('empresa', 'certificado_vence')
