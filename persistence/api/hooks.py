"""Keeps where a company's other systems are told what became of notes and proposals, and what is still to be told.

A happening is one row for each endpoint that asked for it, stored by the transaction that settles it. Whom and what it
is about is read when it is sent: an erased person stands in no row of ours.
"""

from __future__ import annotations

import base64
import secrets
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

import sqlalchemy as sa

from persistence.claims import Leases
from persistence.crypto import Lugar, UnreadableSecretError, Vault
from persistence.db.clock import in_seconds
from persistence.db.connection import Connection, Write
from persistence.tables import EstadoEntrega, empresa, webhook, webhook_entrega
from state_machine.proposal import EstadoProposta
from state_machine.protocol.channel import Ambiente
from state_machine.values.errors import ProsaError

# ruff: noqa: S608 - every statement is made of words of this module alone; values are bound

DaNota = Literal["nota.autorizada", "nota.cancelada", "nota.recusada"]
Evento = Literal[DaNota, "proposta.recusada", "proposta.expirada"]
MOST: Final = 20  # endpoints of a company in one environment
KEPT: Final = timedelta(days=30)  # what was delivered, or given up, and can be asked for again until then
PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
_W, _D = webhook.c, webhook_entrega.c
TOLD: Final = (EstadoProposta.RECUSADA, EstadoProposta.EXPIRADA)  # a session that ends so ends its proposal

# The proposal is the one of the note's session, or of a session that repairs it and has its place by now.
_PROPOSAL = """(WITH RECURSIVE s (id) AS (
        SELECT e.sessao_id UNION SELECT n.sessao_id FROM session_snapshot n JOIN s ON n.origem = s.id
    ) SELECT p.id FROM propostas p
    WHERE p.sessao_id = ANY(ARRAY(SELECT id FROM s)) AND p.empresa_id = e.prestador_id LIMIT 1)"""


def _of_note(which: str) -> str:
    return f"""
INSERT INTO webhook_entrega (webhook_id, evento, chave, emissao_id, proposta_id)
SELECT w.id, $1::text, $1::text || ':' || e.id, e.id, {_PROPOSAL}
FROM nfse_emissao e JOIN webhook w ON w.empresa_id = e.prestador_id AND w.ambiente = coalesce(e.ambiente, w.ambiente)
WHERE e.id = {which} AND w.desligado_em IS NULL AND $1::text = ANY(w.eventos)
ON CONFLICT DO NOTHING"""


_NOTE = _of_note("$2::bigint")
_REPLACED = _of_note("(SELECT n.substitui_id FROM nfse_emissao n WHERE n.id = $2::bigint)")
_OF_PROPOSALS = f"""
INSERT INTO webhook_entrega (webhook_id, evento, chave, proposta_id)
SELECT w.id, 'proposta.' || p.estado, 'proposta:' || p.id || ':' || p.versao, p.id
FROM propostas p JOIN webhook w ON w.empresa_id = p.empresa_id AND w.ambiente = p.ambiente
WHERE {{}} AND p.estado IN ('{TOLD[0]}', '{TOLD[1]}') AND w.desligado_em IS NULL
    AND 'proposta.' || p.estado = ANY(w.eventos)
ON CONFLICT DO NOTHING"""
_OF_SESSION, _OF_IDS = _OF_PROPOSALS.format("p.sessao_id = $1"), _OF_PROPOSALS.format("p.id = ANY($1::bigint[])")


def tell_note(connection: Connection, evento: DaNota, emissao_id: int, *, substituida: bool = False) -> None:
    """Have the company's systems told of an emission, when the transaction commits; each of them once.

    ``substituida``: of the one whose note this emission's takes the place of.
    """
    sql = _REPLACED if substituida else _NOTE
    connection.later_write(Write(sql, (evento, emissao_id), "webhook_entrega", returns=False))


