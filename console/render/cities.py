"""Names of cities by IBGE code: the state capitals by name, every other by its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# The first two digits of a city's code are its state's (IBGE, DTB).
ESTADOS: Final[Mapping[str, str]] = {
    "11": "RO", "12": "AC", "13": "AM", "14": "RR", "15": "PA", "16": "AP", "17": "TO", "21": "MA", "22": "PI",
    "23": "CE", "24": "RN", "25": "PB", "26": "PE", "27": "AL", "28": "SE", "29": "BA", "31": "MG", "32": "ES",
    "33": "RJ", "35": "SP", "41": "PR", "42": "SC", "43": "RS", "50": "MS", "51": "MT", "52": "GO", "53": "DF",
}  # fmt: skip
CAPITAIS: Final[Mapping[str, str]] = {
    "1100205": "Porto Velho",
    "1200401": "Rio Branco",
    "1302603": "Manaus",
    "1400100": "Boa Vista",
    "1501402": "Belém",
    "1600303": "Macapá",
    "1721000": "Palmas",
    "2111300": "São Luís",
    "2211001": "Teresina",
    "2304400": "Fortaleza",
    "2408102": "Natal",
    "2507507": "João Pessoa",
    "2611606": "Recife",
    "2704302": "Maceió",
    "2800308": "Aracaju",
    "2927408": "Salvador",
    "3106200": "Belo Horizonte",
    "3205309": "Vitória",
    "3304557": "Rio de Janeiro",
    "3550308": "São Paulo",
    "4106902": "Curitiba",
    "4205407": "Florianópolis",
    "4314902": "Porto Alegre",
    "5002704": "Campo Grande",
    "5103403": "Cuiabá",
    "5208707": "Goiânia",
    "5300108": "Brasília",
}


def cidade(codigo: str) -> str:
    """Return ``São Paulo/SP``, ``município de MG`` where only the state is known, else the code itself."""
    uf = ESTADOS.get(codigo[:2])
    if uf is None:
        return codigo
    return f"{CAPITAIS[codigo]}/{uf}" if codigo in CAPITAIS else f"município de {uf}"
