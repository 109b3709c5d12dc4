"""Submits a proposal: once under its caller's key, it becomes a turn in the conversation of its approver.

What callers send and get: one set of models that validates, and of which documents are made.

Clients and proposals: made once under their caller's key, and shown as they are now.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self

import sqlalchemy as sa
from aiohttp import web
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from operations.month import PAGE_MIME, marked_name
from persistence.api import approvals, entities, keys
from persistence.api.entities import LARGEST_ID, UnderWayError
from persistence.api.keys import SUBMIT
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.idempotency.records import input_hash
from persistence.queue.inbox import Arrival
from persistence.rows import ProposalRow
from persistence.tables import clientes, propostas
from state_machine.cancellation.machine import SituacaoNota, situacao_of
from state_machine.goods import nome_da_nota
from state_machine.invoice.field_table import DESCRICAO_MAX, DESCRICAO_MIN
from state_machine.mailing.reading import NotAnAddressError, normalised
from state_machine.proposal import EstadoProposta
from state_machine.protocol.channel import Ambiente, TipoDocumento
from state_machine.protocol.emission import Arquivo
from state_machine.values.address import city_of
from state_machine.values.documents import DocumentoInvalido, parse_documento
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import LIMITE
from state_machine.values.text import REPLACEMENT
from webhooks.api.call import ApiCall, Corpo, PageQuery, as_json, check_environment, page_of, paged, validated
from webhooks.api.items import MOST_ITEMS, OF_ONE_KIND, OF_SERVICE, PLACE, ItemNovo, amount_or_items, of_one_kind, sold
from webhooks.api.problems import RETRY, ProblemError, field

PREFIX: Final = "/api/v1"
NOTE_MIME: Final[Mapping[Literal["pdf", "xml"], str]] = {"pdf": "application/pdf", "xml": "application/xml"}
NOME_DE_CLIENTE_MAX: Final = 255  # characters; the specification's, as of the e-mail
DOCUMENTO_MAX: Final = 40  # characters as written, with mask and spaces
_MES: Final = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])")
_DIA: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DECIMAIS: Final = 2
_MONEY: Final = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,2})?")


# As JSON Schema says it: what is text, a gap that is trimmed or closed, and of the text what is none.
_WIDE: Final = r"\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_GAP: Final = rf"[\t-\r \x85\xa0{_WIDE}]"
_TEXT: Final = r"[^\x00-\x1f\x7f-\x9f\ufffd]"
_MARK: Final = rf"[^\x00-\x20\x7f-\xa0\ufffd{_WIDE}]"
_TRIMMED: Final = {"pattern": f"^{_GAP}*{_MARK}(?:{_TEXT}*{_MARK})?{_GAP}*$"}
_ANY: Final = rf"(?:{_TEXT}|{_GAP}|[\x1c-\x1f])"
_SPACED: Final = {"pattern": f"^{_ANY}*{_MARK}{_ANY}+{_MARK}{_ANY}*$"}
_REAIS: Final = {
    "anyOf": [
        {"type": "number", "minimum": 0.01, "exclusiveMaximum": int(LIMITE), "multipleOf": 0.01},
        {"type": "string", "pattern": f"^(?=.*[1-9]){_MONEY.pattern}$"},
    ],
    "description": "BRL",
}


def _legible(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" or character == REPLACEMENT for character in text):
        raise PydanticCustomError("texto_invalido", "tem um caractere que não é texto")
    return text


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _email(text: str) -> str:
    try:
        return normalised(text)
    except NotAnAddressError as error:
        raise PydanticCustomError("email_invalido", "não é um endereço de e-mail") from error


def _documento(text: str) -> str:
    try:
        return parse_documento(text).numero
    except DocumentoInvalido as error:
        raise PydanticCustomError("documento_invalido", "não é um CPF ou CNPJ válido") from error


def _mes(text: str) -> str:
    if not _MES.fullmatch(text):
        raise PydanticCustomError("competencia_invalida", "é um mês, como 2026-11")
    if text > f"{datetime.now(SAO_PAULO):%Y-%m}":
        raise PydanticCustomError("competencia_invalida", "é um mês que ainda não começou")
    return text


def _municipio(text: str) -> str:
    if city_of(text) is None:
        raise PydanticCustomError("municipio", "não é o código IBGE de um município")
    return text


def _dia(value: object) -> date:
    try:
        return date.fromisoformat(value if isinstance(value, str) and _DIA.fullmatch(value) else "")
    except ValueError:
        raise PydanticCustomError("dia", "é um dia como 2026-11-20") from None


def _whole(value: object) -> object:
    """Read ``42.0`` as the whole number that it is in JSON."""
    if isinstance(value, Decimal) and value.adjusted() < len(str(LARGEST_ID)) and value == value.to_integral_value():
        return int(value)
    return value


def _money(value: object) -> Decimal:
    """Read an amount in BRL exactly: JSON's numbers come as ``int`` or ``Decimal``, never as ``float``."""
    if isinstance(value, str) and _MONEY.fullmatch(value):
        value = Decimal(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    if not isinstance(value, Decimal):
        raise PydanticCustomError("valor_invalido", 'é um número em reais, como 1500.00 ou "1500.00"')
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_DECIMAIS:
        raise PydanticCustomError("valor_invalido", "tem mais de duas casas decimais")
    if not 0 < value < LIMITE:
        raise PydanticCustomError("valor_invalido", "está fora do que uma nota pode ter")
    return value.quantize(Decimal("0.01"))


Nome = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=NOME_DE_CLIENTE_MAX),
    AfterValidator(_legible),
    Field(json_schema_extra=_TRIMMED),
]
Email = Annotated[
    str,
    StringConstraints(max_length=NOME_DE_CLIENTE_MAX),
    AfterValidator(_legible),
    AfterValidator(_email),
    Field(json_schema_extra={"format": "email"}),
]
Documento = Annotated[
    str,
    StringConstraints(max_length=DOCUMENTO_MAX),
    AfterValidator(_documento),
    Field(json_schema_extra={"format": "cpf-cnpj"}),
]
Valor = Annotated[Decimal, BeforeValidator(_money), WithJsonSchema(_REAIS, mode="validation")]
Descricao = Annotated[
    str,
    StringConstraints(min_length=DESCRICAO_MIN, max_length=DESCRICAO_MAX),
    BeforeValidator(lambda value: _spaced(value) if isinstance(value, str) else value),
    AfterValidator(_legible),
    Field(json_schema_extra=_SPACED),
]
Competencia = Annotated[
    str, AfterValidator(_mes), Field(json_schema_extra={"pattern": f"^{_MES.pattern}$", "format": "mes"})
]
Parte = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=255),
    AfterValidator(_legible),
    Field(json_schema_extra=_TRIMMED),
]
Inscricao = Annotated[
    str,
    StringConstraints(min_length=1, max_length=30),
    AfterValidator(_legible),
    Field(json_schema_extra={"pattern": f"^{_TEXT}+$"}),
]
Municipio = Annotated[str, AfterValidator(_municipio), Field(json_schema_extra={"format": "municipio-ibge"})]
Dia = Annotated[date, BeforeValidator(_dia), WithJsonSchema({"type": "string", "format": "date"}, mode="validation")]
Id = Annotated[int, Field(ge=1, le=LARGEST_ID), BeforeValidator(_whole)]
Versao = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(_whole)]


