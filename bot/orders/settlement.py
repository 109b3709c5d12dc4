"""Settles what came of a due emission in one transaction: its row, the call, the idempotency record, the news."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import structlog

from bot.orders.cancellation_news import seen_cancelled
from persistence.db.clock import database_now
from persistence.fiscal import attempts, emissions, notes, suspension
from persistence.fiscal.emissions import NADA_OUVIDO, Chamada, Ouvido
from persistence.idempotency import gateway_operations
from persistence.queue.arrival import Arrival
from state_machine.invoice.content import mostra_conteudo
from state_machine.protocol.emission import (
    Absent,
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
from state_machine.protocol.reconciliation import (
    SUSPENDED_PROBE,
    apos_consulta,
    apos_envio,
    em_conflito,
    em_duvida,
    sem_chamada,
)

if TYPE_CHECKING:
    from gateway.http.recording import Recorded
    from gateway.registry import Channels
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.fiscal.emissions import Tarefa
    from persistence.queue.inbox import Inbox
    from state_machine.protocol.emission import Finding, Outcome
    from state_machine.protocol.reconciliation import Passo, Politica

log = structlog.get_logger(__name__)


class Settlement:
    """Writes down; every commit is fenced by the emission's epoch."""

    def __init__(self, database: Database, inbox: Inbox, channels: Channels, politica: Politica) -> None:
        self._database = database
        self._inbox = inbox
        self._channels = channels
        self._politica = politica

    async def put_off(self, tarefa: Tarefa, seconds: float) -> None:
        """Nobody may call the gateway for so long."""
        agora = tarefa.clock.now()
        passo = sem_chamada(_interrupted(tarefa).andamento, seconds, "circuito", agora, self._politica)
        await self.without_call(tarefa, passo)

    async def without_call(self, tarefa: Tarefa, passo: Passo) -> None:
        """Store what follows where nothing was called."""
        async with self._database.transaction() as connection:
            await emissions.settle(connection, tarefa, passo)
            if tarefa.pronta:
                gateway_operations.leave_open(connection, tarefa.operation, passo.retida)
            await self._tell(connection, tarefa, passo)
        log.info("emission_waits", emissao_id=tarefa.id, reason=passo.retida, status=passo.andamento.status)

    async def heard(
        self,
        tarefa: Tarefa,
        operacao: Literal["submit", "find"],
        answer: Outcome | Finding,
        latency: int,
        tape: Recorded,
    ) -> None:
        """Store what an answer means and what follows from it; ``latency`` in ms. Raises ``EmissionLeaseLostError``."""
        async with self._database.transaction() as connection:
            # Two absences must lie apart by the database's own clock: ours was read when the emission was taken.
            agora = await database_now(connection) if isinstance(answer, Absent) else tarefa.clock.now()
            politica = self._politica.de(self._channels.of(tarefa.canal).natureza)
            if isinstance(answer, Found | Absent | CannotTell):
                passo = apos_consulta(_interrupted(tarefa).andamento, answer, agora, politica)
            else:
                passo = apos_envio(tarefa.andamento, answer, agora, politica)
            if passo.nota and await notes.belongs_to_another(connection, tarefa.id, passo.nota.id_externo):
                standing = replace(passo.andamento, status=tarefa.andamento.status)
                passo = em_conflito(standing, passo.nota, "the gateway gave this note's id to another invoice")
            await emissions.settle(connection, tarefa, passo, _heard(answer, tape))
            chamada = Chamada(operacao, type(answer).__name__, passo.motivo, latency, **tape.masked())
            emissions.record_attempt(connection, tarefa.id, chamada)
            if operacao == "submit" or passo.andamento.status is not tarefa.era:
                await self._close_record(connection, tarefa, passo, answer)
            if operacao == "submit":
                await self._stop_or_go(connection, tarefa, answer)
            if passo.aviso == "autorizada" and isinstance(answer, Found | Issued) and answer.xml is not None:
                await notes.store_document(connection, tarefa.id, "xml", answer.xml)
            await self._tell(connection, tarefa, passo)
        self._log(tarefa, passo, operacao, type(answer).__name__, latency)

    async def _close_record(
        self, connection: Connection, tarefa: Tarefa, passo: Passo, answer: Outcome | Finding
    ) -> None:
        """Let the idempotency record say what the emission's row says."""
        operation, status = tarefa.operation, passo.andamento.status
        match status:
            case StatusEmissao.ENVIADO | StatusEmissao.CONCLUIDO:
                gateway_operations.succeed(connection, operation, _result(tarefa, passo, answer))
            case StatusEmissao.REJEITADO:
                await gateway_operations.fail(connection, operation, passo.motivo or "rejected")
            case StatusEmissao.PENDENTE if isinstance(answer, NotSent | Postponed | Misconfigured):
                tries = 1 + await gateway_operations.fail(connection, operation, passo.motivo or "")
                if tries == self._politica.retentativas.rodada:  # said once: from now on somebody should look
                    log.error("emission_not_getting_through", emissao_id=tarefa.id, tries=tries, motivo=passo.motivo)
            case _:
                gateway_operations.leave_open(connection, operation, passo.motivo)

    async def _stop_or_go(self, connection: Connection, tarefa: Tarefa, answer: Outcome | Finding) -> None:
        """Stop the company's submissions when the gateway refuses us, and let them go when it no longer does."""
        if isinstance(answer, Misconfigured):
            nova = await suspension.suspend(connection, tarefa.prestador_id, answer.motivo, SUSPENDED_PROBE)
            if nova:
                log.error("company_suspended", emissao_id=tarefa.id, motivo=answer.motivo)
        elif tarefa.suspenso is not None and not isinstance(answer, NotSent | Unknown | Postponed):
            waiting = await suspension.lift(connection, tarefa.prestador_id, tarefa.suspenso)
            log.info("company_resumed", emissao_id=tarefa.id, count=waiting)

    async def _tell(self, connection: Connection, tarefa: Tarefa, passo: Passo) -> None:
        """Store the note, and put the news into the conversation's lane, in the transaction that settles them."""
        outras: list[str] = []
        if passo.nota and passo.nota.situacao is Situacao.AUTORIZADA and passo.aviso == "autorizada":
            outras = await attempts.other_notes(connection, tarefa.sessao_id, tarefa.revisao, tarefa.id)
            notes.record_note(connection, tarefa.id, passo.nota, conteudo_visto=mostra_conteudo(passo.nota))
        if outras:  # the worst that can happen: people must look, and the user gets both
            log.error("two_notes_of_one_confirmation", emissao_id=tarefa.id, count=1 + len(outras))
        if (
            passo.nota
            and passo.nota.situacao is Situacao.CANCELADA
            and passo.andamento.status is StatusEmissao.CONCLUIDO
        ):
            await seen_cancelled(
                connection,
                self._inbox,
                emissao_id=tarefa.id,
                id_integracao=tarefa.andamento.id_integracao,
                conversa=tarefa.conversa,
                correlacao=tarefa.correlacao or tarefa.andamento.id_integracao,
            )
        if passo.aviso is None:
            return
        payload: dict[str, Any] = {
            "sessao_id": tarefa.sessao_id,
            "emissao_id": tarefa.id,
            "aviso": passo.aviso,
            "numero": passo.nota.numero if passo.nota else None,
            "motivo": passo.motivo,
            "outras": [passo.outra] if passo.outra else outras,
        }
        if passo.recusa is not None:
            explicacao = self._channels.of(tarefa.canal).explain(passo.recusa)
            payload |= {"motivo": explicacao.texto, "campo": explicacao.campo}
        again = f":{tarefa.epoch}" if passo.aviso == "ainda_quer" else ""  # asked anew each day that it waits
        arrival = Arrival(
            chave=f"emissao:{tarefa.id}:{passo.aviso}{again}",
            lane=tarefa.conversa,
            tipo="emissao",
            payload=payload,
            correlacao=tarefa.correlacao or tarefa.andamento.id_integracao,
            imediato=True,
        )
        await self._inbox.put_in(connection, [arrival])

    def _log(self, tarefa: Tarefa, passo: Passo, operacao: str, resultado: str, latency: int) -> None:
        write = log.error if passo.aviso == "falhou" else log.info
        write(
            "emission_step",
            emissao_id=tarefa.id,
            operation=operacao,
            resultado=resultado,
            status=passo.andamento.status,
            latency_ms=latency,
        )


def _interrupted(tarefa: Tarefa) -> Tarefa:
    """One found as ``enviando`` was being sent when its worker died: whether it arrived is unknown."""
    if tarefa.era is not StatusEmissao.ENVIANDO:
        return tarefa
    return replace(tarefa, andamento=em_duvida(tarefa.andamento))


def _heard(answer: Outcome | Finding, tape: Recorded) -> Ouvido:
    """Return the gateway's answer for the record; what tells nothing does not overwrite what told something."""
    if isinstance(answer, Unknown | CannotTell):
        return NADA_OUVIDO
    shown = replace(answer, xml=None) if isinstance(answer, Found | Issued) else answer
    leitura = {"resultado": type(answer).__name__, **_plain(asdict(shown))}
    return Ouvido(tape.recebido, leitura, _protocol(answer))


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
