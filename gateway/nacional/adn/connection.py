"""Owns the way to ADN: its hosts, and a question under a company's own certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.certificate.access import UnusableCertificateError
from gateway.certificate.connections import CompanyConnections
from gateway.http.client import Destination
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.nacional.outcome import UNUSABLE
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    import ssl
    from collections.abc import Hashable

    from gateway.registry import Surroundings

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
