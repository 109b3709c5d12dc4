"""Gives a confirmed invoice its RPS number, where the company numbers through us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.port import Rps
from persistence.fiscal import attempts, numbering
from persistence.fiscal.numbering import Sequencia

if TYPE_CHECKING:
    from bot.ports import FiscalGateway
    from persistence.db.connection import Connection
    from persistence.people.companies import Empresa
    from state_machine.machine.session import Sessao


class Numbers:
    """Numbers of one channel in one environment; all in the caller's transaction, which stores the intent."""

    def __init__(self, gateway: FiscalGateway) -> None:
        self._gateway = gateway

    async def take(
        self, connection: Connection, empresa: Empresa, sessao: Sessao, revisao: int, tentativa: int
    ) -> Rps | None:
        """Return the next number of the company's series, or ``None`` where the gateway numbers.

        A new attempt keeps the refused one's number: no gap, and a city that is unique on it refuses a second note.
        Raises ``NumeracaoBloqueadaError``.
        """
        if empresa.serie_rps is None or self._gateway.natureza.numbers == "channel":
            return None
        before = await attempts.newest(connection, sessao.sessao_id, revisao) if tentativa > 1 else None
        if before is not None and before.serie_rps == empresa.serie_rps and self._counts(before):
            return Rps(before.serie_rps, before.numero_rps)
        sequencia = self._sequence(empresa, empresa.serie_rps)
        return Rps(empresa.serie_rps, await numbering.allocate(connection, sequencia, primeiro=empresa.primeiro_rps))

    def example(self, empresa: Empresa) -> Rps | None:
        """Return a number like the next one, which is not taken; ``None`` where we give none."""
        if empresa.serie_rps is None or self._gateway.natureza.numbers == "channel":
            return None
        return Rps(empresa.serie_rps, empresa.primeiro_rps or 1)

    async def blocked(self, connection: Connection, empresa: Empresa) -> bool:
        """Tell whether the company's invoices can get no number now: none is set up, or staff blocked its sequence."""
        numbers = self._gateway.natureza.numbers
        if empresa.serie_rps is None or numbers == "channel":
            return numbers == "we"
        return await numbering.blocked(connection, self._sequence(empresa, empresa.serie_rps)) is not None

    async def bind(self, connection: Connection, empresa: Empresa, rps: Rps | None, emissao_id: int) -> None:
        """Tie the number to the stored intent. Raises ``NumeroOcupadoError``."""
        if rps is not None:
            await numbering.bind(connection, self._sequence(empresa, rps.serie), rps.numero, emissao_id)

    def _sequence(self, empresa: Empresa, serie: str) -> Sequencia:
        return Sequencia(empresa.id, empresa.municipio_ibge, serie, self._gateway.ambiente)

    def _counts(self, before: Any) -> bool:
        """Tell whether an earlier attempt's number was counted where ours are."""
        return before.canal == self._gateway.name and before.ambiente in {None, self._gateway.ambiente}
