"""Which issued note an emission takes the place of."""

import sqlalchemy as sa
from alembic import op

revision = '0047'
down_revision = '0046'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('substitui_id', sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f('fk_nfse_emissao_substitui_id_nfse_emissao'), 'nfse_emissao', 'nfse_emissao', ['substitui_id'], ['id']
    )
    op.create_index(
        'ix_nfse_emissao_substitui',
        'nfse_emissao',
        ['substitui_id'],
        postgresql_where=sa.text('substitui_id IS NOT NULL'),
    )


def downgrade() -> None:
    op.drop_column('nfse_emissao', 'substitui_id')
