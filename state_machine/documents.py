"""What an invoice says once somebody confirmed it: one shape, and a class for each kind of document.

``Rascunho`` is what was said, ``Documento`` what was confirmed, ``Nota`` what the authority made of it. A new kind is a
subclass of ``Documento`` with a row in ``KINDS`` and what it says for comparison (``Conteudo``); everything that passes
a document on knows only these two.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from state_machine.goods import Item, Modelo, resumida
from state_machine.invoice.choices import mesmo_texto
from state_machine.protocol.emission import Nota
from state_machine.services.codes import IbsCbs
from state_machine.values.text import latin1

_CENTAVOS = 100
_MES = 7  # characters of an ISO date up to its month


@dataclass(frozen=True, slots=True)
class Endereco:
    """A Brazilian address; ``codigo_cidade`` is the IBGE code (7 digits), ``cep`` 8 digits."""

    logradouro: str
    numero: str
    bairro: str
    codigo_cidade: str
    cidade: str
    estado: str
    cep: str
    complemento: str | None = None


@dataclass(frozen=True, slots=True)
class Tributos:
    """The approximate burden of Lei 12.741/2012 by who levies it: in percent or in BRL, as its field says."""

    federal: Decimal
    estadual: Decimal
    municipal: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Prestador:
    """Who issues: fiscal defaults of the company. ``aliquota`` in percent, ``None`` where the regime fixes it.

    The approximate burden in percent: ``tributos_sn`` of a company of the Simples, ``tributos`` of one of the normal
    regime. ``informa_im``: the city has it in the national register, so that its inscription is said.
    ``codigo_servico`` is that of this invoice, ``codigo_nbs`` its cNBS (nine digits) and ``ibs_cbs`` what it says of
    IBS and CBS, where the company says any. ``apuracao_ibscbs`` (regApIBSCBSSN) and ``atividade_sn`` (cAtvSN) are of
    the layout of NT 009.
    """

    cnpj: str
    razao_social: str
    inscricao_municipal: str
    municipio_ibge: str
    regime: Literal["mei", "simples", "simples-pendente", "normal"]
    codigo_servico: str
    cnae: str | None
    aliquota: Decimal | None
    tributos_sn: Decimal | None = None
    tributos: Tributos | None = None
    informa_im: bool = False
    codigo_nbs: str | None = None
    ibs_cbs: IbsCbs | None = None
    apuracao_ibscbs: str | None = None
    atividade_sn: str | None = None


@dataclass(frozen=True, slots=True)
class Tomador:
    """Who pays: ``documento`` is a bare CNPJ (14) or CPF (11)."""

    documento: str
    razao_social: str | None
    email: str | None = None
    endereco: Endereco | None = None


@dataclass(frozen=True, slots=True)
class Rps:
    """The number of a note before it is one, where we number and not the gateway."""

    serie: str
    numero: int


@dataclass(frozen=True, slots=True)
class Substituicao:
    """The note that an invoice takes the place of: the authority ends that one by making this one.

    ``chave`` is its access key, ``motivo`` why, in 15 to 255 characters.
    """

    chave: str
    motivo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Documento(ABC):
    """One invoice that somebody confirmed; ``valor`` in BRL with two decimals, ``competencia`` a day of its month.

    The door for orders gives it its reference ``id_integracao``, ``rps`` (``None`` where the gateway numbers by itself)
    and ``substitui`` (``None`` where it takes no other note's place).
    """

    tipo: ClassVar[str]

    prestador: Prestador
    tomador: Tomador
    valor: Decimal
    competencia: date
    id_integracao: str = ""
    rps: Rps | None = None
    substitui: Substituicao | None = None

    @property
    @abstractmethod
    def conteudo(self) -> Conteudo:
        """What it says to its customer: the same content, the same fingerprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obra:
    """A building site: its address, or its number ``cno`` (CNO or CEI, 12 digits), or both."""

    endereco: Endereco | None = None
    cno: str | None = None
    inscricao: str | None = None  # of the property, by the city


@dataclass(frozen=True, slots=True, kw_only=True)
class Atividade:
    """An event: what it is called, its first and last day, and where it is."""

    nome: str
    inicio: date
    fim: date
    endereco: Endereco


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentoServico(Documento):
    """An invoice for a service, of the code that its ``prestador`` names.

    ``local`` is the IBGE code of the city where the work was done, ``None`` for the company's own. ``iss_retido``: the
    customer pays the ISS.
    """

    tipo: ClassVar[str] = "servico"

    descricao: str
    local: str | None = None
    obra: Obra | None = None
    evento: Atividade | None = None
    iss_retido: bool = False

    @property
    def conteudo(self) -> ConteudoServico:
        """What it says to its customer."""
        who = self.prestador
        return ConteudoServico(
            who.cnpj, self.tomador.documento, who.codigo_servico, self.valor, self.competencia, self.descricao
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentoProduto(Documento):
    """An invoice for goods; its ``tomador`` has an empty ``documento`` where nobody is named (NFC-e only).

    ``inscricao_estadual`` and ``endereco`` are the issuer's; ``endereco`` is ``None`` where the register told none,
    which no channel takes. ``entrega``: an NFC-e whose goods the shop itself brings to the customer's address.
    """

    tipo: ClassVar[str] = "produto"

    modelo: Modelo
    itens: tuple[Item, ...]
    inscricao_estadual: str
    endereco: Endereco | None = None
    entrega: bool = False

    @property
    def conteudo(self) -> ConteudoServico:
        """What it says to its customer: the model stands for the service's code, the items for its text."""
        documento, texto = self.tomador.documento, resumida(self.itens)
        return ConteudoServico(self.prestador.cnpj, documento, self.modelo, self.valor, self.competencia, texto)


def goods(documento: Documento) -> DocumentoProduto:
    """Return a document that is an invoice for goods. Raises ``ValueError`` for another kind."""
    if not isinstance(documento, DocumentoProduto):
        raise ValueError(f"tipo: {documento.tipo} is no goods")  # noqa: TRY004 - a refusal of the document, no bug
    return documento


def service(documento: Documento) -> DocumentoServico:
    """Return a document that is an invoice for a service. Raises ``ValueError`` for another kind."""
    if not isinstance(documento, DocumentoServico):
        raise ValueError(f"tipo: {documento.tipo} is no service")  # noqa: TRY004 - a refusal of the document, no bug
    return documento


KINDS: Final[Mapping[str, type[Documento]]] = {kind.tipo: kind for kind in (DocumentoServico, DocumentoProduto)}


def dump(documento: Documento) -> bytes:
    """Return a document as JSON: the same document, the same bytes."""
    told = {"tipo": documento.tipo, **asdict(documento)}
    return json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str).encode()


def load(stored: bytes) -> Documento:
    """Undo ``dump``. Raises ``ValueError`` for bytes that are no document of a kind that is known here."""
    try:
        told = json.loads(stored)
        if "nota" in told:  # as releases before 0063 stored one that takes another's place
            told = {**told["nota"], "substitui": told["substitui"]}
        told.pop("idDps", None)  # likewise
        found: Documento = _read(KINDS[told.pop("tipo", DocumentoServico.tipo)], told)
    except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"the stored bytes are no invoice: {type(error).__name__}") from error
    return found


