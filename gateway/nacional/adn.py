"""The services of ADN beside the issuing: what cities agreed to, and what documents name a company.

Owns the way to ADN: its hosts, and a question under a company's own certificate.

Asks ADN what a city has agreed to, under the company's own certificate.

Asks ADN for the documents that name a company, in the order of their NSU.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Hashable
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from gateway.certificate.connections import CompanyConnections, UnusableCertificateError
from gateway.http.client import Destination
from gateway.http.wire import Answer, NoAnswerError, NotSentError, as_dict, json_object, text
from gateway.nacional import event, note
from gateway.nacional.cancellation import ended_by
from gateway.nacional.layouts import MAX_BYTES
from gateway.nacional.outcome import NOT_FOUND, OK, UNUSABLE, cannot_tell
from gateway.nacional.signature import unpack
from gateway.port import Surroundings
from state_machine.protocol.audit import Distributed
from state_machine.protocol.channel import Ambiente, Convenio
from state_machine.protocol.emission import CannotTell

# Hosts: the national portal's page "APIs - Prod. Restrita e Produção" (gov.br/nfse), read in 2026.
ADN: Final = {
    Ambiente.PRODUCAO: "https://adn.nfse.gov.br",
    Ambiente.HOMOLOGACAO: "https://adn.producaorestrita.nfse.gov.br",
}
_MAX_BODY: Final = 4 * 1024 * 1024  # bytes; a lot of the distribution has some dozens of documents


class AdnConnection:
    """Questions to one ADN; nothing raises for what ADN does."""

    def __init__(self, around: Surroundings) -> None:
        settings = around.settings
        own = around.ambiente == settings.fiscal_environment
        base = (settings.nacional_adn_url if own else "") or ADN[around.ambiente]
        if around.certificates is None:
            raise ValueError("the national channel needs the companies' certificates")

        def destination(_kind: Hashable, context: ssl.SSLContext) -> Destination:
            headers = {"accept": "application/json"}
            timeout = settings.gateway_query_timeout_seconds
            return Destination(base, timeout=timeout, guard=around.guard, headers=headers, tls=context)

        self._connections = CompanyConnections(around.certificates, destination, also_trusted=settings.nacional_ca_file)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()

    async def get(self, cnpj: str, path: str) -> Answer | NoAnswerError:
        """Ask; without a usable certificate there is no answer."""
        try:
            async with self._connections.of(cnpj, "adn") as way:
                return await way.request("GET", path, max_body=_MAX_BODY)
        except UnusableCertificateError:
            return NotSentError(UNUSABLE)
        except NoAnswerError as error:
            return error


_WITHOUT_A_CITYS_OWN: Final = "000"  # the digits that a city adds to the six of the national list


class CityParameters(AdnConnection):
    """ADN's parameters of cities, asked with a company's certificate."""

    async def agreement(self, cnpj: str, ibge: str) -> Convenio | CannotTell:
        """Ask what a city agreed to; one that ADN does not know agreed to nothing."""
        said = await self._asked(cnpj, f"/parametrizacao/{ibge}/convenio", "parametrosConvenio")
        if isinstance(said, CannotTell):
            return said
        found = as_dict(said)
        return Convenio(found.get("aderenteAmbienteNacional") == 1, found.get("aderenteEmissorNacional") == 1)

    async def rate(self, cnpj: str, ibge: str, codigo: str, dia: date) -> Decimal | CannotTell | None:
        """Ask for a city's ISS of a service (six digits) on a day, in percent; ``None``: it has none for it."""
        path = f"/parametrizacao/{ibge}/{codigo}{_WITHOUT_A_CITYS_OWN}/{dia.isoformat()}/aliquota"
        said = await self._asked(cnpj, path, "aliquotas")
        if isinstance(said, CannotTell):
            return said
        rates = [
            row.get("Aliq") for rows in as_dict(said).values() if isinstance(rows, list) for row in map(as_dict, rows)
        ]
        try:
            rate = Decimal(str(rates[0])) if rates else None
        except InvalidOperation:
            return CannotTell("a rate that is no number")
        return rate if rate is None or rate.is_finite() else CannotTell("a rate that is no number")

    async def _asked(self, cnpj: str, path: str, inside: str) -> Any:
        """Return what an answer has under a name; ``None`` where ADN itself says, under that name, that it has none."""
        result = await self.get(cnpj, path)
        if not isinstance(result, Answer) or result.status not in {OK, NOT_FOUND}:
            return cannot_tell(result)
        body = json_object(result.body)
        if inside not in body or (result.status == OK) is not isinstance(body[inside], dict):
            return cannot_tell(result, "an answer that is not ADN's")
        return body[inside]


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
