"""The API as an OpenAPI 3.1 document: its addresses from the routes, its shapes from the models that validate."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from persistence.api.entities import LARGEST_ID
from webhooks.api.call import CNPJ_TEXT, COMPANY, JSON, KEY, VISIBLE, ApiCall, PageQuery
from webhooks.api.problems import CONTENT_TYPE, PROBLEMAS, Problema
from webhooks.bodies import FILE

Act = Callable[[ApiCall], Awaitable[web.StreamResponse]]

FORM: Final = "multipart/form-data"
_BLOCK: Final = "#/components/schemas/"
_PLACE: Final = re.compile(r"\{(\w+):((?:[^{}]|\{[^{}]*\})*)\}")
_ANYWHERE: Final = (
    *("empresa_obrigatoria", "empresa_invalida", "nao_autenticado", "escopo_insuficiente", "nao_encontrado"),
    *("pedidos_demais", "erro_interno", "indisponivel"),
)
_QUERY: Final = ("corpo_invalido", "pedido_invalido")
_BODY: Final = (
    *("chave_obrigatoria", "chave_invalida", "json_invalido", "pedido_invalido", "corpo_incompleto", "em_andamento"),
    *("corpo_grande", "tipo_de_corpo", "corpo_invalido", "chave_reutilizada"),
)
_HEADERS: Final[Mapping[int, str]] = {201: "Location", 401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a method does at a path: the scope of a key that may, what it takes, what it answers with.

    ``answer`` is a model, of which a ``query`` makes pages, or the types of a file. ``refuses``: the codes of its own.
    """

    escopo: str
    act: Act
    answer: type[BaseModel] | tuple[str, ...]
    body: type[BaseModel] | None = None
    keyed: bool = True  # what it makes is made once under its caller's key
    query: type[PageQuery] | None = None
    takes: str = JSON
    status: tuple[int, ...] = (200,)
    refuses: tuple[str, ...] = ()


Routes = Mapping[str, Mapping[str, Route]]


def openapi(routes: Routes, prefix: str) -> dict[str, Any]:
    """Return the document."""
    taken = [route for acts in routes.values() for route in acts.values()]
    sent = {(route.body, "validation") for route in taken if route.body and route.takes == JSON}
    told = {(route.answer, "serialization") for route in taken if isinstance(route.answer, type)}
    models: Any = sorted({(Problema, "serialization"), *sent, *told}, key=lambda each: each[0].__name__)
    _, blocks = models_json_schema(models, ref_template=_BLOCK + "{model}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Prosa", "version": "1", "description": "Invoices that a person approves on WhatsApp."},
        "servers": [{"url": prefix}],
        "paths": {
            _PLACE.sub(r"{\1}", path): {
                "parameters": [_in_path(name, shape.replace("|%2F", "")) for name, shape in _PLACE.findall(path)],
                **{method.lower(): _operation(path, method, route, routes) for method, route in acts.items()},
            }
            for path, acts in routes.items()
        },
        "components": {
            "schemas": blocks["$defs"],
            "securitySchemes": {"chave": {"type": "http", "scheme": "bearer", "bearerFormat": "prosa_live_…"}},
        },
    }


def _operation(path: str, method: str, route: Route, routes: Routes) -> dict[str, Any]:
    refused = [*_ANYWHERE, *(_QUERY if route.query else ()), *(_BODY if route.body else ()), *route.refuses]
    return {
        "operationId": _name(method, path),
        "summary": (route.act.__doc__ or "").partition("\n")[0],
        "tags": [path.split("/")[1]],
        "security": [{"chave": [route.escopo]}],
        "parameters": [*_asked(route)],
        **({"requestBody": _body(route)} if route.body else {}),
        "responses": {
            **{str(status): _answer(route, status) | _links(path, status, routes) for status in route.status},
            **{str(status): _refusal(status, codes) for status, codes in _by_status(refused).items()},
        },
    }


def _name(method: str, path: str) -> str:
    return "_".join([method.lower(), *re.findall(r"\w+", _PLACE.sub(r"\1", path))])


def _links(path: str, status: int, routes: Routes) -> dict[str, Any]:
    """Return what can be done with what was made at a path."""
    below = [(each, method) for each, acts in routes.items() for method in acts if each.startswith(f"{path}/{{id:")]
    names = [_name(method, each) for each, method in below] if status == 201 else []  # noqa: PLR2004 - RFC 9110
    links = {name: {"operationId": name, "parameters": {"id": "$response.body#/id"}} for name in names}
    return {"links": links} if links else {}


def _in_path(name: str, pattern: str) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}
    text = (
        {"type": "string", "enum": pattern.split("|")}
        if "|" in pattern
        else {"type": "string", "pattern": f"^{pattern}$"}
    )
    return {"name": name, "in": "path", "required": True, "schema": number if name == "id" else text}


def _asked(route: Route) -> Iterable[dict[str, Any]]:
    yield {"name": COMPANY, "in": "header", "schema": CNPJ_TEXT}
    if route.body and route.keyed:
        yield {
            "name": KEY,
            "in": "header",
            "required": True,
            "schema": {"type": "string", "pattern": f"^{VISIBLE.pattern}$"},
        }
    if route.query:
        told = route.query.model_json_schema(ref_template=_BLOCK + "{model}")
        for name, schema in told["properties"].items():
            yield {"name": name, "in": "query", "schema": schema}


def _body(route: Route) -> dict[str, Any]:
    if route.takes != FORM or route.body is None:
        return {"required": True, "content": {route.takes: {"schema": _of(route.body)}}}
    fields = route.body.model_json_schema(ref_template=_BLOCK + "{model}")
    told = {name: each.get("anyOf", [each])[0] for name, each in fields["properties"].items()}  # a form has no null
    fields["properties"] = {**told, FILE: {"type": "string", "format": "binary"}}
    fields["required"].append(FILE)
    named = {
        "Content-Disposition": {
            "schema": {"type": "string", "example": f'form-data; name="{FILE}"; filename="lista.csv"'}
        }
    }
    encoding = {FILE: {"contentType": "text/csv", "headers": named}}
    return {"required": True, "content": {FORM: {"schema": fields, "encoding": encoding}}}


def _answer(route: Route, status: int) -> dict[str, Any]:
    if isinstance(route.answer, tuple):
        return {"description": "the file", "content": {mime: {} for mime in route.answer}}
    schema = _of(route.answer)
    if route.query:
        page = {"itens": {"type": "array", "items": schema}, "proximo": {"type": ["string", "null"]}}
        schema = {"type": "object", "properties": page, "required": list(page)}
    return {"description": _said(route.answer), **_header(status), "content": {JSON: {"schema": schema}}}


def _refusal(status: int, codes: list[str]) -> dict[str, Any]:
    told = {"properties": {"status": {"const": status}, "codigo": {"enum": codes}}}
    content = {CONTENT_TYPE: {"schema": {"allOf": [_of(Problema), told]}}}
    said = "; ".join(PROBLEMAS[code][1] for code in codes)
    return {"description": said, **_header(status), "content": content}


def _header(status: int) -> dict[str, Any]:
    name = _HEADERS.get(status)
    return {"headers": {name: {"required": True, "schema": {"type": "string"}}}} if name else {}


def _by_status(codes: Iterable[str]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for code in sorted(set(codes), key=lambda each: (PROBLEMAS[each][0], each)):
        found.setdefault(PROBLEMAS[code][0], []).append(code)
    return found


def _of(model: type[BaseModel] | None) -> dict[str, Any]:
    return {"$ref": f"{_BLOCK}{model.__name__}"} if model else {}


def _said(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").partition("\n")[0]
