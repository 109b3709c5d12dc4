"""what asking the model took."""

import sqlalchemy as sa
from alembic import op

revision = '0013'
down_revision = '0012'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table('modelo_uso',
    sa.Column('dia', sa.Date(), nullable=False),
    sa.Column('modelo', sa.Text(), nullable=False),
    sa.Column('chamadas', sa.BigInteger(), nullable=False),
    sa.Column('sem_conta', sa.BigInteger(), nullable=False),
    sa.Column('entrada', sa.BigInteger(), nullable=False),
    sa.Column('saida', sa.BigInteger(), nullable=False),
    sa.PrimaryKeyConstraint('dia', 'modelo', name=op.f('pk_modelo_uso'))
    )


def downgrade() -> None:
    op.drop_table('modelo_uso')
