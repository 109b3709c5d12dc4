"""the question before a second invoice of the same content."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = '0004'
down_revision = '0003'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('session_snapshot', sa.Column('igual', postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.create_index(
        'ix_nfse_emissao_igual',
        'nfse_emissao',
        ['prestador_id', 'tomador_documento', 'valor_servico', sa.literal_column('id DESC')],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index('ix_nfse_emissao_igual', table_name='nfse_emissao')
    op.drop_column('session_snapshot', 'igual')
