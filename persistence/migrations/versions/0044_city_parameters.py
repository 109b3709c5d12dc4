"""What cities agreed to with the national environment, and their rates."""

import sqlalchemy as sa
from alembic import op

revision = '0044'
down_revision = '0043'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'cidade_parametro',
        sa.Column('canal', sa.Text(), nullable=False),
        sa.Column('ambiente', sa.Text(), nullable=False),
        sa.Column('municipio_ibge', sa.Text(), nullable=False),
        sa.Column('codigo', sa.Text(), nullable=False),
        sa.Column('aderente', sa.Boolean(), nullable=True),
        sa.Column('emissor', sa.Boolean(), nullable=True),
        sa.Column('convenio_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column('aliquota', sa.Numeric(), nullable=True),
        sa.Column('aliquota_em', sa.TIMESTAMP(timezone=True), nullable=True),
        sa.Column('tentado_em', sa.TIMESTAMP(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('canal', 'ambiente', 'municipio_ibge', 'codigo', name=op.f('pk_cidade_parametro')),
    )


def downgrade() -> None:
    op.drop_table('cidade_parametro')
