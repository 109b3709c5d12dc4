"""Gives each sequence its numbers without gap or repetition, and tells which ones no note came of.

Changes a restored database so that open emissions are asked for first and RPS sequences go on past the lost ones.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, cast

import sqlalchemy as sa

from persistence.db.connection import Connection
from persistence.people.companies import Empresa
from state_machine.protocol.channel import Ambiente, Natureza, TipoDocumento
from state_machine.protocol.emission import EM_CURSO, StatusEmissao
from state_machine.values.errors import ProsaError


class Modelo(StrEnum):
    """Which documents a sequence numbers; those of one series count apart."""

    NFSE = "nfse"
    NFE = "55"
    NFCE = "65"


@dataclass(frozen=True, slots=True)
class Sequencia:
    """One line of numbers at one authority. ``municipio`` is the IBGE code; ``serie`` as the key writes it."""

    empresa_id: int
    municipio: str
    serie: str
    ambiente: Ambiente = Ambiente.PRODUCAO
    modelo: Modelo = Modelo.NFSE


MODELOS: Final = {
    TipoDocumento.SERVICO: Modelo.NFSE,
    TipoDocumento.PRODUTO: Modelo.NFE,
    TipoDocumento.CONSUMIDOR: Modelo.NFCE,
}


def in_series(empresa: Empresa, natureza: Natureza, ambiente: Ambiente, serie: str) -> Sequencia:
    """Return a company's line of numbers in a series; goods are numbered by the state (two digits of the code)."""
    modelo = MODELOS[natureza.documento]
    lugar = empresa.municipio_ibge if modelo is Modelo.NFSE else empresa.municipio_ibge[:2]
    return Sequencia(empresa.id, lugar, serie, ambiente, modelo)


def series_of(empresa: Empresa, natureza: Natureza) -> tuple[str | None, int]:
    """Return the series in which we number a company's documents on a channel, and its first number.

    ``None`` where we do not.
    """
    if natureza.numbers == "channel":
        return None, 1
    if natureza.documento is TipoDocumento.SERVICO:
        return empresa.serie_rps, empresa.primeiro_rps
    modelo = "nfe" if natureza.documento is TipoDocumento.PRODUTO else "nfce"
    return empresa.comercio.series[modelo] if empresa.comercio else (None, 1)


@dataclass(frozen=True, slots=True)
class Conhecida:
    """A sequence in use: ``id`` names it to staff; from ``primeiro`` to ``ultimo`` so far.

    ``bloqueado``: why it gives no numbers, ``None`` while it does.
    """

    id: int
    razao_social: str
    sequencia: Sequencia
    primeiro: int
    ultimo: int
    bloqueado: str | None


class NumeroOcupadoError(ProsaError):
    """The number was never given out, was declared void, or stands for another living intent or kind of document."""

    code = "numero_ocupado"


class NumeracaoBloqueadaError(ProsaError):
    """Staff blocked the sequence; the message says why and what to do. No number was taken."""

    code = "numeracao_bloqueada"


