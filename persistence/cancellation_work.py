"""Keeps who is at work on a confirmed cancellation, and what the gateway said of it; judges none of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.tables import cancelamento, nfse_emissao, nfse_processada
from state_machine.cancelamento import Codigo, EstadoCancelamento, Motivo
from state_machine.cancelamento_envio import Andamento, Envio
from state_machine.emission import NaturalKey

if TYPE_CHECKING:
    from persistence.connection import Connection
    from state_machine.cancelamento_envio import Passo

LEASE_SECONDS = 15.0  # renewed while a gateway call lasts; a dead worker's cancellations wait this long


class CancellationLeaseLostError(Exception):
    """Somebody else took this cancellation over; what we learnt is theirs to learn again."""


@dataclass(frozen=True, slots=True)
class Tarefa:
    """A cancellation under our lease; ``andamento`` as it was before we took it."""

    id: int
    epoch: int
    emissao_id: int
    conversa: str
    key: NaturalKey
    id_externo: str
    motivo: Motivo
    correlacao: str | None
    andamento: Andamento
    tomada_em: float  # our monotonic clock when we took it, to notice that we were frozen


_CLAIM = sa.text("""
WITH due AS (
    SELECT id, envio FROM cancelamento
    WHERE proxima_acao_em <= now() AND (lease_until IS NULL OR lease_until < now())
    ORDER BY proxima_acao_em LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE cancelamento c
SET lease_until = now() + make_interval(secs => :lease), epoch = c.epoch + 1, dica_em = NULL,
    envio = CASE WHEN c.envio = 'a_enviar' THEN 'enviando' ELSE c.envio END
FROM due, nfse_emissao e, nfse_processada p
WHERE c.id = due.id AND e.id = c.emissao_id AND p.emissao_id = e.id
RETURNING c.*, due.envio AS era, e.prestador_cnpj, e.id_integracao, p.id_externo
""")


async def claim(connection: Connection, limit: int, lease_seconds: float) -> list[Tarefa]:
    """Take what is due. One to be sent is stored as ``enviando`` before anybody may send it."""
    tomada_em = time.monotonic()
    rows = await connection.execute(_CLAIM, {"limit": limit, "lease": lease_seconds})
    return [
        Tarefa(
            row.id,
            row.epoch,
            row.emissao_id,
            row.conversa,
            NaturalKey(row.prestador_cnpj, row.id_integracao),
            row.id_externo,
            Motivo(Codigo(row.codigo), row.motivo),
            row.correlacao,
            Andamento(
                Envio(row.era),
                row.confirmado_em,
                row.consultas,
                row.envios,
                row.vigente_desde,
                row.avisado_em is not None,
                row.protocolo,
                row.recusa,
            ),
            tomada_em,
        )
        for row in rows
    ]


def _ours(tarefa: Tarefa) -> sa.Update:
    """Change it only while nobody else took it over since: the epoch is the fence."""
    return cancelamento.update().where(
        cancelamento.c.id == tarefa.id,
        cancelamento.c.epoch == tarefa.epoch,
        cancelamento.c.estado == EstadoCancelamento.PENDENTE,
    )


def _in_seconds(seconds: float) -> Any:
    return sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


async def renew(connection: Connection, tarefa: Tarefa) -> bool:
    """Extend the lease from now; False when it was given back or is another's."""
    held = _ours(tarefa).where(cancelamento.c.lease_until.is_not(None))
    return (await connection.execute(held.values(lease_until=_in_seconds(LEASE_SECONDS)))).rowcount == 1


async def give_back(connection: Connection, tarefa: Tarefa) -> None:
    """Return one that was taken and not sent: it is due again as it was."""
    back = {"envio": tarefa.andamento.envio, "lease_until": None, "proxima_acao_em": sa.func.now()}
    await connection.execute(_ours(tarefa).values(**back))


async def settle(connection: Connection, tarefa: Tarefa, passo: Passo, resposta: Any) -> None:
    """Store what followed and give the lease back. Raises ``CancellationLeaseLostError`` for a late commit."""
    novo = passo.andamento
    daqui = sa.null() if passo.daqui is None else _in_seconds(passo.daqui)
    values: dict[str, Any] = {
        "envio": novo.envio,
        "consultas": novo.consultas,
        "envios": novo.envios,
        "vigente_desde": novo.vigente_desde,
        "protocolo": novo.protocolo,
        "recusa": novo.recusa,
        "lease_until": None,
        # A hint that came while we were at work asks for one more look; it is no reason to send earlier.
        "proxima_acao_em": daqui
        if passo.daqui is None or novo.envio is Envio.A_ENVIAR
        else sa.case((cancelamento.c.dica_em.is_not(None), sa.func.now()), else_=daqui),
    }
    if passo.motivo is not None:
        values["erro_mensagem"] = passo.motivo
    if resposta is not None:
        values["resposta_gateway"] = resposta
    if novo.avisado and not tarefa.andamento.avisado:
        values["avisado_em"] = sa.func.now()
    if (await connection.execute(_ours(tarefa).values(**values))).rowcount != 1:
        raise CancellationLeaseLostError(tarefa.id)
    if novo.protocolo and novo.protocolo != tarefa.andamento.protocolo:
        await connection.execute(
            nfse_processada.update()
            .where(nfse_processada.c.emissao_id == tarefa.emissao_id)
            .values(protocolo_cancelamento=novo.protocolo)
        )


async def hint(connection: Connection, id_integracao: str | None, id_externo: str | None) -> int:
    """A webhook spoke of a note: whoever waits for its cancellation looks at once; returns how many that were."""
    key = (
        nfse_emissao.c.id_integracao == id_integracao
        if id_integracao
        else nfse_emissao.c.id_externo == (id_externo or "")
    )
    concerned = sa.select(nfse_emissao.c.id).where(key)
    changed = await connection.execute(
        cancelamento.update()
        .where(
            cancelamento.c.emissao_id.in_(concerned),
            cancelamento.c.estado == EstadoCancelamento.PENDENTE,
            cancelamento.c.envio != Envio.A_ENVIAR,
        )
        .values(dica_em=sa.func.now(), proxima_acao_em=sa.func.now())
    )
    return changed.rowcount
