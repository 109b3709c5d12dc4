"""The order to issue a confirmed invoice: what is its own in the protocol of orders."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.orders import settlement
from bot.orders.order import Events, Instead
from bot.orders.preflight import Clearance
from gateway.lines import CallKind
from persistence.db.clock import database_now
from persistence.fiscal import emissions, notes
from persistence.fiscal.numbers import numbering
from persistence.idempotency import gateway_operations
from state_machine.protocol.emission import Absent, CannotTell, Finding, Found, Issued, StatusEmissao
from state_machine.protocol.reconciliation import (
    after_query,
    after_send,
    in_conflict,
    in_doubt,
    in_error,
    may_send,
    without_call,
)
from state_machine.protocol.standing import Passo
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.orders.order import Call, OrderParts
    from persistence.db.connection import Connection
    from persistence.fiscal.emissions import Tarefa
    from state_machine.protocol.emission import Outcome, Rejected

MOST_LAYOUTS = 4  # attempts at one invoice that the schema refuses; then it is its own fault, and staff look
CONCURRENCY = 40  # slots for emissions per worker, of which one company has half at most: gateways throttle

_FORGOTTEN = CannotTell("our number is taken, and the database may have forgotten under which one we stand")
_EXPLAINED = "a autoridade tem sob este número a nota de outra confirmação"
_UNANSWERED = frozenset({StatusEmissao.ENVIANDO, StatusEmissao.DESCONHECIDO})


class Emissions:
    """Issuing. Its credentials are the company's: one that is refused stops the company's submissions."""

    events = Events(
        step="emission_step",
        waits="emission_waits",
        given_back="emission_given_back",
        lease_lost="emission_lease_lost",
        failed="emission_failed",
    )
    operation = "submit"
    kind = CallKind.SUBMISSION
    leases = emissions.LEASES
    concurrency = CONCURRENCY

    def __init__(self, parts: OrderParts) -> None:
        self._parts = parts
        self._channels = parts.channels
        self._politica = parts.politica
        self._clearance = Clearance(parts.database, parts.channels, parts.politica, parts.witness)

    async def claim(self, connection: Connection, free: int, held: Mapping[int, int]) -> list[Tarefa]:
        """Take due emissions; those of companies whose breaker is open are looked at first.

        Nothing is ready under a number of ours while the database may have forgotten what was sent.
        """
        await self._parts.witness.look(connection)
        return await emissions.claim(
            connection,
            free,
            self.leases.seconds,
            ocupadas=held,
            quietas=self._channels.quiet(CallKind.SUBMISSION),
            canais=self._channels.names,
            origens=self._parts.origins.names,
        )

    async def hint(self, connection: Connection, id_integracao: str | None, id_externo: str | None, corpo: Any) -> int:
        """Look at the emission now, and keep what the webhook said."""
        return await emissions.hint(connection, id_integracao, id_externo, corpo)

    def context(self, tarefa: Tarefa) -> Mapping[str, str | None]:
        """Return correlation, reference and session."""
        return {
            "correlacao": tarefa.correlacao,
            "id_integracao": tarefa.andamento.id_integracao,
            "sessao_id": tarefa.sessao_id,
        }

    def sends(self, tarefa: Tarefa) -> bool:
        """Tell whether sending is safe now."""
        return may_send(tarefa.andamento)

    async def prepare(self, tarefa: Tarefa) -> Tarefa | Instead[Passo]:
        """Clear the way, unless the claim found it clear; of a layout that is refused nothing leaves."""
        if (waits := await self._clearance.layout(tarefa)) is not None:
            return Instead(waits)
        if tarefa.pronta:
            return tarefa
        if (waits := await self._clearance.forgotten(tarefa)) is not None:
            return Instead(waits)
        cleared = await self._clearance.clear(tarefa)
        return Instead(cleared) if isinstance(cleared, Passo) else cleared

    async def send(self, tarefa: Tarefa) -> Outcome | Finding:
        """Submit the stored bytes."""
        return await self._channels.of(tarefa.canal).submit(tarefa.payload)

    async def ask(self, tarefa: Tarefa) -> Outcome | Finding:
        """Look for the note under our key."""
        gateway = self._channels.of(tarefa.canal)
        finding = await gateway.find(gateway.key(tarefa.prestador, tarefa.chave))
        if isinstance(finding, Found) and tarefa.era in _UNANSWERED:  # it did arrive: the gateway takes our orders
            gateway.lines.breaker(tarefa.prestador, CallKind.SUBMISSION).succeeded()
        return finding

    async def classify(self, connection: Connection, tarefa: Tarefa, answer: Outcome | Finding) -> Passo:
        """Decide by the policy; a note that is another invoice's is for people."""
        # Two absences must lie apart by the database's own clock: ours was read when the emission was taken.
        agora = await database_now(connection) if isinstance(answer, Absent) else tarefa.clock.now()
        politica = self._politica.de(self._channels.of(tarefa.canal).natureza)
        if isinstance(answer, Finding):
            atual = _interrupted(tarefa).andamento
            passo = after_query(atual, answer, agora, politica)
            if passo.aviso == "renumera":
                history = await self._parts.witness.look_for(connection, tarefa.prestador_id)
                passo = after_query(atual, _FORGOTTEN, agora, politica) if history.doubt else passo
        else:
            passo = after_send(tarefa.andamento, answer, agora, politica)
        if passo.aviso == "rejeitada" and passo.recusa is not None and self._of_layout(tarefa, passo.recusa):
            passo = replace(passo, aviso="renumera")  # its person said nothing wrong, and hears nothing
        if passo.nota and await notes.belongs_to_another(connection, tarefa.id, passo.nota.id_externo):
            standing = replace(passo.andamento, status=tarefa.andamento.status)
            return in_conflict(standing, passo.nota, "the gateway gave this note's id to another invoice")
        return passo

    async def postpone(self, _connection: Connection, tarefa: Tarefa, seconds: float) -> Passo:
        """Wait for the breaker."""
        politica = self._politica.de(self._channels.of(tarefa.canal).natureza)
        return without_call(_interrupted(tarefa).andamento, seconds, "circuito", tarefa.clock.now(), politica)

    def give_up(self, tarefa: Tarefa, motivo: str) -> Passo:
        """Hand it to people; what was ready to leave may have left."""
        andamento = in_doubt(tarefa.andamento) if tarefa.pronta else _interrupted(tarefa).andamento
        return in_error(andamento, motivo)

    async def settle(
        self, connection: Connection, tarefa: Tarefa, passo: Passo, call: Call[Outcome | Finding] | None
    ) -> None:
        """Store the emission's row."""
        await emissions.settle(connection, tarefa, passo, settlement.heard(call))

    async def conclude(
        self, connection: Connection, tarefa: Tarefa, passo: Passo, call: Call[Outcome | Finding] | None
    ) -> None:
        """Store the idempotency record, the company's suspension, the note and its XML, and the news."""
        if call is None:
            if tarefa.pronta:
                gateway_operations.leave_open(connection, tarefa.operation, passo.retida)
            if passo.suspender is not None:  # what is sent could not be made: the company must repair something
                await settlement.stop(connection, tarefa, passo.suspender)
        else:
            if call.operation == self.operation or passo.status is not tarefa.era:
                rodada = self._politica.retentativas.rodada
                await settlement.close_record(connection, tarefa, passo, call.answer, rodada)
            if call.operation == self.operation:
                await settlement.stop_or_go(connection, tarefa, call.answer)
            if passo.aviso == "autorizada" and isinstance(call.answer, Found | Issued) and call.answer.xml is not None:
                await notes.store_document(connection, tarefa.id, "xml", call.answer.xml)
        if passo.aviso == "renumera" and passo.recusa is None:
            await numbering.taken(connection, tarefa.id, _EXPLAINED)
        elif passo.aviso == "renumera" and passo.recusa is not None:
            await settlement.stop_layout(connection, self._channels.of(tarefa.canal), tarefa, passo.recusa)
        if passo.irma is not None:
            await emissions.hint(connection, passo.irma, None, None)
        await settlement.tell(connection, self._parts, tarefa, passo)

    def _of_layout(self, tarefa: Tarefa, recusa: Rejected) -> bool:
        """Say whether a refusal is of the layout in force: the same invoice is made again in the right one."""
        leiaute = self._channels.of(tarefa.canal).leiaute
        again = int(tarefa.andamento.id_integracao.rpartition("-")[2]) < MOST_LAYOUTS
        hoje = tarefa.clock.now().astimezone(SAO_PAULO).date()
        return leiaute is not None and again and leiaute.refused(recusa, hoje)

    def alarms(self, passo: Passo, *, called: bool) -> bool:
        """Tell whether an answer hands it over to people."""
        return called and passo.aviso == "falhou"


def _interrupted(tarefa: Tarefa) -> Tarefa:
    """One found as ``enviando`` was being sent when its worker died: whether it arrived is unknown."""
    if tarefa.era is not StatusEmissao.ENVIANDO:
        return tarefa
    return replace(tarefa, andamento=in_doubt(tarefa.andamento))
