"""nicknames of a company's clients; whether a company is a MEI of transport, whose yearly limit is another."""

import sqlalchemy as sa
from alembic import op

revision = '0025'
down_revision = '0024'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'cliente_apelido',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column('empresa_id', sa.BigInteger(), nullable=False),
        sa.Column('documento', sa.Text(), nullable=False),
        sa.Column('apelido', sa.Text(), nullable=False),
        sa.Column('conversa', sa.Text(), nullable=True),
        sa.Column('usado_em', sa.DateTime(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(['empresa_id'], ['empresa.id'], name=op.f('fk_cliente_apelido_empresa_id_empresa')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_cliente_apelido')),
        sa.UniqueConstraint(
            'empresa_id', 'documento', 'apelido', name=op.f('uq_cliente_apelido_empresa_id_documento_apelido')
        ),
    )
    op.create_index('ix_cliente_tomador_empresa', 'cliente_tomador', ['empresa_id', sa.text('id DESC')])
    # The release before registers companies without it: they are no MEI of transport, as far as it knows.
    op.add_column('empresa', sa.Column('mei_transporte', sa.Boolean(), server_default='false', nullable=False))


def downgrade() -> None:
    op.drop_column('empresa', 'mei_transporte')
    op.drop_index('ix_cliente_tomador_empresa', 'cliente_tomador')
    op.drop_table('cliente_apelido')
