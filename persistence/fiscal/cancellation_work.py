"""Keeps who is at work on a confirmed cancellation, and what the gateway said of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.claims import slots
from persistence.claims.leases import Leases, OrderLeaseLostError, Taken, taken
from persistence.tables import cancelamento, nfse_emissao, nfse_processada
from state_machine.cancellation.machine import Codigo, EstadoCancelamento, MotivoCancelamento
from state_machine.cancellation.reconciliation import AndamentoCancelamento, Envio
from state_machine.protocol.channel import PRIMEIRO
from state_machine.protocol.origin import CONVERSA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from persistence.db.connection import Connection
    from state_machine.cancellation.reconciliation import PassoCancelamento


@dataclass(frozen=True, slots=True)
class TarefaCancelamento(Taken):
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
            **taken(row, row.emissao_id, tomada_em),
            id_externo=row.id_externo,
            motivo=MotivoCancelamento(Codigo(row.codigo), row.motivo),
            andamento=AndamentoCancelamento(
                Envio(row.era),
                row.confirmado_em,
                row.consultas,
                row.envios,
                row.vigente_desde,
                row.avisado_em is not None,
                row.protocolo,
                row.recusa,
                row.recusas,
            ),
        )
        for row in rows
    ]


_C = cancelamento.c
LEASES: Leases[TarefaCancelamento] = Leases(
    cancelamento, _C.estado == EstadoCancelamento.PENDENTE, was={"envio": attrgetter("andamento.envio")}
)
_SETTLE = LEASES.settlement()
_PROTOCOL = nfse_processada.update().where(nfse_processada.c.emissao_id == sa.bindparam("b_emissao"))


def _hint(key: sa.Column[Any]) -> sa.Update:
    concerned = sa.select(nfse_emissao.c.id).where(key == sa.bindparam("b_nota"))
    waits = _C.estado == EstadoCancelamento.PENDENTE, _C.envio != Envio.A_ENVIAR
    seen = cancelamento.update().where(_C.emissao_id.in_(concerned), *waits)
    return seen.values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())


_HINT = {True: _hint(nfse_emissao.c.id_integracao), False: _hint(nfse_emissao.c.id_externo)}


async def settle(
    connection: Connection, tarefa: TarefaCancelamento, passo: PassoCancelamento, resposta: str | None
) -> None:
    """Store what followed and give the lease back; ``resposta`` is the JSON received, as storable text.

    Raises ``OrderLeaseLostError`` for a late commit.
    """
    novo = passo.andamento
    values: dict[str, Any] = {
        **LEASES.fence(tarefa),
        "envio": novo.envio,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "vigente_desde": novo.vigente_desde,
        "protocolo": novo.protocolo,
        "recusa": novo.recusa,
        "recusas": novo.recusas,
        "b_atenta": passo.daqui is not None and novo.envio is not Envio.A_ENVIAR,
        "b_seconds": passo.daqui,
        "b_motivo": passo.motivo,
        "b_resposta": resposta,
        "b_avisado": novo.avisado and not tarefa.andamento.avisado,
    }
    if (await connection.execute(_SETTLE, values)).rowcount != 1:
        raise OrderLeaseLostError(tarefa.id)
    if novo.protocolo and novo.protocolo != tarefa.andamento.protocolo:
        protocol = {"b_emissao": tarefa.emissao_id, "protocolo_cancelamento": novo.protocolo}
        await connection.execute(_PROTOCOL, protocol)


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None) -> int:
    """A webhook spoke of a note: whoever waits for its cancellation looks at once; returns how many that were."""
    nota = {"b_nota": id_integracao or id_externo or ""}
    return (await connection.execute(_HINT[bool(id_integracao)], nota)).rowcount
