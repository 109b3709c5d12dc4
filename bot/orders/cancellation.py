"""The order to cancel an issued note: what is its own in the protocol of orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.orders.cancellation_news import news_of
from bot.orders.order import Events
from gateway.lines import CallKind
from persistence.db.clock import database_now
from persistence.fiscal import cancellation_work, cancellations, issued
from persistence.rows.inbox_rows import CancellationRow
from state_machine.cancellation.machine import AutoridadeCancelou, AutoridadeManteve, decide
from state_machine.cancellation.reconciliation import (
    CancelFinding,
    after_query,
    after_send,
    in_error,
    interrompido,
    may_send,
    without_call,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.orders.order import Call, Instead, OrderParts
    from persistence.db.connection import Connection
    from persistence.fiscal.cancellation_work import TarefaCancelamento
    from state_machine.cancellation.machine import Evento
    from state_machine.cancellation.reconciliation import CancelOutcome, PassoCancelamento

CONCURRENCY = 10  # slots per worker, of which one company has half at most: cancellations are rare


class Cancellations:
    """Cancelling. A refused credential stops no submissions: leave to cancel is another matter."""

    events = Events(
        step="cancellation_step",
        waits="cancellation_waits",
        given_back="cancellation_given_back",
        lease_lost="cancellation_lease_lost",
        failed="cancellation_failed",
    )
    operation = "cancel"
    kind = CallKind.CANCELLATION
    leases = cancellation_work.LEASES
    concurrency = CONCURRENCY

    def __init__(self, parts: OrderParts) -> None:
        self._origins = parts.origins
        self._channels = parts.channels
        self._politica = parts.politica

    async def claim(self, connection: Connection, free: int, held: Mapping[int, int]) -> list[TarefaCancelamento]:
        """Take due cancellations."""
        return await cancellation_work.claim(
            connection, free, self.leases.seconds, held, self._channels.names, self._origins.names
        )

    async def hint(self, connection: Connection, id_integracao: str | None, id_externo: str | None, _corpo: Any) -> int:
        """Look at the note's cancellation now."""
        return await cancellation_work.hint(connection, id_integracao, id_externo)

    def context(self, tarefa: TarefaCancelamento) -> Mapping[str, str | None]:
        """Return correlation and reference."""
        return {"correlacao": tarefa.correlacao, "id_integracao": tarefa.id_integracao}

    def sends(self, tarefa: TarefaCancelamento) -> bool:
        """Tell whether the request is to be sent."""
        return may_send(tarefa.andamento)

    async def prepare(self, tarefa: TarefaCancelamento) -> TarefaCancelamento | Instead[PassoCancelamento]:
        """The claim stored it as being sent: nothing is missing."""
        return tarefa

    async def send(self, tarefa: TarefaCancelamento) -> CancelOutcome | CancelFinding:
        """Ask for the cancellation."""
        gateway = self._channels.of(tarefa.canal)
        return await gateway.cancel(tarefa.prestador, tarefa.id_externo, tarefa.motivo)

    async def ask(self, tarefa: TarefaCancelamento) -> CancelOutcome | CancelFinding:
        """Ask what became of the request and of the note."""
        gateway = self._channels.of(tarefa.canal)
        key = gateway.key(tarefa.prestador, tarefa.chave)
        return await gateway.cancellation(key, tarefa.id_externo, tarefa.andamento.protocolo)

    async def classify(
        self, connection: Connection, tarefa: TarefaCancelamento, answer: CancelOutcome | CancelFinding
    ) -> PassoCancelamento:
        """Decide by the policy."""
        await issued.locked(connection, tarefa.emissao_id)  # in the order in which everybody locks: the note first
        agora = await database_now(connection)
        if isinstance(answer, CancelFinding):
            return after_query(interrompido(tarefa.andamento), answer, agora, self._politica)
        return after_send(tarefa.andamento, answer, agora, self._politica)

    async def postpone(self, connection: Connection, tarefa: TarefaCancelamento, seconds: float) -> PassoCancelamento:
        """Wait for the breaker."""
        await issued.locked(connection, tarefa.emissao_id)
        agora = await database_now(connection)
        return without_call(interrompido(tarefa.andamento), seconds, agora, self._politica)

    def give_up(self, tarefa: TarefaCancelamento, motivo: str) -> PassoCancelamento:
        """Hand it to people."""
        return in_error(interrompido(tarefa.andamento), motivo)

    async def settle(
        self,
        connection: Connection,
        tarefa: TarefaCancelamento,
        passo: PassoCancelamento,
        call: Call[CancelOutcome | CancelFinding] | None,
    ) -> None:
        """Store the cancellation's row."""
        await cancellation_work.settle(connection, tarefa, passo, call.told if call else None)

    async def conclude(
        self,
        connection: Connection,
        tarefa: TarefaCancelamento,
        passo: PassoCancelamento,
        _call: Call[CancelOutcome | CancelFinding] | None,
    ) -> None:
        """Move the cancellation and its note, and tell whoever asked for it."""
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
            decided = decide(atual, evento, await database_now(connection))
            await cancellations.save(connection, atual, decided.cancelamento)
        row = CancellationRow(tarefa.emissao_id, passo.aviso, passo.motivo)
        await self._origins.tell(connection, news_of(tarefa, f"cancelamento:{tarefa.id}:{passo.aviso}", row))

    def alarms(self, passo: PassoCancelamento, *, called: bool) -> bool:  # noqa: ARG002 - protocol
        """Tell whether people or the operator must look."""
        return passo.suspender is not None or passo.aviso == "falhou"
