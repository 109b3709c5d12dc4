"""The order to cancel an issued note: what is its own in the protocol of orders.

Tells of a note that is cancelled without anybody here having asked for it, in the transaction that learns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import structlog

from bot.orders.order import Call, Events, Instead, OrderParts
from bot.orders.origins import News, Origins
from gateway.lines import CallKind
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.fiscal import cancellations, issued
from persistence.fiscal.cancellations import TarefaCancelamento
from persistence.rows import CancellationRow
from state_machine.cancellation.machine import AutoridadeCancelou, AutoridadeManteve, Evento, StatusNota, decide
from state_machine.cancellation.reconciliation import (
    CancelFinding,
    CancelOutcome,
    PassoCancelamento,
    after_query,
    after_send,
    in_error,
    interrompido,
    may_send,
    without_call,
)

log = structlog.get_logger(__name__)


class Concerned(Protocol):
    """An emission that news are of: an order in hand, or one that a document of the authority names."""

    @property
    def emissao_id(self) -> int:
        """The emission."""

    @property
    def id_integracao(self) -> str:
        """Its reference."""

    @property
    def origem(self) -> str:
        """Kind of who ordered it."""

    @property
    def sessao_id(self) -> str:
        """The origin's id."""

    @property
    def conversa(self) -> str | None:
        """Where it was ordered, if in a chat."""

    @property
    def correlacao(self) -> str | None:
        """What its log lines share."""


def news_of(tarefa: Concerned, chave: str, row: CancellationRow) -> News:
    """Return a piece of news of an emission."""
    correlacao = tarefa.correlacao or tarefa.id_integracao
    return News(tarefa.origem, tarefa.sessao_id, tarefa.conversa, row, chave, correlacao)


async def seen_cancelled(origins: Origins, connection: Connection, tarefa: Concerned) -> None:
    """An issued note is seen as cancelled, by a reading or its event: whoever waits for that looks now.

    Else the user hears it once.
    """
    if await cancellations.hint(connection, tarefa.id_integracao, None):
        return
    if not await issued.mark(connection, tarefa.emissao_id, {StatusNota.AUTORIZADO}, StatusNota.CANCELADO):
        return
    if await issued.is_being_replaced(connection, tarefa.emissao_id):
        return  # a note of ours ended it, whose own news say so
    log.warning("note_cancelled_outside", emissao_id=tarefa.emissao_id)
    row = CancellationRow(tarefa.emissao_id, "por_fora", None)
    await origins.tell(connection, news_of(tarefa, f"cancelada_por_fora:{tarefa.emissao_id}", row))


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
    leases = cancellations.LEASES
    concurrency = CONCURRENCY

    def __init__(self, parts: OrderParts) -> None:
        self._origins = parts.origins
        self._channels = parts.channels
        self._politica = parts.politica

    async def claim(self, connection: Connection, free: int, held: Mapping[int, int]) -> list[TarefaCancelamento]:
        """Take due cancellations."""
        return await cancellations.claim(connection, free, self.leases.seconds, held)

    async def hint(self, connection: Connection, id_integracao: str | None, id_externo: str | None, _corpo: Any) -> int:
        """Look at the note's cancellation now."""
        return await cancellations.hint(connection, id_integracao, id_externo)

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
        await cancellations.settle(connection, tarefa, passo, call.told if call else None)

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