def tell_proposal(connection: Connection, sessao_id: str) -> None:
    """Have them told how a session's proposal ended, as it stands when the transaction commits."""
    # onto its table, so that it is written after what the same transaction makes of the proposal
    connection.later_write(Write(_OF_SESSION, (sessao_id,), "propostas", returns=False))


async def tell_proposals(connection: Connection, ids: Sequence[int]) -> None:
    """Have them told how these proposals ended."""
    await connection.exec_driver_sql(_OF_IDS, (list(ids),))


class TooManyHooksError(ProsaError):
    """The company has as many endpoints as it may."""

    code = "too_many_hooks"


def _place(webhook_id: uuid.UUID) -> Lugar:
    return Lugar("webhook", "segredo", str(webhook_id))


async def add(
    connection: Connection, cofre: Vault, empresa_id: int, quem: str, url: str, eventos: Sequence[Evento]
) -> tuple[uuid.UUID, str]:
    """Store an endpoint; return its id and, for the only time, its secret.

    Raises ``TooManyHooksError`` and ``NoMasterKeyError``.
    """
    webhook_id, secret = uuid.uuid4(), PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    sealed = cofre.seal(secret, _place(webhook_id))
    await connection.execute(sa.select(empresa.c.id).where(empresa.c.id == empresa_id).with_for_update(key_share=True))
    row = {"id": webhook_id, "empresa_id": empresa_id, "url": url, "eventos": list(eventos), "segredo": sealed}
    made = await connection.execute(webhook.insert().values(**row, usuario=quem).returning(_W.ambiente))
    same = sa.select(sa.func.count()).where(_W.empresa_id == empresa_id, _W.ambiente == made.scalar_one())
    if await connection.scalar(same) > MOST:
        raise TooManyHooksError
    return webhook_id, secret


def _own(empresa_id: int, ambiente: Ambiente) -> tuple[sa.ColumnElement[bool], ...]:
    return _W.empresa_id == empresa_id, _W.ambiente == ambiente.value


_LAST = (
    sa.select(_D.webhook_id, _D.falha, _D.evento, _D.atualizado_em)
    .where(_D.webhook_id == _W.id, _D.falha.is_not(None), _D.estado != EstadoEntrega.ENTREGUE)
    .order_by(_D.atualizado_em.desc())
    .limit(1)
    .lateral()
)


def _count(estado: EstadoEntrega) -> sa.ScalarSelect[Any]:
    counted = sa.select(sa.func.count()).select_from(webhook_entrega)
    return counted.where(_D.webhook_id == _W.id, _D.estado == estado).correlate(webhook).scalar_subquery()


async def of_company(connection: Connection, empresa_id: int, ambiente: Ambiente) -> Sequence[Any]:
    """Return a company's endpoints, the oldest first, with what waits, what was given up, and the latest failure."""
    last = (_LAST.c.falha, _LAST.c.evento.label("falha_evento"), _LAST.c.atualizado_em.label("falha_em"))
    told = (_W.id, _W.url, _W.eventos, _W.criado_em, _W.desligado_em, *last)
    found = sa.select(
        *told, _count(EstadoEntrega.PENDENTE).label("pendentes"), _count(EstadoEntrega.DESISTIDA).label("desistidas")
    )
    found = found.select_from(webhook.outerjoin(_LAST, sa.true()))
    return (await connection.execute(found.where(*_own(empresa_id, ambiente)).order_by(_W.criado_em, _W.id))).all()


async def remove(connection: Connection, empresa_id: int, ambiente: Ambiente, webhook_id: uuid.UUID) -> bool:
    """Delete an endpoint of the company with all that it was to be told; says whether there was one."""
    gone = webhook.delete().where(_W.id == webhook_id, *_own(empresa_id, ambiente))
    return (await connection.execute(gone)).rowcount == 1


