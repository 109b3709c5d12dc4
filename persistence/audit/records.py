"""Appends to the audit of what staff did, in the transaction that does it, and reads it.

Verifies that the audit is as it was written, by the hash that links each row to the one before.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.tables import auditoria, empresa
from state_machine.values.errors import ProsaError

MOTIVO_MAX = 500  # characters; a reason is a sentence or two


@dataclass(frozen=True, slots=True)
class Author:
    """Who does something and why; without an account of the staff it is a command."""

    quem: str = "linha de comando"
    staff_id: int | None = None
    motivo: str | None = None


COMMAND_LINE: Final = Author()


async def write(
    connection: Connection,
    *,
    staff_id: int | None,
    quem: str,
    acao: str,
    alvo: str | None = None,
    empresa_id: int | None = None,
    motivo: str | None = None,
    detalhe: dict[str, Any] | None = None,
    correlacao: str | None = None,
) -> int:
    """Append one row and return its id. ``alvo`` and ``detalhe`` hold ids, never a person's data."""
    statement = auditoria.insert().values(
        staff_id=staff_id,
        quem=quem,
        acao=acao,
        alvo=alvo,
        empresa_id=empresa_id,
        motivo=motivo[:MOTIVO_MAX] if motivo else None,
        detalhe=detalhe,
        correlacao=correlacao,
    )
    return int((await connection.execute(statement.returning(auditoria.c.id))).scalar_one())


async def write_by(
    connection: Connection, author: Author, acao: str, empresa_id: int, detalhe: dict[str, Any] | None = None
) -> None:
    """Append what somebody did to a company's registration."""
    await write(
        connection,
        staff_id=author.staff_id,
        quem=author.quem,
        acao=acao,
        empresa_id=empresa_id,
        motivo=author.motivo,
        detalhe=detalhe,
    )


async def page(
    connection: Connection,
    alcance: Alcance,
    *,
    antes: int | None,
    limite: int,
    quem: str | None = None,
    acao: str | None = None,
    alvo: str | None = None,
) -> list[Any]:
    """Return rows newest first, older than ``antes``; who is bound to companies sees what was done in those.

    With the name of the company that each is about, if there is one.
    """
    joined = auditoria.outerjoin(empresa, empresa.c.id == auditoria.c.empresa_id)
    statement = (
        sa.select(auditoria, empresa.c.razao_social).select_from(joined).order_by(auditoria.c.id.desc()).limit(limite)
    )
    if not alcance.todas:
        statement = statement.where(auditoria.c.empresa_id.in_(alcance.empresas))
    for column, wanted in ((auditoria.c.quem, quem), (auditoria.c.acao, acao), (auditoria.c.alvo, alvo)):
        if wanted:
            statement = statement.where(column == wanted)
    if antes is not None:
        statement = statement.where(auditoria.c.id < antes)
    return list(await connection.execute(statement))


BATCH = 2_000  # rows read at a time; the audit may hold millions
_WRITTEN = re.compile(r"(\d{1,19}):([0-9a-f]{64})")

# The content of each link, built here and hashed in this process: whoever could change a row could change a function of
# the database as well.
_LINKS = sa.text("""
SELECT e.n, e.auditoria_id, e.elo, e.na_migracao, a.id IS NOT NULL AS existe,
    convert_to(jsonb_build_array(e.n, e.na_migracao, a.id, a.staff_id, a.quem, a.acao, a.alvo, a.empresa_id, a.motivo,
        a.detalhe, a.correlacao, to_char(a.em AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'))::text, 'UTF8')
    AS conteudo
FROM auditoria_elo e LEFT JOIN auditoria a ON a.id = e.auditoria_id
WHERE e.n > :depois ORDER BY e.n LIMIT :lote
""")
_UNLINKED = sa.text("""
SELECT min(a.id) FROM auditoria a WHERE NOT EXISTS (SELECT FROM auditoria_elo e WHERE e.auditoria_id = a.id)
""")


class UnreadableHeadError(ProsaError, ValueError):
    """The text is no head of the chain as ``Cabeca`` writes it."""

    code = "unreadable_head"


@dataclass(frozen=True, slots=True)
class Cabeca:
    """The last link: its number and its hash. Kept elsewhere, it tells when the whole chain is written anew."""

    n: int
    elo: bytes

    def __str__(self) -> str:
        return f"{self.n}:{self.elo.hex()}"

    @classmethod
    def read(cls, texto: str) -> Cabeca:
        """Return what ``str`` wrote. Raises ``UnreadableHeadError``."""
        match = _WRITTEN.fullmatch(texto.strip().lower())
        if match is None:
            raise UnreadableHeadError(texto)
        return cls(int(match[1]), bytes.fromhex(match[2]))


@dataclass(frozen=True, slots=True)
class Quebra:
    """The first place at which the audit is not as it was written: a row of ``auditoria``, and what is wrong."""

    linha: int | None
    porque: str


@dataclass(frozen=True, slots=True)
class Verificacao:
    """How many rows were verified, how many of them are older than the chain, its head, and where it breaks."""

    linhas: int
    de_antes: int
    cabeca: Cabeca | None
    quebra: Quebra | None


async def verify(connection: Connection, guardada: Cabeca | None = None) -> Verificacao:
    """Read the whole chain; ``guardada`` is a head that was kept elsewhere, which must still be a part of it."""
    linhas = de_antes = 0
    cabeca: Cabeca | None = None
    quebra: Quebra | None = None
    guardada_vista = guardada is None
    while quebra is None:
        rows = list(await connection.execute(_LINKS, {"depois": cabeca.n if cabeca else 0, "lote": BATCH}))
        if not rows:
            break
        for row in rows:
            quebra = _broken(row, cabeca)
            if quebra:
                break
            linhas, de_antes = linhas + 1, de_antes + row.na_migracao
            cabeca = Cabeca(row.n, bytes(row.elo))
            if guardada and guardada.n == row.n:
                guardada_vista = True
                if guardada != cabeca:
                    quebra = Quebra(row.auditoria_id, "a cadeia foi reescrita depois que a cabeça foi guardada")
                    break
    if quebra is None:
        solta = (await connection.execute(_UNLINKED)).scalar_one()
        if solta is not None:
            quebra = Quebra(solta, "a linha não tem elo: foi inserida por fora, ou o elo foi apagado")
        elif not guardada_vista:
            quebra = Quebra(None, "faltam no fim linhas que a cabeça guardada conhece")
    return Verificacao(linhas, de_antes, cabeca, quebra)


def _broken(row: sa.Row[tuple[object, ...]], anterior: Cabeca | None) -> Quebra | None:
    """Return what is wrong with a link, given the one before."""
    if row.n != (anterior.n if anterior else 0) + 1:
        return Quebra(row.auditoria_id, "faltam elos antes desta linha")
    if not row.existe:
        return Quebra(row.auditoria_id, "a linha foi apagada")
    if hashlib.sha256((anterior.elo if anterior else b"") + bytes(row.conteudo)).digest() != bytes(row.elo):
        return Quebra(row.auditoria_id, "a linha ou seu elo foi alterado")
    return None
