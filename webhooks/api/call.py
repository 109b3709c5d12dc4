"""One request whose caller is known: who, for which company, under which key, with which body.

The key under which a caller asks for something once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, Final, TypeVar

import orjson
from aiohttp import hdrs, web
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from persistence.api.entities import LARGEST_ID
from persistence.api.keys import Holder, holder
from persistence.crypto import Vault
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import channels
from persistence.queue.inbox import Inbox
from state_machine.protocol.channel import Ambiente, TipoDocumento
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.errors import ProsaError
from state_machine.values.text import read_json
from webhooks.api.problems import RETRY, ProblemError, invalid
from webhooks.bodies import SMALL, Bodies, read_body
from webhooks.month import Months

VISIBLE: Final = re.compile(r"[!-~]{1,255}")  # ASCII without the space: what a header carries unchanged


class IdempotenciaKeyInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """The key is empty, too long, or has a character that is not visible ASCII."""

    code = "idempotencia_key_invalida"


@dataclass(frozen=True, slots=True)
class IdempotenciaKey:
    """A caller's key: 1 to 255 visible ASCII characters, kept as they came. Raises ``IdempotenciaKeyInvalida``."""

    valor: str

    def __post_init__(self) -> None:
        if not VISIBLE.fullmatch(self.valor):
            raise IdempotenciaKeyInvalida(
                f"an idempotency key has 1 to 255 visible ASCII characters, not {len(self.valor)}"
            )

    def __str__(self) -> str:
        return self.valor


ROWS: Final = 100  # of a page, unless the caller says how many
MOST_ROWS: Final = 1_000
COMPANY: Final = "Prosa-Empresa"
KEY: Final = "Idempotency-Key"
JSON: Final = "application/json"
CNPJ_TEXT: Final = {"type": "string", "format": "cnpj"}
MINUTE: Final = 60.0  # seconds
LIST_SECONDS: Final = 5.0  # one of the largest is read in less


