"""how IBS and CBS see each service of a company: cIndOp, CST and cClassTrib."""

import sqlalchemy as sa
from alembic import op

revision = '0049'
down_revision = '0048'
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ('ind_op', 'cst', 'class_trib'):
        op.add_column('empresa_servico', sa.Column(name, sa.Text(), nullable=True))
    op.create_check_constraint(
        op.f('ck_empresa_servico_ibs_cbs'),
        'empresa_servico',
        "num_nonnulls(ind_op, cst, class_trib) IN (0, 3) AND (ind_op IS NULL OR "
        "ind_op ~ '^[0-9]{6}$' AND cst ~ '^[0-9]{3}$' AND class_trib ~ '^[0-9]{6}$')",
    )


def downgrade() -> None:
    op.drop_constraint(op.f('ck_empresa_servico_ibs_cbs'), 'empresa_servico')
    for name in ('class_trib', 'cst', 'ind_op'):
        op.drop_column('empresa_servico', name)
