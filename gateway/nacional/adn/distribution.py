"""Asks ADN for the documents that name a company, in the order of their NSU."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from gateway.http.json_body import as_dict, json_object, text
from gateway.http.wire import Answer
from gateway.nacional import event, note
from gateway.nacional.adn.connection import AdnConnection
from gateway.nacional.cancellation import ended_by
from gateway.nacional.layouts import MAX_BYTES
from gateway.nacional.outcome import NOT_FOUND, OK, cannot_tell
from gateway.nacional.signature import unpack
from state_machine.protocol.distribution import Distributed

if TYPE_CHECKING:
    from state_machine.protocol.emission import CannotTell

_FOUND: Final = "DOCUMENTOS_LOCALIZADOS"
_NONE: Final = "NENHUM_DOCUMENTO_LOCALIZADO"


class Distribution(AdnConnection):
    """ADN's list of documents for a company, which its own certificate opens."""

    async def after(self, cnpj: str, nsu: int) -> tuple[Distributed, ...] | CannotTell:
        """Return the next lot after ``nsu`` in its order; empty where ADN itself says that there is no more."""
        result = await self.get(cnpj, f"/contribuintes/DFe/{nsu}?cnpjConsulta={cnpj}&lote=true")
        # Dozens of documents are read: elsewhere, for the event loop has others to serve.
        return await asyncio.to_thread(read_lot, result, nsu) if isinstance(result, Answer) else cannot_tell(result)


def read_lot(answer: Answer, nsu: int) -> tuple[Distributed, ...] | CannotTell:
    """Read the answer to what comes after ``nsu``; what is not plainly ADN's word is none."""
    body = json_object(answer.body)
    status, rows = text(body.get("StatusProcessamento")), body.get("LoteDFe")
    if answer.status == NOT_FOUND and status == _NONE:
        return ()
    if answer.status != OK or status != _FOUND or not isinstance(rows, list):
        return cannot_tell(answer)
    try:
        lot = sorted((_read(as_dict(row)) for row in rows), key=lambda each: each.nsu)
    except ValueError:
        return cannot_tell(answer, "a lot that cannot be read")
    if not lot or lot[0].nsu <= nsu:
        return cannot_tell(answer, "a lot that is not the next one")
    return tuple(lot)


def _read(row: dict[str, Any]) -> Distributed:
    """Read one; a document that nobody can read has its place and key alone. Raises ``ValueError`` without a place."""
    nsu = int(row.get("NSU") or "")
    chave = text(row.get("ChaveAcesso")) or ""
    try:
        xml = unpack(text(row.get("ArquivoXml"), 2 * MAX_BYTES) or "")
    except ValueError:
        return Distributed(nsu, chave)
    if (nota := note.read(xml)) is not None:
        return Distributed(nsu, nota.nota.id_externo, nota=nota.nota)
    identity = event.read(xml)
    return Distributed(nsu, str(identity.chave), ended=ended_by(identity.tipo)) if identity else Distributed(nsu, chave)
