"""Where other systems are told what became of notes and proposals: an endpoint is made, shown, ended, told again."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Final

from aiohttp import web
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from persistence.api import hooks
from persistence.api.hooks import Evento, TooManyHooksError
from persistence.audit import records as audit
from persistence.db.connection import Connection
from webhooks.api.call import ApiCall, Corpo, as_json
from webhooks.api.problems import ProblemError, field, invalid
from webhooks.api.submission import PREFIX

CREATED: Final = 201
NO_CONTENT: Final = 204
Eventos = Annotated[list[Evento], Field(min_length=1, max_length=20), AfterValidator(lambda told: sorted(set(told)))]


class WebhookNovo(Corpo):
    """An endpoint, and the happenings that it is told of."""

    url: str
    eventos: Eventos


class WebhookCriado(BaseModel):
    """An endpoint as it was made; ``segredo`` is shown this once."""

    id: uuid.UUID
    url: str
    eventos: list[Evento]
    segredo: str


class FalhaResposta(BaseModel):
    """The latest happening that the endpoint has not taken: why, and when that was seen."""

    evento: Evento
    motivo: str
    em: datetime


class WebhookResposta(BaseModel):
    """An endpoint as it stands: how much waits to be told, and how much was given up.

    ``desligado_em``: since when it is told nothing, for it answered that it is gone (410).
    """

    model_config = ConfigDict(from_attributes=True)

    id: uuid.UUID
    url: str
    eventos: list[Evento]
    criado_em: datetime
    desligado_em: datetime | None
    pendentes: int
    desistidas: int
    falha: FalhaResposta | None


class WebhooksResposta(BaseModel):
    """All endpoints of the company."""

    itens: list[WebhookResposta]


class Reenvio(BaseModel):
    """How many happenings go again."""

    reenviadas: int


async def create(call: ApiCall) -> web.Response:
    """Make an endpoint and show its secret, this once. It needs no idempotency key: a second one is told too."""
    raw = await call.body()
    try:
        body = WebhookNovo.model_validate(raw)
    except ValidationError as error:
        raise invalid(error) from None
    if not call.deps.cofre:
        raise ProblemError("sem_chave_mestra", "Sem PROSA_MASTER_KEY o segredo não é guardado. Nada foi feito.")
    if not call.deps.postable(body.url):
        wrong = field(("url",), "url_invalida", "é um endereço https:// da internet, sem senha e sem #")
        raise ProblemError("corpo_invalido", "Nada foi guardado.", erros=[wrong])
    try:
        async with call.deps.database.transaction() as connection:
            made = await hooks.add(
                connection, call.deps.cofre, call.empresa_id, quem=call.quem, url=body.url, eventos=body.eventos
            )
            await _audited(connection, call, "criou webhook", made[0])
    except TooManyHooksError:
        raise ProblemError("webhooks_demais", f"São até {hooks.MOST}. Apague um antes.") from None
    shown = WebhookCriado(id=made[0], url=body.url, eventos=body.eventos, segredo=made[1])
    return as_json(shown.model_dump(mode="json"), CREATED, {"Location": f"{PREFIX}/webhooks"})


async def show_all(call: ApiCall) -> web.Response:
    """Show the company's endpoints, the oldest first; no secrets."""
    async with call.deps.database.alone() as connection:
        rows = await hooks.of_company(connection, call.empresa_id, call.ambiente)
    shown = []
    for row in rows:
        falha = row.falha and FalhaResposta(evento=row.falha_evento, motivo=row.falha, em=row.falha_em)
        one = WebhookResposta.model_validate({**dict(row.items()), "falha": falha})
        shown.append(one.model_dump(mode="json"))
    return as_json({"itens": shown})


async def remove(call: ApiCall) -> web.Response:
    """End an endpoint, with all that it was still to be told. Raises ``ProblemError`` 404."""
    which = _which(call)
    async with call.deps.database.transaction() as connection:
        if not await hooks.remove(connection, call.empresa_id, call.ambiente, which):
            raise _unknown()
        await _audited(connection, call, "apagou webhook", which)
    return web.Response(status=NO_CONTENT)


async def resend(call: ApiCall) -> web.Response:
    """Tell an endpoint again what it has not taken, under the same ids. Raises ``ProblemError`` 404."""
    which = _which(call)
    async with call.deps.database.transaction() as connection:
        again = await hooks.resend(connection, call.empresa_id, call.ambiente, which)
        if again is None:
            raise _unknown()
    return as_json(Reenvio(reenviadas=again).model_dump())


def _which(call: ApiCall) -> uuid.UUID:
    try:
        return uuid.UUID(call.request.match_info["webhook"])
    except ValueError:
        raise _unknown() from None


def _unknown() -> ProblemError:
    return ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")


async def _audited(connection: Connection, call: ApiCall, acao: str, webhook_id: uuid.UUID) -> None:
    await audit.write(
        connection,
        staff_id=None,
        quem=call.quem,
        acao=acao,
        alvo=str(webhook_id),
        empresa_id=call.empresa_id,
        correlacao=call.correlacao,
    )
