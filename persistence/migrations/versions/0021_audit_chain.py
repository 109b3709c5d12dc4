"""each row of the audit is linked to the one before by a hash; rows of before are linked here, as they stand."""

import sqlalchemy as sa
from alembic import op

revision = '0021'
down_revision = '0020'
branch_labels = None
depends_on = None

# What a link covers is repeated in persistence/audit_chain.py, which trusts no function of the database.
LINK = """
CREATE FUNCTION auditoria_resumo(anterior bytea, n bigint, na_migracao boolean, a public.auditoria)
RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(anterior || convert_to(jsonb_build_array(n, na_migracao, a.id, a.staff_id, a.quem, a.acao, a.alvo,
        a.empresa_id, a.motivo, a.detalhe, a.correlacao,
        to_char(a.em AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))::text, 'UTF8'))
$$
"""
# At the commit, when everything else of the transaction is locked already: whoever writes here waits for a commit at
# most, and two can't wait for each other. It runs as the owner: the run-time account writes no link by itself.
CHAIN = """
CREATE FUNCTION auditoria_encadeia() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    ultimo public.auditoria_elo;
BEGIN
    PERFORM pg_advisory_xact_lock(7015024);
    SELECT * INTO ultimo FROM public.auditoria_elo ORDER BY n DESC LIMIT 1;
    INSERT INTO public.auditoria_elo (n, auditoria_id, elo) VALUES (coalesce(ultimo.n, 0) + 1, NEW.id,
        public.auditoria_resumo(coalesce(ultimo.elo, ''), coalesce(ultimo.n, 0) + 1, false, NEW));
    RETURN NULL;
END $$
"""
OLDER = """
DO $$
DECLARE
    linha public.auditoria;
    anterior bytea := '';
    quantas bigint := 0;
BEGIN
    FOR linha IN SELECT * FROM public.auditoria ORDER BY id LOOP
        quantas := quantas + 1;
        anterior := public.auditoria_resumo(anterior, quantas, true, linha);
        INSERT INTO public.auditoria_elo VALUES (quantas, linha.id, anterior, true);
    END LOOP;
END $$
"""


def upgrade() -> None:
    op.create_table(
        'auditoria_elo',
        sa.Column('n', sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column('auditoria_id', sa.BigInteger(), nullable=False),
        sa.Column('elo', sa.LargeBinary(), nullable=False),
        sa.Column('na_migracao', sa.Boolean(), server_default='false', nullable=False),
        sa.PrimaryKeyConstraint('n', name=op.f('pk_auditoria_elo')),
        sa.UniqueConstraint('auditoria_id', name=op.f('uq_auditoria_elo_auditoria_id')),
    )
    op.execute(LINK)
    op.execute(CHAIN)
    # Waits for whoever is writing, and keeps the next one waiting until this migration is committed.
    op.execute("""
        CREATE CONSTRAINT TRIGGER auditoria_encadeia AFTER INSERT ON auditoria
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION auditoria_encadeia()
    """)
    op.execute(OLDER)
    op.execute("""
        CREATE TRIGGER auditoria_elo_so_cresce BEFORE UPDATE OR DELETE ON auditoria_elo
        FOR EACH ROW EXECUTE FUNCTION auditoria_so_cresce()
    """)
    op.execute("""
        CREATE TRIGGER auditoria_elo_nao_esvazia BEFORE TRUNCATE ON auditoria_elo
        FOR EACH STATEMENT EXECUTE FUNCTION auditoria_so_cresce()
    """)


def downgrade() -> None:
    op.execute('DROP TRIGGER auditoria_encadeia ON auditoria')
    op.drop_table('auditoria_elo')
    op.execute('DROP FUNCTION auditoria_encadeia()')
    op.execute('DROP FUNCTION auditoria_resumo(bytea, bigint, boolean, auditoria)')
