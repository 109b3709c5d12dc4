"""Audits: lists a company's notes at the gateway, compares, and has what moved there asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any

import structlog

from bot.ports import FiscalGateway
from gateway.lines import CallKind
from gateway.registry import Channels, UnknownChannelError
from operations.national.distribution import Feed
from persistence.db.clock import database_now
from persistence.db.engine import Database
from persistence.fiscal import comparison
from persistence.national import elsewhere
from persistence.people.channels import canal_of
from state_machine.documents import mostra_conteudo
from state_machine.protocol.audit import Conferencia, DifferenceKind, Nossa, Pagina, Periodo, compare
from state_machine.protocol.channel import PRIMEIRO, Canal
from state_machine.protocol.emission import CannotTell, Nota
from state_machine.values.local_time import SAO_PAULO
from telemetry.metrics import Metrics

DIAS = 3  # each day is looked at three times: notes that span midnight, and a gateway that was away for a day
MAX_PAGES = 10_000  # half a million notes of fifty to a page; a gateway that never comes to an end is broken
READ_TWICE = timedelta(hours=26)  # until then a list of documents was read once more, an hour's waits included
NAMED = 20  # references in one line of the log
_BEGINS = time(6)  # São Paulo: before people begin to work, after the gateway's own night

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Conferida:
    """One company's audit: what came of it, or why the gateway could not tell."""

    empresa_id: int
    cnpj: str
    razao_social: str
    resultado: Conferencia | CannotTell


