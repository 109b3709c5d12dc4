"""The simulated register of CEPs, in ViaCEP's shape, over a few CEPs; served beside the CNPJ register."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from proofs.sandbox.server import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.sandbox.ledger import Ledger

PATH: Final = "/ws/{cep}/json/"
_NAMES: Final = ("logradouro", "complemento", "bairro", "localidade", "uf", "ibge")
PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "01310100": ("Avenida Paulista", "de 612 a 1510 - lado par", "Bela Vista", "São Paulo", "SP", "3550308"),
    "80020310": ("Praça Tiradentes", "", "Centro", "Curitiba", "PR", "4106902"),
    "74005010": ("Avenida Goiás", "", "Setor Central", "Goiânia", "GO", "5208707"),
    "74003010": ("Praça Doutor Pedro Ludovico Teixeira", "", "Setor Central", "Goiânia", "GO", "5208707"),
    "74505010": ("Avenida Vinte e Quatro de Outubro", "", "Setor Campinas", "Goiânia", "GO", "5208707"),
    "13990000": ("", "", "", "Espírito Santo do Pinhal", "SP", "3515186"),  # one for the whole town
}


def place(cep: str, towns: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Return the answer about a CEP of eight digits; ``towns``: what else has a CEP."""
    found = {**towns, **PLACES}.get(cep)
    return {"cep": f"{cep[:5]}-{cep[5:]}", **dict(zip(_NAMES, found, strict=True))} if found else {"erro": "true"}


def find(request: web.Request, ledger: Ledger, towns: Mapping[str, tuple[str, ...]]) -> web.Response:
    """Answer one question; the ledger has one ``cep`` per call."""
    cep = request.match_info["cep"]
    found = place(cep, towns)
    ledger.append("cep", cep=cep, found="erro" not in found)
    if not re.fullmatch(r"[0-9]{8}", cep):
        return web.Response(status=400, text="<h3>Verifique a URL</h3>", content_type="text/html")
    return answer(found)
