"""What other systems keep is of the environment of their key: keys, e-mails and numbers of the other one are others."""

import sqlalchemy as sa
from alembic import op

revision = '0053'
down_revision = '0052'
branch_labels = None
depends_on = None

# Of the key that made it, which is of one environment; the release before writes that, too.
OF_KEY = "CASE WHEN left(usuario, 11) = 'prosa_test_' THEN 'homologacao' ELSE 'producao' END"
UNIQUE = "SELECT conname FROM pg_constraint WHERE conrelid = CAST(:t AS regclass) AND contype = 'u' AND conname !~ 'sessao'"
COLUMNS = {
    'clientes': ('uq_clientes_empresa_id_ambiente_idempotencia_key', 'idempotencia_key'),
    'propostas': ('uq_propostas_empresa_id_ambiente_idempotencia_key', 'idempotencia_key'),
    'idempotencia_operacoes': ('uq_idempotencia_operacoes_chave', 'idempotencia_key', 'tipo_operacao'),
}


def upgrade() -> None:
    for table, (name, *columns) in COLUMNS.items():
        op.add_column(table, sa.Column('ambiente', sa.Text(), sa.Computed(OF_KEY, persisted=True), nullable=False))
        former = op.get_bind().execute(sa.text(UNIQUE), {'t': table}).scalar_one()
        op.drop_constraint(op.f(former), table)
        op.create_unique_constraint(op.f(name), table, ['empresa_id', 'ambiente', *columns])
    op.drop_index('uq_clientes_email', 'clientes')
    op.create_index(
        'uq_clientes_email', 'clientes', ['empresa_id', 'ambiente', sa.text('lower(email::text)')], unique=True
    )


def downgrade() -> None:
    op.drop_index('uq_clientes_email', 'clientes')
    op.create_index('uq_clientes_email', 'clientes', ['empresa_id', sa.text('lower(email::text)')], unique=True)
    for table, (name, *columns) in COLUMNS.items():
        op.drop_constraint(op.f(name), table)
        op.drop_column(table, 'ambiente')
        op.create_unique_constraint(None, table, ['empresa_id', *columns])
