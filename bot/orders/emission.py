"""The order to issue a confirmed invoice: what is its own in the protocol of orders.

Clears the way for an emission that may not simply be sent: a stopped company, an earlier attempt, its own record.

Stores what follows from an answer about an emission: idempotency record, suspension, note, news.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import structlog

from bot.orders.cancellation import seen_cancelled
from bot.orders.order import Call, Events, Instead, OrderParts
from bot.orders.origins import News
from gateway.lines import CallKind
from gateway.port import FiscalGateway
from gateway.registry import Channels
from persistence.api import hooks
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import attempts, emissions, intents, issued, notes, numbering, suspension
from persistence.fiscal.emissions import NADA_OUVIDO, Ouvido, Tarefa
from persistence.idempotency import gateway_operations
from persistence.idempotency.records import Conflict
from persistence.rows import EmissionRow
from persistence.witness import Witness
from state_machine.documents import mostra_conteudo
from state_machine.protocol.channel import ATTEMPTS, Leiaute, Natureza, TipoDocumento, sibling
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    CannotTell,
    Duplicate,
    Finding,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotSent,
    Outcome,
    Postponed,
    Rejected,
    Situacao,
    StatusEmissao,
    Unknown,
)
from state_machine.protocol.reconciliation import (
    Anterior,
    Parecer,
    absent_long_ago,
    after_query,
    after_send,
    ask_about_both,
    count_earlier,
    dispensed,
    in_conflict,
    in_doubt,
    in_error,
    judge,
    judge_unasked,
    may_send,
    must_ask,
    recorded_otherwise,
    without_call,
)
from state_machine.protocol.retry import Politica
from state_machine.protocol.standing import Passo, Retida
from state_machine.values.local_time import SAO_PAULO

FORGOTTEN_WAIT = 60.0  # seconds; ``prosa restaurado`` wakes what waits for it
LAYOUT_WAIT = 300.0  # seconds; who chooses wakes what waits for it
LATER_REVISIONS = 3  # beyond ours that are asked for: what was forgotten may have been corrected since
SHORTEST_WAIT = 0.1  # seconds, so that nobody runs in circles

_NO_NOTE = frozenset({Situacao.REJEITADA, Situacao.CANCELADA})

log = structlog.get_logger(__name__)


class Clearance:
    """Says for a due emission that is not ready: send it now (a ``Tarefa`` made ready), or what follows instead."""

    def __init__(self, database: Database, channels: Channels, politica: Politica, witness: Witness) -> None:
        self._database = database
        self._witness = witness
        self._channels = channels
        self._politica = politica

    async def clear(self, tarefa: Tarefa) -> Tarefa | Passo:
        """Look at what stands in the way, one thing after the other. Raises ``OrderLeaseLostError``."""
        if must_ask(tarefa.andamento, tarefa.clock.now()):
            return await self._wait(tarefa, 0.0, "pessoa")
        if tarefa.suspenso is not None:
            async with self._database.transaction() as connection:
                probing = await suspension.take_probe(connection, tarefa.prestador_id, tarefa.canal)
            if not probing:
                return await self._wait(tarefa, tarefa.sonda_em + SHORTEST_WAIT, "credencial")
        if (outra := await self._other_notes(tarefa)) is not None:
            return outra
        if tarefa.a_preparar:
            gateway = self._channels.of(tarefa.canal)
            made = await gateway.prepare(tarefa.payload, tarefa.clock.now(), tarefa.antes)
            if not isinstance(made, bytes):
                return after_send(tarefa.andamento, made, tarefa.clock.now(), self._policy(tarefa))
            async with self._database.transaction() as connection:
                tarefa = await intents.prepared(connection, tarefa, made)
        async with self._database.transaction() as connection:
            pronta = await emissions.start_sending(connection, tarefa, emissions.LEASES.seconds)
            if pronta is not None:
                return pronta
            refusal = await gateway_operations.why_refused(connection, tarefa.operation)
        if isinstance(refusal, Conflict):
            return recorded_otherwise(tarefa.andamento)
        return await self._wait(tarefa, refusal.retry_after + SHORTEST_WAIT, "registro")

    async def layout(self, tarefa: Tarefa) -> Passo | None:
        """Keep a document from leaving while nobody has said which layout is taken; take up what was said."""
        leiaute = self._channels.of(tarefa.canal).leiaute
        if leiaute is None:
            return None
        async with self._database.transaction() as connection:
            leiaute.escolha, stopped = await suspension.layout(connection, leiaute.ambiente)
        return await self._wait(tarefa, LAYOUT_WAIT, "leiaute") if stopped else None

    async def forgotten(self, tarefa: Tarefa) -> Passo | None:
        """Keep what has a number of ours from leaving while the database may have forgotten who else has it."""
        if not tarefa.numerada:
            return None
        async with self._database.transaction() as connection:
            standing = await self._witness.look_for(connection, tarefa.prestador_id)
        return await self._wait(tarefa, FORGOTTEN_WAIT, "historia") if standing.doubt else None

    async def _other_notes(self, tarefa: Tarefa) -> Passo | None:
        """Ask whether the matter is settled by another attempt, or by another revision that was forgotten."""
        if not tarefa.primeira and (anteriores := await self._earlier(tarefa)) is not None:
            return anteriores
        return await self._confirmed_before(tarefa) if tarefa.restored else None

    async def _confirmed_before(self, tarefa: Tarefa) -> Passo | None:
        """Ask for notes of other revisions, which a database that was put back forgot; ``None`` where there is none.

        Where a note of ours carries our reference, ``prosa restaurado`` has looked for all of them (``Numbers.seen``).
        One absence is enough: what left before it was waited for there.
        """
        gateway, atual = self._channels.of(tarefa.canal), tarefa.andamento
        if gateway.natureza.reference is not None or atual.envios:
            return None
        for revisao in range(1, tarefa.revisao + LATER_REVISIONS + 1):
            for tentativa in range(1, ATTEMPTS + 1):
                reference = intents.integration_id(tarefa.sessao_id, revisao, tentativa)
                if revisao == tarefa.revisao:  # its own attempts are asked for as such, and the authority is unique
                    break
                finding = await gateway.find(gateway.key(tarefa.prestador, reference))
                if isinstance(finding, Absent):
                    break
                if not isinstance(finding, Found):
                    subiu = replace(tarefa, andamento=replace(atual, consultas=atual.consultas + 1))
                    return await self._wait(subiu, self._politica.degrau(atual.consultas), "tentativa_anterior")
                if finding.nota.situacao not in _NO_NOTE:
                    log.warning("confirmed_before", id_integracao=atual.id_integracao, outra=reference)
                    return in_conflict(atual, finding.nota, f"{reference} was confirmed before, and is a note")
        return None

    async def _earlier(self, tarefa: Tarefa) -> Passo | None:
        """Ask under every earlier key; ``None`` when all of them still stand refused, those in doubt seen absent often.

        The new attempt counts the absences of the earlier ones as its own; any other answer clears the count.
        """
        async with self._database.transaction() as connection:
            anteriores = await emissions.earlier_attempts(connection, tarefa)
            agora = await database_now(connection)
        ausentes: list[tuple[Natureza, datetime | None]] = []
        for anterior in anteriores:
            achado = judge_unasked(anterior) or await self._asked(anterior, tarefa, anteriores)
            match achado:
                case Parecer.ENVIA:
                    continue
                case Parecer.AUSENTE:
                    ausentes.append((self._channels.of(anterior.canal).natureza, anterior.andamento.sent_at))
                    continue
                case Parecer.NOSSA:  # late, after it was seen absent: it is asked for under its own name
                    return Passo(in_doubt(tarefa.andamento), 0.0, motivo="our own note stands under its number")
                case Parecer.DISPENSA | Parecer.PESSOAS if anterior.reparada:
                    if tarefa.andamento.desejado_em is not None:  # its person was asked, and wants both
                        continue
                    return ask_about_both(tarefa.andamento, anterior)
                case Parecer.DISPENSA | Parecer.PESSOAS:
                    motivo = f"{anterior.andamento.id_integracao} is {anterior.andamento.status}"
                    return dispensed(tarefa.andamento, motivo, conflito=achado is Parecer.PESSOAS)
                case Parecer.RELE:
                    async with self._database.transaction() as connection:
                        await emissions.look_at(connection, anterior.id)
                case Parecer.ESPERA:
                    pass
            consultas = tarefa.andamento.consultas + 1
            subiu = replace(tarefa, andamento=replace(tarefa.andamento, consultas=consultas, ausente_desde=None))
            return await self._wait(subiu, self._politica.degrau(tarefa.andamento.consultas), "tentativa_anterior")
        return await self._sure(tarefa, ausentes, agora) if ausentes else None

    async def _sure(
        self, tarefa: Tarefa, ausentes: Sequence[tuple[Natureza, datetime | None]], agora: datetime
    ) -> Passo | None:
        andamento, resta = count_earlier(tarefa.andamento, agora, ausentes)
        if not resta:
            return None
        counted = andamento.ausente_desde is not None  # else to ask anew about itself would end the count, for ever
        atual = replace(tarefa, andamento=andamento)
        return await self._wait(atual, resta.total_seconds(), "tentativa_anterior", fresh=counted)

    async def _asked(self, anterior: Anterior, tarefa: Tarefa, anteriores: Sequence[Anterior]) -> Parecer:
        gateway = self._channels.of(anterior.canal)
        if tarefa.restored and gateway.natureza.resend_is_destructive:  # a forgotten attempt may have its number
            anterior = replace(anterior, andamento=replace(anterior.andamento, duvida=True))
        andamento = anterior.andamento
        finding = await gateway.find(gateway.key(andamento.prestador, andamento.texto_da_chave))
        async with self._database.transaction() as connection:
            agora = await database_now(connection)
        achado = judge(anterior, finding, agora, self._politica.de(gateway.natureza))
        irma = sibling(andamento, finding.nota, gateway.natureza) if isinstance(finding, Found) else None
        if irma == tarefa.andamento.id_integracao:
            achado = Parecer.NOSSA
        elif irma is not None:  # its own row says what became of it; one that we do not know is for people
            known = irma in {each.andamento.id_integracao for each in anteriores}
            achado = Parecer.ENVIA if known else Parecer.PESSOAS
        log.info("earlier_attempt", id_integracao=andamento.id_integracao, resultado=achado.value)
        return achado

    async def _wait(self, tarefa: Tarefa, seconds: float, why: Retida, *, fresh: bool = False) -> Passo:
        async with self._database.transaction() as connection:
            agora = await database_now(connection)
        atual = replace(tarefa.andamento, status=StatusEmissao.PENDENTE)
        return without_call(atual, seconds, why, agora, self._policy(tarefa), fresh=fresh)

    def _policy(self, tarefa: Tarefa) -> Politica:
        return self._politica.de(self._channels.of(tarefa.canal).natureza)


# A note stands under the number that was drawn for it, unless a forgotten submission made it under another. What was
# refused leaves its number to the next attempt.
_UNDER_ITS_NUMBER = frozenset({StatusEmissao.CONCLUIDO, StatusEmissao.CONFLITO})


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
    if passo.anulada is not None:
        log.error("note_superseded", emissao_id=tarefa.id, numero=passo.anulada)
        parts.metrics.notes_superseded.inc()
    if tarefa.numerada and passo.nota and passo.andamento.status in _UNDER_ITS_NUMBER:
        told = passo.nota.numero_rps if tarefa.restored else None  # else no submission of it was forgotten
        if await numbering.stands_elsewhere(connection, tarefa.id, told):
            log.warning("note_under_another_number", emissao_id=tarefa.id)
    if passo.nota and passo.nota.situacao is Situacao.CANCELADA and passo.status is StatusEmissao.CONCLUIDO:
        await seen_cancelled(parts.origins, connection, tarefa)
    if passo.aviso is None:
        return
    if passo.aviso == "rejeitada":
        hooks.tell_note(connection, "nota.recusada", tarefa.id)
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
        anulada=passo.anulada,
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


MOST_LAYOUTS = 4  # attempts at one invoice that the schema refuses; then it is its own fault, and staff look
CONCURRENCY = 40  # slots for emissions per worker, of which one company has half at most: gateways throttle

_FORGOTTEN = CannotTell("our number is taken, and the database may have forgotten under which one we stand")
_EXPLAINED = "a autoridade tem sob este número a nota de outra confirmação"
_OF_ANOTHER_PROGRAM = "outro programa emitiu nesta série: escolha uma série só da Prosa (prosa empresa add)"
_EXPLAINED_MAX = 200  # characters of the reason of a number
_SPENT = "a autoridade não aceita mais este número"
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
        politica = self._politica.de(self._channels.of(tarefa.canal).natureza)
        if (asked := absent_long_ago(tarefa.andamento, tarefa.late, tarefa.clock.now(), politica)) is not None:
            return Instead(asked)
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
        await emissions.settle(connection, tarefa, passo, heard(call))

    async def conclude(
        self, connection: Connection, tarefa: Tarefa, passo: Passo, call: Call[Outcome | Finding] | None
    ) -> None:
        """Store the idempotency record, the company's suspension, the note and its XML, and the news."""
        if call is None:
            if tarefa.pronta:
                gateway_operations.leave_open(connection, tarefa.operation, passo.retida)
            if passo.suspender is not None:  # what is sent could not be made: the company must repair something
                await stop(connection, tarefa, passo.suspender)
        else:
            if call.operation == self.operation or passo.status is not tarefa.era:
                rodada = self._politica.retentativas.rodada
                await close_record(connection, tarefa, passo, call.answer, rodada)
            if call.operation == self.operation:
                await stop_or_go(connection, tarefa, call.answer)
            if passo.aviso == "autorizada" and isinstance(call.answer, Found | Issued) and call.answer.xml is not None:
                notes.store_document(connection, tarefa.id, "xml", call.answer.xml)
        await self._number_after(connection, tarefa, passo)
        if passo.irma is not None:
            await emissions.hint(connection, passo.irma, None, None)
        await tell(connection, self._parts, tarefa, passo)

    async def _number_after(self, connection: Connection, tarefa: Tarefa, passo: Passo) -> None:
        """Explain a number that serves nobody any more, or stop what an authority refuses by its layout."""
        gateway, recusa = self._channels.of(tarefa.canal), passo.recusa
        if recusa is None and passo.aviso == "renumera":
            await self._gone(connection, tarefa)
        elif recusa is not None and passo.aviso == "renumera":
            await stop_layout(connection, gateway, tarefa, recusa)
        elif recusa is not None and gateway.natureza.spent & {*recusa.codigos}:
            await numbering.taken(connection, tarefa.id, f"{_SPENT}: {recusa.mensagem}"[:_EXPLAINED_MAX])

    async def _gone(self, connection: Connection, tarefa: Tarefa) -> None:
        """Explain a number that another's note has; a series of goods has one program only, and stops."""
        await numbering.taken(connection, tarefa.id, _EXPLAINED)
        if self._channels.of(tarefa.canal).natureza.documento is not TipoDocumento.SERVICO:
            await numbering.block_of(connection, tarefa.id, _OF_ANOTHER_PROGRAM)
            log.error("series_of_another_program", emissao_id=tarefa.id)

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