class ClienteNovo(Corpo):
    """A client of the caller's system."""

    nome: Nome
    email: Email
    documento: Documento | None = None


class EnderecoNovo(Corpo):
    """An address: ``cep`` has eight digits, ``codigo_municipio`` is the city's IBGE code."""

    cep: Annotated[str, StringConstraints(pattern="^[0-9]{8}$")]
    logradouro: Parte
    numero: Parte
    bairro: Parte
    complemento: Parte | None = None
    codigo_municipio: Municipio


class ObraNova(Corpo):
    """A building site: its address or its number (CNO or CEI), and the city's number of the property."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["endereco"], "properties": {"endereco": {"type": "object"}}},
                {"required": ["cno"], "properties": {"cno": {"type": "string"}}},
            ]
        }
    )

    endereco: EnderecoNovo | None = None
    cno: Annotated[str, StringConstraints(pattern="^[0-9]{12}$")] | None = None
    inscricao_imobiliaria: Inscricao | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.endereco is None and self.cno is None:
            raise PydanticCustomError("obra", "diga o endereço ou o CNO da obra")
        return self


class EventoNovo(Corpo):
    """An event: its name, its first and last day, and where it is."""

    nome: Parte
    inicio: Dia
    fim: Dia
    endereco: EnderecoNovo

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.fim < self.inicio:
            raise PydanticCustomError("evento", "o evento termina antes de começar")
        return self


class PropostaNova(Corpo):
    """An invoice that the caller proposes; what is missing is asked of who approves it.

    ``local_prestacao`` is the IBGE code of the city where the work was done. One for goods (``documento_fiscal``
    "nfe" or "nfce") has ``itens`` in place of all that is said of a service.
    """

    model_config = ConfigDict(json_schema_extra=OF_ONE_KIND)

    cliente_id: Id
    documento_fiscal: Literal["nfse", "nfe", "nfce"] = "nfse"
    itens: Annotated[list[ItemNovo], Field(min_length=1, max_length=MOST_ITEMS)] | None = None
    valor: Annotated[Valor | None, AfterValidator(amount_or_items)] = Field(default=None, validate_default=True)
    descricao: Descricao | None = None
    competencia: Competencia | None = None
    local_prestacao: Municipio | None = None
    obra: ObraNova | None = None
    evento: EventoNovo | None = None
    iss_retido: bool | None = None

    def columns(self) -> dict[str, Any]:
        """Return the columns: what is said of the place stands in one."""
        told = self.model_dump(mode="json", exclude_none=True, include={*PLACE})
        return {**self.model_dump(exclude={*PLACE, "itens"}), "prestacao": told or None}

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        of_one_kind(self.documento_fiscal, self.itens, [getattr(self, name) for name in OF_SERVICE])
        return self


class Submissao(Corpo):
    """The version of a proposal that is sent to its approver."""

    versao: Versao


class ApiResposta(BaseModel):
    """What a caller gets: the entity as it is now."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    id: int
    ambiente: Ambiente
    versao: int
    idempotencia_key: str | None


