"""Lists and their rows: made once, filled in chunks, confirmed, stopped, and counted.

Batches and rows page by page, and how far batches are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from secrets import token_urlsafe
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.batches import mailed_notes, work
from persistence.db.connection import Connection, clean, storable
from persistence.db.connection import Row as Found
from persistence.db.engine import Database
from persistence.tables import lote_fila, lote_linhas, lotes
from persistence.tables.base import literals
from state_machine.mailing.delivery import ENCERRADOS, EstadoLinha, EstadoLote, StatusLote
from state_machine.mailing.reading import LinhaLida, ListaLida, problems, text_of

# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


GOING: Final = 10  # batches at once of a company, for people to choose from
_SHOWN: Final = tuple(lote_linhas.c[name] for name in ("id", "linha", "estado", "email", "problemas", "notas"))
_UNSENT: Final = (EstadoLinha.INVALID, EstadoLinha.IGNORADA, EstadoLinha.CANCELADA)
_FIRST: Final = f"""
SELECT l.lote_id, l.linha, l.email, l.dados, l.notas FROM unnest($1::bigint[]) AS r(id), LATERAL (
    SELECT * FROM lote_linhas WHERE lote_id = r.id AND estado = '{EstadoLinha.PENDING}' ORDER BY id LIMIT 1) AS l
"""
# What a company had in the last 24 hours, and in how many seconds the oldest of it is that old.
TAKEN_IN: Final = """
SELECT coalesce(sum(tamanho), 0) AS quantos, extract(epoch FROM min(criado_em) + interval '1 day' - now()) AS segundos
FROM lotes WHERE empresa_id = $1 AND criado_em > now() - interval '1 day'
"""
HANDED_OVER: Final = f"""
SELECT count(*) AS quantos, extract(epoch FROM min(o.confirmado_em) + interval '1 day' - now()) AS segundos
FROM lotes o JOIN lote_linhas l ON l.lote_id = o.id AND l.estado NOT IN ({literals(_UNSENT)})
WHERE o.empresa_id = $1 AND o.confirmado_em > now() - interval '1 day'
"""


@dataclass(frozen=True, slots=True)
class FirstMail:
    """The first mail of a batch as it will look, and the numbers of the notes that go with it."""

    linha: int
    email: str
    assunto: str
    mensagem: str
    notas: list[str]


async def newest(
    connection: Connection, empresas: Collection[int] | None, before: int | None, limit: int
) -> Sequence[Found]:
    """Return up to ``limit`` batches of these companies (``None``: of all), newest first, below an id."""
    statement = sa.select(lotes).order_by(lotes.c.id.desc()).limit(limit)
    if empresas is not None:
        statement = statement.where(lotes.c.empresa_id.in_(list(empresas)))
    if before is not None:
        statement = statement.where(lotes.c.id < before)
    return (await connection.execute(statement)).all()


async def going(connection: Connection, empresa_id: int, lote_id: int | None) -> Sequence[Found]:
    """Return the company's batches of which something may be sent still, oldest first; with an id only that one."""
    statement = sa.select(lotes).where(lotes.c.empresa_id == empresa_id, lotes.c.estado.not_in(ENCERRADOS))
    if lote_id is not None:
        statement = statement.where(lotes.c.id == lote_id)
    return (await connection.execute(statement.order_by(lotes.c.id).limit(GOING))).all()


async def rows(connection: Connection, lote_id: int, after: int, limit: int) -> Sequence[Found]:
    """Return up to ``limit`` rows of a batch in the order of the file, above an id."""
    statement = sa.select(*_SHOWN).where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.id > after)
    return (await connection.execute(statement.order_by(lote_linhas.c.id).limit(limit))).all()


async def carrying(connection: Connection, lote_id: int, limit: int) -> tuple[Sequence[Found], int]:
    """Return up to ``limit`` rows whose mails carry notes, in the order of the file, and how many there are."""
    carries = (lote_linhas.c.lote_id == lote_id, sa.func.jsonb_array_length(lote_linhas.c.notas) > 0)
    mails = sa.select(*_SHOWN, sa.func.count().over().label("quantas"))
    mails = mails.where(*carries, lote_linhas.c.estado != EstadoLinha.INVALID)
    found = (await connection.execute(mails.order_by(lote_linhas.c.id).limit(limit))).all()
    return found, found[0].quantas if found else 0


