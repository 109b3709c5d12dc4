"""Reads what the authority distributes to each company: notes that others made, and what ended notes of ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import structlog

from gateway.keys import ChaveInvalida, IdDPS
from gateway.nacional.adn import Distribution
from gateway.registry import Channels
from persistence import witness
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import comparison
from persistence.fiscal.numbering import Sequencia
from persistence.national import distribution as cursor
from persistence.national import elsewhere
from persistence.national.elsewhere import NotaDeFora, Ours
from state_machine.protocol.audit import Distributed
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.protocol.emission import ENCERRADAS, CannotTell, Nota

LOTS: Final = 20  # of one company in one run: others wait meanwhile
_AGAIN: Final = 300.0  # seconds after an answer that told nothing, where it named no time
_CERTIFICATE: Final = 3600.0  # seconds until a company is asked for whose certificate does not serve

Cancelled = Callable[["Connection", Ours], Awaitable[None]]
log = structlog.get_logger(__name__)


class Feed:
    """Reads the lists of all companies; ``cancelled`` tells of a note of ours that somebody ended elsewhere."""

    def __init__(self, database: Database, channels: Channels, cancelled: Cancelled) -> None:
        self._database = database
        self._channels = channels
        self._cancelled = cancelled

    async def read_due(self) -> int:
        """Read on in all lists that are due; returns how many documents came."""
        read = 0
        for nome in self._channels.with_any("documents"):
            padrao = self._channels.environment(Canal(nome))
            for ambiente in Ambiente:
                read += await self._read_due_of(Canal(nome, ambiente), padrao)
        return read

    async def read(self, canal: Canal, empresa_id: int, cnpj: str) -> int | CannotTell:
        """Read one company's list to its end now; ``canal`` names its environment."""
        documents = self._channels.documents(canal)
        if documents is None:
            return CannotTell("the company's channel lists no notes")
        try:
            return await self._read(documents, canal, empresa_id, cnpj, lots=None)
        finally:
            await documents.aclose()

    async def _read_due_of(self, canal: Canal, padrao: Ambiente) -> int:
        async with self._database.transaction() as connection:
            due = await cursor.due(connection, canal, padrao)
        documents = self._channels.documents(canal) if due else None
        if documents is None:
            return 0
        read = 0
        try:
            for empresa_id, cnpj in due:
                told = await self._read(documents, canal, empresa_id, cnpj, lots=LOTS)
                if not isinstance(told, CannotTell):
                    read += told
                elif told.texto is None:  # no certificate's fault: ADN itself wants no question now
                    break
        finally:
            await documents.aclose()
        return read

    async def _read(
        self, documents: Distribution, canal: Canal, empresa_id: int, cnpj: str, *, lots: int | None
    ) -> int | CannotTell:
        read = asked = 0
        while lots is None or asked < lots:
            async with self._database.transaction() as connection:
                nsu = await cursor.position(connection, canal, cnpj)
            if nsu is None:
                return CannotTell("ADN asked to be left alone")
            lot = await documents.after(cnpj, nsu)
            asked += 1
            async with self._database.transaction() as connection:
                if isinstance(lot, CannotTell):
                    todos = lot.texto is None
                    wait = lot.retry_after or (_AGAIN if todos else _CERTIFICATE)
                    await cursor.later(connection, canal, cnpj, wait, todos=todos)
                    return lot
                if not lot:
                    await cursor.end(connection, canal, cnpj, nsu)
                    return read
                if await cursor.move(connection, canal, cnpj, nsu, lot[-1].nsu):
                    for document in lot:
                        await self._take(connection, canal, empresa_id, cnpj, document)
                    read += len(lot)
        return read

    async def _take(
        self, connection: Connection, canal: Canal, empresa_id: int, cnpj: str, document: Distributed
    ) -> None:
        """Believe one document, in the transaction that moves the cursor past it."""
        if document.ended is not None:
            for each in await elsewhere.ours(connection, canal, document.chave):
                await self._cancelled(connection, each)
            await elsewhere.ended(connection, canal, document.chave, document.ended)
        elif document.nota is None:
            log.warning("document_not_read", empresa_id=empresa_id, nsu=document.nsu)
        elif document.nota.prestador == cnpj:
            await self._note(connection, canal, empresa_id, document.nota)

    async def _note(self, connection: Connection, canal: Canal, empresa_id: int, nota: Nota) -> None:
        ours = await elsewhere.ours(connection, canal, nota.id_externo, nota.id_integracao)
        open_ = {each.emissao_id for each in ours if each.status not in ENCERRADAS}
        await comparison.look_again(connection, open_)
        reference = self._channels.of(canal).natureza.reference
        named = {each.emissao_id for each in ours if nota.id_externo == each.chave or _carries(nota, each, reference)}
        if named:
            await comparison.listed(connection, named)
            return
        serie, numero = await _in_our_series(connection, canal, empresa_id, nota)
        kept = NotaDeFora(
            chave=nota.id_externo,
            id_dps=nota.id_integracao,
            numero=nota.numero,
            valor=nota.valor,
            emitida_em=_moment(nota.data_emissao),
            serie=serie,
            numero_dps=numero,
        )
        if await elsewhere.keep(connection, canal, empresa_id, kept) and serie is not None:
            log.error("series_used_elsewhere", empresa_id=empresa_id, serie=serie, numero=numero)


def _carries(nota: Nota, ours: Ours, reference: Callable[[str], str] | None) -> bool:
    return reference is not None and nota.referencia == reference(ours.id_integracao)


async def _in_our_series(
    connection: Connection, canal: Canal, empresa_id: int, nota: Nota
) -> tuple[str | None, int | None]:
    """Return series and number of ours that a note took, and keep that the authority knows it, with its reference."""
    try:
        dps = IdDPS.parse(nota.id_integracao)
    except ChaveInvalida:
        return None, None
    assert canal.ambiente is not None  # noqa: S101 - ``canal`` names its environment
    sequencia = Sequencia(empresa_id, dps.municipio, str(dps.serie), canal.ambiente)
    serie = await elsewhere.series_of(connection, sequencia, dps.numero)
    if serie is None:
        return None, None
    ours = Sequencia(empresa_id, dps.municipio, serie, canal.ambiente)
    await witness.keep(connection, ours, dps.numero, nota.referencia)
    return serie, dps.numero


def _moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