# The row of the sequence stays locked until the caller's transaction ends: the next one waits, and a rollback gives the
# number back. A database sequence would not wait, and would lose it.
_ALLOCATE = sa.text("""
WITH proxima AS (
    INSERT INTO numeracao AS n (empresa_id, modelo, municipio, serie, ambiente, primeiro, ultimo, canal)
    VALUES (:empresa_id, :modelo, :municipio, :serie, :ambiente, :primeiro, :primeiro, :canal)
    ON CONFLICT (empresa_id, modelo, municipio, serie, ambiente) DO UPDATE SET ultimo = n.ultimo + 1
        WHERE n.bloqueado IS NULL
    RETURNING id, ultimo
)
INSERT INTO numeracao_uso (numeracao_id, numero) SELECT id, ultimo FROM proxima RETURNING numero
""")
_SEQUENCE = """
n.empresa_id = :empresa_id AND n.municipio = :municipio AND n.serie = :serie AND n.ambiente = :ambiente
    AND n.modelo = :modelo
"""
# No note came of a number: no intent took it, or the authority refused the newest one that did.
_UNUSED = """
u.inutilizado_em IS NULL AND (
    u.emissao_id IS NULL
    OR EXISTS (SELECT 1 FROM nfse_emissao e WHERE e.id = u.emissao_id AND e.status = :rejeitado)
)
"""
# Nor did one come where its person gave the invoice up before anybody accepted it; but where an earlier attempt settled
# it, that one's note has the number. Such a number is not given again.
_VOIDABLE = f"""
({_UNUSED} OR u.inutilizado_em IS NULL AND EXISTS (
    SELECT 1 FROM nfse_emissao e WHERE e.id = u.emissao_id AND e.status = '{StatusEmissao.DISPENSADO}'
        AND NOT EXISTS (SELECT 1 FROM nfse_emissao o WHERE o.sessao_id = e.sessao_id AND o.revisao = e.revisao
            AND o.status NOT IN ('{StatusEmissao.REJEITADO}', '{StatusEmissao.DISPENSADO}'))
))
"""  # noqa: S608 - our own constants
_BIND = sa.text(f"""
UPDATE numeracao_uso u SET emissao_id = :emissao_id FROM numeracao n
WHERE n.id = u.numeracao_id AND u.numero = :numero AND {_SEQUENCE} AND {_UNUSED}
""")  # noqa: S608 - both parts are constants of this module
_IS_UNUSED = sa.text(f"""
SELECT EXISTS (SELECT FROM numeracao_uso u JOIN numeracao n ON n.id = u.numeracao_id
    WHERE u.numero = :numero AND {_SEQUENCE} AND {_UNUSED})
""")  # noqa: S608 - both parts are constants of this module
_TAKEN = sa.text("""
UPDATE numeracao_uso SET inutilizado_em = now(), motivo = :motivo WHERE emissao_id = :emissao_id
""")
_VOID = sa.text(f"""
UPDATE numeracao_uso u SET inutilizado_em = now(), motivo = :motivo FROM numeracao n
WHERE n.id = u.numeracao_id AND u.numero BETWEEN :de AND :ate AND {_SEQUENCE} AND {_VOIDABLE}
""")  # noqa: S608 - both parts are constants of this module
_GAPS = sa.text(f"""
SELECT min(numero) AS de, max(numero) AS ate FROM (
    SELECT s.numero, s.numero - row_number() OVER (ORDER BY s.numero) AS ilha
    FROM numeracao n CROSS JOIN generate_series(n.primeiro, n.ultimo) AS s (numero)
    LEFT JOIN numeracao_uso u ON u.numeracao_id = n.id AND u.numero = s.numero
    WHERE {_SEQUENCE} AND {_VOIDABLE}
) AS vazios GROUP BY ilha ORDER BY de
""")  # noqa: S608 - both parts are constants of this module


_GIVEN = sa.text(f"""
SELECT u.numero, u.motivo, e.chave_natural AS chave FROM numeracao n JOIN numeracao_uso u ON u.numeracao_id = n.id
LEFT JOIN nfse_emissao e ON e.id = u.emissao_id
WHERE {_SEQUENCE} AND u.numero BETWEEN :de AND :ate ORDER BY u.numero
""")  # noqa: S608 - the part is a constant of this module
_RESTATE = sa.text(f"""
UPDATE numeracao_uso u SET motivo = CAST(:motivo AS text),
    inutilizado_em = CASE WHEN CAST(:motivo AS text) IS NULL THEN NULL ELSE now() END
FROM numeracao n WHERE n.id = u.numeracao_id AND u.numero BETWEEN :de AND :ate AND u.motivo = :era AND {_SEQUENCE}
""")  # noqa: S608 - the part is a constant of this module
_SEQUENCES = sa.text("""
SELECT n.id, e.razao_social, n.empresa_id, n.municipio, n.serie, n.ambiente, n.modelo, n.primeiro, n.ultimo,
    n.bloqueado
FROM numeracao n JOIN empresa e ON e.id = n.empresa_id ORDER BY e.razao_social, n.id
""")
_EXPLAINED = sa.text(f"""
SELECT min(numero) AS de, max(numero) AS ate, motivo FROM (
    SELECT u.numero, u.motivo, u.numero - row_number() OVER (PARTITION BY u.motivo ORDER BY u.numero) AS ilha
    FROM numeracao n JOIN numeracao_uso u ON u.numeracao_id = n.id
    WHERE {_SEQUENCE} AND u.inutilizado_em IS NOT NULL
) AS explicados GROUP BY motivo, ilha ORDER BY de
""")  # noqa: S608 - the part is a constant of this module


