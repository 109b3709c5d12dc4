"""Clients and proposals: made once under their caller's key, and shown as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from pydantic import BaseModel, ValidationError

from api.models import ApiResposta, ClienteNovo, ClienteResposta, PropostaNova, PropostaResposta
from api.problems import RETRY, ProblemError, field, invalid
from persistence.api import entities
from persistence.api.entities import LARGEST_ID, UnderWayError
from persistence.idempotency.key import input_hash
from persistence.tables import clientes, propostas

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import sqlalchemy as sa

    from api.call import ApiCall
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

REPLAYED: Final = "Idempotency-Replayed"
PREFIX: Final = "/api/v1"


async def _nothing(_: Connection, __: ApiCall, ___: Any) -> None:
    """Require nothing more."""


async def _client_is_ours(connection: Connection, call: ApiCall, body: PropostaNova) -> None:
    if await entities.by_id(connection, clientes, call.empresa_id, call.ambiente, body.cliente_id) is None:
        erro = field(("cliente_id",), "desconhecido", "não é um cliente desta empresa")
        raise ProblemError("corpo_invalido", "Nada foi guardado. Crie antes o cliente.", erros=[erro])


def under_way() -> ProblemError:
    """Return the problem of a request that is being done at this moment."""
    detalhe = "Ninguém sabe ainda como termina. Repita com a mesma chave e o mesmo corpo."
    return ProblemError("em_andamento", detalhe, headers=RETRY)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of thing that callers make.

    ``requires`` raises ``ProblemError`` for what the body alone does not tell; ``taken`` is the problem of a body that
    is like another's in what must be unique.
    """

    path: str
    table: sa.Table
    new: type[BaseModel]
    shown: type[ApiResposta]
    requires: Callable[[Connection, ApiCall, Any], Awaitable[None]] = _nothing
    taken: str = "em_andamento"

    async def create(self, call: ApiCall) -> web.Response:
        """Make one, once for each key; a repetition gets what was made then, as it is now."""
        key = call.key
        raw = await call.body()
        body: BaseModel | None
        try:
            body, refused = self.new.model_validate(raw), None
        except ValidationError as error:
            body, refused = None, invalid(error)
        corpo = "" if body is None else input_hash(body.model_dump(mode="json", exclude_none=True))
        async with call.deps.database.transaction() as connection:
            found = await entities.by_key(connection, self.table, call.empresa_id, call.ambiente, key)
            made = None
            if found is None:
                if body is None:
                    raise refused or ProblemError("corpo_invalido", "")
                await self.requires(connection, call, body)
                made = await self._add(connection, call, key, corpo, body)
                found = made or await entities.by_key(connection, self.table, call.empresa_id, call.ambiente, key)
        if found is None:
            raise ProblemError(self.taken, "Nada foi guardado.")
        if made is None and call.deps.strict and found.corpo_sha256 != corpo:
            raise ProblemError("chave_reutilizada", "Nada foi feito. Para um pedido novo, mande uma chave nova.")
        return self.answer(found, 201, {REPLAYED: "true"} if made is None else {})

    async def show(self, call: ApiCall) -> web.Response:
        """Show one of the company's. Raises ``ProblemError`` 404."""
        found = None
        if call.id <= LARGEST_ID:
            async with call.deps.database.alone() as connection:
                found = await entities.by_id(connection, self.table, call.empresa_id, call.ambiente, call.id)
        if found is None:
            raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
        return self.answer(found, 200, {})

    async def _add(self, connection: Connection, call: ApiCall, key: str, corpo: str, body: BaseModel) -> Found | None:
        values = {
            **body.model_dump(),
            "empresa_id": call.empresa_id,
            "idempotencia_key": key,
            "corpo_sha256": corpo,
            "usuario": call.quem,
        }
        try:
            return await entities.add(connection, self.table, values)
        except UnderWayError:
            raise under_way() from None

    def answer(self, row: Found, status: int, headers: dict[str, str]) -> web.Response:
        """Return one as its caller gets it."""
        shown = self.shown.model_validate(row)
        location = {"Location": f"{PREFIX}{self.path}/{shown.id}"} if status == 201 else {}  # noqa: PLR2004 - RFC 9110
        return web.Response(
            body=shown.model_dump_json(),
            status=status,
            content_type="application/json",
            headers={**headers, **location},
        )


CLIENTES: Final = Resource("/clientes", clientes, ClienteNovo, ClienteResposta, taken="email_em_uso")
PROPOSTAS: Final = Resource("/propostas", propostas, PropostaNova, PropostaResposta, _client_is_ours)
