"""Carries confirmed cancellations to the gateway and asks what became of them; decides nothing by itself."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import structlog

from bot.conversation.effects import text_message
from bot.orders.cancellation_news import tell
from gateway.http.recording import recording
from gateway.lines import Kind
from persistence.db.clock import database_now
from persistence.fiscal import cancellation_work as work
from persistence.fiscal import cancellations, emissions, issued
from persistence.fiscal.cancellation_work import LEASE_SECONDS, CancellationLeaseLostError
from persistence.fiscal.emissions import Chamada
from persistence.queue import outbox
from state_machine.cancellation.machine import AutoridadeCancelou, AutoridadeManteve, decide
from state_machine.cancellation.reconciliation import apos_consulta, apos_envio, deve_enviar, interrompido, sem_chamada
from state_machine.catalogue import cancellation_texts as textos
from state_machine.protocol.emission import CannotTell, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gateway.registry import Channels
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.fiscal.cancellation_work import Tarefa
    from persistence.queue.inbox import Inbox
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.cancellation.machine import Evento, NotaEmitida
    from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome, Passo
    from state_machine.machine.effects import Mensagem
    from state_machine.protocol.reconciliation import Politica

log = structlog.get_logger(__name__)

CONCURRENCY = 10  # slots per worker, of which one company has half at most: cancellations are rare
SHORTEST_PAUSE = 0.1  # seconds, when the circuit is just being probed
SEND_WITHIN = LEASE_SECONDS / 3  # a worker frozen for longer than this after claiming must not send any more


class Cancellations:
    """Moves confirmed cancellations on; any number of replicas, each cancellation with one of them at a time."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        lanes: Lanes,
        channels: Channels,
        politica: Politica,
        *,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._lanes = lanes
        self._channels = channels
        self._politica = politica
        self._held: Counter[int] = Counter()  # slots of this worker, by company
        self._ring = ring

    async def claim(self, limit: int) -> list[Tarefa]:
        """Take cancellations that are due, each company its share; ``limit`` slots are free."""
        async with self._database.alone() as connection:
            tarefas = await work.claim(connection, limit, LEASE_SECONDS, self._held, self._channels.names)
        self._held.update(tarefa.prestador_id for tarefa in tarefas)
        return tarefas

    async def renew(self, tarefa: Tarefa) -> bool:
        """Keep one whose gateway call takes long."""
        async with self._database.alone() as connection:
            return await work.renew(connection, tarefa)

    async def work(self, tarefa: Tarefa) -> None:
        """Send or ask once, and settle what came of it; never raises."""
        with structlog.contextvars.bound_contextvars(correlacao=tarefa.correlacao, id_integracao=tarefa.id_integracao):
            try:
                await self._advance(tarefa)
            except CancellationLeaseLostError:
                log.warning("cancellation_lease_lost", emissao_id=tarefa.emissao_id)
            except Exception as error:
                log.exception("cancellation_failed", emissao_id=tarefa.emissao_id, error=type(error).__name__)
            finally:
                self._held -= Counter((tarefa.prestador_id,))  # companies without any are dropped

    async def _advance(self, tarefa: Tarefa) -> None:
        started = time.monotonic()
        sending = deve_enviar(tarefa.andamento)
        gateway = self._channels.of(tarefa.canal)
        breaker = gateway.lines.breaker(tarefa.prestador, Kind.CANCELLATION if sending else Kind.QUESTION)
        if not breaker.allows():
            await self._put_off(tarefa, max(breaker.pause(), SHORTEST_PAUSE))
            return
        answer: CancelOutcome | CancelFinding
        if sending:
            if started - tarefa.tomada_em > SEND_WITHIN:
                log.warning("cancellation_given_back", emissao_id=tarefa.emissao_id)
                async with self._database.alone() as connection:
                    await work.give_back(connection, tarefa)
                return
            with recording() as tape:
                answer = outcome = await gateway.cancel(tarefa.prestador, tarefa.id_externo, tarefa.motivo)
        else:
            protocolo, key = tarefa.andamento.protocolo, gateway.key(tarefa.prestador, tarefa.chave)
            with recording() as tape:
                answer = finding = await gateway.cancellation(key, tarefa.id_externo, protocolo)
        latency = round((time.monotonic() - started) * 1000)
        async with self._database.transaction() as connection:
            await issued.locked(connection, tarefa.emissao_id)  # in the order in which everybody locks: the note first
            agora = await database_now(connection)
            if sending:
                passo = apos_envio(tarefa.andamento, outcome, agora, self._politica)
            else:
                passo = apos_consulta(interrompido(tarefa.andamento), finding, agora, self._politica)
            # what tells nothing does not overwrite what told something
            told = None if isinstance(answer, Unknown | CannotTell) else tape.recebido
            await work.settle(connection, tarefa, passo, told)
            operacao = "cancel" if sending else "find"
            # 401 and 403 here stop no submissions: leave to cancel is another matter, and a submission tells of itself
            chamada = Chamada(operacao, type(answer).__name__, passo.motivo, latency, **tape.masked())
            emissions.record_attempt(connection, tarefa.emissao_id, chamada)
            await self._conclude(connection, tarefa, passo)
        write = log.error if passo.suspender or passo.aviso == "falhou" else log.info
        write(
            "cancellation_step",
            emissao_id=tarefa.emissao_id,
            operation=operacao,
            resultado=type(answer).__name__,
            status=passo.andamento.envio,
            latency_ms=latency,
        )

    async def _put_off(self, tarefa: Tarefa, seconds: float) -> None:
        """The gateway is left alone for a while: nothing is called, and nothing counts as an attempt."""
        async with self._database.transaction() as connection:
            await issued.locked(connection, tarefa.emissao_id)
            agora = await database_now(connection)
            passo = sem_chamada(interrompido(tarefa.andamento), seconds, agora, self._politica)
            await work.settle(connection, tarefa, passo, None)
            await self._conclude(connection, tarefa, passo)
        write = log.error if passo.aviso == "falhou" else log.info
        write("cancellation_waits", emissao_id=tarefa.emissao_id, reason="circuito", status=passo.andamento.envio)

    async def _conclude(self, connection: Connection, tarefa: Tarefa, passo: Passo) -> None:
        """Move the cancellation and its note, and put the news into the lane, in the transaction that settles them."""
        if passo.aviso is None:
            return
        evento: Evento | None = None
        if passo.aviso == "cancelada":
            evento = AutoridadeCancelou()
        elif passo.aviso == "negada":
            evento = AutoridadeManteve(passo.motivo or "")
        if evento is not None:
            atual = await cancellations.locked(connection, tarefa.id)
            assert atual is not None  # noqa: S101 - it was just settled under our lease
            await cancellations.save(
                connection, atual, decide(atual, evento, await database_now(connection)).cancelamento
            )
        await tell(
            connection,
            self._inbox,
            chave=f"cancelamento:{tarefa.id}:{passo.aviso}",
            conversa=tarefa.conversa,
            emissao_id=tarefa.emissao_id,
            aviso=passo.aviso,
            motivo=passo.motivo,
            correlacao=tarefa.correlacao or tarefa.id_integracao,
        )

    async def on_news(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Tell the user what became of a cancellation, or that a note was cancelled elsewhere."""
        row = rows[0]
        async with self._database.transaction() as connection:
            nota = await issued.locked(connection, row.payload["emissao_id"])
            if nota is not None:
                mensagem = text_message(_news(nota, row.payload))
                outbox.enqueue(
                    connection, conversa=lease.lane, mensagem=mensagem, chave=row.chave, correlacao=row.correlacao
                )
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        return [row.id]


def _news(nota: NotaEmitida, payload: dict[str, Any]) -> Mensagem:
    match payload["aviso"]:
        case "cancelada":
            return textos.cancelada(nota)
        case "por_fora":
            return textos.cancelada_por_fora(nota)
        case "negada":
            return textos.negada(nota, payload.get("motivo") or "")
        case "demorou":
            return textos.demorou(nota)
        case "falhou":
            return textos.com_a_equipe(nota)
        case _:
            raise ValueError("news of a cancellation that nobody understands")