class ClienteResposta(ApiResposta):
    """A client as it is now; what was erased is null."""

    nome: str | None
    email: str | None
    documento: str | None
    criado_em: datetime
    atualizado_em: datetime


class TomadorResposta(BaseModel):
    """Whom a note was made out to: a bare CNPJ or CPF, and the name that stands on it."""

    nome: str | None
    documento: str


class NotaResposta(BaseModel):
    """The note that was issued, as it stands now; ``chave`` is the authority's, of 44 or 50 digits, where it has one.

    ``emitida_em`` is the day on it, ``valor`` in BRL. ``pdf`` and ``xml`` are paths; ``substituida_por`` is the number
    of the note that took its place.
    """

    numero: str
    chave: str | None
    emitida_em: date
    valor: Decimal
    tomador: TomadorResposta
    pdf: str
    xml: str
    estado: SituacaoNota
    substituida_por: str | None


def _nota(found: Any, info: ValidationInfo) -> Any:
    """Return what a row knows of its note, as it is told; ``None`` where none was issued."""
    if not isinstance(found, dict):
        return found
    files = {end: f"{PREFIX}/propostas/{info.data['id']}/nota.{end}" for end in NOTE_MIME}
    estado = situacao_of(found["status"], found["substituida_por"])
    return {**found, **files, "estado": estado, "tomador": {"nome": found["nome"], "documento": found["documento"]}}


class PropostaResposta(ApiResposta):
    """A proposal as it is now; ``valor`` in BRL as text with two decimals, ``alterada_por`` who made this version."""

    cliente_id: int
    documento_fiscal: Literal["nfse", "nfe", "nfce"]
    itens: list[dict[str, str]] | None
    valor: Decimal
    descricao: str | None
    competencia: str | None
    estado: EstadoProposta
    motivo: str | None
    alterada_por: str | None
    nota: Annotated[NotaResposta | None, BeforeValidator(_nota)] = None
    enviada_em: datetime | None
    criada_em: datetime
    atualizada_em: datetime


REPLAYED: Final = "Idempotency-Replayed"


class PropostasQuery(PageQuery):
    """A page of proposals, of one state where it is named."""

    estado: Annotated[EstadoProposta | None, Field(strict=False)] = None


async def _nothing(_: Connection, __: ApiCall, ___: Any) -> dict[str, Any]:
    """Require nothing more."""
    return {}


async def _client_is_ours(connection: Connection, call: ApiCall, body: PropostaNova) -> dict[str, Any]:
    cliente = await entities.by_id(connection, clientes, call.empresa_id, call.ambiente, body.cliente_id)
    if cliente is None:
        erro = field(("cliente_id",), "desconhecido", "não é um cliente desta empresa")
        raise ProblemError("corpo_invalido", "Nada foi guardado. Crie antes o cliente.", erros=[erro])
    return await sold(connection, call, body.documento_fiscal, body.itens, cliente.documento) if body.itens else {}


