"""A company's clients are found by their names, however many it has."""

from __future__ import annotations

from alembic import op

revision = "0074"
down_revision = "0073"
branch_labels = depends_on = None

# Below the likeness that a mistyped word or another spelling of a name has ("Phelipe" for "Felipe": 0.57). Each word
# counts, but short ones, which have no likeness, and the form of a firm.
_ALIKE = """
CREATE FUNCTION clientes_parecidos(de bigint, ditos text[], ate integer) RETURNS SETOF text
LANGUAGE sql STABLE ROWS 20 SET pg_trgm.word_similarity_threshold = '0.4' AS $$
WITH nomes AS MATERIALIZED (SELECT sem_acento(dito) AS nome FROM unnest(ditos) dito),
achados AS MATERIALIZED (
    SELECT n.nome, t.cnpj, sem_acento(t.razao_social) AS chamado
    FROM nomes n JOIN cliente_tomador t ON t.empresa_id = de AND sem_acento(t.razao_social) %> n.nome
    UNION ALL
    SELECT n.nome, t.cnpj, sem_acento(t.dados_receita_raw ->> 'nome_fantasia')
    FROM nomes n
    JOIN cliente_tomador t ON t.empresa_id = de AND sem_acento(t.dados_receita_raw ->> 'nome_fantasia') %> n.nome
    UNION ALL
    SELECT n.nome, a.documento, a.apelido
    FROM nomes n JOIN cliente_apelido a ON a.empresa_id = de AND a.apelido %> n.nome
)
SELECT DISTINCT cnpj FROM achados
WHERE NOT EXISTS (
    SELECT FROM regexp_split_to_table(nome, '[^a-z0-9]+') palavra
    WHERE length(palavra) > 3 AND palavra NOT IN ('ltda', 'eireli') AND NOT chamado %> palavra
)
LIMIT ate
$$
"""


def upgrade() -> None:
    """Add the search, and the index of trade names beside that of names."""
    op.execute(
        "CREATE INDEX ix_cliente_tomador_fantasia ON cliente_tomador "
        "USING gin (sem_acento(dados_receita_raw ->> 'nome_fantasia') gin_trgm_ops)"
    )
    op.execute(_ALIKE)
