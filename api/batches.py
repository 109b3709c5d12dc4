"""Lists of addresses: each sent once under its caller's key, said yes to, and shown with its rows."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from api.batch_models import Confirmacao, LinhaResposta, ListaNova, LoteResposta, PageQuery
from api.multipart import read_sent
from api.problems import PROBLEMAS, ProblemError, invalid
from api.resources import PREFIX, REPLAYED, under_way
from api.submission import check_environment
from operations.batches import orders
from operations.batches.orders import AnotherRevisionError, BatchStanding, UnknownBatchError
from operations.batches.upload import RepeatedContentError, Upload, upload
from persistence.api import operations
from persistence.api.entities import PATIENCE, UnderWayError
from persistence.api.keys import WORDS
from persistence.api.operations import CONFIRM_BATCH, SEND_LIST
from persistence.batches import listing
from persistence.idempotency.key import input_hash
from state_machine.mailing.reading import ListRefusedError
from state_machine.mailing.states import EstadoLote

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from api.call import ApiCall
    from api.multipart import SentForm
    from operations.batches.orders import Also
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

CREATED: Final = 201
Model = TypeVar("Model", bound=BaseModel)


async def create(call: ApiCall) -> web.Response:
    """Take a list in, once for each key; a repetition gets its batch as it is now, and goes on with a broken one."""
    key = call.key
    form = await read_sent(call.request, call.deps.lists)
    body, refused = _read(ListaNova, dict(form.fields))
    digest = await asyncio.to_thread(lambda: hashlib.sha256(form.content).hexdigest())
    corpo = "" if body is None else input_hash({"arquivo": digest, "nome": form.nome, **body.model_dump(mode="json")})

    async def make() -> tuple[int, bool]:
        file = _ready(body, refused, form)
        also = _noted(call, key, SEND_LIST, corpo)
        batch, created = await upload(call.deps.database, call.empresa_id, file, call.quem, also)
        return batch.id, created

    try:
        lote_id, created, before = await _once(call, key, SEND_LIST, corpo, make)
        if before is not None and before.corpo_sha256 == corpo:
            await _gone_on(call, lote_id, _ready(body, refused, form))
    except ListRefusedError as error:
        codigo = error.codigo if error.codigo in PROBLEMAS else "csv_invalido"
        raise ProblemError(codigo, f"O arquivo {error}. Nada foi guardado.") from error
    except RepeatedContentError as error:
        raise ProblemError(
            "conteudo_repetido", f"Nada foi guardado: {error}. Se é outro envio: repetir=true."
        ) from None
    first = created if before is None else bool(before.resultado["created"])
    headers = {"Location": f"{PREFIX}/lotes/{lote_id}"} | ({} if before is None else {REPLAYED: "true"})
    return _answer(_told(await _standing(call, lote_id), created=created), CREATED if first else 200, headers)


async def confirm(call: ApiCall) -> web.Response:
    """Let a batch be sent whose revision the caller names, once for each key."""
    key, lote_id = call.key, call.id
    body, refused = _read(Confirmacao, await call.body())
    corpo = "" if body is None else input_hash({"lote": lote_id, **body.model_dump(mode="json")})

    async def say_yes() -> tuple[int, bool]:
        if body is None:
            raise refused or ProblemError("corpo_invalido", "")
        await _standing(call, lote_id)
        if not call.deps.mails:
            raise ProblemError("sem_servidor_de_email", "Falta PROSA_SMTP_URL. Nada foi enviado.")
        also = _noted(call, key, CONFIRM_BATCH, corpo)
        await orders.confirm(call.deps.database, lote_id, revisao=body.revisao, quem=call.quem, also=also)
        return lote_id, False

    try:
        found, _, before = await _once(call, key, CONFIRM_BATCH, corpo, say_yes)
    except AnotherRevisionError as error:
        raise ProblemError("revisao_diferente", f"Nada foi enviado: {error}.") from error
    return _answer(_told(await _standing(call, found)), 200, {} if before is None else {REPLAYED: "true"})


async def show(call: ApiCall) -> web.Response:
    """Show one of the company's batches. Raises ``ProblemError`` 404."""
    return _answer(_told(await _standing(call, call.id)), 200, {})


async def show_all(call: ApiCall) -> web.Response:
    """Show the company's batches, newest first, page by page."""
    page = _page(call)
    async with call.deps.database.transaction() as connection:
        lotes = await listing.newest(connection, [call.empresa_id], page.cursor or None, page.limite + 1)
        counts = await listing.counts_of(connection, [lote.id for lote in lotes])
    shown = [_told(BatchStanding(lote, counts[lote.id], 0)) for lote in lotes]
    return _paged(shown, page.limite, [lote.id for lote in lotes])