class Bounds:
    """What one company may have done, so that it takes nothing from the others; 0: without limit.

    ``requests`` a minute and ``lists`` read at a time are of this process; ``list_bytes`` and ``mails`` of 24 hours.
    """

    def __init__(
        self,
        requests: int = 0,
        lists: int = 0,
        list_bytes: int = 0,
        mails: int = 0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.list_bytes, self.mails = list_bytes, mails
        self._requests, self._lists, self._clock = requests, lists, clock
        self._full: dict[int, float] = {}  # by company: when a whole minute's requests may come again
        self._reading = Counter[int]()

    def request(self, empresa_id: int) -> None:
        """Count a request of the company. Raises ``ProblemError`` 429 where it comes too early."""
        if not self._requests:
            return
        now, every = self._clock(), MINUTE / self._requests
        full = max(self._full.get(empresa_id, now), now) + every
        if full - now > MINUTE:
            said = f"São até {self._requests} por minuto, da empresa inteira. Nada foi feito: repita com a mesma chave."
            raise ProblemError("pedidos_demais", said, headers=_after(full - now - MINUTE))
        self._full[empresa_id] = full

    @contextmanager
    def reading(self, empresa_id: int) -> Iterator[None]:
        """Let a list of the company be read. Raises ``ProblemError`` 429 while as many are read as may be."""
        if 0 < self._lists <= self._reading[empresa_id]:
            said = "Espere a resposta da outra. Nada foi guardado: repita com a mesma chave."
            raise ProblemError("lista_em_leitura", said, headers=_after(LIST_SECONDS))
        self._reading[empresa_id] += 1
        try:
            yield
        finally:
            self._reading[empresa_id] -= 1


def too_much(codigo: str, most: int, what: str, seconds: float) -> ProblemError:
    """Return the problem of what a company asks for beyond its 24 hours."""
    said = f"A empresa passaria de {most} {what} em 24 horas. Nada foi feito: repita depois, com a mesma chave."
    return ProblemError(codigo, said, headers=_after(seconds))


def _after(seconds: float) -> dict[str, str]:
    return {hdrs.RETRY_AFTER: str(max(1, math.ceil(seconds)))}


@dataclass(frozen=True, slots=True)
class ApiDeps:
    """What the API needs; ``strict``: a key that comes with another body is refused.

    ``ambiente``: the installation's, of a company that has chosen none. ``lists``: the room for files; ``mails``:
    whether there is a mail server. ``cofre`` seals webhooks' secrets; ``postable`` says whether they may lead to a URL.
    """

    database: Database
    bodies: Bodies
    inbox: Inbox
    ambiente: Ambiente
    lists: Bodies
    months: Months
    strict: bool = True
    mails: bool = False
    bounds: Bounds = field(default_factory=Bounds)
    cofre: Vault = field(default_factory=lambda: Vault(()))
    postable: Callable[[str], bool] = lambda _: False


DEPS: Final = web.AppKey("API_DEPS", ApiDeps)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request of somebody who may act for the company.

    ``quem``: the visible beginning of their key, ``ambiente`` its environment; ``correlacao``: by which the log, and
    what follows, is found.
    """

    request: web.Request
    deps: ApiDeps
    empresa_id: int
    quem: str
    ambiente: Ambiente
    correlacao: str

    @property
    def id(self) -> int:
        """The number in the address. Raises ``ProblemError`` 404: what is no number names nothing."""
        return int(self.request.match_info["id"])

    @property
    def key(self) -> str:
        """The caller's idempotency key. Raises ``ProblemError`` where it is missing or no key."""
        said = self.request.headers.getall(KEY, [])
        if not said:
            raise ProblemError("chave_obrigatoria", "Mande uma chave nova a cada pedido, e a mesma ao repeti-lo.")
        try:
            (only,) = said
            quoted = len(only) > 2 and only[0] == only[-1] == '"'  # noqa: PLR2004 - as the draft of the header writes it
            return str(IdempotenciaKey(only[1:-1] if quoted else only))
        except (ValueError, IdempotenciaKeyInvalida):
            raise ProblemError("chave_invalida", "São 1 a 255 caracteres ASCII visíveis, uma vez só.") from None

    async def body(self) -> Any:
        """Return the JSON value of the body; fractions are ``Decimal``. Raises ``ProblemError``."""
        if self.request.content_type != JSON:
            raise ProblemError("tipo_de_corpo", f"Mande Content-Type: {JSON}. Nada foi guardado.")
        try:
            return read_json(await read_body(self.request, self.deps.bodies, SMALL), exact=True, once=True)
        except web.HTTPException as error:
            raise _unread(error) from None
        except ValueError:
            why = "Nada foi guardado. Confira aspas, vírgulas, números e nomes repetidos."
            raise ProblemError("json_invalido", why) from None


async def check_environment(connection: Connection, call: ApiCall, tipo: TipoDocumento = TipoDocumento.SERVICO) -> None:
    """Raise ``ProblemError`` unless the company issues this kind of document in the environment of the caller's key."""
    ambiente = (await channels.chosen(connection, call.empresa_id, tipo)).ambiente or call.deps.ambiente
    if call.ambiente is not ambiente:
        raise ProblemError("ambiente_mudou", f"A empresa agora emite em {ambiente}. Use uma chave de lá.")


class Corpo(BaseModel):
    """What a caller sends: nothing but these fields, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def columns(self) -> dict[str, Any]:
        """Return its columns by name."""
        return self.model_dump()


Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], raw: Any) -> tuple[Model | None, ProblemError]:
    """Return what was sent, or ``None`` and why it is refused."""
    try:
        return model.model_validate(raw), ProblemError("corpo_invalido", "")
    except ValidationError as error:
        return None, invalid(error)


def _number(value: object) -> int:
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and len(value) < len(str(LARGEST_ID))):
        raise PydanticCustomError("numero_invalido", "é um número inteiro")
    return int(value)


class PageQuery(Corpo):
    """Which page: what came before it ends at ``cursor``, the ``proximo`` of that answer."""

    cursor: Annotated[int, Field(ge=0, lt=10**18), BeforeValidator(_number)] = 0
    limite: Annotated[int, Field(ge=1, le=MOST_ROWS), BeforeValidator(_number)] = ROWS


Page = TypeVar("Page", bound=PageQuery)


def page_of(call: ApiCall, model: type[Page]) -> Page:
    """Return which page the address asks for. Raises ``ProblemError``: what makes no sense is told, not guessed."""
    asked = call.request.query
    if len(asked) != len(set(asked)):
        raise ProblemError("pedido_invalido", "No endereço, cada nome aparece uma vez só.")
    page, refused = validated(model, dict(asked))
    if page is None:
        raise refused
    return page


def paged(shown: list[dict[str, Any]], limit: int, ids: list[int]) -> web.Response:
    """Answer with ``limit`` of what was found; one more was asked for, which says whether there is a next page."""
    return as_json({"itens": shown[:limit], "proximo": str(ids[limit - 1]) if len(ids) > limit else None})


def as_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Answer with JSON as everywhere here: UTF-8, nothing between its parts."""
    return web.Response(body=orjson.dumps(body), status=status, content_type=JSON, headers=headers)


async def caller(request: web.Request, deps: ApiDeps) -> Holder:
    """Return who sends this. Raises ``ProblemError`` 401."""
    said = request.headers.getall(hdrs.AUTHORIZATION, [])
    scheme, _, token = said[0].partition(" ") if len(said) == 1 else ("", "", "")
    found = await holder(deps.database, token.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        raise ProblemError(
            "nao_autenticado",
            "Mande Authorization: Bearer e uma chave que valha.",
            headers={hdrs.WWW_AUTHENTICATE: "Bearer"},
        )
    return found


def company(request: web.Request, who: Holder) -> int:
    """Return the company that the request is about. Raises ``ProblemError``."""
    said = request.headers.getall(COMPANY, [])
    if not said:
        if len(who.empresas) == 1:
            return next(iter(who.empresas.values()))
        raise ProblemError("empresa_obrigatoria", f"Esta chave age por mais de uma: mande o CNPJ em {COMPANY}.")
    try:
        (only,) = said
        numero = CNPJ(only).numero
    except (ValueError, DocumentoInvalido):
        raise ProblemError("empresa_invalida", "São 14 caracteres com dígitos que batem, uma vez só.") from None
    if numero not in who.empresas:
        raise ProblemError("nao_encontrado", "Esta chave não age por essa empresa.")
    return who.empresas[numero]


def _unread(error: web.HTTPException) -> ProblemError:
    """Return why a body was not read."""
    match error:
        case web.HTTPRequestEntityTooLarge():
            return ProblemError("corpo_grande", f"O limite é de {SMALL} bytes. Nada foi guardado.")
        case web.HTTPUnsupportedMediaType():
            return ProblemError("tipo_de_corpo", "Corpos comprimidos não são aceitos. Nada foi guardado.")
        case web.HTTPRequestTimeout():
            return ProblemError("corpo_incompleto", "Nada foi guardado. Repita com a mesma chave.")
        case web.HTTPServiceUnavailable():
            return ProblemError("indisponivel", "Nada foi guardado. Repita com a mesma chave.", headers=RETRY)
        case _:
            return ProblemError("pedido_invalido", "O corpo não pôde ser lido. Nada foi guardado.")
