"""What callers send and get: one set of models that validates, and of which documents are made."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from persistence.api.entities import LARGEST_ID
from state_machine.cancellation.machine import StatusNota  # noqa: TC001 - pydantic reads the annotations
from state_machine.invoice.field_table import DESCRICAO_MAX, DESCRICAO_MIN
from state_machine.mailing.addresses import NotAnAddressError, normalised
from state_machine.proposal.states import EstadoProposta  # noqa: TC001 - as above
from state_machine.protocol.channel import Ambiente  # noqa: TC001 - as above
from state_machine.values.documents import DocumentoInvalido, parse_documento
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import LIMITE
from state_machine.values.text.untrusted import REPLACEMENT

NOME_DE_CLIENTE_MAX: Final = 255  # characters; the specification's, as of the e-mail
DOCUMENTO_MAX: Final = 40  # characters as written, with mask and spaces
_MES: Final = re.compile(r"20[0-9]{2}-(?:0[1-9]|1[0-2])")
_DECIMAIS: Final = 2
_MONEY: Final = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,2})?")


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
]
Email = Annotated[
    str, StringConstraints(max_length=NOME_DE_CLIENTE_MAX), AfterValidator(_legible), AfterValidator(_email)
]
Documento = Annotated[str, StringConstraints(max_length=DOCUMENTO_MAX), AfterValidator(_documento)]
Valor = Annotated[Decimal, BeforeValidator(_money)]
Descricao = Annotated[
    str,
    StringConstraints(min_length=DESCRICAO_MIN, max_length=DESCRICAO_MAX),
    BeforeValidator(lambda value: _spaced(value) if isinstance(value, str) else value),
    AfterValidator(_legible),
]
Competencia = Annotated[str, AfterValidator(_mes)]
Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Versao = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Corpo(BaseModel):
    """What a caller sends: nothing but these fields, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ClienteNovo(Corpo):
    """A client of the caller's system."""

    nome: Nome
    email: Email
    documento: Documento | None = None


class PropostaNova(Corpo):
    """An invoice that the caller proposes; what is missing is asked of who approves it."""

    cliente_id: Id
    valor: Valor
    descricao: Descricao | None = None
    competencia: Competencia | None = None


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


class NotaResposta(BaseModel):
    """The note that was issued: its number and the authority's key of 44 or 50 digits, where it has one."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    numero: str
    chave: str | None
    situacao: StatusNota
    substituida_por: str | None


class PropostaResposta(ApiResposta):
    """A proposal as it is now; ``valor`` in BRL as text with two decimals, ``alterada_por`` who made this version."""

    cliente_id: int
    valor: Decimal
    descricao: str | None
    competencia: str | None
    estado: EstadoProposta
    motivo: str | None
    alterada_por: str | None
    nota: NotaResposta | None = None
    enviada_em: datetime | None
    criada_em: datetime
    atualizada_em: datetime