_BLOCKED = sa.text(f"SELECT n.bloqueado FROM numeracao n WHERE {_SEQUENCE}")  # noqa: S608 - a constant of this module
_BLOCK_OF = sa.text("""
UPDATE numeracao n SET bloqueado = coalesce(n.bloqueado, :motivo) FROM numeracao_uso u
WHERE u.numeracao_id = n.id AND u.emissao_id = :emissao_id
""")
_BLOCK = sa.text("UPDATE numeracao SET bloqueado = :motivo WHERE id = :id")


async def allocate(connection: Connection, sequencia: Sequencia, *, primeiro: int = 1, canal: str | None = None) -> int:
    """Take the next number, in the transaction that stores the intent; a rollback gives it back.

    ``primeiro`` is where a sequence begins that is not known yet: after the last number of the customer's former
    program; ``canal`` is noted with it. Others who ask for the same sequence wait until the transaction ends, so ask
    late in it. Raises ``NumeracaoBloqueadaError``.
    """
    row = (
        await connection.execute(_ALLOCATE, {**asdict(sequencia), "primeiro": primeiro, "canal": canal})
    ).one_or_none()
    if row is None:
        motivo = await blocked(connection, sequencia)
        raise NumeracaoBloqueadaError(
            f"A numeração da série {sequencia.serie} está bloqueada ({motivo}). Nada foi emitido e nenhum número foi "
            "gasto. Resolva o motivo e libere: prosa numeracao --desbloquear, com --sequencia."
        )
    return int(row.numero)


async def blocked(connection: Connection, sequencia: Sequencia) -> str | None:
    """Return why the sequence gives no numbers, ``None`` while it does, or before its first."""
    motivo: str | None = (await connection.execute(_BLOCKED, asdict(sequencia))).scalar_one_or_none()
    return motivo


async def block(connection: Connection, sequencia_id: int, motivo: str | None) -> bool:
    """Stop a sequence with its reason, or let it go on with ``None``; False where there is no such sequence.

    Waits for whoever is taking a number.
    """
    return (await connection.execute(_BLOCK, {"id": sequencia_id, "motivo": motivo})).rowcount == 1


async def block_of(connection: Connection, emissao_id: int, motivo: str) -> None:
    """Stop the sequence that an intent's number is of, unless it is stopped already."""
    await connection.execute(_BLOCK_OF, {"emissao_id": emissao_id, "motivo": motivo})


async def bind(connection: Connection, sequencia: Sequencia, numero: int, emissao_id: int) -> None:
    """Record which intent took the number; again for a new attempt after a rejection, under the same number.

    Raises ``NumeroOcupadoError``: a number stands for one living intent at most.
    """
    values = {**asdict(sequencia), "numero": numero, "emissao_id": emissao_id, "rejeitado": StatusEmissao.REJEITADO}
    if (await connection.execute(_BIND, values)).rowcount != 1:
        raise NumeroOcupadoError(numero)


async def is_unused(connection: Connection, sequencia: Sequencia, numero: int) -> bool:
    """Tell whether ``bind`` takes this number: it was given out, no note came of it, and nobody explained it."""
    values = {**asdict(sequencia), "numero": numero, "rejeitado": StatusEmissao.REJEITADO}
    return bool((await connection.execute(_IS_UNUSED, values)).scalar_one())


async def taken(connection: Connection, emissao_id: int, motivo: str) -> None:
    """Explain the number of an intent under which the authority has another's note: nobody is given it again."""
    await connection.execute(_TAKEN, {"emissao_id": emissao_id, "motivo": motivo})


