"""What the second reader tells apart beside the speech act: the role of every number, document and date."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rotulo(StrEnum):
    """The label of a number, a document, a date or words in a message."""

    TOTAL = "num-total"  # the invoice's amount
    PARTE = "num-parte"  # an instalment, a deposit, one item of several
    UNITARIO = "num-unitario"
    DESCONTO = "num-desconto"
    IMPOSTO = "num-imposto"
    ANTERIOR = "num-anterior"  # replaced, or denied
    ALHEIO = "num-alheio"  # money that is not the invoice's
    QUANTIDADE = "num-quantidade"
    OUTRO = "num-outro"
    DOC_CLIENTE = "doc-cliente"
    DOC_PROPRIO = "doc-proprio"
    DOC_OUTRO = "doc-outro"
    DOC_ERRADO = "doc-errado"
    DATA_SERVICO = "dat-servico"
    DATA_VENCIMENTO = "dat-vencimento"
    DATA_FUTURA = "dat-futuro"
    DATA_OUTRA = "dat-outra"
    SERVICO = "servico"
    NOME = "nome"


MONEY = frozenset(
    {Rotulo.TOTAL, Rotulo.PARTE, Rotulo.UNITARIO, Rotulo.DESCONTO, Rotulo.IMPOSTO, Rotulo.ANTERIOR, Rotulo.ALHEIO}
)


@dataclass(frozen=True, slots=True)
class Mencao:
    """A stretch of the message, its role, and how sure that is (0 to 1: the least sure of its words)."""

    rotulo: Rotulo
    start: int
    end: int
    certeza: float