async def show_rows(call: ApiCall) -> web.Response:
    """Show the rows of a batch in the order of its file, page by page."""
    page = _page(call)
    await _standing(call, call.id)
    async with call.deps.database.alone() as connection:
        rows = await listing.rows(connection, call.id, page.cursor, page.limite + 1)
    shown = await asyncio.to_thread(_shown, rows)  # a thousand take 20 ms
    return _paged(shown, page.limite, [row.id for row in rows])


async def _once(
    call: ApiCall, key: str, tipo: str, corpo: str, act: Callable[[], Awaitable[tuple[int, bool]]]
) -> tuple[int, bool, Found | None]:
    """Return the batch, whether it is new, and what was noted under the key if it was done before."""
    before = await _before(call, key, tipo)
    if before is None:
        try:
            return *(await act()), None
        except UnderWayError:
            before = await _before(call, key, tipo)
            if before is None:
                raise under_way() from None
    if call.deps.strict and before.corpo_sha256 != corpo:
        raise ProblemError("chave_reutilizada", "Nada foi feito. Para um pedido novo, mande uma chave nova.")
    return before.entidade_id, False, before


async def _before(call: ApiCall, key: str, tipo: str) -> Found | None:
    async with call.deps.database.alone() as connection:
        return await operations.find(connection, call.empresa_id, call.ambiente, key, tipo)


def _noted(call: ApiCall, key: str, tipo: str, corpo: str) -> Also:
    """Return what notes, in the transaction that does it, what was done under the key."""

    async def note(connection: Connection, lote: Found, new: bool) -> None:
        await check_environment(connection, call)
        other = [f"prosa_{word}_" for ambiente, word in WORDS.items() if ambiente is not call.ambiente]
        if (lote.usuario or "").startswith(tuple(other)):
            raise ProblemError("ambiente_mudou", "Este lote é do outro ambiente. Mande-o de novo, com outro nome.")
        done = {
            "empresa_id": call.empresa_id,
            "idempotencia_key": key,
            "tipo_operacao": tipo,
            "entidade_id": lote.id,
            "resultado": {"created": new, "revisao": lote.revisao},
            "corpo_sha256": corpo,
            "usuario": call.quem,
        }
        await connection.exec_driver_sql(PATIENCE)
        if not await operations.add(connection, done):
            raise UnderWayError  # the same key did something meanwhile: the caller is told what

    return note


async def _gone_on(call: ApiCall, lote_id: int, file: Upload) -> None:
    """Store the rest of a list whose reader died: its caller repeats it for that reason."""
    if (await _standing(call, lote_id)).lote.estado == EstadoLote.LENDO:
        await upload(call.deps.database, call.empresa_id, file, call.quem)


def _ready(body: ListaNova | None, refused: ProblemError | None, form: SentForm) -> Upload:
    if body is None:
        raise refused or ProblemError("corpo_invalido", "")
    if body.tipo == "notas":
        raise ProblemError("ainda_nao", "Notas de uma lista ainda não se emitem aqui. Nada foi guardado.")
    return Upload(
        nome_arquivo=form.nome,
        conteudo=form.content,
        assunto=body.assunto,
        mensagem=body.mensagem,
        repetir=body.repetir,
    )


async def _standing(call: ApiCall, lote_id: int) -> BatchStanding:
    try:
        found = await orders.standing(call.deps.database, lote_id)
    except UnknownBatchError:
        found = None
    if found is None or found.lote.empresa_id != call.empresa_id:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return found


def _told(found: BatchStanding, *, created: bool = False) -> dict[str, Any]:
    lote = found.lote
    totais = {
        "linhas": lote.linhas,
        "prontas": found.prontas,
        "problemas": found.problemas,
        "ignoradas": lote.ignoradas,
        "iguais": lote.iguais,
    }
    said = {name: getattr(lote, name) for name in ("id", "nome_arquivo", "tipo", "estado", "revisao")}
    return LoteResposta.model_validate({**said, "created": created, "totais": totais}).model_dump(mode="json")


def _shown(rows: Sequence[Found]) -> list[dict[str, Any]]:
    return [LinhaResposta.model_validate(row).model_dump(mode="json") for row in rows]


def _page(call: ApiCall) -> PageQuery:
    page, refused = _read(PageQuery, dict(call.request.query))
    if page is None:
        raise refused or ProblemError("corpo_invalido", "")
    return page


def _read(model: type[Model], raw: Any) -> tuple[Model | None, ProblemError | None]:
    try:
        return model.model_validate(raw), None
    except ValidationError as error:
        return None, invalid(error)


def _paged(shown: list[dict[str, Any]], limit: int, ids: list[int]) -> web.Response:
    """Answer with ``limit`` of what was found; one more was asked for, which says whether there is a next page."""
    proximo = str(ids[limit - 1]) if len(ids) > limit else None
    return _answer({"itens": shown[:limit], "proximo": proximo}, 200, {})


def _answer(body: dict[str, Any], status: int, headers: dict[str, str]) -> web.Response:
    return web.json_response(body, status=status, headers=headers)
