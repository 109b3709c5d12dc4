"""wrong logins are counted by account and address, and an account's own browsers are known."""

import sqlalchemy as sa
from alembic import op

revision = '0020'
down_revision = '0019'
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        'staff_atraso',
        sa.Column('id', sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column('conta', sa.Text(), nullable=False),
        sa.Column('origem', sa.Text(), nullable=False),
        sa.Column('falhas', sa.Integer(), nullable=False),
        sa.Column('livre_em', sa.TIMESTAMP(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_staff_atraso')),
        sa.UniqueConstraint('conta', 'origem', name=op.f('uq_staff_atraso_conta_origem')),
    )
    op.create_table(
        'staff_aparelho',
        sa.Column('token_hash', sa.LargeBinary(), nullable=False),
        sa.Column('staff_id', sa.BigInteger(), nullable=False),
        sa.Column('visto_em', sa.TIMESTAMP(timezone=True), server_default=sa.text('now()'), nullable=False),
        sa.ForeignKeyConstraint(
            ['staff_id'], ['staff.id'], name=op.f('fk_staff_aparelho_staff_id'), ondelete='CASCADE'
        ),
        sa.PrimaryKeyConstraint('token_hash', 'staff_id', name=op.f('pk_staff_aparelho')),
    )
    op.create_index(op.f('ix_staff_aparelho_staff_id'), 'staff_aparelho', ['staff_id'])


def downgrade() -> None:
    op.drop_table('staff_aparelho')
    op.drop_table('staff_atraso')
