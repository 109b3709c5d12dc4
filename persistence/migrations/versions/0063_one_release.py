"""What only releases beside this one wrote or read goes: a release is installed while nothing of it runs."""

from __future__ import annotations

from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = depends_on = None

# Migration 0050 and the trigger have filled ``bytes`` or ``intencao`` of every order; one without is not thrown away.
_KEPT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM nfse_emissao WHERE bytes IS NULL AND intencao IS NULL AND payload_enviado IS NOT NULL) THEN
        RAISE EXCEPTION 'nfse_emissao: a request is in payload_enviado alone';
    END IF;
END $$
"""


def upgrade() -> None:
    """Drop the former column of an order's request with its trigger, and two tables that nothing writes."""
    op.execute(_KEPT)
    op.execute("DROP TRIGGER nfse_emissao_pedido ON nfse_emissao")
    op.execute("DROP FUNCTION nfse_emissao_pedido()")
    op.drop_column("nfse_emissao", "payload_enviado")
    op.drop_table("nfse_preparo")
    op.drop_table("staff_tentativa")
