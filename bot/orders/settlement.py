"""Stores what follows from an answer about an emission: idempotency record, suspension, note, news."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import structlog

from bot.orders.cancellation_news import seen_cancelled
from bot.orders.origins import News
from persistence.fiscal import attempts, issued, notes, suspension
from persistence.fiscal.emissions import NADA_OUVIDO, Ouvido
from persistence.fiscal.numbers import restored
from persistence.idempotency import gateway_operations
from persistence.rows.inbox_rows import EmissionRow
from state_machine.documents.service import mostra_conteudo
from state_machine.protocol.emission import (
    Accepted,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotSent,
    Postponed,
    Situacao,
    StatusEmissao,
    Unknown,
)
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from bot.orders.order import Call, OrderParts
    from gateway.port import FiscalGateway
    from persistence.db.connection import Connection
    from persistence.fiscal.emissions import Tarefa
    from state_machine.protocol.channel import Leiaute
    from state_machine.protocol.emission import Finding, Outcome, Rejected
    from state_machine.protocol.standing import Passo

# A note stands under the number that was drawn for it, unless a forgotten submission made it under another. What was
# refused leaves its number to the next attempt.
_UNDER_ITS_NUMBER = frozenset({StatusEmissao.CONCLUIDO, StatusEmissao.CONFLITO})

log = structlog.get_logger(__name__)


async def close_record(
    connection: Connection, tarefa: Tarefa, passo: Passo, answer: Outcome | Finding, rodada: int
) -> None:
    """Let the idempotency record say what the emission's row says; the ``rodada``-th failure is logged as an error."""
    operation, status = tarefa.operation, passo.andamento.status
    match status:
        case StatusEmissao.ENVIADO | StatusEmissao.CONCLUIDO:
            gateway_operations.succeed(connection, operation, _result(tarefa, passo, answer))
        case StatusEmissao.REJEITADO:
            await gateway_operations.fail(connection, operation, passo.motivo or "rejected")
        case StatusEmissao.PENDENTE if isinstance(answer, NotSent | Postponed | Misconfigured):
            tries = 1 + await gateway_operations.fail(connection, operation, passo.motivo or "")
            if tries == rodada:  # said once: from now on somebody should look
                log.error("emission_not_getting_through", emissao_id=tarefa.id, tries=tries, motivo=passo.motivo)
        case _:
            gateway_operations.leave_open(connection, operation, passo.motivo)


async def stop_or_go(connection: Connection, tarefa: Tarefa, answer: Outcome | Finding) -> None:
    """Stop the company's submissions when the gateway refuses us, and let them go when it no longer does."""
    if isinstance(answer, Misconfigured):
        await stop(connection, tarefa, answer.motivo)
    elif tarefa.suspenso is not None and not isinstance(answer, NotSent | Unknown | Postponed):
        waiting = await suspension.lift(connection, tarefa.prestador_id, tarefa.suspenso, tarefa.canal)
        log.info("company_resumed", emissao_id=tarefa.id, count=waiting)


async def stop(connection: Connection, tarefa: Tarefa, motivo: str) -> None:
    """Stop the company's submissions: without its repair nothing goes out."""
    if await suspension.suspend(connection, tarefa.prestador_id, tarefa.canal, motivo):
        log.error("company_suspended", emissao_id=tarefa.id, motivo=motivo)


async def stop_layout(connection: Connection, gateway: FiscalGateway, tarefa: Tarefa, recusa: Rejected) -> None:
    """Stop an environment whose authority refuses the layout in force, until somebody says which one it takes.

    A document of another layout than today's was made before the change, and stops nothing.
    """
    leiaute = gateway.leiaute
    if leiaute is None:
        return
    leiaute.escolha, _ = await suspension.layout(connection, leiaute.ambiente)  # chosen while this call was under way
    now = leiaute.at(tarefa.clock.now().astimezone(SAO_PAULO).date())
    if leiaute.of(tarefa.payload) != now:
        return
    by_itself: Leiaute | None = ("1.01" if now == "nt009" else "nt009") if leiaute.sozinho else None
    if await suspension.stop_layout(connection, leiaute.ambiente, recusa.mensagem, by_itself):
        log.error(
            "layout_refused", ambiente=leiaute.ambiente, leiaute=now, motivo=recusa.mensagem, emissao_id=tarefa.id
        )