async def void(connection: Connection, sequencia: Sequencia, numeros: range, motivo: str) -> None:
    """Explain a gap: the authority voided these numbers, or they can never be used. They are listed no more.

    Raises ``NumeroOcupadoError`` when a note exists or may still come of one of them.
    """
    values = {**asdict(sequencia), "de": numeros.start, "ate": numeros.stop - 1, "motivo": motivo}
    voided = await connection.execute(_VOID, {**values, "rejeitado": StatusEmissao.REJEITADO})
    if voided.rowcount != len(numeros):
        raise NumeroOcupadoError(numeros)


async def given(
    connection: Connection, sequencia: Sequencia, numeros: range
) -> list[tuple[int, str | None, str | None]]:
    """Return of these numbers those that were given out: number, why it is void, and the key of its intent."""
    values = {**asdict(sequencia), "de": numeros.start, "ate": numeros.stop - 1}
    return [(row.numero, row.motivo, row.chave) for row in await connection.execute(_GIVEN, values)]


async def restate(connection: Connection, sequencia: Sequencia, numeros: range, *, de: str, para: str | None) -> None:
    """Give numbers that are void for the reason ``de`` another one, or with ``None`` make them no longer void."""
    values = {**asdict(sequencia), "de": numeros.start, "ate": numeros.stop - 1, "era": de, "motivo": para}
    await connection.execute(_RESTATE, values)


async def gaps(connection: Connection, sequencia: Sequencia) -> list[range]:
    """List the numbers given out of which no note came, nor can come, nor was it explained; in order.

    A number whose intent is still on its way, unknown or in conflict is no gap: a note may stand under it.
    """
    rows = await connection.execute(_GAPS, {**asdict(sequencia), "rejeitado": StatusEmissao.REJEITADO})
    return [range(row.de, row.ate + 1) for row in rows]


async def sequences(connection: Connection) -> list[Conhecida]:
    """List the sequences that have given a number, by company."""
    return [
        Conhecida(
            row.id,
            row.razao_social,
            Sequencia(row.empresa_id, row.municipio, row.serie, Ambiente(row.ambiente), Modelo(row.modelo)),
            row.primeiro,
            row.ultimo,
            row.bloqueado,
        )
        for row in await connection.execute(_SEQUENCES)
    ]


async def explained(connection: Connection, sequencia: Sequencia) -> list[tuple[range, str]]:
    """List the gaps that staff explained, with why; in order."""
    rows = await connection.execute(_EXPLAINED, asdict(sequencia))
    return [(range(row.de, row.ate + 1), row.motivo or "") for row in rows]


MOTIVO = "usado depois da cópia que foi restaurada"
OUTRO = "a nota saiu sob o número de antes da cópia"

# Whatever the copy says of them, they may have been sent since: nothing leaves before the key was seen absent twice.
# The epoch keeps a process that still works on the old standing from storing it.
_ASK = sa.text("""
UPDATE nfse_emissao SET status = :desconhecido, em_duvida = true, ausente_desde = NULL, consultas = 0, retida = NULL,
    lease_until = NULL, epoch = epoch + 1, versao = versao + 1, proxima_acao_em = now(), ultimo_envio_em = now()
WHERE status = ANY(:abertas) AND (CAST(:empresas AS bigint[]) IS NULL OR prestador_id = ANY(:empresas))
RETURNING id_integracao
""").bindparams(
    sa.bindparam("abertas", type_=sa.ARRAY(sa.Text)), sa.bindparam("empresas", type_=sa.ARRAY(sa.BigInteger))
)
_LOOK_AGAIN = sa.text("UPDATE nfse_emissao SET proxima_acao_em = now() WHERE status = :erro")
_KNOWN_UNTIL = sa.text("""
SELECT coalesce((SELECT max(criado_em) FROM nfse_emissao WHERE prestador_id = e.id), e.criado_em)
FROM empresa e WHERE id = :id
""")
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


async def known_until(connection: Connection, empresa_id: int) -> datetime:
    """Return when a company last did something that is known here: what was forgotten came after it."""
    return cast("datetime", (await connection.execute(_KNOWN_UNTIL, {"id": empresa_id})).scalar_one())


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