async def resend(connection: Connection, empresa_id: int, ambiente: Ambiente, webhook_id: uuid.UUID) -> int | None:
    """Have an endpoint told again what it did not take, under the same ids, and on from now, if it was gone.

    Returns how many that are; ``None`` where the company has no such endpoint.
    """
    on = webhook.update().where(_W.id == webhook_id, *_own(empresa_id, ambiente)).values(desligado_em=None)
    if (await connection.execute(on)).rowcount != 1:
        return None
    free = sa.or_(_D.lease_until.is_(None), _D.lease_until < sa.func.now())
    failed = _D.webhook_id == webhook_id, _D.estado != EstadoEntrega.ENTREGUE, _D.tentativas > 0, free
    again = {
        "estado": EstadoEntrega.PENDENTE,
        "tentativas": 0,
        "a_partir_de": sa.func.now(),
        "atualizado_em": sa.func.now(),
    }
    return (await connection.execute(webhook_entrega.update().where(*failed).values(again))).rowcount


@dataclass(frozen=True, slots=True)
class TakenDelivery:
    """A delivery in a worker's hands; ``epoch`` is the fencing token, ``row`` what there is to tell, and to whom."""

    id: uuid.UUID
    epoch: int
    webhook_id: uuid.UUID
    tentativas: int  # with this one
    url: str
    segredo: str | None  # ``None``: no master key opens it
    row: Any
    taken_at: float  # our monotonic clock


LEASES: Final[Leases[TakenDelivery]] = Leases(webhook_entrega, _D.estado == EstadoEntrega.PENDENTE)
_FREE = "(d.lease_until IS NULL OR d.lease_until < now())"
_DUE = f"d.estado = '{EstadoEntrega.PENDENTE}' AND d.a_partir_de <= now() AND {_FREE}"
# The company of which fewest are under way goes first, and has half of the places at most: its server may be slow.
_CLAIM = f"""
WITH em_curso AS (
    SELECT w.empresa_id, count(*) AS quantas FROM webhook_entrega d JOIN webhook w ON w.id = d.webhook_id
    WHERE d.estado = '{EstadoEntrega.PENDENTE}' AND d.lease_until > now() GROUP BY 1
), fila AS (
    SELECT d.id, d.a_partir_de, coalesce(c.quantas, 0)
        + row_number() OVER (PARTITION BY w.empresa_id ORDER BY d.a_partir_de, d.id) AS lugar
    FROM webhook_entrega d JOIN webhook w ON w.id = d.webhook_id LEFT JOIN em_curso c ON c.empresa_id = w.empresa_id
    WHERE {_DUE}
), vez AS (
    SELECT d.id FROM webhook_entrega d JOIN fila f ON f.id = d.id WHERE f.lugar <= $2::int AND {_DUE}
    ORDER BY f.lugar, f.a_partir_de LIMIT $1::int FOR UPDATE OF d SKIP LOCKED
), d AS (
    UPDATE webhook_entrega d SET epoch = epoch + 1, tentativas = tentativas + 1, atualizado_em = now(),
        lease_until = now() + make_interval(secs => $3::float8)
    FROM vez WHERE d.id = vez.id RETURNING d.*
)
SELECT d.id, d.epoch, d.webhook_id, d.tentativas, d.evento, d.criado_em, d.proposta_id, w.url, w.segredo, m.cnpj,
    n.numero, n.chave, coalesce(e.valor_servico, p.valor) AS valor, coalesce(c.razao_social, k.nome) AS nome,
    coalesce(e.tomador_documento, k.documento) AS documento,
    CASE WHEN e.canal IN ('nfe', 'nfce') THEN e.canal ELSE coalesce(p.documento_fiscal, 'nfse') END AS documento_fiscal
FROM d JOIN webhook w ON w.id = d.webhook_id JOIN empresa m ON m.id = w.empresa_id
LEFT JOIN nfse_emissao e ON e.id = d.emissao_id LEFT JOIN cliente_tomador c ON c.id = e.tomador_id
LEFT JOIN nfse_processada n ON n.emissao_id = e.id
LEFT JOIN propostas p ON p.id = d.proposta_id AND d.emissao_id IS NULL LEFT JOIN clientes k ON k.id = p.cliente_id
"""


