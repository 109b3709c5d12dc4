"""Reads the wish to send or replace the company's certificate."""

from __future__ import annotations

import re
from typing import Final

from extractor.text.folding import read

_BEFORE: Final = (
    r"(?:(?:oi|ola|opa|bom dia|boa tarde|boa noite|prosa|por favor|queria|quero|gostaria de|preciso(?: de)?|precisava|"
    r"pode|posso|consigo|vou|como(?: que)?(?: eu)?|onde(?: eu)?|por onde(?: eu)?|eu|me|faco para|faco pra)"
    r"[ ,!.?]{1,3}){0,5}"
)
_NAMED: Final = (
    r"certificado(?: (?:digital|a1|e-?cnpj|novo|renovado|d[ao] (?:minha )?(?:empresa|loja|firma)|d[ao] cnpj)){0,3}"
)
_OF: Final = r"(?:(?:o|um|meu|outro|novo|nosso|do|pro|para o|link|mais) ){0,4}"
_DO: Final = (
    r"(?:envi(?:a|ar|o|e)|mand(?:a|ar|o|e)|troc(?:a|ar|o)|substitu(?:ir|o)|renov(?:ar|o|ei)|atualiz(?:ar|o|a)|"
    r"cadastr(?:ar|o|a)|subir|subo|coloc(?:ar|o)|anex(?:ar|o)|instal(?:ar|o)|guardar|tenho|comprei|saiu)"
)
_PAST: Final = r"(?:ja )?(?:venceu|vence\w*|vai vencer|expirou|esta vencido|esta vencendo)"
_END: Final = r"(?: (?:por favor|aqui|por aqui|agora|hoje|vencido|que venceu|para voces?|pra voces?)){0,3}[ .,!?]{0,5}"
_EXPLICIT: Final = re.compile(
    rf"{_BEFORE}(?:{_DO} {_OF}|(?:o )?link (?:do|para o|pro|de) (?:meu )?){_NAMED}{_END}"
    rf"|(?:o )?(?:meu|nosso) {_NAMED}{_END}"
    rf"|(?:(?:o )?meu |o |nosso ){_NAMED} {_PAST}{_END}"
)
_BARE: Final = re.compile(rf"{_BEFORE}(?:o |um )?{_NAMED}{_END}")
LONGEST: Final = 120  # characters; a longer text is about something else


def wants_certificate(texto: str, *, drafting: bool) -> bool:
    """Tell whether that is all that was said. ``drafting``: an invoice is open, whose service a bare word may be."""
    if len(texto) > LONGEST:
        return False
    plain = " ".join(read(texto).plain.split())
    return _EXPLICIT.fullmatch(plain) is not None or (not drafting and _BARE.fullmatch(plain) is not None)
