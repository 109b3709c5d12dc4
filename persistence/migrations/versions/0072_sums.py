"""Sums of the notes that stand, by company and month, are kept with the notes; the console's searches have indexes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0072"
down_revision = "0071"
branch_labels = depends_on = None

# The day on a note as authorities write it, day first or ISO, else that on which it was recorded; "2026-11-23".
_DAY = r"""
CREATE FUNCTION dia_da_nota(dita text, criada timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
SELECT CASE
    WHEN dita ~ '^(0[1-9]|[12]\d|3[01])/(0[1-9]|1[0-2])/\d{4}(\D|$)'
        THEN substr(dita, 7, 4) || '-' || substr(dita, 4, 2) || '-' || substr(dita, 1, 2)
    WHEN dita ~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])' THEN substr(dita, 1, 10)
    ELSE to_char(timezone('America/Sao_Paulo', criada), 'YYYY-MM-DD')
END
$$
"""
_ADD = """
CREATE FUNCTION somar_nota(n nfse_processada, vezes integer) RETURNS void LANGUAGE sql AS $$
INSERT INTO soma_mensal AS s (prestador_id, canal, ambiente, mes, quantas, soma)
SELECT e.prestador_id, e.canal, e.ambiente, left(dia_da_nota(n.data_emissao, n.criado_em), 7), vezes,
    vezes * e.valor_servico
FROM nfse_emissao e WHERE e.id = n.emissao_id AND n.status <> 'cancelado'
ON CONFLICT (prestador_id, canal, coalesce(ambiente, ''), mes)
DO UPDATE SET quantas = s.quantas + excluded.quantas, soma = s.soma + excluded.soma
$$
"""
_FOLLOW = """
CREATE FUNCTION soma_segue_nota() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.status = 'cancelado') = (NEW.status = 'cancelado') AND OLD.data_emissao IS NOT DISTINCT FROM NEW.data_emissao
        THEN
            RETURN NULL;
        END IF;
        PERFORM somar_nota(OLD, -1);
    END IF;
    PERFORM somar_nota(NEW, 1);
    RETURN NULL;
END
$$
"""
_FILL = """
INSERT INTO soma_mensal (prestador_id, canal, ambiente, mes, quantas, soma)
SELECT e.prestador_id, e.canal, e.ambiente, left(dia_da_nota(n.data_emissao, n.criado_em), 7), count(*),
    sum(e.valor_servico)
FROM nfse_processada n JOIN nfse_emissao e ON e.id = n.emissao_id WHERE n.status <> 'cancelado' GROUP BY 1, 2, 3, 4
"""


def upgrade() -> None:
    """Add the sums with what makes them follow, and the indexes."""
    op.create_table(
        "soma_mensal",
        sa.Column("prestador_id", sa.BigInteger, sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
        sa.Column("canal", sa.Text, nullable=False),
        sa.Column("ambiente", sa.Text),
        sa.Column("mes", sa.Text, nullable=False),
        sa.Column("quantas", sa.BigInteger, nullable=False),
        sa.Column("soma", sa.Numeric(16, 2), nullable=False),
    )
    op.create_index(
        "uq_soma_mensal",
        "soma_mensal",
        ["prestador_id", "canal", sa.text("coalesce(ambiente, '')"), "mes"],
        unique=True,
    )
    for statement in (_DAY, _ADD, _FOLLOW, _FILL):
        op.execute(statement)
    op.execute(
        "CREATE TRIGGER soma_segue_nota AFTER INSERT OR UPDATE OF status, data_emissao ON nfse_processada "
        "FOR EACH ROW EXECUTE FUNCTION soma_segue_nota()"
    )