async def first_mails(connection: Connection, batches: Collection[Any]) -> dict[int, FirstMail]:
    """Return the first mail of each batch that waits for a yes, by the batch's id."""
    waiting = {lote.id: lote for lote in batches if lote.estado == EstadoLote.AGUARDANDO_CONFIRMACAO}
    return {
        row.lote_id: FirstMail(
            row.linha,
            row.email,
            *text_of(waiting[row.lote_id].assunto, waiting[row.lote_id].mensagem, row.dados),
            [nota["numero"] for nota in row.notas or ()],
        )
        for row in await connection.exec_driver_sql(_FIRST, (list(waiting),))
    }


async def counts_of(connection: Connection, ids: Collection[int]) -> dict[int, dict[EstadoLinha, int]]:
    """Count the rows of batches by their state."""
    columns = (lote_linhas.c.lote_id, lote_linhas.c.estado)
    statement = sa.select(*columns, sa.func.count().label("quantas")).where(lote_linhas.c.lote_id.in_(list(ids)))
    found: dict[int, dict[EstadoLinha, int]] = {lote_id: {} for lote_id in ids}
    for row in await connection.execute(statement.group_by(*columns)):
        found[row.lote_id][EstadoLinha(row.estado)] = row.quantas
    return found


async def of_a_day(connection: Connection, empresa_id: int, day: str) -> Found:
    """Return (quantos, segundos) of ``TAKEN_IN`` or ``HANDED_OVER``; the audit, written before, lets one ask."""
    return (await connection.exec_driver_sql(day, (empresa_id,))).one()


# ruff: noqa: S608 - every statement is made of words of ours alone; values are bound


CHUNK: Final = 1_000  # rows of one statement: the specification's
TOKEN_BYTES: Final = 24  # nobody guesses it
# One statement of arrays: what is composed of a thousand rows anew keeps the event loop for too long.
_INGEST = """
INSERT INTO lote_linhas (lote_id, chave, linha, estado, email, dados, problemas, notas, token)
SELECT $1, chave, linha, estado, email, dados::jsonb, problemas::jsonb, notas::jsonb, token
FROM unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    WITH ORDINALITY AS r(chave, linha, estado, email, dados, problemas, notas, token, ordem)
ORDER BY ordem ON CONFLICT DO NOTHING
"""
FORGOTTEN: Final = (
    "O banco foi restaurado de uma cópia, e o que saiu desta lista depois dela pode ir de novo. Só segue com outro sim."
)
_DOUBT = sa.text(f"""
UPDATE lotes SET estado = CASE WHEN estado = '{EstadoLote.LENDO}' THEN estado
        ELSE '{EstadoLote.AGUARDANDO_CONFIRMACAO}' END,
    status = '{StatusLote.PENDING}', epoch = epoch + 1, last_attempt = NULL, erro = :motivo, pergunta_revisao = NULL,
    atualizado_em = now()
WHERE estado NOT IN ({literals(ENCERRADOS)})
RETURNING id, nome_arquivo, (SELECT count(*) FROM lote_linhas l
    WHERE l.lote_id = lotes.id AND l.estado IN ('{EstadoLinha.PENDING}', '{EstadoLinha.PROCESSING}')) AS quantas
""")
# The mails still to go to addresses that got none of this company: where there are some, a system's yes only asks.
_ASK = f"""
UPDATE lotes SET pergunta_revisao = revisao, pergunta_novos = n.novos, pergunta_pessoas = $3, atualizado_em = now()
FROM (SELECT count(*) AS novos FROM lote_linhas l JOIN lotes o ON o.id = l.lote_id
    WHERE l.lote_id = $1 AND l.estado IN ('{EstadoLinha.PENDING}', '{EstadoLinha.PROCESSING}') AND NOT EXISTS (
        SELECT FROM lote_linhas d JOIN lotes e ON e.id = d.lote_id
        WHERE d.email = l.email AND d.estado = '{EstadoLinha.DONE}' AND e.empresa_id = o.empresa_id)) AS n
WHERE id = $1 AND estado = '{EstadoLote.AGUARDANDO_CONFIRMACAO}' AND revisao = $2 AND novos > 0
RETURNING lotes.*
"""
_STOP = f"""
UPDATE lotes SET estado = '{EstadoLote.CANCELADO}', atualizado_em = now()
WHERE id = $1 AND estado NOT IN ({literals(ENCERRADOS)})
"""


