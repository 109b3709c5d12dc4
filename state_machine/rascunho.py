"""The invoice under construction: what is known of each field, and how new words change it; decides no state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from state_machine.documents import DocumentoInvalido, parse_documento
from state_machine.fields import OBRIGATORIOS, Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.money import ValorInvalido, centavos

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

DESCRICAO_MAX = 2000  # characters; xDescServ of the national layout
NOME_MAX = 300  # characters; xNome of the national layout
DESCRICAO_MIN = 3  # characters; less than a word is a slip of the finger


class StatusCampo(StrEnum):
    """How far a field is to be trusted."""

    NULL = "null"
    EXTRACTED = "extracted"
    VALIDATED = "validated"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Lido:
    """One field: ``valor`` normalised (see ``Candidate``), ``escrito`` as the user wrote it, and why it is in doubt."""

    status: StatusCampo = StatusCampo.NULL
    valor: str | None = None
    escrito: str | None = None
    origem: Origem | None = None
    confianca: Confianca | None = None
    motivo: Motivo | None = None
    detalhe: str | None = None


VAZIO = Lido()


@dataclass(frozen=True, slots=True)
class Cadastro:
    """What the public CNPJ register says of a tomador."""

    documento: str
    razao_social: str
    situacao: str | None = None  # "ATIVA", "BAIXADA", …


@dataclass(frozen=True, slots=True)
class Rascunho:
    """All fields of the invoice, and the register's entry for the document that now stands."""

    documento: Lido = VAZIO
    valor: Lido = VAZIO
    descricao: Lido = VAZIO
    nome: Lido = VAZIO
    email: Lido = VAZIO
    competencia: Lido = VAZIO
    data: Lido = VAZIO
    cadastro: Cadastro | None = None

    def campo(self, campo: Campo) -> Lido:
        """Return what is known of ``campo``."""
        lido: Lido = getattr(self, campo.value)
        return lido

    def com(self, campo: Campo, lido: Lido) -> Rascunho:
        """Return a copy in which ``campo`` reads ``lido``; a new document forgets the old one's register entry."""
        campos: dict[str, Any] = {campo.value: lido}
        mudado = replace(self, **campos)
        if campo is Campo.DOCUMENTO and lido.valor != self.documento.valor:
            mudado = replace(mudado, cadastro=None, nome=VAZIO)
        return mudado

    def validado(self, campo: Campo) -> str | None:
        """Return the validated value of ``campo`` or ``None``."""
        lido = self.campo(campo)
        return lido.valor if lido.status is StatusCampo.VALIDATED else None

    @property
    def faltam(self) -> tuple[Campo, ...]:
        """Required fields that are not validated yet, in the order in which they are asked."""
        return tuple(c for c in OBRIGATORIOS if self.campo(c).status is not StatusCampo.VALIDATED)

    @property
    def completo(self) -> bool:
        """True when an invoice could be issued from it: nothing missing and nothing in doubt."""
        return not self.faltam and not any(self.campo(c).status is StatusCampo.INVALID for c in Campo)

    @property
    def valor_servico(self) -> Decimal:
        """The validated amount in BRL; raises ``ValueError`` when there is none."""
        valor = self.validado(Campo.VALOR)
        if valor is None:
            raise ValueError("the draft has no validated amount")
        return centavos(valor)

    @property
    def tomador_nome(self) -> str | None:
        """The tomador's name: what the register says, else what the user said."""
        return self.cadastro.razao_social if self.cadastro else self.validado(Campo.NOME)


def ler(candidate: Candidate) -> Lido:
    """Check a candidate by our own rules, whoever read it, and say how far it is to be trusted."""
    lido = Lido(
        StatusCampo.EXTRACTED,
        candidate.valor,
        candidate.trecho,
        candidate.origem,
        candidate.confianca,
    )
    if candidate.confianca is Confianca.DUVIDOSA:
        return replace(lido, status=StatusCampo.INVALID, motivo=Motivo.AMBIGUO)
    try:
        return replace(lido, status=StatusCampo.VALIDATED, valor=_normalizado(candidate))
    except DocumentoInvalido as erro:
        return replace(lido, status=StatusCampo.INVALID, valor=None, motivo=erro.motivo)
    except ValorInvalido:
        return replace(lido, status=StatusCampo.INVALID, valor=None, motivo=Motivo.NAO_POSITIVO)


def _normalizado(candidate: Candidate) -> str:
    match candidate.campo:
        case Campo.DOCUMENTO:
            return parse_documento(candidate.valor).numero
        case Campo.VALOR:
            return str(centavos(candidate.valor))
        case Campo.DESCRICAO:
            return " ".join(candidate.valor.split())[:DESCRICAO_MAX]
        case Campo.NOME:
            return " ".join(candidate.valor.split())[:NOME_MAX]
        case _:
            return candidate.valor.strip()


def aplicar(
    rascunho: Rascunho, candidates: Iterable[Candidate], doubts: Iterable[Doubt], clear: Iterable[Campo]
) -> Rascunho:
    """Merge one turn: take back what was negated, put in what was read, and leave in doubt what is doubtful.

    What was validated before stays unless this turn speaks of the same field.
    """
    for campo in clear:
        rascunho = rascunho.com(campo, VAZIO)
    for candidate in candidates:
        if candidate.campo is Campo.DESCRICAO and len(candidate.valor.strip()) < DESCRICAO_MIN:
            continue
        rascunho = rascunho.com(candidate.campo, ler(candidate))
    for doubt in doubts:
        duvidoso = Lido(
            StatusCampo.INVALID, None, doubt.trecho, Origem.REGRAS, Confianca.DUVIDOSA, doubt.motivo, doubt.detalhe
        )
        rascunho = rascunho.com(doubt.campo, duvidoso)
    return rascunho


def mudancas(antes: Rascunho, depois: Rascunho) -> tuple[tuple[Campo, str, str], ...]:
    """List the fields whose validated value changed from one value to another: (field, old, new)."""
    pares = ((c, antes.validado(c), depois.validado(c)) for c in Campo)
    return tuple((c, velho, novo) for c, velho, novo in pares if velho and novo and velho != novo)
