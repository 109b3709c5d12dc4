"""How long a text is to WhatsApp, and how to cut it."""

from __future__ import annotations

TEXTO_MAX = 4096  # UTF-16 units of a plain text (Cloud API reference, "text.body")
TEXTO_COM_BOTOES_MAX = 1024  # UTF-16 units of a text with buttons, and of a caption (ibid., "interactive.body.text")
_UTF16 = "utf-16-le"


def tamanho(texto: str) -> int:
    """Return the length in UTF-16 units, as Meta counts: most emoji are two."""
    return len(texto.encode(_UTF16, "replace")) // 2


def apara(texto: str, limite: int) -> str:
    """Return ``texto`` on one line with single spaces and at most ``limite`` UTF-16 units, "…" where it was cut."""
    inteiro = " ".join(texto.split())
    if tamanho(inteiro) <= limite:
        return inteiro
    # What is cut in the middle of a pair is no character and goes too.
    inicio = inteiro.encode(_UTF16, "replace")[: 2 * (limite - 1)].decode(_UTF16, "ignore")
    return f"{inicio.rstrip()}…"
