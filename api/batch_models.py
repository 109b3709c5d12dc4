"""What callers send and get about lists of addresses."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from api.models import Corpo
from persistence.api.entities import LARGEST_ID
from state_machine.mailing.reading import REVISAO
from state_machine.mailing.states import EstadoLinha, EstadoLote, TipoLote  # noqa: TC001 - pydantic reads them
from state_machine.mailing.text import ASSUNTO_MAX, MENSAGEM_MAX

ROWS: Final = 100  # of a page, unless the caller says how many
MOST_ROWS: Final = 1_000
_YES_NO: Final = {"true": True, "false": False}
_BREAKS: Final = "\n\r\t"


def _legible(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" and character not in _BREAKS for character in text):
        raise PydanticCustomError("texto_invalido", "tem um caractere que não é texto")
    return text


def _yes_no(value: object) -> bool:
    if not isinstance(value, str) or value not in _YES_NO:
        raise PydanticCustomError("repetir_invalido", "é true ou false")
    return _YES_NO[value]


def _number(value: object) -> int:
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and len(value) < len(str(LARGEST_ID))):
        raise PydanticCustomError("numero_invalido", "é um número inteiro")
    return int(value)


def _carried(notas: list[dict[str, Any]] | None) -> list[str]:
    return [f"leva a nota {nota['numero']}" for nota in notas or ()]


def _given(value: object) -> object:
    return value or None


class ListaNova(Corpo):
    """The fields beside the file; what the rows lack of their own words comes from here."""

    tipo: Literal["envio", "notas"]
    assunto: Annotated[
        Annotated[str, StringConstraints(max_length=ASSUNTO_MAX), AfterValidator(_legible)] | None,
        BeforeValidator(_given),
    ] = None
    mensagem: Annotated[
        Annotated[str, StringConstraints(max_length=MENSAGEM_MAX), AfterValidator(_legible)] | None,
        BeforeValidator(_given),
    ] = None
    repetir: Annotated[bool, BeforeValidator(_yes_no)] = False


class Confirmacao(Corpo):
    """A yes to the rows that were shown under this revision."""

    revisao: Annotated[str, StringConstraints(min_length=1, max_length=4 * REVISAO)]


class PageQuery(Corpo):
    """Which page: what came before it ends at ``cursor``, the ``proximo`` of that answer."""

    cursor: Annotated[int, BeforeValidator(_number)] = 0
    limite: Annotated[int, Field(ge=1, le=MOST_ROWS), BeforeValidator(_number)] = ROWS


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


class LoteResposta(BaseModel):
    """A list as it stands now; ``created``: whether this request made it.

    ``primeiro`` is there while the list waits for a yes and is shown alone; ``aviso``: what was asked and is not done.
    """

    id: int
    created: bool
    nome_arquivo: str
    tipo: TipoLote
    estado: EstadoLote
    revisao: str
    totais: Totais
    primeiro: PrimeiroEmail | None
    aviso: str | None


class LinhaResposta(BaseModel):
    """A row; ``linha`` as a spreadsheet program numbers it. Equal rows are counted, not kept: ``igual_a`` is null.

    ``avisos`` name the notes that go with its mail.
    """

    model_config = ConfigDict(from_attributes=True)

    linha: int
    estado: EstadoLinha
    email: str | None
    problemas: list[dict[str, Any]]
    avisos: Annotated[list[str], BeforeValidator(_carried), Field(validation_alias="notas")]
    igual_a: int | None = None