class Audit:
    """Asks for one company after the other, each page outside of any transaction."""

    def __init__(
        self,
        database: Database,
        channels: Channels,
        metrics: Metrics,
        *,
        ring: Callable[[], None],
        feed: Feed,
    ) -> None:
        self._database = database
        self._channels = channels
        self._metrics = metrics
        self._ring = ring
        self._feed = feed

    async def run(self, dias: int = DIAS, cnpj: str | None = None, canal: str | None = None) -> list[Conferida]:
        """Audit the last ``dias`` days (today included, São Paulo) of all companies, or of the one with this CNPJ.

        With ``canal``, of those on this channel.
        An emission of ours that moved at the gateway is made due for an ordinary question; nothing else changes.
        """
        async with self._database.transaction() as connection:
            rows = await comparison.companies(connection, cnpj)
            periodo = Periodo.ultimos(dias, await database_now(connection))
        chosen = [row for row in rows if canal in {None, row.canal or PRIMEIRO}]
        return [Conferida(row.id, row.cnpj, row.razao_social, await self._of_company(row, periodo)) for row in chosen]

    async def daily(self) -> int:
        """Audit each company that has not been today, where its channel lists notes; returns how many were audited.

        What differs is said loudly. One whose gateway could not tell stays open for the next call.
        """
        async with self._database.transaction() as connection:
            agora = await database_now(connection)
            slot = _slot(agora)
            done = await comparison.audited(connection, slot)
            due = [row for row in await comparison.companies(connection) if row.id not in done]
        rows = [row for row in due if self._lists(row)]
        periodo = Periodo.ultimos(DIAS, agora)
        audited: list[Conferencia] = []
        silent: list[CannotTell] = []
        for row in rows:
            resultado = await self._of_company(row, periodo)
            if isinstance(resultado, CannotTell):
                silent.append(resultado)
                continue
            async with self._database.transaction() as connection:
                if await comparison.set_audited(connection, row.id, slot):
                    audited.append(resultado)
        self._report(audited, silent)
        return len(audited)

    async def _of_company(self, row: Any, periodo: Periodo) -> Conferencia | CannotTell:
        empresa_id, cnpj = row.id, row.cnpj
        gateway = self._channel(row)
        if gateway is None:
            return CannotTell("this release does not know the company's channel")
        if gateway.natureza.lists_by != "days":
            return await self._distributed(Canal(gateway.name, gateway.ambiente), row, periodo)
        listadas = await self._listed(gateway, cnpj, periodo)
        if isinstance(listadas, CannotTell):
            return listadas
        async with self._database.transaction() as connection:
            nossas = await comparison.held(
                connection,
                empresa_id,
                _midnight(periodo.inicio),
                _midnight(periodo.fim + timedelta(days=1)),
                {nota.id_integracao for nota in listadas},
                {nota.id_externo for nota in listadas},
                gateway.name,
            )
        inteiras, mostradas = await self._whole(gateway, cnpj, nossas, listadas)
        conferencia = compare(nossas, inteiras, periodo)
        vistas = mostradas - {each.nossa.emissao_id for each in conferencia.diferencas if each.nossa}  # told each day
        async with self._database.transaction() as connection:
            if vistas:
                await comparison.content_seen(connection, vistas)
            if conferencia.reler:
                await comparison.look_again(connection, conferencia.reler)
        if conferencia.reler:
            self._ring()
        return conferencia

    async def _distributed(self, canal: Canal, row: Any, periodo: Periodo) -> Conferencia | CannotTell:
        """Read what the channel distributes to its end; compare what others issued, and what it never named of ours."""
        read = await self._feed.read(canal, row.id, row.cnpj)
        if isinstance(read, CannotTell):
            return read
        desde, ate = _midnight(periodo.inicio), _midnight(periodo.fim + timedelta(days=1))
        async with self._database.transaction() as connection:
            nossas = await comparison.held(connection, row.id, desde, ate, (), (), canal.nome, canal.ambiente)
            alheias = [nota.vista for nota in await elsewhere.between(connection, canal, row.id, desde, ate)]
            listadas = [*alheias, *(nossa.vista for nossa in nossas if nossa.listada)]
            conferencia = compare(nossas, listadas, replace(periodo, espera=READ_TWICE))
            if conferencia.reler:
                await comparison.look_again(connection, conferencia.reler)
        if conferencia.reler:
            self._ring()
        return conferencia

    def _channel(self, row: Any) -> FiscalGateway | None:
        """Return the company's channel, ``None`` where it is none of ours."""
        try:
            return self._channels.of(canal_of(row.canal, row.ambiente))
        except UnknownChannelError:
            return None

    def _lists(self, row: Any) -> bool:
        """Tell whether there may be a list to compare with: nobody waits for one that the channel does not make."""
        gateway = self._channel(row)
        return gateway is None or gateway.natureza.lists_by is not None

    async def _whole(
        self, gateway: FiscalGateway, cnpj: str, nossas: Sequence[Nossa], listadas: Sequence[Nota]
    ) -> tuple[list[Nota], set[int]]:
        """Complete the notes whose content was never compared; returns all, and the emissions that were completed."""
        por_ver = {nossa.id_integracao: nossa.emissao_id for nossa in nossas if nossa.vale and not nossa.conteudo_visto}
        inteiras: list[Nota] = []
        mostradas: set[int] = set()
        for listada in listadas:
            nota, emissao_id = listada, por_ver.get(listada.id_integracao)
            if emissao_id is not None:
                nota = (await gateway.whole(cnpj, listada)).nota
                mostradas |= {emissao_id} if mostra_conteudo(nota) else set()
            inteiras.append(nota)
        return inteiras, mostradas

    async def _listed(self, gateway: FiscalGateway, cnpj: str, periodo: Periodo) -> list[Nota] | CannotTell:
        """All pages, or nothing: what a half listing lacks would look like lost notes."""
        notas: list[Nota] = []
        cursor: str | None = None
        seen: set[str] = set()
        while len(seen) < MAX_PAGES:
            breaker = gateway.lines.breaker(cnpj, CallKind.QUESTION)
            if not breaker.allows():
                return CannotTell("the gateway is left alone after failures in a row", breaker.pause())
            pagina = await gateway.listing(cnpj, periodo.inicio, periodo.fim, cursor)
            if not isinstance(pagina, Pagina):
                return pagina
            notas += pagina.notas
            cursor = pagina.seguinte
            if cursor is None:
                return notas
            if cursor in seen:
                return CannotTell("the listing goes in circles")
            seen.add(cursor)
        return CannotTell("the listing does not end")

    def _report(self, audited: Sequence[Conferencia], silent: Sequence[CannotTell]) -> None:
        self._metrics.audits.labels("conferida").inc(len(audited))
        self._metrics.audits.labels("sem_resposta").inc(len(silent))
        for tipo in DifferenceKind:
            found = [diferenca for conferencia in audited for diferenca in conferencia.de(tipo)]
            self._metrics.audit_differences.labels(tipo.value).inc(len(found))
            if found:
                ids = [diferenca.referencia for diferenca in found[:NAMED]]
                log.error("audit_differs", kind=tipo.value, count=len(found), ids=ids)
        if silent:
            log.warning("audit_without_answer", count=len(silent), motivo=silent[0].motivo)


def _slot(agora: datetime) -> datetime:
    """Return when the day's audit began: the last six o'clock in São Paulo."""
    local = agora.astimezone(SAO_PAULO)
    begins = datetime.combine(local.date(), _BEGINS, SAO_PAULO)
    return begins if begins <= local else begins - timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), SAO_PAULO)