def under_way() -> ProblemError:
    """Return the problem of a request that is being done at this moment."""
    detalhe = "Ninguém sabe ainda como termina. Repita com a mesma chave e o mesmo corpo."
    return ProblemError("em_andamento", detalhe, headers=RETRY)


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of thing that callers make.

    ``requires`` raises ``ProblemError`` for what the body alone does not tell, and returns more columns; ``taken`` is
    the problem of a body that is like another's in what must be unique.
    """

    path: str
    table: sa.Table
    new: type[Corpo]
    shown: type[ApiResposta]
    query: type[PageQuery] = PageQuery
    requires: Callable[[Connection, ApiCall, Any], Awaitable[dict[str, Any]]] = _nothing
    taken: str = "em_andamento"

    async def create(self, call: ApiCall) -> web.Response:
        """Make one, once for each key; a repetition gets what was made then, as it is now."""
        key = call.key
        raw = await call.body()
        body, refused = validated(self.new, raw)
        corpo = "" if body is None else input_hash(body.model_dump(mode="json", exclude_none=True))
        made = None
        async with call.deps.database.alone() as connection:  # one write, which is all or nothing by itself
            try:
                if body is not None:
                    beside = await self.requires(connection, call, body)
                    made = await self._add(connection, call, key, corpo, {**body.columns(), **beside})
                    refused = ProblemError(self.taken, "Nada foi guardado.")
            except ProblemError as error:  # unless it is a repetition
                refused = error
            found = made or await entities.by_key(connection, self.table, call.empresa_id, call.ambiente, key)
        if found is None:
            raise refused
        if made is None and call.deps.strict and found.corpo_sha256 != corpo:
            raise ProblemError("chave_reutilizada", "Nada foi feito. Para um pedido novo, mande uma chave nova.")
        return self.answer(found, 201, {REPLAYED: "true"} if made is None else {})

    async def show(self, call: ApiCall) -> web.Response:
        """Show one of the company's. Raises ``ProblemError`` 404."""
        return self.answer(await self.found(call), 200, {})

    async def show_all(self, call: ApiCall) -> web.Response:
        """Show the company's, newest first, page by page."""
        page = page_of(call, self.query)
        async with call.deps.database.alone() as connection:
            wanted = [self.table.c[name] == value for name, value in page if name in self.table.c and value is not None]
            rows = await entities.newest(
                connection,
                self.table,
                call.empresa_id,
                call.ambiente,
                page.cursor or LARGEST_ID,
                page.limite + 1,
                *wanted,
            )
        shown = [self.shown.model_validate(row).model_dump(mode="json") for row in rows]
        return paged(shown, page.limite, [row.id for row in rows])

    async def found(self, call: ApiCall) -> Found:
        """Return the company's row that the address names. Raises ``ProblemError`` 404."""
        if call.id <= LARGEST_ID:
            async with call.deps.database.alone() as connection:
                found = await entities.by_id(connection, self.table, call.empresa_id, call.ambiente, call.id)
            if found is not None:
                return found
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")

    async def _add(
        self, connection: Connection, call: ApiCall, key: str, corpo: str, columns: dict[str, Any]
    ) -> Found | None:
        values = {
            **columns,
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
        return as_json(shown.model_dump(mode="json"), status, {**headers, **location})


CLIENTES: Final = Resource("/clientes", clientes, ClienteNovo, ClienteResposta, taken="email_em_uso")
PROPOSTAS: Final = Resource("/propostas", propostas, PropostaNova, PropostaResposta, PropostasQuery, _client_is_ours)


async def note_file(call: ApiCall) -> web.Response:
    """Answer with the PDF or XML of a proposal's note, as it is kept. Raises ``ProblemError``."""
    formato: Literal["pdf", "xml"] = call.request.match_info["formato"]  # type: ignore[assignment]  # the route's
    nota = (await PROPOSTAS.found(call)).nota
    if nota is None:
        raise ProblemError("nao_encontrado", "Desta proposta ainda não há nota.")
    situacao = situacao_of(nota["status"], nota["substituida_por"])
    kept = await call.deps.months.fetch(nota["emissao_id"], formato)
    if not isinstance(kept, Arquivo):
        marked = formato == "xml" or situacao.vale
        why = "Ele ainda não chegou do emissor." if marked else f"A nota está {situacao}, e não há PDF que o diga."
        raise ProblemError("sem_documento", why)
    if kept.mime == PAGE_MIME:
        raise ProblemError("sem_documento", f"Esta nota não tem PDF; ela está em {kept.conteudo.decode().strip()}.")
    name = marked_name(nota["numero"], situacao, formato, nome_da_nota(nota["canal"]))
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=kept.conteudo, content_type=NOTE_MIME[formato], headers=headers)


