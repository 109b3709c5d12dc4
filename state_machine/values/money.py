"""Amounts in BRL as ``Decimal`` centavos, in figures and in words.

The yearly limit of a MEI: LC 123/2006, art. 18-A, §§ 1º and 2º; of transport art. 18-F.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from num2words import num2words

from state_machine.values.errors import ProsaError

CENTAVO: Final = Decimal("0.01")
LIMITE: Final = Decimal(10**10)  # exclusive; ten digits of reais is what the emission tables hold
_KEPT: Final = 1024  # numbers in words: a conversation shows its amount more than once, and most are round
PLAIN_DECIMAL: Final = re.compile(
    r"[+-]?[0-9]+(\.[0-9]+)?"
)  # the house's own notation; people's is the extractor's work


class ValorInvalido(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """The amount is no number, not positive, or beyond ``LIMITE``."""

    code = "valor_invalido"


def centavos(valor: Decimal | str | int) -> Decimal:
    """Quantise an amount in BRL to centavos, half up.

    A ``str`` is plain decimal ("1500.00"). Raises ``ValorInvalido`` unless 0 < result < 10^10.
    """
    if isinstance(valor, str) and not PLAIN_DECIMAL.fullmatch(valor.strip()):
        raise ValorInvalido("not a plain decimal number")
    if isinstance(valor, (bool, float)):
        raise ValorInvalido(f"an amount is never a {type(valor).__name__}")
    try:
        exato = Decimal(valor)
        if not exato.is_finite() or abs(exato) >= LIMITE:
            raise ValorInvalido("amount out of range")
        resultado = exato.quantize(CENTAVO, rounding=ROUND_HALF_UP)
    except InvalidOperation as e:
        raise ValorInvalido("not a number") from e
    if not 0 < resultado < LIMITE:
        raise ValorInvalido("amount out of range")
    return resultado


def formata_brl(valor: Decimal | str) -> str:
    """Return ``R$ 1.500,00`` (with a plain space, as people type it). Raises ``ValorInvalido``, as ``centavos``."""
    inteiro, fracao = f"{centavos(valor):,.2f}".split(".")
    return f"R$ {inteiro.replace(',', '.')},{fracao}"


def por_extenso(valor: Decimal) -> str:
    """Return the amount in words as a Brazilian cheque has them: "mil e quinhentos reais". Raises ``ValorInvalido``."""
    reais, cents = divmod(int(centavos(valor) * 100), 100)
    partes = []
    if reais:
        # "um milhão de reais", but "um milhão e duzentos mil reais"
        de = " de" if reais % 10**6 == 0 else ""
        partes.append(f"{_cardinal(reais)}{de} {'real' if reais == 1 else 'reais'}")
    if cents:
        partes.append(f"{_cardinal(cents)} {'centavo' if cents == 1 else 'centavos'}")
    return " e ".join(partes)


@lru_cache(_KEPT)
def _cardinal(n: int) -> str:
    # num2words puts a comma after "mil"; nobody writes it there.
    return str(num2words(n, lang="pt_BR")).replace(",", "")


MESES: Final = 12
AVISA: Final = Decimal("0.8")  # of the limit: from here on a person is told after every note


@dataclass(frozen=True, slots=True)
class LimitesMei:
    """The limits of a whole year in BRL, of a MEI and of one of transport."""

    geral: Decimal
    transporte: Decimal


@dataclass(frozen=True, slots=True)
class Medidor:
    """How much of the year's limit is used, BRL; ``meses`` of it count (12: all), ``abertura`` is known or not."""

    ano: int
    emitido: Decimal
    limite: Decimal
    meses: int
    abertura: bool

    @property
    def parte(self) -> Decimal:
        """The part of the limit that is used; 1 is all of it."""
        return self.emitido / self.limite


def medidor(limite_anual: Decimal, ano: int, emitido: Decimal, abertura: date | None) -> Medidor:
    """Measure what was issued in a year against its limit.

    In the opening year it is a twelfth for each month from the opening on; a part of a month counts as a whole one.
    """
    meses = MESES - abertura.month + 1 if abertura and abertura.year == ano else MESES
    limite = limite_anual if meses == MESES else centavos(limite_anual / MESES) * meses
    return Medidor(ano, emitido, limite, meses, abertura is not None)
