"""Keeps who is at work on a confirmed cancellation, and what the gateway said of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.db.moments import in_seconds
from persistence.people.channels import canal_of
from persistence.queue import slots
from persistence.tables import cancelamento, nfse_emissao, nfse_processada
from state_machine.cancellation.machine import Codigo, EstadoCancelamento, MotivoCancelamento
from state_machine.cancellation.reconciliation import AndamentoCancelamento, Envio
from state_machine.protocol.channel import PRIMEIRO
from state_machine.protocol.origin import CONVERSA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from persistence.db.connection import Connection
    from state_machine.cancellation.reconciliation import PassoCancelamento

LEASE_SECONDS = 15.0  # renewed while a gateway call lasts; a dead worker's cancellations wait this long


class CancellationLeaseLostError(slots.OrderLeaseLostError):
    """Somebody else took this cancellation over."""

    code = "cancellation_lease_lost"


@dataclass(frozen=True, slots=True)
class TarefaCancelamento(slots.Taken):
    """A cancellation under our lease; ``andamento`` as it was before we took it."""

    id_externo: str
    motivo: MotivoCancelamento
    andamento: AndamentoCancelamento


async def claim(
    connection: Connection,
    livres: int,
    lease_seconds: float,
    ocupadas: Mapping[int, int],
    canais: Collection[str] = (PRIMEIRO,),
    origens: Collection[str] = (CONVERSA,),
) -> list[TarefaCancelamento]:
    """Take what is due, each company its share of the ``livres`` slots: ``ocupadas`` says how many it holds (by id).

    One to be sent is stored as ``enviando`` before anybody may send it.
    """
    tomada_em = time.monotonic()
    values = {**slots.shares(livres, ocupadas, canais, origens), "lease": lease_seconds}
    rows = await connection.execute(slots.CLAIM_CANCELLATIONS, values)
    return [
        TarefaCancelamento(
            row.id,
            row.epoch,
            row.emissao_id,
            row.prestador_id,
            row.prestador_cnpj,
            row.id_integracao,
            row.chave_natural or row.id_integracao,
            canal_of(row.canal, row.ambiente),
            row.origem if row.conversa is None else CONVERSA,  # who asked for it in a chat is told there
            row.sessao_id,
            row.conversa,
            row.correlacao,
            tomada_em,
            row.id_externo,
            MotivoCancelamento(Codigo(row.codigo), row.motivo),
            AndamentoCancelamento(
                Envio(row.era),
                row.confirmado_em,
                row.consultas,
                row.envios,
                row.vigente_desde,
                row.avisado_em is not None,
                row.protocolo,
                row.recusa,
            ),
        )
        for row in rows
    ]


_C = cancelamento.c
# Changes it only while nobody else took it over since: the epoch is the fence.
_OURS = cancelamento.update().where(
    _C.id == sa.bindparam("b_id"), _C.epoch == sa.bindparam("b_epoch"), _C.estado == EstadoCancelamento.PENDENTE
)
_RENEW = _OURS.where(_C.lease_until.is_not(None)).values(lease_until=in_seconds("b_seconds"))
_GIVE_BACK = _OURS.values(lease_until=None, proxima_acao_em=sa.func.now())
_SETTLE = _OURS.values(
    lease_until=None,
    # A hint that came while we were at work asks for one more look; it is no reason to send earlier.
    proxima_acao_em=sa.case(
        (sa.and_(sa.bindparam("b_atenta", type_=sa.Boolean), _C.dica_em.is_not(None)), sa.func.now()),
        else_=in_seconds("b_seconds"),
    ),
    erro_mensagem=sa.func.coalesce(sa.bindparam("b_motivo", type_=sa.Text), _C.erro_mensagem),
    resposta_gateway=sa.func.coalesce(sa.cast(sa.bindparam("b_resposta", type_=sa.Text), JSONB), _C.resposta_gateway),
    avisado_em=sa.case((sa.bindparam("b_avisado", type_=sa.Boolean), sa.func.now()), else_=_C.avisado_em),
)
_PROTOCOL = nfse_processada.update().where(nfse_processada.c.emissao_id == sa.bindparam("b_emissao"))


def _hint(key: sa.Column[Any]) -> sa.Update:
    concerned = sa.select(nfse_emissao.c.id).where(key == sa.bindparam("b_nota"))
    waits = _C.estado == EstadoCancelamento.PENDENTE, _C.envio != Envio.A_ENVIAR
    seen = cancelamento.update().where(_C.emissao_id.in_(concerned), *waits)
    return seen.values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())


_HINT = {True: _hint(nfse_emissao.c.id_integracao), False: _hint(nfse_emissao.c.id_externo)}


def _ours(tarefa: TarefaCancelamento) -> dict[str, Any]:
    return {"b_id": tarefa.id, "b_epoch": tarefa.epoch}


async def renew(connection: Connection, tarefa: TarefaCancelamento) -> bool:
    """Extend the lease from now; False when it was given back or is another's."""
    return (await connection.execute(_RENEW, {**_ours(tarefa), "b_seconds": LEASE_SECONDS})).rowcount == 1


async def give_back(connection: Connection, tarefa: TarefaCancelamento) -> None:
    """Return one that was taken and not sent: it is due again as it was."""
    await connection.execute(_GIVE_BACK, {**_ours(tarefa), "envio": tarefa.andamento.envio})


async def settle(
    connection: Connection, tarefa: TarefaCancelamento, passo: PassoCancelamento, resposta: str | None
) -> None:
    """Store what followed and give the lease back; ``resposta`` is the JSON received, as storable text.

    Raises ``CancellationLeaseLostError`` for a late commit.
    """
    novo = passo.andamento
    values: dict[str, Any] = {
        **_ours(tarefa),
        "envio": novo.envio,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "vigente_desde": novo.vigente_desde,
        "protocolo": novo.protocolo,
        "recusa": novo.recusa,
        "b_atenta": passo.daqui is not None and novo.envio is not Envio.A_ENVIAR,
        "b_seconds": passo.daqui,
        "b_motivo": passo.motivo,
        "b_resposta": resposta,
        "b_avisado": novo.avisado and not tarefa.andamento.avisado,
    }
    if (await connection.execute(_SETTLE, values)).rowcount != 1:
        raise CancellationLeaseLostError(tarefa.id)
    if novo.protocolo and novo.protocolo != tarefa.andamento.protocolo:
        protocol = {"b_emissao": tarefa.emissao_id, "protocolo_cancelamento": novo.protocolo}
        await connection.execute(_PROTOCOL, protocol)


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None) -> int:
    """A webhook spoke of a note: whoever waits for its cancellation looks at once; returns how many that were."""
    nota = {"b_nota": id_integracao or id_externo or ""}
    return (await connection.execute(_HINT[bool(id_integracao)], nota)).rowcount
