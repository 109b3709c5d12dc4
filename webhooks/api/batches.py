"""Lists of addresses: each sent once under its caller's key, said yes to, and shown with its rows.

What callers send and get about lists of addresses.
"""

from __future__ import annotations

import asyncio
import hashlib
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from operations import batches
from operations.batches import (
    Also,
    AnotherRevisionError,
    AnotherTextError,
    BatchStanding,
    RepeatedContentError,
    UnknownBatchError,
    Upload,
    upload,
)
from persistence.api import keys
from persistence.api.entities import PATIENCE, UnderWayError
from persistence.api.keys import CONFIRM_BATCH, SEND_LIST
from persistence.batches import records
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.idempotency.records import input_hash
from state_machine.mailing.delivery import EstadoLinha, EstadoLote, TipoLote
from state_machine.mailing.reading import ASSUNTO_MAX, LARGEST, MENSAGEM_MAX, REVISAO, ListRefusedError
from state_machine.values.text import REPLACEMENT
from webhooks.api.call import ApiCall, Corpo, PageQuery, as_json, check_environment, page_of, paged, too_much, validated
from webhooks.api.problems import PROBLEMAS, RETRY, ProblemError
from webhooks.api.problems import field as wrong
from webhooks.api.submission import PREFIX, REPLAYED, under_way
from webhooks.bodies import FILE, Form, read_form

