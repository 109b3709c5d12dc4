"""What an invoice says, for each kind of document: content, fingerprint, and what differs from it.

What an invoice says, as the user confirmed it: its fingerprint, and how a note at the authority differs from it.

What an order is about, whatever its kind: everything that passes one on knows only this union.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TypeAlias

from state_machine.invoice.choices import mesmo_texto
from state_machine.protocol.emission import Nota
from state_machine.values.text import latin1

_CENTAVOS = 100
_MES = 7  # characters of an ISO date up to its month


@dataclass(frozen=True, slots=True)
class DocumentoServico:
    """What is invoiced: bare CNPJ or CPF, ``valor`` in BRL with two decimals, ``competencia`` a day of its month."""

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


def divergencia(confirmado: DocumentoServico, impressao: str, nota: Nota) -> str | None:
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
    """``1.05``, ``105``, ``0105`` and the national ``010501`` that a city makes of it are one service (LC 116/2003)."""
    a, b = _item(um), _item(outro)
    return a.startswith(b) or b.startswith(a)


def _item(codigo: str) -> str:
    digits = re.sub(r"\W", "", codigo)
    return digits.zfill(len(digits) + len(digits) % 2)  # item, subitem and national split have two digits each


def _mesmo_mes(deles: str | None, confirmado: DocumentoServico) -> bool:
    return deles is None or deles[:_MES] == confirmado.competencia.isoformat()[:_MES]


Documento: TypeAlias = DocumentoServico
"""Each kind knows its content, its fingerprint, and how a note at the authority differs from it."""