async def tell(connection: Connection, parts: OrderParts, tarefa: Tarefa, passo: Passo) -> None:
    """Store the note, and tell whoever ordered it, in the transaction that settles it."""
    outras: list[str] = []
    if passo.nota and passo.nota.situacao is Situacao.AUTORIZADA and passo.aviso == "autorizada":
        outras = await attempts.other_notes(connection, tarefa.sessao_id, tarefa.revisao, tarefa.id)
        notes.record_note(connection, tarefa.id, passo.nota, conteudo_visto=mostra_conteudo(passo.nota))
        if parts.channels.of(tarefa.canal).natureza.substitutes:
            issued.replaced(connection, tarefa.id)
    if outras:  # the worst that can happen: people must look, and the user gets both
        log.error("two_notes_of_one_confirmation", emissao_id=tarefa.id, count=1 + len(outras))
    if tarefa.numerada and passo.nota and passo.andamento.status in _UNDER_ITS_NUMBER:
        told = passo.nota.numero_rps if tarefa.restored else None  # else no submission of it was forgotten
        if await restored.stands_elsewhere(connection, tarefa.id, told):
            log.warning("note_under_another_number", emissao_id=tarefa.id)
    if passo.nota and passo.nota.situacao is Situacao.CANCELADA and passo.status is StatusEmissao.CONCLUIDO:
        await seen_cancelled(parts.origins, connection, tarefa)
    if passo.aviso is None:
        return
    explicacao = parts.channels.of(tarefa.canal).explain(passo.recusa) if passo.recusa is not None else None
    motivo = passo.texto if passo.aviso == "demorou" else passo.motivo
    row = EmissionRow(
        tarefa.sessao_id,
        tarefa.id,
        passo.aviso,
        passo.nota.numero if passo.nota else None,
        explicacao.texto if explicacao else motivo,
        (passo.outra,) if passo.outra else tuple(outras),
        explicacao.campo if explicacao else None,
        incerta=passo.texto is not None and passo.andamento.duvida,
        troca=explicacao is not None and explicacao.troca,
    )
    again = f":{tarefa.epoch}" if passo.aviso == "ainda_quer" else ""  # asked anew each day that it waits
    again = ":parada" if passo.texto is not None else again
    chave, correlacao = f"emissao:{tarefa.id}:{passo.aviso}{again}", tarefa.correlacao or tarefa.id_integracao
    news = News(tarefa.origem, tarefa.sessao_id, tarefa.conversa, row, chave, correlacao)
    await parts.origins.tell(connection, news)


def heard(call: Call[Outcome | Finding] | None) -> Ouvido:
    """Return the gateway's answer for the record; what tells nothing does not overwrite what told something."""
    if call is None or isinstance(call.answer, Unknown | CannotTell):
        return NADA_OUVIDO
    answer = call.answer
    shown = replace(answer, xml=None) if isinstance(answer, Found | Issued) else answer
    leitura = {"resultado": type(answer).__name__, **_plain(asdict(shown))}
    return Ouvido(call.told, leitura, _protocol(answer))


def _protocol(answer: Outcome | Finding) -> str | None:
    match answer:
        case Accepted(_, protocolo):
            return protocolo
        case Found(nota) | Issued(nota) | Duplicate(Nota() as nota):
            return nota.protocolo
        case _:
            return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value if isinstance(value, str | int | float | list | tuple | None) else str(value)


def _result(tarefa: Tarefa, passo: Passo, answer: Outcome | Finding) -> dict[str, Any]:
    """Return the ids that a repetition is answered with."""
    nota, accepted = passo.nota, answer if isinstance(answer, Accepted) else None
    return {
        "emissao_id": tarefa.id,
        "id_integracao": tarefa.andamento.id_integracao,
        "status": passo.andamento.status.value,
        "id_externo": nota.id_externo if nota else accepted.id_externo if accepted else tarefa.id_externo,
        "protocolo": nota.protocolo if nota else accepted.protocolo if accepted else None,
        "numero": nota.numero if nota else None,
    }
