"""The public register of companies.

Owns the question "whose CNPJ is this?" to a register of BrasilAPI's shape.

Owns the question "where is this CEP?" to a service of ViaCEP's shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from gateway.http.client import Destination, Exchange
from gateway.http.wire import Answer, NoAnswerError, json_object, text
from state_machine.documents import Endereco
from state_machine.values.text import read_json

_CNPJ = re.compile(r"[0-9A-Z]{12}[0-9]{2}")
_PATH = "/api/cnpj/v1"
_OK = 200
_MAX_BODY = 64 * 1024  # bytes; an entry with many partners has a tenth of it
_UNKNOWN = (400, 404)  # malformed, or not in the monthly copy of the register


@dataclass(frozen=True, slots=True)
class CompanyEntry:
    """A company as registered; ``situacao`` is the register's word ("ATIVA", "BAIXADA"…), ``raw`` the whole answer."""

    cnpj: str
    razao_social: str
    nome_fantasia: str | None
    situacao: str | None
    endereco: Endereco | None
    email: str | None
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NotFound:
    """The register does not know it. It is a monthly copy: a company opened last week is not in it."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The register did not answer, or not sensibly. Go on without it."""

    motivo: str


Consulta = CompanyEntry | NotFound | Unavailable


class CNPJRegister:
    """A register of BrasilAPI's shape; ``base_url`` with or without ``/api/cnpj/v1``, ``timeout`` in seconds."""

    def __init__(
        self,
        base_url: str,
        *,
        guard: Callable[[], None],
        timeout: float = 3.0,
        observe: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._path = "" if base_url.rstrip("/").endswith(_PATH) else _PATH
        self._register = Destination(base_url, timeout=timeout, guard=guard, observe=observe)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._register.aclose()

    async def lookup(self, cnpj: str) -> Consulta:
        """Return what the register says of a bare ``cnpj`` (14 characters); never raises for what the register does."""
        if not _CNPJ.fullmatch(cnpj):
            return NotFound()
        try:
            answer = await self._register.request("GET", f"{self._path}/{cnpj}", max_body=_MAX_BODY)
        except NoAnswerError as error:
            return Unavailable(error.reason)
        return _read(answer, cnpj)


def _read(answer: Answer, cnpj: str) -> Consulta:
    try:
        data = read_json(answer.body, exact=False)  # kept whole, so nothing that JSON has no word for
    except ValueError:
        return Unavailable(f"HTTP {answer.status} without JSON")
    if not isinstance(data, dict):
        return Unavailable("the answer is no object")
    if answer.status in _UNKNOWN and text(data.get("message")):
        return NotFound()
    if answer.status != _OK:
        return Unavailable(f"HTTP {answer.status}")
    if _bare(data.get("cnpj")) not in {"", cnpj}:
        return Unavailable("the answer is about another company")
    return company(data, cnpj) or Unavailable("the answer names no company")


def company(data: dict[str, Any], cnpj: str) -> CompanyEntry | None:
    """Read the register's entry for ``cnpj`` (also a remembered one); ``None`` when it names nobody."""
    razao_social = text(data.get("razao_social"))
    if razao_social is None:
        return None
    return CompanyEntry(
        cnpj=cnpj,
        razao_social=razao_social,
        nome_fantasia=text(data.get("nome_fantasia")),
        situacao=text(data.get("descricao_situacao_cadastral")),
        endereco=_endereco(data),
        email=_email(data.get("email")),
        raw=data,
    )


def _endereco(data: dict[str, Any]) -> Endereco | None:
    """An address is all or nothing in fiscal layouts; only the number may be missing ("S/N")."""
    street = " ".join(part for name in ("descricao_tipo_de_logradouro", "logradouro") if (part := text(data.get(name))))
    bairro, cidade, estado = text(data.get("bairro")), text(data.get("municipio")), text(data.get("uf"))
    ibge, cep = text(data.get("codigo_municipio_ibge")) or "", _bare(data.get("cep")).zfill(8)
    if not (text(data.get("logradouro")) and bairro and cidade and estado):
        return None
    if not re.fullmatch(r"\d{7}", ibge) or not re.fullmatch(r"\d{8}", cep) or cep == "0" * 8:
        return None
    numero, complemento = text(data.get("numero")) or "S/N", text(data.get("complemento"))
    return Endereco(street, numero, bairro, ibge, cidade, estado, cep, complemento)


def _email(value: Any) -> str | None:
    found = (text(value) or "").lower()
    return found if re.fullmatch(r"[^@\s]{1,64}@[^@\s]{1,255}\.[^@\s]{1,63}", found) else None


def _bare(value: Any) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text(value) or "").upper()


_CEP = re.compile(r"[0-9]{8}")
_IBGE = re.compile(r"[0-9]{7}")
_STATE = re.compile(r"[A-Z]{2}")
_CEP_FOUND, _MALFORMED = 200, 400
_CEP_BODY = 16 * 1024  # bytes; an answer has a fortieth of it
_TEXT = 120  # characters of one part


@dataclass(frozen=True, slots=True)
class CepEntry:
    """Where a CEP is. ``logradouro`` and ``bairro`` are "" where it is a whole town's; ``codigo_cidade`` is IBGE's."""

    cep: str
    logradouro: str
    bairro: str
    cidade: str
    estado: str
    codigo_cidade: str


class CepRegister:
    """A service of ViaCEP's shape at ``base_url``; ``timeout`` in seconds."""

    def __init__(self, base_url: str, *, guard: Callable[[], None], timeout: float = 3.0) -> None:
        self._register = Destination(base_url, timeout=timeout, guard=guard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._register.aclose()

    async def lookup(self, cep: str) -> CepEntry | NotFound | Unavailable:
        """Return where a bare ``cep`` (8 digits) is; never raises for what the service does."""
        if not _CEP.fullmatch(cep):
            return NotFound()
        try:
            answer = await self._register.request("GET", f"/ws/{cep}/json/", max_body=_CEP_BODY)
        except NoAnswerError as error:
            return Unavailable(error.reason)
        return _read_cep(answer, cep)


def _read_cep(answer: Answer, cep: str) -> CepEntry | NotFound | Unavailable:
    if answer.status == _MALFORMED:
        return NotFound()
    if answer.status != _CEP_FOUND:
        return Unavailable(f"HTTP {answer.status}")
    data = json_object(answer.body)
    if data.get("erro") in (True, "true"):
        return NotFound()
    told = {name: " ".join((text(data.get(name), _TEXT) or "").split()) for name in ("localidade", "uf", "ibge", "cep")}
    if re.sub(r"\D", "", told["cep"]) != cep:
        return Unavailable("the answer is about another CEP")
    if not (told["localidade"] and _STATE.fullmatch(told["uf"]) and _IBGE.fullmatch(told["ibge"])):
        return Unavailable("the answer names no city")
    street, quarter = (_part(text(data.get(name), _TEXT) or "") for name in ("logradouro", "bairro"))
    return CepEntry(cep, street, quarter, told["localidade"], told["uf"], told["ibge"])


def _part(value: str) -> str:
    """Return a part of an address without what would divide it into several."""
    return " ".join(re.sub(r"[,;|\n]|(?:^|\s)[-–—](?=\s|$)", " ", value).split())