def _read(kind: Any, value: Any) -> Any:
    """Return a value of JSON as ``kind``; an unknown field is an error: it must not be left out in silence."""
    if get_origin(kind) in {Union, UnionType}:
        [kind] = (each for each in get_args(kind) if each is not NoneType)
        return None if value is None else _read(kind, value)
    if get_origin(kind) is tuple:
        return tuple(_read(get_args(kind)[0], each) for each in value)
    if isinstance(kind, type) and is_dataclass(kind):
        kinds = _kinds(kind)
        made: Any = kind(**{name: _read(kinds[name], each) for name, each in value.items()})
        return made
    if kind is date:
        return date.fromisoformat(value)
    return Decimal(value) if kind is Decimal else value


@cache
def _kinds(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


@dataclass(frozen=True, slots=True)
class ConteudoServico:
    """What is compared of an invoice: bare CNPJ or CPF, ``valor`` in BRL with two decimals."""

    prestador: str
    tomador: str
    codigo_servico: str
    valor: Decimal
    competencia: date
    descricao: str

    @property
    def impressao(self) -> str:
        """The SHA-256 (hex) of the canonical JSON: equal content, equal fingerprint."""
        content = {
            "centavos": int(self.valor * _CENTAVOS),
            "competencia": self.competencia.isoformat(),
            "descricao": self.descricao,
            "prestador": self.prestador,
            "servico": self.codigo_servico,
            "tomador": self.tomador,
        }
        canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def divergencia(confirmado: Conteudo, impressao: str, nota: Nota) -> str | None:
    """Name what the note says otherwise than the stored fingerprint ``impressao``; silence is no difference.

    What the note shows takes the place of what was confirmed; authorities write some of it in another form (case,
    accents and spaces of the text, dots of the code, the day of the competence), which is no other content.
    """
    mostrado = replace(
        confirmado,
        prestador=nota.prestador or confirmado.prestador,
        tomador=nota.tomador or confirmado.tomador,
        valor=confirmado.valor if nota.valor is None else nota.valor,
        codigo_servico=_unless_same(nota.codigo_servico, confirmado.codigo_servico, _mesmo_codigo),
        descricao=_unless_same(nota.descricao, confirmado.descricao, _mesma_descricao),
        competencia=confirmado.competencia if _mesmo_mes(nota.competencia, confirmado) else date.min,
    )
    if mostrado.impressao == impressao:
        return None
    campos = ("prestador", "tomador", "valor", "codigo_servico", "competencia", "descricao")
    outros = (campo for campo in campos if getattr(mostrado, campo) != getattr(confirmado, campo))
    return next(outros, "impressao")  # else our own row is not what was confirmed


def mostra_conteudo(nota: Nota) -> bool:
    """Tell whether the note shows what only its XML or full document has: text, competence and service code."""
    return None not in {nota.descricao, nota.competencia, nota.codigo_servico}


def _unless_same(deles: str | None, nosso: str, mesmo: Callable[[str, str], bool]) -> str:
    return nosso if deles is None or mesmo(deles, nosso) else deles


def _mesma_descricao(um: str, outro: str) -> bool:
    """Both as a layout takes them: what it cannot carry was left out or spelt plainly before it was sent."""
    return mesmo_texto(latin1(um), latin1(outro))


def _mesmo_codigo(um: str, outro: str) -> bool:
    """``1.05``, ``105``, ``0105`` and the national ``010501`` are one service; so is a code without its zeros."""
    a, b = _item(um), _item(outro)
    return a.startswith(b) or b.startswith(a) or a.lstrip("0") == b.lstrip("0")


def _item(codigo: str) -> str:
    digits = re.sub(r"\W", "", codigo)
    return digits.zfill(len(digits) + len(digits) % 2)  # item, subitem and national split have two digits each


def _mesmo_mes(deles: str | None, confirmado: Conteudo) -> bool:
    return deles is None or deles[:_MES] == confirmado.competencia.isoformat()[:_MES]


Conteudo: TypeAlias = ConteudoServico
"""Each kind knows its content, its fingerprint, and how a note at the authority differs from it."""
