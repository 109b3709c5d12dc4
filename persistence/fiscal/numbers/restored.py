"""Changes a restored database so that open emissions are asked for first and RPS sequences go on past the lost ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from state_machine.protocol.emission import EM_CURSO, StatusEmissao

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import timedelta

    from persistence.db.connection import Connection

MOTIVO = "usado depois da cópia que foi restaurada"
OUTRO = "a nota saiu sob o número de antes da cópia"

# Whatever the copy says of them, they may have been sent since: nothing leaves before the key was seen absent twice.
# The epoch keeps a process that still works on the old standing from storing it.
_ASK = sa.text("""
UPDATE nfse_emissao SET status = :desconhecido, em_duvida = true, ausente_desde = NULL, consultas = 0, retida = NULL,
    lease_until = NULL, epoch = epoch + 1, versao = versao + 1, proxima_acao_em = now()
WHERE status = ANY(:abertas) AND (CAST(:empresas AS bigint[]) IS NULL OR prestador_id = ANY(:empresas))
RETURNING id_integracao
""").bindparams(
    sa.bindparam("abertas", type_=sa.ARRAY(sa.Text)), sa.bindparam("empresas", type_=sa.ARRAY(sa.BigInteger))
)
_LOOK_AGAIN = sa.text("UPDATE nfse_emissao SET proxima_acao_em = now() WHERE status = :erro")
# What a run left is told from what a copy of before it says by how long ago that run was.
_LEFT = sa.text("""
SELECT e.id, now() - e.restauro_desde AS ha FROM empresa e, historia h
WHERE e.restauro_desde IS NOT NULL AND h.suspeita IS NULL AND h.restaurado_em > now() - interval '1 day'
""")
_HOLD = sa.text("""
UPDATE empresa SET restauro_desde = CASE WHEN id = ANY(:paradas) THEN coalesce(restauro_desde, now()) END
WHERE id = ANY(:paradas) OR restauro_desde IS NOT NULL
""").bindparams(sa.bindparam("paradas", type_=sa.ARRAY(sa.BigInteger)))
_MOVE = sa.text("""
WITH antes AS (
    SELECT id, ultimo FROM numeracao WHERE id = :id AND ultimo < :ultimo FOR UPDATE
), movida AS (
    UPDATE numeracao n SET ultimo = :ultimo FROM antes WHERE n.id = antes.id RETURNING n.id
)
INSERT INTO numeracao_uso (numeracao_id, numero, inutilizado_em, motivo)
SELECT antes.id, numero, now(), :motivo FROM antes JOIN movida USING (id),
    generate_series(antes.ultimo + 1, :ultimo) AS numero
""")
# The note's own XML tells its number. Where it does not: what may have been sent is asked for first, so where the first
# call of all was refused as a duplicate, nothing was ever taken under the number.
_ELSEWHERE = sa.text("""
UPDATE numeracao_uso SET emissao_id = NULL, inutilizado_em = now(), motivo = :motivo
WHERE emissao_id = :emissao_id AND CASE WHEN CAST(:rps AS bigint) IS NOT NULL THEN numero <> :rps ELSE (
    SELECT t.operacao = 'submit' AND t.resultado = 'Duplicate' FROM gateway_tentativas t
    WHERE t.emissao_id = :emissao_id ORDER BY t.id LIMIT 1
) END
""")


async def left(connection: Connection) -> dict[int, timedelta]:
    """Return the companies that the last run of a day at most left held, and for how long each has been."""
    return {row.id: row.ha for row in await connection.execute(_LEFT)}


async def hold(connection: Connection, paradas: Collection[int]) -> None:
    """Have nothing of these companies confirmed or sent under a number of ours; let all others go on."""
    await connection.execute(_HOLD, {"paradas": list(paradas)})


async def ask_for_open(connection: Connection, empresas: Collection[int] | None = None) -> list[str]:
    """Have open emissions, of ``empresas`` or of all, asked for before anything of them is sent; returns references."""
    values = {
        "desconhecido": StatusEmissao.DESCONHECIDO,
        "abertas": list(EM_CURSO),
        "empresas": None if empresas is None else list(empresas),
    }
    rows = await connection.execute(_ASK, values)
    await connection.execute(_LOOK_AGAIN, {"erro": StatusEmissao.ERRO})
    return list(rows.scalars())


async def move_past(connection: Connection, sequencia_id: int, ultimo: int) -> int:
    """Go on after ``ultimo``, the last RPS number that the authority knows; returns how many numbers are skipped.

    They are explained gaps: whether notes stand under them is the authority's to tell. Never moves backwards.
    """
    return (await connection.execute(_MOVE, {"id": sequencia_id, "ultimo": ultimo, "motivo": MOTIVO})).rowcount


async def stands_elsewhere(connection: Connection, emissao_id: int, rps: int | None) -> bool:
    """Explain the number of an intent whose note was made before, by a submission that the database forgot.

    The gateway is unique on our reference and keeps the number of then, ``rps`` where the note tells it; the one drawn
    now serves nobody.
    """
    values = {"emissao_id": emissao_id, "motivo": OUTRO, "rps": rps}
    return (await connection.execute(_ELSEWHERE, values)).rowcount == 1
