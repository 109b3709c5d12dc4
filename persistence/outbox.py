"""Keeps messages on their way out: each conversation's in order, each claimed by one sender, each tick remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime  # noqa: TC003 - part of a record that is built at run time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.tables import outbox

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

LEASE_SECONDS = 15.0  # renewed while a file is fetched, uploaded and sent; a dead worker's messages wait this long

# Ticks only ever grow: WhatsApp may tell them late or out of order. A failure may follow "sent", not "delivered".
ORDEM = {"pendente": 0, "incerto": 1, "enviado": 2, "falhou": 3, "entregue": 4, "lido": 5}


@dataclass(frozen=True, slots=True)
class Saida:
    """A message to be sent, under our lease; ``mensagem`` is the JSON that ``enqueue`` stored."""

    id: int
    epoch: int
    endereco: str
    mensagem: dict[str, Any]
    tentativas: int
    criado_em: datetime
    agora: datetime
    conversa: str
    sessao_id: str | None
    correlacao: str | None


async def enqueue(
    connection: AsyncConnection,
    *,
    conversa: str,
    mensagem: dict[str, Any],
    sessao_id: str | None = None,
    chave: str | None = None,
    bloqueia: bool = True,
    correlacao: str | None = None,
) -> None:
    """Put one message into the transaction that decided it; with ``chave`` a second of the same key is dropped."""
    statement = insert(outbox).values(
        conversa=conversa,
        mensagem=mensagem,
        sessao_id=sessao_id,
        chave=chave,
        bloqueia=bloqueia,
        correlacao=correlacao,
    )
    await connection.execute(statement.on_conflict_do_nothing(index_elements=[outbox.c.chave]))


_CLAIM = sa.text("""
WITH due AS (
    SELECT o.id FROM outbox o
    WHERE o.run_at <= now() AND (o.lease_until IS NULL OR o.lease_until < now())
      AND NOT EXISTS (
          SELECT 1 FROM outbox p
          WHERE p.conversa = o.conversa AND p.id < o.id AND p.run_at IS NOT NULL AND (p.bloqueia OR NOT o.bloqueia)
      )
    ORDER BY o.run_at LIMIT :limit FOR UPDATE OF o SKIP LOCKED
)
UPDATE outbox o SET lease_until = now() + make_interval(secs => :lease), epoch = o.epoch + 1
FROM due, conversas c
WHERE o.id = due.id AND c.conversa = o.conversa AND o.run_at IS NOT NULL
RETURNING o.id, o.epoch, o.mensagem, o.tentativas, o.criado_em, o.conversa, o.sessao_id, o.correlacao, c.endereco,
          now() AS agora
""")


async def claim(connection: AsyncConnection, limit: int) -> list[Saida]:
    """Take due messages; of one conversation only the oldest, so that its messages leave in order."""
    rows = await connection.execute(_CLAIM, {"limit": limit, "lease": LEASE_SECONDS})
    return [Saida(**row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's public name for it


async def renew(connection: AsyncConnection, saida: Saida) -> bool:
    """Extend the lease from now; False when it was given back or is another's."""
    changed = await connection.execute(
        outbox.update()
        .where(outbox.c.id == saida.id, outbox.c.epoch == saida.epoch, outbox.c.lease_until.is_not(None))
        .values(lease_until=sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, LEASE_SECONDS))
    )
    return changed.rowcount == 1


async def sent(connection: AsyncConnection, saida: Saida, wamid: str) -> None:
    """Meta took it. A status webhook may have said so before us; then its tick stands."""
    await connection.execute(
        outbox.update()
        .where(outbox.c.id == saida.id)
        .values(
            wamid=wamid,
            status=_forward("enviado"),
            enviado_em=sa.func.now(),
            run_at=None,
            lease_until=None,
            tentativas=outbox.c.tentativas + 1,
        )
    )


async def again(
    connection: AsyncConnection,
    saida: Saida,
    seconds: float,
    *,
    erro: str,
    codigo: int | None = None,
    incerto: bool = False,
    conta: bool = True,
) -> None:
    """Try later; ``incerto`` when it may have left, so that a status webhook can still settle it first."""
    await connection.execute(
        outbox.update()
        .where(outbox.c.id == saida.id, outbox.c.epoch == saida.epoch, outbox.c.run_at.is_not(None))
        .values(
            status=_forward("incerto") if incerto else outbox.c.status,
            run_at=sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds),
            lease_until=None,
            tentativas=outbox.c.tentativas + (1 if conta else 0),
            erro=erro,
            erro_codigo=codigo,
        )
    )


async def give_up(connection: AsyncConnection, saida: Saida, *, erro: str, codigo: int | None) -> None:
    """It can't be sent; it stays on record for people."""
    await connection.execute(
        outbox.update()
        .where(outbox.c.id == saida.id, outbox.c.epoch == saida.epoch)
        .values(status="falhou", run_at=None, lease_until=None, erro=erro, erro_codigo=codigo)
    )


async def without_caption(connection: AsyncConnection, saida: Saida) -> None:
    """Take the caption off a document whose result had to be told before it was ready."""
    await connection.execute(
        outbox.update().where(outbox.c.id == saida.id).values(mensagem={**saida.mensagem, "legenda": None})
    )


async def tick(
    connection: AsyncConnection, *, outbox_id: int | None, wamid: str, status: str, codigo: int | None, erro: str | None
) -> bool:
    """Apply a status webhook; an older tick than the one we have changes nothing. Says whether it was ours."""
    key = (outbox.c.wamid == wamid) if outbox_id is None else (outbox.c.id == outbox_id)
    changed = await connection.execute(
        outbox.update()
        .where(key)
        .values(
            wamid=sa.func.coalesce(outbox.c.wamid, wamid),
            status=_forward(status),
            run_at=None,
            erro_codigo=codigo if codigo is not None else outbox.c.erro_codigo,
            erro=erro if erro is not None else outbox.c.erro,
        )
    )
    return bool(changed.rowcount)


def _forward(status: str) -> Any:
    rank = sa.case(ORDEM, value=outbox.c.status, else_=0)
    return sa.case((rank < ORDEM[status], status), else_=outbox.c.status)
