"""The simulated CNPJ register, in BrasilAPI's shape, over a few dozen invented companies.

Roots from 99.000.001 on were never given to anybody; 12.345.678/0001-95, 11.222.333/0001-81 and 12.ABC.345/01DE-35 are
the numbers that everybody's examples use.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from stdnum.br import cnpj as documents

from proofs.sandbox import cep_register
from proofs.sandbox.plugnotas.model import bare
from proofs.sandbox.server import Simulator, answer

if TYPE_CHECKING:
    from collections.abc import Iterable

CLOSED: Final = 8  # situacao_cadastral "baixada"

# What BrasilAPI also answers and nobody here needs to vary.
_COMMON: Final[dict[str, Any]] = {
    "pais": None,
    "codigo_pais": None,
    "ddd_telefone_2": "",
    "ddd_fax": "",
    "qsa": [],
    "cnaes_secundarios": [],
    "regime_tributario": None,
    "capital_social": 10000,
    "natureza_juridica": "Sociedade Empresária Limitada",
    "codigo_natureza_juridica": 2062,
    "identificador_matriz_filial": 1,
    "descricao_identificador_matriz_filial": "MATRIZ",
    "data_inicio_atividade": "2020-01-02",
    "data_situacao_cadastral": "2020-01-02",
    "motivo_situacao_cadastral": 0,
    "descricao_motivo_situacao_cadastral": "SEM MOTIVO",
    "situacao_especial": "",
    "data_situacao_especial": None,
    "data_opcao_pelo_simples": None,
    "data_exclusao_do_simples": None,
    "data_opcao_pelo_mei": None,
    "data_exclusao_do_mei": None,
    "qualificacao_do_responsavel": 49,
    "ente_federativo_responsavel": "",
    "codigo_municipio": None,  # RFB's own city code: the IBGE one is what everybody uses
}


@cache
def companies() -> dict[str, dict[str, Any]]:
    """Return every invented company by its bare CNPJ, as the register answers it."""
    rows = json.loads(files("proofs.sandbox").joinpath("companies.json").read_text(encoding="utf-8"))
    return {row["cnpj"]: row | _COMMON for row in rows}


def closed_companies() -> frozenset[str]:
    """Return the CNPJs that are BAIXADA; the simulated city rejects notes to them."""
    return frozenset(cnpj for cnpj, row in companies().items() if row["situacao_cadastral"] == CLOSED)


def company_names() -> dict[str, str]:
    """Return razao social by CNPJ; the simulated gateway prints it where a note leaves the issuer's name out."""
    return {cnpj: row["razao_social"] for cnpj, row in companies().items()}


def any_company(cnpj: str) -> dict[str, Any]:
    """Return an active company of this number, invented like all of them."""
    return next(iter(companies().values())) | {
        "cnpj": cnpj,
        "razao_social": f"INVENTADA {cnpj[:8]} LTDA",
        "nome_fantasia": "",
    }


@cache
def towns() -> dict[str, tuple[str, ...]]:
    """Return the town of every company's CEP, as of a CEP that is one for all of it."""
    return {
        row["cep"]: ("", "", "", row["municipio"], row["uf"], str(row["codigo_municipio_ibge"]))
        for row in companies().values()
    }


class CnpjRegister(Simulator):
    """``GET /api/cnpj/v1/{cnpj}``; the ledger has one ``lookup`` per call. The register of CEPs is beside it.

    With ``knows_all`` every number with right check digits is an active company.
    """

    name = "cnpj"

    def __init__(self, *, knows_all: bool = False, **server: Any) -> None:
        super().__init__(**server)
        self._knows_all = knows_all

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Return the route of each register."""
        return [web.get("/api/cnpj/v1/{cnpj}", self._find), web.get(cep_register.PATH, self._find_cep)]

    def error_body(self, status: int) -> dict[str, Any]:
        """Return BrasilAPI's error shape."""
        return {"message": f"Erro {status}", "type": "internal_error", "name": "InternalError"}

    async def _find_cep(self, request: web.Request) -> web.Response:
        return cep_register.find(request, self.ledger, towns())

    async def _find(self, request: web.Request) -> web.Response:
        asked = request.match_info["cnpj"]
        wanted = bare(asked)
        valid = documents.is_valid(wanted)
        company = companies().get(wanted) or (any_company(wanted) if valid and self._knows_all else None)
        self.ledger.append("lookup", cnpj=wanted, found=company is not None)
        if not valid:
            body = {"message": f"CNPJ {asked} inválido.", "type": "bad_request", "name": "BadRequestError"}
            return answer(body, 400)
        if company is None:
            text = f"CNPJ {documents.format(wanted)} não encontrado."
            return answer({"message": text, "type": "not_found", "name": "NotFoundError"}, 404)
        return answer(company)
