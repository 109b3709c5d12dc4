"""Finds where a turn starts posing as the system's voice; what stands there is at most asked about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.text.cues import Cued
from extractor.text.folding import CONTROL

if TYPE_CHECKING:
    from extractor.text.folding import Text

ROLE: Final = Cued(
    "ins mod ove",
    r"(?:^|[\s.;,\"'`(\[{>#*-])(?:system|assistant|developer|sistema|assistente|desenvolvedor|administrador|admin|"
    r"tool|function|root|openai|chatgpt)(?: (?:prompt|message|mensagem|override|instruction\w*|note|role|"
    r"user))?\s*[\"'\]>]{0,9}\s{0,9}+(?::|>|\])|\[/?(?:inst|sys|system)\]|<</?sys>>|</?(?:system|s|instructions?|"
    r"prompt|im_start|im_end|user|assistant|tool)>|###\s*\w+|\"(?:role|status|intent|transition|state|estado|"
    r"confirmad[oa]|validated?|validado|emitir|action|comando|tool)\"\s*:|\b(?:nova instrucao|novas instrucoes|new"
    r" instructions?|instrucao do sistema|modo (?:desenvolvedor|admin|debug)|developer mode|override)\b",
    signs=(":", ">", "]", "<", "#", '"'),
)
COMMANDING: Final = Cued(
    "des dis esq for ign mar sem wit",
    r"\b(?:ignor\w+|desconsider\w+|esquec\w+|disregard|forget)\b[^.\n]{0,40}\b(?:instruc\w+|"
    r"regras|prompt|anterior\w*|previous|instructions|acima)\b"
    r"|\bsem (?:pedir |precisar de |minha |nenhuma |a )?(?:confirma\w+|perguntar|validar|validacao)"
    r"\b|\bwithout (?:asking|confirm\w+)\b|\bmarque? (?:tudo|todos|os campos)\b[^.\n]{0,30}\bvalid\w+",
)

# Said to us, not about the work: as the only words of a clause they would else become a service.
ABUSE: Final = re.compile(
    r"\b(?:vai|va|vao)(?: \w{1,8})? (?:tomar (?:banho|no \w{1,6})|catar coquinho|pro inferno|a merda|"
    r"se (?:fod|fud|lasc)\w*)[^.;\n]*|\b(?:foda-se|fodase|vsf|vtnc|pqp|fdp)\b"
    r"|\b(?:seu|sua|seus|suas) (?:burr|idiot|imbecil|otari|palhac|lix)\w*"
)


def begins(text: Text) -> int:
    """Return the index at which the hostile part of a turn begins; its length when there is none."""
    plain = text.plain
    match = ROLE.search(plain, text.stems)
    control = plain.find(CONTROL)
    if match is None or 0 <= control < match.start():
        return control if control >= 0 else len(plain)
    brace = plain.rfind("{", 0, match.start() + 1)
    return brace if brace >= 0 and "}" not in plain[brace : match.start()] else match.start()


def commands(text: Text) -> bool:
    """Say whether the turn tries to steer the reader; its fields count, its free text does not become a description."""
    return COMMANDING.search(text.plain, text.stems) is not None