_P: Final = propostas.c
_SENT: Final = (
    propostas.update()
    .where(_P.id == sa.bindparam("b_id"))
    .values(
        estado=EstadoProposta.ENVIADA.value,
        versao=_P.versao + 1,
        aprovador_id=sa.bindparam("b_aprovador"),
        alterada_por=sa.bindparam("b_quem"),
        enviada_em=sa.func.now(),
        atualizada_em=sa.func.now(),
    )
    .returning(propostas)
)


async def submit(call: ApiCall) -> web.Response:
    """Send a proposal to its approver, once for each key; a repetition gets the proposal as it is now."""
    key = call.key
    raw = await call.body()
    body, refused = validated(Submissao, raw)
    corpo = "" if body is None else input_hash(body.model_dump(mode="json"))
    sent = None
    async with call.deps.database.transaction() as connection:
        before = await keys.find_operation(connection, call.empresa_id, call.ambiente, key, SUBMIT)
        if before is None:
            if body is None:
                raise refused
            try:
                proposta = await _locked(connection, call)
                before = await keys.find_operation(
                    connection, call.empresa_id, call.ambiente, key, SUBMIT
                )  # whoever had the lock first
                sent = await _send(connection, call, key, corpo, body, proposta) if before is None else None
            except UnderWayError:
                raise under_way() from None
        now = sent
        if before is not None:
            if call.deps.strict and (before.corpo_sha256, before.entidade_id) != (corpo, call.id):
                raise ProblemError("chave_reutilizada", "Nada foi feito. Para um pedido novo, mande uma chave nova.")
            now = await entities.by_id(connection, propostas, call.empresa_id, call.ambiente, before.entidade_id)
    if now is None:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return PROPOSTAS.answer(now, 200, {} if sent is not None else {REPLAYED: "true"})


async def _locked(connection: Connection, call: ApiCall) -> Found:
    known = call.id <= LARGEST_ID
    found = await keys.lock_operation(connection, call.empresa_id, call.ambiente, call.id) if known else None
    if found is None:
        raise ProblemError("nao_encontrado", "Não existe, ou é de outra empresa.")
    return found


async def _send(connection: Connection, call: ApiCall, key: str, corpo: str, body: Submissao, proposta: Found) -> Found:
    """Do it, and note that it is done; raises ``ProblemError`` for what must not be sent, and then nothing stands."""
    if proposta.versao != body.versao:
        raise ProblemError("versao_desatualizada", f"Está na versão {proposta.versao}. Leia de novo e decida.")
    if proposta.estado != EstadoProposta.RASCUNHO:
        raise ProblemError("estado_invalido", f"Está {proposta.estado}, na versão {proposta.versao}.")
    await check_environment(connection, call, TipoDocumento.of(proposta.documento_fiscal))
    aprovador = await approvals.approver_of(connection, call.empresa_id)
    if aprovador is None:
        raise ProblemError("sem_aprovador", "A empresa não tem ninguém que possa emitir.")
    if aprovador.conversa is None:
        raise ProblemError("sem_aprovador", "Quem aprova ainda não escreveu ao Prosa. Peça que mande um oi e repita.")
    values = {"b_id": proposta.id, "b_aprovador": aprovador.id, "b_quem": call.quem}
    sent = (await connection.execute(_SENT, values)).one()
    done = {
        "empresa_id": call.empresa_id,
        "idempotencia_key": key,
        "tipo_operacao": SUBMIT,
        "entidade_id": sent.id,
        "resultado": PropostaResposta.model_validate(sent).model_dump(mode="json"),
        "corpo_sha256": corpo,
        "usuario": call.quem,
    }
    if not await keys.add_operation(connection, done):
        raise UnderWayError  # the same key sends another proposal at this moment: the repetition is told which
    chave = f"proposta:{sent.id}:{sent.versao}"
    row = ProposalRow(sent.id)
    arrival = Arrival.of(row, chave=chave, lane=aprovador.conversa, correlacao=call.correlacao)
    await call.deps.inbox.put_in(connection, [arrival])
    return sent