_YES_NO: Final = {"true": True, "false": False}
_BREAKS: Final = "\n\r\t"
_WORDS: Final = {"pattern": r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"}  # as ``_legible``


def _legible(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" and character not in _BREAKS for character in text):
        raise PydanticCustomError("texto_invalido", "tem um caractere que não é texto")
    return text


def _yes_no(value: object) -> bool:
    if not isinstance(value, str) or value not in _YES_NO:
        raise PydanticCustomError("repetir_invalido", "é true ou false")
    return _YES_NO[value]


_ROW_STATES: Final = {
    EstadoLinha.PENDING: "pendente",
    EstadoLinha.PROCESSING: "processando",
    EstadoLinha.DONE: "enviada",
    EstadoLinha.FAILED: "falhou",
    EstadoLinha.INVALID: "invalida",
    EstadoLinha.IGNORADA: "ignorada",
    EstadoLinha.CANCELADA: "cancelada",
}
RowState = Literal["pendente", "processando", "enviada", "falhou", "invalida", "ignorada", "cancelada"]


def _spelled(estado: str) -> str:
    return _ROW_STATES[EstadoLinha(estado)]


def _carried(notas: list[dict[str, Any]] | None) -> list[str]:
    return [f"leva {'o fechamento de' if 'mes' in nota else 'a nota'} {nota['numero']}" for nota in notas or ()]


def _given(value: object) -> object:
    return value or None


class ListaNova(Corpo):
    """The fields beside the file; what the rows lack of their own words comes from here."""

    tipo: Annotated[Literal["envio", "notas"], WithJsonSchema({"type": "string", "enum": ["envio"]})]
    assunto: Annotated[
        Annotated[
            str, StringConstraints(max_length=ASSUNTO_MAX), AfterValidator(_legible), Field(json_schema_extra=_WORDS)
        ]
        | None,
        BeforeValidator(_given),
    ] = None
    mensagem: Annotated[
        Annotated[
            str, StringConstraints(max_length=MENSAGEM_MAX), AfterValidator(_legible), Field(json_schema_extra=_WORDS)
        ]
        | None,
        BeforeValidator(_given),
    ] = None
    repetir: Annotated[
        bool,
        BeforeValidator(_yes_no),
        Field(json_schema_extra={"type": "string", "enum": [*_YES_NO], "default": "false"}),
    ] = False


class Confirmacao(Corpo):
    """A yes to the rows that were shown under this revision."""

    revisao: Annotated[str, StringConstraints(min_length=1, max_length=4 * REVISAO)]


class Totais(BaseModel):
    """Rows of the file: ``prontas`` become a mail; ``ignoradas`` are empty, ``iguais`` have the cells of one above."""

    linhas: int
    prontas: int
    problemas: int
    ignoradas: int
    iguais: int


class PrimeiroEmail(BaseModel):
    """The first mail of a list as it will look, and the numbers of the notes that it carries."""

    model_config = ConfigDict(from_attributes=True)

    linha: int
    email: str
    assunto: str
    mensagem: str
    notas: list[str]


class PersonAwaited(BaseModel):
    """A yes of people is waited for: mails to addresses that never got one, and how many people were asked."""

    enderecos_novos: int
    pessoas: int


class LoteResposta(BaseModel):
    """A list as it stands now; ``created``: whether this request made it.

    ``espera``: the caller said yes, and a person has not yet. ``primeiro`` is there while the list waits for a yes and
    is shown alone; ``aviso``: what was asked and is not done.
    """

    id: int
    created: bool
    nome_arquivo: str
    tipo: TipoLote
    estado: EstadoLote
    revisao: str
    totais: Totais
    primeiro: PrimeiroEmail | None
    espera: PersonAwaited | None
    aviso: str | None


class LinhaResposta(BaseModel):
    """A row; ``linha`` as a spreadsheet program numbers it. Equal rows are counted, not kept: ``igual_a`` is null.

    ``avisos`` name the notes that go with its mail.
    """

    model_config = ConfigDict(from_attributes=True)

    linha: int
    estado: Annotated[RowState, BeforeValidator(_spelled)]
    email: str | None
    problemas: list[dict[str, Any]]
    avisos: Annotated[list[str], BeforeValidator(_carried), Field(validation_alias="notas")]
    igual_a: int | None = None


CREATED: Final = 201
REST: Final = 128 * 1024  # bytes of a form besides its file: a text of 20,000 characters
BUDGET: Final = 4 * (LARGEST + REST)  # of one process; two of the largest from one address
SECONDS: Final = 60.0  # 10 MB at 1.5 Mbit/s
_ASKED: Final = (
    "Nada foi enviado: há endereços que nunca receberam um e-mail da empresa. Espera o sim de quem emite, no WhatsApp."
)
_NOBODY_ASKED: Final = (
    "Nada foi enviado: há endereços que nunca receberam um e-mail da empresa, e ninguém que emite escreveu ao Prosa "
    "nas últimas 23 horas. Peça que alguém mande um oi e confirme de novo, com outra chave."
)
_SAME_NAME: Final = "O arquivo já era este lote: repetir=true faz outro envio só com outro nome."
# By the status of what was not read: the problem, and what to do.
_UNREAD: Final[Mapping[int, tuple[str, str]]] = {
    400: ("pedido_invalido", "O formulário tem os campos arquivo, tipo, assunto, mensagem e repetir, cada um uma vez."),
    408: ("corpo_incompleto", "Repita com a mesma chave."),
    413: ("arquivo_grande", "A lista tem mais de 10 MB."),
    415: ("tipo_de_corpo", "Mande multipart/form-data, sem compressão."),
    503: ("indisponivel", "Há listas demais chegando. Repita com a mesma chave."),
}


async def create(call: ApiCall) -> web.Response:
    """Take a list in, once for each key; a repetition gets its batch as it is now, and goes on with a broken one."""
    with call.deps.bounds.reading(call.empresa_id):
        return await _taken_in(call)


async def _taken_in(call: ApiCall) -> web.Response:
    key = call.key
    form, fields = await _sent(call)
    body, refused = validated(ListaNova, fields)
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
    except AnotherTextError as error:
        said = f"Nada foi guardado: {error}. Para outro envio: outro nome, e repetir=true."
        raise ProblemError("texto_diferente", said) from None
    first = created if before is None else bool(before.resultado["created"])
    headers = {"Location": f"{PREFIX}/lotes/{lote_id}"} | ({} if before is None else {REPLAYED: "true"})
    aviso = _SAME_NAME if body is not None and body.repetir and not first else None
    told = _told(await _standing(call, lote_id), created=created, aviso=aviso)
    return as_json(told, CREATED if first else 200, headers)


async def confirm(call: ApiCall) -> web.Response:
    """Let a batch be sent whose revision the caller names, once for each key, or have people asked about it."""
    key, lote_id = call.key, call.id
    body, refused = validated(Confirmacao, await call.body())
    corpo = "" if body is None else input_hash({"lote": lote_id, **body.model_dump(mode="json")})

    async def say_yes() -> tuple[int, bool]:
        if body is None:
            raise refused
        await _standing(call, lote_id)
        if not call.deps.mails:
            raise ProblemError("sem_servidor_de_email", "Falta PROSA_SMTP_URL. Nada foi enviado.")
        also = _noted(call, key, CONFIRM_BATCH, corpo)
        await batches.confirm(
            call.deps.database, lote_id, revisao=body.revisao, quem=call.quem, also=also, person=False
        )
        return lote_id, False

    try:
        found, _, before = await _once(call, key, CONFIRM_BATCH, corpo, say_yes)
    except AnotherRevisionError as error:
        raise ProblemError("revisao_diferente", f"Nada foi enviado: {error}.") from error
    return as_json(_told(await _standing(call, found)), 200, {} if before is None else {REPLAYED: "true"})


async def show(call: ApiCall) -> web.Response:
    """Show one of the company's batches. Raises ``ProblemError`` 404."""
    return as_json(_told(await _standing(call, call.id)), 200, {})


async def show_all(call: ApiCall) -> web.Response:
    """Show the company's batches, newest first, page by page."""
    page = page_of(call, PageQuery)
    async with call.deps.database.transaction() as connection:
        lotes = await records.newest(connection, [call.empresa_id], page.cursor or None, page.limite + 1)
        counts = await records.counts_of(connection, [lote.id for lote in lotes])
    shown = [_told(BatchStanding(lote, counts[lote.id], 0, None)) for lote in lotes]
    return paged(shown, page.limite, [lote.id for lote in lotes])


async def show_rows(call: ApiCall) -> web.Response:
    """Show the rows of a batch in the order of its file, page by page."""
    page = page_of(call, PageQuery)
    await _standing(call, call.id)
    async with call.deps.database.alone() as connection:
        rows = await records.rows(connection, call.id, page.cursor, page.limite + 1)
    shown = await asyncio.to_thread(_shown, rows)  # a thousand take 20 ms
    return paged(shown, page.limite, [row.id for row in rows])


async def _sent(call: ApiCall) -> tuple[Form, dict[str, str]]:
    """Return the form that came, and the text of its fields. Raises ``ProblemError``; nothing is kept then."""
    try:
        form = await read_form(
            call.request, call.deps.lists, ListaNova.model_fields, file=LARGEST, rest=REST, seconds=SECONDS
        )
        fields = {name: raw.decode() for name, raw in form.fields.items()}
    except web.HTTPException as error:
        codigo, said = _UNREAD[error.status]
        headers = RETRY if codigo == "indisponivel" else {}
        raise ProblemError(codigo, f"{said} Nada foi guardado.", headers=headers) from None
    except UnicodeDecodeError:
        raise ProblemError("pedido_invalido", "Os campos são texto em UTF-8. Nada foi guardado.") from None
    if not form.nome:
        erros = [wrong((FILE,), "obrigatorio", "é um arquivo")]
        raise ProblemError("corpo_invalido", "Nada foi guardado.", erros=erros)
    return replace(form, nome=form.nome.replace("\0", REPLACEMENT)), fields


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
        return await keys.find_operation(connection, call.empresa_id, call.ambiente, key, tipo)


def _noted(call: ApiCall, key: str, tipo: str, corpo: str) -> Also:
    """Return what notes, in the transaction that does it, what was done under the key."""

    async def note(connection: Connection, lote: Found, new: bool) -> None:
        await check_environment(connection, call)
        if batches.of_another_environment(lote, call.ambiente):
            raise ProblemError("ambiente_mudou", "Este lote é do outro ambiente. Mande-o de novo, com outro nome.")
        if new:
            await _within_a_day(connection, call, tipo)
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
        if not await keys.add_operation(connection, done):
            raise UnderWayError  # the same key did something meanwhile: the caller is told what

    return note


async def _within_a_day(connection: Connection, call: ApiCall, tipo: str) -> None:
    """Raise ``ProblemError`` 429 where the company, with what was just done, has had more than a day's share."""
    bounds = call.deps.bounds
    if tipo == SEND_LIST:
        most, day, codigo, what = bounds.list_bytes, records.TAKEN_IN, "listas_demais", "bytes de listas"
    else:
        most, day, codigo, what = bounds.mails, records.HANDED_OVER, "emails_demais", "e-mails"
    if most:
        found = await records.of_a_day(connection, call.empresa_id, day)
        if found.quantos > most:
            raise too_much(codigo, most, what, found.segundos)


async def _gone_on(call: ApiCall, lote_id: int, file: Upload) -> None:
    """Store the rest of a list whose reader died: its caller repeats it for that reason."""
    lote = (await _standing(call, lote_id)).lote
    if lote.estado == EstadoLote.LENDO and (lote.assunto, lote.mensagem) == (file.assunto, file.mensagem):
        await upload(call.deps.database, call.empresa_id, file, call.quem)


def _ready(body: ListaNova | None, refused: ProblemError, form: Form) -> Upload:
    if body is None:
        raise refused
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
        found = await batches.standing(call.deps.database, lote_id)
    except UnknownBatchError:
        found = None
    if found is None or found.lote.empresa_id != call.empresa_id:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return found


def _told(found: BatchStanding, *, created: bool = False, aviso: str | None = None) -> dict[str, Any]:
    lote = found.lote
    totais = {
        "linhas": lote.linhas,
        "prontas": found.prontas,
        "problemas": found.problemas,
        "ignoradas": lote.ignoradas,
        "iguais": lote.iguais,
    }
    said = {name: getattr(lote, name) for name in ("id", "nome_arquivo", "tipo", "estado", "revisao")}
    said |= {"created": created, "totais": totais, "primeiro": found.primeiro, "espera": None}
    if batches.waits_for_people(lote):
        said["espera"] = {"enderecos_novos": lote.pergunta_novos, "pessoas": lote.pergunta_pessoas}
        aviso = aviso or (_ASKED if lote.pergunta_pessoas else _NOBODY_ASKED)
    said["aviso"] = aviso
    return LoteResposta.model_validate(said).model_dump(mode="json")


def _shown(rows: Sequence[Found]) -> list[dict[str, Any]]:
    return [LinhaResposta.model_validate(row).model_dump(mode="json") for row in rows]
