"""Clears the way for an emission that may not simply be sent: a stopped company, an earlier attempt, its own record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from persistence.db.clock import database_now
from persistence.fiscal import emissions, intents, suspension
from persistence.idempotency import gateway_operations
from persistence.idempotency.records import Conflict
from state_machine.protocol.channel import Natureza
from state_machine.protocol.emission import Absent, Found, Situacao, StatusEmissao
from state_machine.protocol.reconciliation import (
    after_send,
    count_absence,
    dispensed,
    in_conflict,
    in_doubt,
    must_ask,
    recorded_otherwise,
    without_call,
)
from state_machine.protocol.reprocessing import Parecer, ask_about_both, judge, judge_unasked
from state_machine.protocol.standing import Passo
from state_machine.protocol.taken import ATTEMPTS, sibling

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateway.registry import Channels
    from persistence.db.engine import Database
    from persistence.fiscal.emissions import Tarefa
    from persistence.witness.row import Witness
    from state_machine.protocol.reprocessing import Anterior
    from state_machine.protocol.retry import Politica
    from state_machine.protocol.standing import Retida

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
            made = await self._channels.of(tarefa.canal).prepare(tarefa.payload, tarefa.clock.now())
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
        ausentes: list[Natureza] = []
        for anterior in anteriores:
            achado = judge_unasked(anterior) or await self._asked(anterior, tarefa, anteriores)
            match achado:
                case Parecer.ENVIA:
                    continue
                case Parecer.AUSENTE:
                    ausentes.append(self._channels.of(anterior.canal).natureza)
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

    async def _sure(self, tarefa: Tarefa, ausentes: Sequence[Natureza], agora: datetime) -> Passo | None:
        """Count one more absence, by the strictest of the natures; ``None`` when it is sure."""
        natureza = Natureza(
            absences=max(each.absences for each in ausentes),
            absence_spacing=max(each.absence_spacing for each in ausentes),
        )
        andamento, resta = count_absence(tarefa.andamento, agora, natureza)
        if not resta:
            return None
        return await self._wait(replace(tarefa, andamento=andamento), resta.total_seconds(), "tentativa_anterior")

    async def _asked(self, anterior: Anterior, tarefa: Tarefa, anteriores: Sequence[Anterior]) -> Parecer:
        andamento = anterior.andamento
        gateway = self._channels.of(anterior.canal)
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

    async def _wait(self, tarefa: Tarefa, seconds: float, why: Retida) -> Passo:
        async with self._database.transaction() as connection:
            agora = await database_now(connection)
        atual = replace(tarefa.andamento, status=StatusEmissao.PENDENTE)
        return without_call(atual, seconds, why, agora, self._policy(tarefa))

    def _policy(self, tarefa: Tarefa) -> Politica:
        return self._politica.de(self._channels.of(tarefa.canal).natureza)
