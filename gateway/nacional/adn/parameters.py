"""Asks ADN what a city has agreed to, under the company's own certificate."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from gateway.certificate.access import UnusableCertificateError
from gateway.certificate.connections import CompanyConnections
from gateway.http.client import Destination
from gateway.http.json_body import as_dict, json_object
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.nacional.outcome import NOT_FOUND, OK, UNUSABLE, cannot_tell
from state_machine.protocol.agreement import Convenio
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import CannotTell

if TYPE_CHECKING:
    import ssl
    from collections.abc import Hashable
    from datetime import date

    from gateway.registry import Surroundings

# Hosts: the national portal's page "APIs - Prod. Restrita e Produção" (gov.br/nfse), read in 2026.
ADN: Final = {
    Ambiente.PRODUCAO: "https://adn.nfse.gov.br",
    Ambiente.HOMOLOGACAO: "https://adn.producaorestrita.nfse.gov.br",
}
_WITHOUT_A_CITYS_OWN: Final = "000"  # the digits that a city adds to the six of the national list


class CityParameters:
    """ADN's parameters of cities, asked with a company's certificate; nothing raises for what ADN does."""

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
        result: Answer | NoAnswerError
        try:
            async with self._connections.of(cnpj, "parametros") as way:
                result = await way.request("GET", path)
        except UnusableCertificateError:
            result = NotSentError(UNUSABLE)
        except NoAnswerError as error:
            result = error
        if not isinstance(result, Answer) or result.status not in {OK, NOT_FOUND}:
            return cannot_tell(result)
        body = json_object(result.body)
        if inside not in body or (result.status == OK) is not isinstance(body[inside], dict):
            return cannot_tell(result, "an answer that is not ADN's")
        return body[inside]
