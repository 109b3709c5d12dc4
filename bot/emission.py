"""Carries confirmed invoices to the gateway and asks after them, never twice blind; decides nothing by itself."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
import structlog

from gateway.rejection import explain
from persistence import emissions, notes
from persistence.emissions import LEASE_SECONDS, EmissionLeaseLostError
from persistence.inbox import Arrival
from state_machine.emission import CannotTell, NaturalKey, NotSent, Postponed, Situacao, StatusEmissao, Unknown
from state_machine.reconciliation import Passo, apos_consulta, apos_envio, deve_enviar, em_conflito

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from bot.ports import FiscalGateway
    from persistence.emissions import Tarefa
    from persistence.engine import Database
    from persistence.inbox import Inbox
    from persistence.lanes import InboxRow, Lanes, Lease
    from state_machine.emission import Finding, Outcome
    from state_machine.reconciliation import Politica

log = structlog.get_logger(__name__)

CONCURRENCY = 20  # emissions in flight per worker: gateways throttle
SEND_WITHIN = LEASE_SECONDS / 3  # a worker frozen for longer than this after claiming must not send any more


class Emissions:
    """Moves emissions on; any number of replicas, each emission with one of them at a time."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        lanes: Lanes,
        gateway: FiscalGateway,
        politica: Politica,
        *,
        ring: Callable[[], None],
    ) -> None:
        self._ring = ring
        self._database = database
        self._inbox = inbox
        self._lanes = lanes
        self._gateway = gateway
        self._politica = politica

    async def claim(self, limit: int) -> list[Tarefa]:
        """Take emissions that are due."""
        async with self._database.alone() as connection:
            return await emissions.claim(connection, limit, LEASE_SECONDS)

    async def renew(self, tarefa: Tarefa) -> bool:
        """Keep an emission whose gateway call takes long."""
        async with self._database.alone() as connection:
            return await emissions.renew(connection, tarefa, LEASE_SECONDS)

    async def work(self, tarefa: Tarefa) -> None:
        """Send or ask once, and settle what came of it; never raises."""
        with structlog.contextvars.bound_contextvars(
            correlacao=tarefa.correlacao, id_integracao=tarefa.andamento.id_integracao, sessao_id=tarefa.sessao_id
        ):
            try:
                await self._advance(tarefa)
            except EmissionLeaseLostError:
                log.warning("emission_lease_lost", emissao_id=tarefa.id)
            except Exception as error:
                log.exception("emission_failed", emissao_id=tarefa.id, error=type(error).__name__)

    async def _advance(self, tarefa: Tarefa) -> None:
        started = time.monotonic()
        answer: Outcome | Finding
        if deve_enviar(tarefa.andamento):
            if started - tarefa.tomada_em > SEND_WITHIN:
                await self._give_back(tarefa)
                return
            operacao: Literal["submit", "find"] = "submit"
            answer = outcome = await self._gateway.submit(tarefa.payload)
        else:
            operacao = "find"
            key = NaturalKey(tarefa.andamento.prestador, tarefa.andamento.id_integracao)
            answer = finding = await self._gateway.find(key)
        latency = round((time.monotonic() - started) * 1000)
        async with self._database.transaction() as connection:
            agora = (await connection.execute(sa.select(sa.func.now()))).scalar_one()
            if operacao == "submit":
                passo = apos_envio(tarefa.andamento, outcome, agora, self._politica)
            else:
                passo = apos_consulta(_interrupted(tarefa).andamento, finding, agora, self._politica)
            if passo.nota and await notes.belongs_to_another(connection, tarefa.id, passo.nota.id_externo):
                passo = em_conflito(passo.andamento, passo.nota, "the gateway gave this note's id to another invoice")
            await emissions.settle(connection, tarefa, passo, resposta=_as_json(answer))
            await emissions.record_attempt(
                connection, tarefa.id, operacao, type(answer).__name__, passo.motivo, latency
            )
            if passo.suspender or not isinstance(answer, NotSent | Unknown | CannotTell | Postponed):
                await emissions.suspend(connection, tarefa.id, passo.suspender)  # or it heard us: no longer suspended
            await self._tell(connection, tarefa, passo)
        self._log(tarefa, passo, operacao, type(answer).__name__, latency)

    async def _give_back(self, tarefa: Tarefa) -> None:
        """We were frozen before sending: nothing left the house; the epoch tells if somebody took it over."""
        log.warning("emission_given_back", emissao_id=tarefa.id)
        async with self._database.transaction() as connection:
            await emissions.give_back(connection, tarefa)

    async def _tell(self, connection: AsyncConnection, tarefa: Tarefa, passo: Passo) -> None:
        """Store the note, and put the news into the conversation's lane, in the transaction that settles them."""
        if passo.nota and passo.nota.situacao is Situacao.AUTORIZADA and passo.aviso == "autorizada":
            await notes.record_note(connection, tarefa.id, passo.nota)
        if passo.aviso is None:
            return
        payload: dict[str, Any] = {
            "sessao_id": tarefa.sessao_id,
            "emissao_id": tarefa.id,
            "aviso": passo.aviso,
            "numero": passo.nota.numero if passo.nota else None,
            "motivo": passo.motivo,
        }
        if passo.recusa is not None:
            explicacao = explain(passo.recusa)
            payload |= {"motivo": explicacao.texto, "campo": explicacao.campo}
        arrival = Arrival(
            chave=f"emissao:{tarefa.id}:{passo.aviso}",
            lane=tarefa.conversa,
            tipo="emissao",
            payload=payload,
            correlacao=tarefa.correlacao or tarefa.andamento.id_integracao,
            imediato=True,
        )
        await self._inbox.put_in(connection, [arrival])

    def _log(self, tarefa: Tarefa, passo: Passo, operacao: str, resultado: str, latency: int) -> None:
        write = log.error if passo.suspender or passo.aviso == "falhou" else log.info
        write(
            "emission_step",
            emissao_id=tarefa.id,
            operation=operacao,
            resultado=resultado,
            status=passo.andamento.status,
            latency_ms=latency,
        )

    async def on_hint(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """A gateway webhook: a hint to look at those notes now, nothing more."""
        ids = [row.id for row in rows]
        concerned = 0
        async with self._database.transaction() as connection:
            for row in rows:
                for hinted in row.payload.get("hints", ()):
                    concerned += await emissions.hint(
                        connection, hinted.get("id_integracao"), hinted.get("id_externo"), row.payload.get("corpo")
                    )
            await self._lanes.done(connection, lease, ids)
        self._ring()
        log.info("gateway_hint", rows=len(rows), count=concerned)
        return ids


def _interrupted(tarefa: Tarefa) -> Tarefa:
    """One found as ``enviando`` was being sent when its worker died: whether it arrived is unknown."""
    if tarefa.era is not StatusEmissao.ENVIANDO:
        return tarefa
    return replace(tarefa, andamento=replace(tarefa.andamento, status=StatusEmissao.DESCONHECIDO))


def _as_json(answer: Outcome | Finding) -> dict[str, Any] | None:
    """Return the gateway's answer for the record; what tells nothing does not overwrite what told something."""
    if isinstance(answer, Unknown | CannotTell):
        return None
    return {"resultado": type(answer).__name__, **_plain(asdict(answer))}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value if isinstance(value, str | int | float | list | tuple | None) else str(value)
