"""Masks what identifies a person, and keeps enough to tell two of them apart."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, Final

DOT: Final = "•"
MOST: Final = 4096  # characters shown of one text: as many as WhatsApp carries
CUT: Final = "… [texto cortado]"
_LONG: Final = 8  # digits; an amount or a date has fewer, a phone, a CPF and a CNPJ have more
# Our own ids, and days: in a bracket they are days still.
_SHOWN: Final = (
    r"\d{6}-[0-9a-f]{8}(?:-r\d{1,9}-\d{1,9})?(?!\w)"
    r"|(?<!\d)\(?(?:\d{2}/\d{2}/\d{4}|20\d{2}-[01]\d-[0-3]\d)(?!\d)"
)
_CNPJ_TEXT: Final = r"(?<!\w)[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}/?[0-9A-Z]{4}-?[0-9]{2}(?!\w)"
# Letters count too since July 2026, between any separators: four of the groups keep "abc def ghi" out.
_CNPJ_SPACED: Final = (
    r"(?<!\w)(?=[A-Z .*_/-]{0,17}[0-9])[0-9A-Z]{2}[ .*_-][0-9A-Z]{3}[ .*_-][0-9A-Z]{3}"
    r"[ /*_-][0-9A-Z]{4}[ *_-][0-9]{2}(?!\w)"
)
_DIGITS: Final = r"\(?[0-9](?:[ .()/\-_*·•\\‐-―−]{0,2}+[0-9])*+"
_RUN = re.compile(f"({_SHOWN})|{_CNPJ_TEXT}|{_CNPJ_SPACED}|{_DIGITS}", re.IGNORECASE | re.ASCII)
# A mailbox has 64 characters at most, a domain 255 (RFC 5321); unbounded, a long word is read again from each letter.
_EMAIL = re.compile(r"([A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{0,63}(@[A-Za-z0-9.-]{1,255}\.[A-Za-z]{2,63})")
_WAMID = re.compile(r"\bwamid\.[A-Za-z0-9+/=_-]+")  # base64 around the phone number
_CNPJ = 14
_CPF = 11
_WHOLE: Final = 64  # characters: longer than any number with its separators
_WIDE: Final = ord("！") - ord("!")


def phone(numero: str | None) -> str:
    """Return a phone as ``+55 11 •••••-4321``."""
    if not numero:
        return "sem número"
    digits = "".join(c for c in numero if c.isdecimal())
    if len(digits) < _LONG:
        return DOT * 6
    return f"+{digits[:2]} {digits[2:4]} {DOT * 5}-{digits[-4:]}"


def document(numero: str | None) -> str:
    """Return a bare CNPJ as ``12.•••.•••/0001-95``, a CPF as ``•••.•••.789-09``."""
    if not numero:
        return ""
    if len(numero) == _CNPJ:
        return f"{numero[:2]}.{DOT * 3}.{DOT * 3}/{numero[8:12]}-{numero[12:]}"
    return f"{DOT * 3}.{DOT * 3}.{numero[6:9]}-{numero[9:]}" if len(numero) == len("12345678909") else DOT * 6


def person(nome: str | None) -> str:
    """Return a person's first name and the initials of the others."""
    first, *others = (nome or "").split() or [""]
    return " ".join([first, *(f"{other[0]}." for other in others if other[0].isalpha())])


def text(texto: str | None, most: int = MOST) -> str:
    """Hide phones, documents, e-mail addresses and wamids inside free text; amounts and dates stay.

    Of more than ``most`` characters only the first are shown, cut after masking: half a number is no number.
    """
    texto = texto or ""
    shown = _WAMID.sub(f"wamid.{DOT * 6}", _plain(texto[: most + _WHOLE]))
    shown = _EMAIL.sub(lambda found: f"{found[1]}{DOT * 3}{found[2]}", shown)
    shown = _RUN.sub(_run, shown)
    return shown if len(texto) <= most else shown[:most] + CUT


def _plain(texto: str) -> str:
    """Write full-width characters and the digits of any script in ASCII, one for one; the rest stays."""
    return texto if texto.isascii() else "".join(map(_narrow, texto))


@lru_cache(4096)  # people write with a few hundred characters
def _narrow(char: str) -> str:
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    return chr(ord(char) - _WIDE) if "！" <= char <= "～" else char


def tree(valor: Any) -> Any:
    """Hide the same in JSON of any shape, and whole names and addresses under the keys that hold them."""
    match valor:
        case dict():
            named = _NAMED | _REGISTERED if _is_person(valor) else _NAMED
            return {text(str(chave)): _under(str(chave), item, named) for chave, item in valor.items()}
        case list():
            return [tree(item) for item in valor]
        case str():
            return text(valor)
        case int() if not isinstance(valor, bool) and len(str(abs(valor))) >= _LONG:
            return _run_text(str(valor))
        case _:
            return valor


_NAMED: Final = frozenset({"name", "nome", "nome_perfil", "profile", "username"})
_REGISTERED: Final = frozenset({"razaosocial", "nomefantasia"})
_HIDDEN: Final = frozenset({"logradouro", "numero_endereco", "complemento", "bairro", "cep", "telefone", "wa_id"})


def _is_person(valor: dict[Any, Any]) -> bool:
    """Tell whether an object names a CPF: what stands under a company's keys is then somebody's name."""
    numero = str(valor.get("cpfCnpj") or valor.get("cpf") or "")
    return sum(c.isalnum() for c in numero) == _CPF


def _under(chave: str, valor: Any, named: frozenset[str]) -> Any:
    if isinstance(valor, str) and chave.lower() in named:
        return person(text(valor))
    if isinstance(valor, str) and chave.lower() in _HIDDEN:
        return DOT * 6
    return tree(valor)


def _run(found: re.Match[str]) -> str:
    return found[0] if found[1] else _run_text(found[0])


def _run_text(run: str) -> str:
    """Hide the digits of one run but the last four, if there are enough of them to name somebody."""
    if sum(c.isdecimal() for c in run) < _LONG and sum(c.isalnum() for c in run) < _CNPJ:
        return run
    keep = len(run) - 4
    return "".join(DOT if place < keep and c.isalnum() else c for place, c in enumerate(run))