async def by_file(connection: Connection, empresa_id: int, nome: str, sha256: str) -> Found | None:
    """Return the batch that was made of this file."""
    statement = sa.select(lotes).where(
        lotes.c.empresa_id == empresa_id, lotes.c.nome_arquivo == clean(nome), lotes.c.sha256 == sha256
    )
    return (await connection.execute(statement)).one_or_none()


async def by_content(connection: Connection, empresa_id: int, sha256: str) -> Found | None:
    """Return the oldest batch that was made of the same content, under whatever name."""
    statement = sa.select(lotes).where(lotes.c.empresa_id == empresa_id, lotes.c.sha256 == sha256)
    return (await connection.execute(statement.order_by(lotes.c.id).limit(1))).one_or_none()


async def by_id(connection: Connection, lote_id: int, *, lock: bool = False) -> Found | None:
    """Return one batch; ``lock``: nobody else decides about it until the transaction ends."""
    statement = sa.select(lotes).where(lotes.c.id == lote_id)
    return (await connection.execute(statement.with_for_update() if lock else statement)).one_or_none()


async def lock_content(connection: Connection, empresa_id: int, sha256: str) -> None:
    """Let one upload of a content decide at a time, until the transaction ends: two names of it know of each other."""
    key = f"lote:{empresa_id}:{sha256}"
    await connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", (key,))


async def make(connection: Connection, values: Mapping[str, Any]) -> Found | None:
    """Make a batch, unless its file is one already."""
    made = {**values, "nome_arquivo": clean(values["nome_arquivo"])}
    statement = insert(lotes).values(**made).on_conflict_do_nothing().returning(lotes)
    return (await connection.execute(statement)).one_or_none()


async def single(
    connection: Connection, values: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[Found | None, bool]:
    """Let one mail be sent that was asked for and agreed to by itself; returns its batch, and whether that is new.

    One that was made before is not made again; while it waits for a yes after a restore, this is one.
    """
    made = await make(connection, {**values, "estado": EstadoLote.AGUARDANDO_CONFIRMACAO, "linhas": 1})
    if made is not None:
        given = {"lote_id": made.id, "chave": row["email"], "linha": 1, "token": token_urlsafe(TOKEN_BYTES), **row}
        await connection.execute(insert(lote_linhas).values(**given))
    found = made or await by_file(connection, values["empresa_id"], values["nome_arquivo"], values["sha256"])
    new = found is not None and await confirm(connection, found.id, values["revisao"], values["usuario"])
    return found, new


async def replace(connection: Connection, lote_id: int, values: Mapping[str, Any]) -> Found | None:
    """Let other words, and the rows that were read with them, take the place of a batch's; ``None``: it is decided."""
    undecided = lotes.c.estado.in_((EstadoLote.LENDO, EstadoLote.AGUARDANDO_CONFIRMACAO))
    said = {name: values[name] for name in ("assunto", "mensagem", "revisao", "linhas", "ignoradas", "iguais")}
    statement = lotes.update().where(lotes.c.id == lote_id, undecided).returning(lotes)
    changed = statement.values(estado=EstadoLote.LENDO, atualizado_em=sa.func.now(), **said)
    found = (await connection.execute(changed)).one_or_none()
    if found is not None:
        await connection.execute(lote_linhas.delete().where(lote_linhas.c.lote_id == lote_id))
    return found


async def ingest(database: Database, lote_id: int, leitura: ListaLida) -> None:
    """Store the rows, each chunk by itself and each row once, and say that they are all there.

    Whoever died in the middle is gone on from by doing it again: what stands there is left as it is.
    """
    rows = iter(leitura.linhas)
    while chunk := list(islice(rows, CHUNK)):
        columns = await asyncio.to_thread(_columns, chunk)  # a chunk of long texts takes 20 ms
        async with database.transaction() as connection:
            if not await _is_reading(connection, lote_id, leitura):
                return
            await connection.exec_driver_sql(_INGEST, (lote_id, *columns))
    while leitura.has_notes:
        async with database.transaction() as connection:
            if not await _is_reading(connection, lote_id, leitura) or not await mailed_notes.find(connection, lote_id):
                break
    async with database.transaction() as connection:
        if await _is_reading(connection, lote_id, leitura):
            await mailed_notes.revise(connection, lote_id)
            await work.leave_out_suppressed(connection, lote_id)
            await _change(connection, lote_id, estado=EstadoLote.AGUARDANDO_CONFIRMACAO)


async def _is_reading(connection: Connection, lote_id: int, leitura: ListaLida) -> bool:
    """Say whether a batch waits for these rows, and not for those of other words."""
    waits = (lotes.c.estado == EstadoLote.LENDO, lotes.c.revisao == leitura.revisao)
    statement = sa.select(lotes.c.id).where(lotes.c.id == lote_id, *waits)
    return (await connection.execute(statement.with_for_update())).one_or_none() is not None


def _columns(chunk: Sequence[LinhaLida]) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*map(_values, chunk), strict=True))


