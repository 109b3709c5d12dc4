"""Owns the question "where is this CEP?" to a service of ViaCEP's shape."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from gateway.http.client import Destination
from gateway.http.json_body import json_object, text
from gateway.http.wire import NoAnswerError
from gateway.register.cnpj import NotFound, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from gateway.http.wire import Answer

_CEP = re.compile(r"[0-9]{8}")
_IBGE = re.compile(r"[0-9]{7}")
_STATE = re.compile(r"[A-Z]{2}")
_OK, _MALFORMED = 200, 400
_MAX_BODY = 16 * 1024  # bytes; an answer has a fortieth of it
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
            answer = await self._register.request("GET", f"/ws/{cep}/json/", max_body=_MAX_BODY)
        except NoAnswerError as error:
            return Unavailable(error.reason)
        return _read(answer, cep)


def _read(answer: Answer, cep: str) -> CepEntry | NotFound | Unavailable:
    if answer.status == _MALFORMED:
        return NotFound()
    if answer.status != _OK:
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
