"""Where an emission comes from: a session is one kind of origin among others."""

import sqlalchemy as sa
from alembic import op

revision = '0041'
down_revision = '0040'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column('nfse_emissao', sa.Column('origem', sa.Text(), nullable=False, server_default='conversa'))
    op.alter_column('nfse_emissao', 'session_id', nullable=True)
    op.create_check_constraint(
        op.f('ck_nfse_emissao_origem'), 'nfse_emissao', "(origem = 'conversa') = (session_id IS NOT NULL)"
    )
    op.alter_column('cancelamento', 'conversa', nullable=True)


def downgrade() -> None:
    op.alter_column('cancelamento', 'conversa', nullable=False)
    op.drop_constraint(op.f('ck_nfse_emissao_origem'), 'nfse_emissao')
    op.alter_column('nfse_emissao', 'session_id', nullable=False)
    op.drop_column('nfse_emissao', 'origem')