def _values(linha: LinhaLida) -> tuple[Any, ...]:
    estado = EstadoLinha.PENDING if linha.problema is None else EstadoLinha.INVALID
    email = None if linha.email is None else clean(linha.email)
    said = (storable(linha.dados), storable(problems(linha)), "[]" if linha.notas else None)
    return linha.chave, linha.linha, estado.value, email, *said, token_urlsafe(TOKEN_BYTES)


async def _change(connection: Connection, lote_id: int, **values: Any) -> None:
    await connection.execute(lotes.update().where(lotes.c.id == lote_id).values(atualizado_em=sa.func.now(), **values))


async def confirm(connection: Connection, lote_id: int, revisao: str, por: str) -> bool:
    """Let a batch be sent, if what was shown is what stands there; says whether that was so and new."""
    statement = (
        lotes.update()
        .where(
            lotes.c.id == lote_id,
            lotes.c.estado == EstadoLote.AGUARDANDO_CONFIRMACAO,
            lotes.c.revisao == revisao,
        )
        .values(
            estado=EstadoLote.PROCESSANDO,
            status=StatusLote.QUEUED,
            confirmado_por=por[:64],  # characters of the column; a login may be longer
            confirmado_em=sa.func.now(),
            atualizado_em=sa.func.now(),
        )
    )
    if (await connection.execute(statement)).rowcount != 1:
        return False
    await connection.execute(insert(lote_fila).values(lote_id=lote_id).on_conflict_do_nothing())
    return True


async def ask(connection: Connection, lote_id: int, revisao: str, pessoas: int) -> Found | None:
    """Note that so many people are asked whether a batch goes; ``None``: all its addresses are known, or it waits not.

    An address is known that got a mail of the company before.
    """
    return (await connection.exec_driver_sql(_ASK, (lote_id, revisao, pessoas))).one_or_none()


async def doubt(connection: Connection) -> list[Any]:
    """Have every list wait for another yes: a copy was put back, and what went since is not known.

    Returns ``id``, ``nome_arquivo`` and how many mails may go a second time (``quantas``).
    """
    rows = (await connection.execute(_DOUBT, {"motivo": FORGOTTEN})).all()
    await connection.execute(lote_fila.delete().where(lote_fila.c.lote_id.in_([row.id for row in rows])))
    return list(rows)


async def stop(connection: Connection, lote_id: int) -> int | None:
    """Cancel what was not sent; returns how many rows, or ``None`` where the batch has ended already.

    A mail that is under way is told of by its worker, or by the sweep if that one is dead.
    """
    if (await connection.exec_driver_sql(_STOP, (lote_id,))).rowcount != 1:
        return None
    await connection.execute(lote_fila.delete().where(lote_fila.c.lote_id == lote_id))
    rows = lote_linhas.update().where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.estado == EstadoLinha.PENDING)
    cancelled = rows.values(estado=EstadoLinha.CANCELADA, atualizado_em=sa.func.now())
    return (await connection.execute(cancelled)).rowcount


async def counts(connection: Connection, lote_id: int) -> dict[EstadoLinha, int]:
    """Count a batch's rows by their state."""
    statement = sa.select(lote_linhas.c.estado, sa.func.count().label("quantas"))
    found = await connection.execute(statement.where(lote_linhas.c.lote_id == lote_id).group_by(lote_linhas.c.estado))
    return {EstadoLinha(row.estado): row.quantas for row in found}


def mails(linhas: Mapping[EstadoLinha, int]) -> int:
    """Return how many mails rows by their state are to a bound of a day."""
    return sum(quantas for estado, quantas in linhas.items() if estado not in _UNSENT)


async def uncertain(connection: Connection, lote_id: int) -> int:
    """Count the mails of a batch of which an answer was lost."""
    statement = sa.select(sa.func.count()).where(lote_linhas.c.lote_id == lote_id, lote_linhas.c.incertas > 0)
    return int(await connection.scalar(statement))
