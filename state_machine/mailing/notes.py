"""The mail that carries a customer's notes of a month: which month, and the words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from state_machine.mailing.text import ASSUNTO, MENSAGEM
from state_machine.values.errors import ProsaError
from state_machine.values.money import formata_brl
from state_machine.values.period import MesOuAno

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

COMPETENCIA: Final = "competencia"  # columns that say which month's notes go, and whose
DOCUMENTO: Final = "documento"
MOST_NOTES: Final = 20  # of one mail: their PDFs and XMLs are a few megabytes, and mail servers take some ten
_DOCUMENT_WRITTEN: Final = 20  # characters, with marks and spaces
_MONTH: Final = re.compile(
    r"(?P<ano>20\d\d)-(?P<mes>0[1-9]|1[0-2])|(?P<outro_mes>0?[1-9]|1[0-2])/(?P<outro_ano>20\d\d)"
)


class NotAMonthError(ProsaError, ValueError):
    """What stands in the column is no month."""

    code = "competencia_invalida"


class NotADocumentError(ProsaError, ValueError):
    """What stands in the column is no document."""

    code = "documento_longo"


@dataclass(frozen=True, slots=True)
class MailedNote:
    """A note that goes with a mail."""

    emissao_id: int
    numero: str
    valor: Decimal


def month_of(dados: Mapping[str, str]) -> MesOuAno | None:
    """Return the month that a row names, ``2026-11`` or ``11/2026``; ``None``: it names none.

    Raises ``NotAMonthError``.
    """
    written = dados.get(COMPETENCIA) or dados.get("competência")
    if not written:
        return None
    found = _MONTH.fullmatch(written)
    if found is None:
        raise NotAMonthError("tem uma competência que não é um mês como 2026-11")
    return MesOuAno(int(found[1] or found[4]), int(found[2] or found[3]))


def document_of(dados: Mapping[str, str]) -> str | None:
    """Return the document that a row names, without its marks; ``None``: it names none.

    Raises ``NotADocumentError`` for what is longer than one.
    """
    written = dados.get(DOCUMENTO, "")
    if len(written) > _DOCUMENT_WRITTEN:
        raise NotADocumentError("tem um documento que não é CPF nem CNPJ")
    return "".join(character for character in written if character.isalnum()).upper() or None


def words(mes: MesOuAno, notas: Sequence[MailedNote], assunto: str | None) -> dict[str, str]:
    """Return the columns that a row gets for these notes: the text, and the subject where it has none."""
    many = len(notas) > 1
    listed = "\n".join(f"Nota {nota.numero}: {formata_brl(nota.valor)}" for nota in notas)
    greeting = "Seguem as suas notas fiscais de serviço" if many else "Segue a sua nota fiscal de serviço"
    said = {MENSAGEM: f"Olá!\n\n{greeting} de {mes}, em PDF e XML.\n\n{listed}"}
    return said if assunto else {ASSUNTO: f"{'Suas notas fiscais' if many else 'Sua nota fiscal'} de {mes}", **said}


def problem(mes: MesOuAno, notas: Sequence[MailedNote]) -> dict[str, str] | None:
    """Return why these notes make no mail, as it is stored and shown; ``None``: they do."""
    if not notas:
        return {"codigo": "sem_notas", "detalhe": f"não tem texto, e não há notas de {mes} deste cliente"}
    if len(notas) > MOST_NOTES:
        return {"codigo": "notas_demais", "detalhe": f"tem {len(notas)} notas em {mes}; um e-mail leva {MOST_NOTES}"}
    return None
