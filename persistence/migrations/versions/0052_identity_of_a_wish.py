"""A proposal has its session's id from the moment it is stored; a number that the API gave out is never given again."""

import sqlalchemy as sa
from alembic import op

revision = '0052'
down_revision = '0051'
branch_labels = None
depends_on = None

TABLES = ('clientes', 'propostas', 'lotes')
# A restore takes a sequence back, and never the clock: seconds since 2026, and 1,000 numbers in each.
NUMBER = """
CREATE OR REPLACE FUNCTION numero_da_api() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := (floor(extract(epoch FROM clock_timestamp()))::bigint - 1767225600) * 1000 + NEW.id % 1000;
    RETURN NEW;
END $$
"""
DRAWN = "to_char(now() AT TIME ZONE 'America/Sao_Paulo', 'DDMMYY') || '-' || left(gen_random_uuid()::text, 8)"


def upgrade() -> None:
    op.add_column('propostas', sa.Column('sessao_prevista', sa.Text(), server_default=sa.text(DRAWN), nullable=False))
    op.create_unique_constraint(op.f('uq_propostas_sessao_prevista'), 'propostas', ['sessao_prevista'])
    op.execute(NUMBER)
    for table in TABLES:
        op.execute(f"""
            CREATE OR REPLACE TRIGGER {table}_numero BEFORE INSERT ON {table}
            FOR EACH ROW EXECUTE FUNCTION numero_da_api()
        """)


def downgrade() -> None:
    for table in TABLES:
        op.execute(f'DROP TRIGGER {table}_numero ON {table}')
    op.execute('DROP FUNCTION numero_da_api()')
    op.drop_column('propostas', 'sessao_prevista')
