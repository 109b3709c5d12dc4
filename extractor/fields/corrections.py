"""Reads which fields a turn takes back without saying what they should be instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extractor.text.cues import Cued
from state_machine.invoice.field_table import FIELDS

if TYPE_CHECKING:
    from extractor.text.marks import Skeleton
    from state_machine.invoice.fields import Campo

WRONG: Final = (
    r"(?:errad[oa]s?|incorret[oa]s?|trocad[oa]s?|invalid[oa]s?|diferente|equivocad[oa]|nao (?:ta|"
    r"esta|eh|era|foi|bate|confere)|veio errad[oa]|saiu errad[oa]|nao existe|wrong|incorrect|"
    r"nao procede)"
)
IS: Final = (
    r"(?:(?:ta|esta|eh|e|foi|ficou|veio|saiu|tava|estava|que|is|aqui|ai|tudo|que eu (?:te )"
    r"?(?:passei|mandei)|que (?:voce|ce) (?:colocou|botou|pegou)|da nota|do cliente|do servico|"
    r"do tomador|dele|dela) )*"
)
VERBS: Final = (
    r"(?:tir\w+|remov\w+|apag\w+|exclu\w+|delet\w+|retir\w+|limp\w+|esquec[ea]|desconsider\w+|"
    r"ignor[ea]|troc\w+|mud\w+|alter\w+|corrig\w+|corrij\w+|arrum\w+|edit\w+|ajust\w+|refaz\w*|"
    r"change|fix|remove|modific\w+|atualiz\w+)"
)
ARTICLE: Final = r"(?:(?:o|a|os|as|esse|essa|este|esta|aquele|meu|the|no|na|do|da|so|apenas|isso d[oa]) )*"


def cleared(skeleton: Skeleton) -> frozenset[Campo]:
    """Return the fields a skeleton calls wrong, or asks to change or remove."""
    line, words = skeleton.line, skeleton.stems
    return frozenset([campo for campo, pattern in _PATTERNS if pattern.search(line, words)])


def _pattern(names: str, cues: str) -> Cued:
    return Cued(
        cues,
        rf"\b(?:{names})\b,? {IS}{WRONG}\b"
        rf"|\b(?:err(?:ei|ado|ou)|enganei|engan\w+|confundi|troquei|erro)(?: (?:com|em|no|na|foi|"
        rf"eh))* {ARTICLE}(?:{names})\b"
        rf"|\b(?:passei|mandei|digitei|coloquei|escrevi|botei|falei|informei|pegou|colocou) {ARTICLE}(?:{names})"
        rf"(?: (?:dele|dela|do cliente|da nota))? errad[oa]"
        rf"|\bnao (?:eh|era|foi|ta certo|esta certo|pra|para) {ARTICLE}(?:{names})\b(?! [VNDB])"
        rf"|\b(?:{names}) (?:nao (?:eh|era|foi) (?:ess[ea]|est[ea]|isso|assim|bem isso)|errad[oa])\b"
        rf"|\b(?:{names}) (?:que )?(?:eh|e|era) (?:outr[oa]|diferente)\b"
        rf"|\b(?:{names}) (?:(?:eh )?que )?nao *(?:$|[,.;!])"
        rf"|\b(?:menos|exceto|fora|tirando|salvo) (?:o|a) (?:{names})\b"
        rf"|\b{VERBS} {ARTICLE}(?:{names})\b"
        rf"|\b(?:wrong|outro|outra) (?:{names})\b"
        rf"|^\W*{ARTICLE}(?:{names})\W*$",
    )


_PATTERNS: Final = tuple((campo, _pattern(row.words, row.stems)) for campo, row in FIELDS.items())
