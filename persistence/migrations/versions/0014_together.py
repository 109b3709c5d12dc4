"""what refuses a statement of several writes, one of which found other rows than it must."""

from alembic import op

revision = '0014'
down_revision = '0013'
branch_labels = None
depends_on = None

CREATE = """
CREATE FUNCTION exigir_linhas(encontradas bigint, devidas bigint, qual int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF encontradas <> devidas THEN
        RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = qual::text;
    END IF;
    RETURN 1;
END $$
"""


def upgrade() -> None:
    op.execute(CREATE)


def downgrade() -> None:
    op.execute('DROP FUNCTION exigir_linhas(bigint, bigint, int)')
