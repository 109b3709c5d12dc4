"""What Schemathesis is told of values that no JSON Schema describes: digits that match, a client that there is."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Final

import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.core.parameters import ParameterLocation as In
from schemathesis.generation.meta import TestPhase

_numbers = itertools.count()
schemathesis.openapi.format("binary", st.just(b"email;nome\nana@exemplo.com.br;Ana\n"))
# What there is of the key's company, by the first word of its address.
_KNOWN: Final[dict[str, int]] = json.loads(os.environ["KNOWN"])
# By name: a value of it that is right.
_RIGHT: Final = {
    "cliente_id": _KNOWN["clientes"],
    "codigo_municipio": "3550308",
    "competencia": "2026-01",
    "documento": "123.456.789-09",
    "produto": "B1",
    "ncm": "19059090",
    "cfop": "5102",
    "csosn": "102",
    "fim": "2026-11-20",
    "inicio": "2026-11-20",
    "local_prestacao": "5208707",
    "url": "https://exemplo.com.br/prosa",
}


def _right(value: Any) -> Any:
    if isinstance(value, list):
        return [_right(each) for each in value]
    if isinstance(value, dict):
        return {name: _right(each) if each is None else _RIGHT.get(name, _right(each)) for name, each in value.items()}
    return value


@schemathesis.hook
def before_call(_: Any, case: Any, __: Any) -> None:
    """Let what is meant to be right be so; a key is new each time, as an old one with another body is refused."""
    meant = {place: found.mode for place, found in case.meta.components.items()}
    if meant.get(In.BODY) is GenerationMode.POSITIVE and case.path != "/lotes":
        case.body = _right(case.body)
        if "email" in case.body:
            case.body["email"] = f"a{next(_numbers)}@exemplo.com.br"
    if meant.get(In.HEADER) is GenerationMode.POSITIVE:
        for name, value in (("Prosa-Empresa", "99.000.002/0001-48"), ("Idempotency-Key", f"judge-{next(_numbers)}")):
            if name in case.headers:
                case.headers[name] = value
    if meant.get(In.PATH) is GenerationMode.POSITIVE and case.meta.phase.name is not TestPhase.STATEFUL:
        known = {"id": _KNOWN.get(case.path.split("/")[1]), "mes": "2026-11"}
        case.path_parameters |= {name: known[name] for name in case.path_parameters if name in known}
