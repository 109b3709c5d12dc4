"""Which emissions the authority's list of documents has named."""

import sqlalchemy as sa
from alembic import op

revision = '0046'
down_revision = '0045'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('listada_em', sa.TIMESTAMP(timezone=True), nullable=True))
    # The lists were read past these before anybody kept what they named.
    op.execute("""
        UPDATE nfse_emissao SET listada_em = now()
        WHERE canal = 'nacional' AND status = 'concluido' AND criado_em > now() - interval '8 days'
    """)


def downgrade() -> None:
    op.drop_column('nfse_emissao', 'listada_em')
