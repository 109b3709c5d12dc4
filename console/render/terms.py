"""Tells what somebody typed into the search: a phone, a document, a session, a message, a note, a name, an amount."""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from typing import Final

from state_machine.values.documents import DocumentoInvalido, parse_documento


class TermKind(StrEnum):
    """What a text may be; several at once where nobody can tell."""

    SESSAO = "sessão"
    REFERENCIA = "referência"
    WAMID = "mensagem"
    DOCUMENTO = "CNPJ ou CPF"
    TELEFONE = "telefone"
    NOTA = "número da nota"
    VALOR = "valor"
    NOME = "nome ou empresa"


_SESSAO: Final = re.compile(r"\d{6}-[0-9a-f]{8}")
_REFERENCIA: Final = re.compile(r"\d{6}-[0-9a-f]{8}-r\d+-\d+")
_PHONE_DIGITS: Final = range(8, 14)  # from a bare number to country, area and ninth digit
_NOTE_DIGITS: Final = range(1, 16)
# "R$ 640", "3.331,86", "640,00": a bare number is a note's or a phone's, and an amount too where it is short.
_VALOR: Final = re.compile(
    r"(?:r\$ ?)?(?P<inteiro>\d{1,3}(?:\.\d{3}){1,3}|\d{1,10})(?:,(?P<centavos>\d{2}))?", re.IGNORECASE
)
_NOME: Final = re.compile(r"[^\W_][\w .&'’-]{2,59}")


def terms(texto: str) -> list[tuple[TermKind, str]]:
    """Return what the text may be, each with the value to look for; an empty list: nothing that is searched for."""
    limpo = texto.strip()
    if limpo.startswith("wamid."):
        return [(TermKind.WAMID, limpo)]
    if _REFERENCIA.fullmatch(limpo.lower()):
        return [(TermKind.REFERENCIA, limpo.lower())]
    if _SESSAO.fullmatch(limpo.lower()):
        return [(TermKind.SESSAO, limpo.lower())]
    found: list[tuple[TermKind, str]] = []
    with suppress(DocumentoInvalido):
        found.append((TermKind.DOCUMENTO, parse_documento(limpo).numero))
    digits = "".join(c for c in limpo if c.isascii() and c.isdigit())
    only_digits = not re.sub(r"[\d\s()+.\-/]", "", limpo)
    if only_digits and len(digits) in _PHONE_DIGITS:
        found.append((TermKind.TELEFONE, digits))
    if limpo.isascii() and limpo.isdigit() and len(limpo) in _NOTE_DIGITS:
        found.append((TermKind.NOTA, limpo))
    if (valor := _VALOR.fullmatch(limpo)) and limpo.isascii():
        found.append((TermKind.VALOR, f"{valor['inteiro'].replace('.', '')}.{valor['centavos'] or '00'}"))
    if not found and _NOME.fullmatch(limpo) and any(letra.isalpha() for letra in limpo):
        found.append((TermKind.NOME, limpo))
    return found
