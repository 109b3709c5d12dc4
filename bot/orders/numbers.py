"""Gives a confirmed invoice its RPS number, where the company numbers through us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.port import Rps
from persistence.fiscal import attempts
from persistence.fiscal.intents import integration_id
from persistence.fiscal.numbers import numbering
from persistence.fiscal.numbers.numbering import Sequencia
from persistence.witness import references
from state_machine.protocol.taken import ATTEMPTS

if TYPE_CHECKING:
    from bot.ports import FiscalGateway
    from persistence.db.connection import Connection
    from persistence.people.companies import Empresa
    from state_machine.protocol.origin import Origin

REVISIONS = 10  # from ours on that are looked for: what was forgotten may have been corrected since


class Numbers:
    """Numbers of one channel in one environment; all in the caller's transaction, which stores the intent."""

    def __init__(self, gateway: FiscalGateway) -> None:
        self._gateway = gateway

    async def take(self, connection: Connection, empresa: Empresa, origin: Origin, tentativa: int) -> Rps | None:
        """Return the next number of the company's series, or ``None`` where the gateway numbers.

        A new attempt keeps the refused one's number: no gap, and a city that is unique on it refuses a second note.
        It gets the next one where that number was explained away, is another city's, or another's note has it.
        Raises ``NumeracaoBloqueadaError``.
        """
        if empresa.serie_rps is None or self._gateway.natureza.numbers == "channel":
            return None
        before = await attempts.newest(connection, origin.id, origin.revisao) if tentativa > 1 else None
        sequencia = self._sequence(empresa, empresa.serie_rps)
        same = before is not None and before.serie_rps == empresa.serie_rps and self._counts(before)
        if before is not None and same and await numbering.is_unused(connection, sequencia, before.numero_rps):
            return Rps(before.serie_rps, before.numero_rps)
        return Rps(empresa.serie_rps, await numbering.allocate(connection, sequencia, primeiro=empresa.primeiro_rps))

    async def seen(
        self, connection: Connection, empresa: Empresa, origin: Origin, tentativa: int
    ) -> tuple[Rps, int, int] | None:
        """Return number, revision and attempt of the note that the authority has of this order, which we had forgotten.

        Looked for before a number is drawn; a later attempt than ours may be the one that became the note, and what
        was forgotten may have been confirmed in another revision: a second note would be one too many.
        """
        reference = self._gateway.natureza.reference
        if reference is None or empresa.serie_rps is None:
            return None
        ours: dict[str, tuple[int, int]] = {}
        for revisao in range(1, origin.revisao + REVISIONS):
            first = tentativa if revisao == origin.revisao else 1
            for each in range(first, first + ATTEMPTS):
                ours[reference(integration_id(origin.id, revisao, each))] = revisao, each
        found = await references.number_of(connection, self._sequence(empresa, empresa.serie_rps), ours.keys())
        if found is None:
            return None
        serie, numero, referencia = found
        await references.take(connection, self._sequence(empresa, serie), numero)
        return Rps(serie, numero), *ours[referencia]

    def example(self, empresa: Empresa) -> Rps | None:
        """Return a number like the next one, which is not taken; ``None`` where we give none."""
        if empresa.serie_rps is None or self._gateway.natureza.numbers == "channel":
            return None
        return Rps(empresa.serie_rps, empresa.primeiro_rps or 1)

    def given(self, empresa: Empresa) -> bool:
        """Tell whether the company's invoices get their number from us."""
        return self.example(empresa) is not None

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
