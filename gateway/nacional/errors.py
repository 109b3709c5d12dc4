"""Owns the reading of SEFIN's complaints, in the four shapes in which they come, and their plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gateway.http.json_body import as_dict, parse_json, text
from gateway.refusals import national_codes

if TYPE_CHECKING:
    from gateway.port import Explicacao
    from state_machine.protocol.emission import Rejected

_CODE: Final = re.compile(r"[A-Z]{1,3}[0-9]{3,5}")
_MOST: Final = 50  # complaints of one answer
_LONGEST: Final = 1000  # characters of one text


@dataclass(frozen=True, slots=True)
class ErroSefin:
    """One complaint of the authority: ``codigo`` as "E0014", the rest in its own words."""

    codigo: str
    descricao: str
    complemento: str | None = None


def errors_of(body: bytes) -> tuple[ErroSefin, ...]:
    """Return the complaints of an answer; empty for HTML, garbage and an answer without any."""
    try:
        answer = parse_json(body)
    except ValueError:
        return ()
    found = [_error(each) for each in _listed(answer)[:_MOST]]
    return tuple(error for error in found if error is not None)


def says_only(body: bytes, codigo: str) -> bool:
    """Tell whether an answer complains, and of nothing but this; a complaint that cannot be read is another."""
    try:
        listed = _listed(parse_json(body))
    except ValueError:
        return False
    return bool(listed) and all(error is not None and error.codigo == codigo for error in map(_error, listed))


def explain(recusa: Rejected) -> Explicacao:
    """Say in plain pt-BR why a note was refused, and which field repairs it."""
    return national_codes.first((), recusa.codigos, recusa.mensagem)


def _listed(answer: Any) -> list[Any]:
    """``{"erros": […]}``, ``{"erro": … or […]}``, a bare list, or one complaint by itself."""
    if isinstance(answer, list):
        return answer
    told = {str(name).casefold(): value for name, value in as_dict(answer).items()}
    inner = told.get("erros", told.get("erro", answer))
    return inner if isinstance(inner, list) else [inner]


def _error(each: Any) -> ErroSefin | None:
    told = {str(name).casefold(): value for name, value in as_dict(each).items()}
    codigo = text(told.get("codigo"))
    if codigo is None or not _CODE.fullmatch(codigo):
        return None
    descricao = text(told.get("descricao")) or text(told.get("mensagem")) or ""
    complemento = text(told.get("complemento"))
    return ErroSefin(codigo, descricao[:_LONGEST], complemento[:_LONGEST] if complemento else None)
