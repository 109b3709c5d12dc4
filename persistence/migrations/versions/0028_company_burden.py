"""what a company's national documents say of its taxes."""

import sqlalchemy as sa
from alembic import op

revision = '0028'
down_revision = '0026'
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The release before registers companies without them: it knows no channel that asks for them.
    for name in ('tributos_sn', 'tributos_federal', 'tributos_estadual', 'tributos_municipal'):
        op.add_column('empresa', sa.Column(name, sa.Numeric(precision=5, scale=2), nullable=True))
    op.add_column('empresa', sa.Column('informa_im', sa.Boolean(), server_default='false', nullable=False))


def downgrade() -> None:
    for name in ('informa_im', 'tributos_municipal', 'tributos_estadual', 'tributos_federal', 'tributos_sn'):
        op.drop_column('empresa', name)
