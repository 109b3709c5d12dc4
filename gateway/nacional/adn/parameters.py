"""Asks ADN what a city has agreed to, under the company's own certificate."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from gateway.http.json_body import as_dict, json_object
from gateway.http.wire import Answer
from gateway.nacional.adn.connection import AdnConnection
from gateway.nacional.outcome import NOT_FOUND, OK, cannot_tell
from state_machine.protocol.agreement import Convenio
from state_machine.protocol.emission import CannotTell

if TYPE_CHECKING:
    from datetime import date

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
