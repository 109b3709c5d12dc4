"""An order's request is read from the columns of 0048 alone; a trigger keeps the one before for the release before."""

import sqlalchemy as sa
from alembic import op

revision = '0050'
down_revision = '0049'
branch_labels = None
depends_on = None

ROWS = 5_000  # at a time, each time committed: whoever is at work waits for no more
# A release before writes ``payload_enviado`` and, where it knows them, the others; this one writes these alone.
# Whichever wrote, each finds what it reads. OLD is null where a row is new.
KEEP = """
CREATE OR REPLACE FUNCTION nfse_emissao_pedido() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.payload_enviado IS NOT DISTINCT FROM OLD.payload_enviado THEN
        NEW.payload_enviado := coalesce(NEW.bytes, convert_to(NEW.intencao::text, 'UTF8'), OLD.payload_enviado);
    ELSIF NEW.a_preparar THEN
        NEW.intencao := coalesce(NEW.intencao, convert_from(NEW.payload_enviado, 'UTF8')::jsonb);
    ELSE
        NEW.bytes := NEW.payload_enviado;
    END IF;
    RETURN NEW;
END $$
"""
OLDER = sa.text("""
UPDATE nfse_emissao e SET
    bytes = CASE WHEN NOT e.a_preparar THEN e.payload_enviado END,
    intencao = coalesce(e.intencao, CASE WHEN e.a_preparar THEN convert_from(e.payload_enviado, 'UTF8')::jsonb ELSE (
        SELECT convert_from(p.payload, 'UTF8')::jsonb FROM nfse_preparo p WHERE p.emissao_id = e.id AND p.versao = 1
    ) END)
WHERE e.id >= :first AND e.id < :after AND e.bytes IS NULL AND (NOT e.a_preparar OR e.intencao IS NULL)
""")


def upgrade() -> None:
    op.execute(KEEP)
    op.execute("""
        CREATE OR REPLACE TRIGGER nfse_emissao_pedido BEFORE INSERT OR UPDATE OF bytes, payload_enviado ON nfse_emissao
        FOR EACH ROW EXECUTE FUNCTION nfse_emissao_pedido()
    """)
    with op.get_context().autocommit_block():
        last = op.get_bind().execute(sa.text("SELECT coalesce(max(id), 0) FROM nfse_emissao")).scalar_one()
        for first in range(0, last + 1, ROWS):
            op.get_bind().execute(OLDER, {"first": first, "after": first + ROWS})


def downgrade() -> None:
    op.execute('DROP TRIGGER nfse_emissao_pedido ON nfse_emissao')
    op.execute('DROP FUNCTION nfse_emissao_pedido()')