async def claim(connection: Connection, cofre: Vault, free: int, of_one: int) -> list[TakenDelivery]:
    """Take up to ``free`` deliveries that are due; ``of_one`` company has so many under way at most."""
    now = time.monotonic()
    rows = (await connection.exec_driver_sql(_CLAIM, (free, of_one, LEASES.seconds))).all()
    return [
        TakenDelivery(row.id, row.epoch, row.webhook_id, row.tentativas, row.url, _opened(cofre, row), row, now)
        for row in rows
    ]


def _opened(cofre: Vault, row: Any) -> str | None:
    try:
        return cofre.open(row.segredo, _place(row.webhook_id)) if cofre else None
    except UnreadableSecretError:
        return None


_OURS = webhook_entrega.update().where(
    _D.id == sa.bindparam("b_id"), _D.epoch == sa.bindparam("b_epoch"), _D.estado == EstadoEntrega.PENDENTE
)
_ENDED: dict[str, Any] = {"lease_until": None, "atualizado_em": sa.func.now()}
_DONE = _OURS.values(**_ENDED, estado=EstadoEntrega.ENTREGUE, falha=None)
_FAILED = _OURS.values(
    **_ENDED,
    estado=sa.case(
        (sa.bindparam("b_seconds", type_=sa.Float).is_(None), EstadoEntrega.DESISTIDA), else_=EstadoEntrega.PENDENTE
    ),
    falha=sa.bindparam("b_falha", type_=sa.Text),
    a_partir_de=sa.func.coalesce(in_seconds("b_seconds"), sa.func.now()),
)


async def delivered(connection: Connection, delivery: TakenDelivery) -> bool:
    """Note that it was taken; says whether it was still ours."""
    return (await connection.execute(_DONE, LEASES.fence(delivery))).rowcount == 1


async def failed(connection: Connection, delivery: TakenDelivery, falha: str, seconds: float | None) -> bool:
    """Note why it was not, and try again after so long, or, ``None``, no more; says whether it was still ours."""
    values = {**LEASES.fence(delivery), "b_falha": falha, "b_seconds": seconds}
    return (await connection.execute(_FAILED, values)).rowcount == 1


async def gone(connection: Connection, delivery: TakenDelivery, falha: str) -> bool:
    """Note that the endpoint is no more: it is told nothing until somebody asks for it again."""
    if not await failed(connection, delivery, falha, None):
        return False
    await connection.execute(webhook.update().where(_W.id == delivery.webhook_id).values(desligado_em=sa.func.now()))
    rest = webhook_entrega.update().where(_D.webhook_id == delivery.webhook_id, _D.estado == EstadoEntrega.PENDENTE)
    await connection.execute(
        rest.values(**_ENDED, estado=EstadoEntrega.DESISTIDA, tentativas=_D.tentativas + 1, falha=falha)
    )
    return True


async def forget(connection: Connection) -> int:
    """Delete what was delivered or given up long ago; return how many."""
    old = webhook_entrega.delete().where(_D.estado != EstadoEntrega.PENDENTE, _D.atualizado_em < sa.func.now() - KEPT)
    return (await connection.execute(old)).rowcount


async def rekey(connection: Connection, cofre: Vault) -> tuple[int, list[str]]:
    """Seal every secret under the newest master key; returns how many, and the URLs of those that do not open."""
    done, lost = 0, []
    for row in await connection.execute(sa.select(_W.id, _W.url, _W.segredo).with_for_update()):
        try:
            secret = cofre.open(row.segredo, _place(row.id))
        except UnreadableSecretError:
            lost.append(row.url)
            continue
        if cofre.is_stale(row.segredo):
            anew = webhook.update().where(_W.id == row.id).values(segredo=cofre.seal(secret, _place(row.id)))
            await connection.execute(anew)
            done += 1
    return done, lost
