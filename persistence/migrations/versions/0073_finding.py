"""The console finds by name, amount and outcome by indexes, and a list's next mails need no guess of the planner."""

from __future__ import annotations

from alembic import op

revision = "0073"
down_revision = "0072"
branch_labels = depends_on = None

# As names are looked for: a database of the C locale lowers no É.
_PLAIN = """
CREATE FUNCTION sem_acento(nome text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
SELECT lower(translate(nome, 'áàãâäéèêëíìîïóòõôöúùûüçñÁÀÃÂÄÉÈÊËÍÌÎÏÓÒÕÔÖÚÙÛÜÇÑ',
    'aaaaaeeeeiiiiooooouuuucnaaaaaeeeeiiiiooooouuuucn'))
$$
"""
_NAMES = {
    "cliente_tomador": "sem_acento(razao_social) gin_trgm_ops)",
    "conversas": "sem_acento(nome_perfil) gin_trgm_ops)",
    "empresa": "sem_acento(razao_social) gin_trgm_ops)",
    # The client's name of whatever ended without a note stands nowhere else; entered once, as it ends.
    "session_snapshot": "sem_acento(coalesce(cnpj_razao_social, rascunho #>> '{nome,valor}')) gin_trgm_ops) "
    "WHERE estado IN ('cancelado_usuario', 'erro', 'expirado', 'rejeitado')",
}


def upgrade() -> None:
    """Add the way in which names are compared, and the indexes."""
    op.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    op.execute(_PLAIN)
    for table, what in _NAMES.items():
        op.execute(f"CREATE INDEX ix_{table}_nome ON {table} USING gin ({what}")
    op.execute("CREATE INDEX ix_session_snapshot_valor ON session_snapshot (valor, id DESC) WHERE valor IS NOT NULL")
    op.execute("CREATE INDEX ix_nfse_processada_cancelada ON nfse_processada (emissao_id) WHERE status = 'cancelado'")
    op.execute("CREATE INDEX ix_gateway_tentativas_em ON gateway_tentativas (em)")
    op.execute(
        "CREATE INDEX ix_idempotency_records_abertas ON idempotency_records (created_at) WHERE status = 'PENDING'"
    )
