"""Decides which document of a turn is the customer's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import DamerauLevenshtein

from extractor.reading import Reading
from extractor.text.cues import Cued
from extractor.text.marks import Kind
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.text.marks import Mark, Skeleton

CUSTOMER: Final = "customer"
OWN: Final = "own"
OTHER: Final = "other"
NEGATED: Final = "negated"
CUSTOMER_WORDS: Final = (
    r"clientes?|tomador\w*|contratante|destinatari[oa]|paciente|alun[oa]|comprador\w*|locatari[oa]|"
    r"condominio|del[ea]s?|"
    r"pra|pro|para|em nome|client|customer|comprador"
)
CUES: Final = re.compile(
    # whom the bot is called: "minha filha, tira uma nota …"
    r"\b(?:(?P<nobody>(?:^|(?<=[,.!] )|(?<=dia )|(?<=tarde )|(?<=noite )|(?<=oi )|(?<=ola )|(?<=opa ))"
    r"(?:meu|minha) (?:filh[oa]|amig[oa]|querid[oa]|bem|anjo|amor|rei|nobre|jovem|irmao?|patrao)"
    r"(?=[,!]| (?:tir|faz|faca|emit|ger[ae]|mand|solt|lanc|quero|preciso|anot|me )))|"
    rf"(?P<customer>(?:(?:meu|minha|nosso|nossa|my|our) )?(?:{CUSTOMER_WORDS}))"
    r"|(?P<own>me[ui]s?|minhas?|noss[oa]s?|my|our|emitente|prestador\w*|emissor\w*|sou|somos|remetente|"
    r"fornecedor\w*)|(?P<other>pix|chave|socio|socia|representante|responsavel|procurador\w*|contador\w*|gerente|"
    r"secretari[oa]|advogad[oa]|fiador\w*|filh[oa]|esposa|marido|transportadora|intermediari[oa]|banco))\b"
)
# These speak about the document that they lead to. Where no second one stands, any other possessive or word for
# somebody else is a part of a name or of the service.
ABOUT: Final = re.compile(
    r"(?:me[ui]s?|minhas?|noss[oa]s?|my|our)(?: proprio)? (?:cnpj|cpf|documento|empresa|firma|mei)\b|"
    r"emi|presta|"
    r"(?:chave|pix)(?: (?:pix|eh?|[oa]|d[oa]|n[oa]|meu|minha|cnpj|cpf|documento|pr[ao]|para|pel[oa]))*[\s:=-]*$"
)
OF_MINE: Final = re.compile(r"\b(?:cnpj|cpf|documento)(?: eh?)? d[oa] (?:meu|minha|noss[oa]) $")
CLAUSE_ENDS: Final = "DB.;\n"  # what stands before the clause that leads to a document
LONGEST_CLAUSE: Final = 60  # characters; what stands farther away says nothing about a document
RIGHT_OWN: Final = re.compile(
    r"\W{0,3}+(?:(?:que|esse|este|isso|ai)\s{1,9}+)?(?:eh|sao)?\s{0,9}+(?:o|a|do|da)?\s{0,9}+(?:(?:me[ui]|minha|"
    r"nosso|nossa)(?= (?:cnpj|cpf)\b| e\b|\W*$|[,.;!\n])|prestador\w*|emitente|emissor\w*)\b"
    r"(?!(?: (?:cnpj|cpf|eh|e))*\W{0,3}[DB])"
)
RIGHT_CUSTOMER: Final = re.compile(
    r"\W{0,3}+(?:(?:que|esse|este)\s{1,9}+)?(?:eh)?\s{0,9}+(?:do|da|o do|a da|o|a|pro|pra)\s{0,9}+(?:meu |"
    r"minha )?(?:cliente|tomador|contratante|destinatari[oa])\b(?! (?:eh )?:?D)|\W{0,3}del[ea]s?\b"
)
RIGHT_OTHER: Final = re.compile(
    r"\W{0,3}+(?:(?:que|esse|este)\s{1,9}+)?(?:eh)?\s{0,9}+(?:o|a|minha|meu)?\s{0,9}+(?:(?P<key>(?:(?:chave\s{0,9}+)?"
    r"(?:do )?pix|chave)(?=\W*$|[,.;!\n)]))|(?:do )?(?:socio|contador|responsavel))\b"
)
NEGATED_LEFT: Final = re.compile(
    r"\b(?:nao|nem|not|em vez d[eo]|ao inves d[eo]|no lugar d[eo]|era|antes era|errad[oa])"
    r"(?: (?:eh|e|era|mais|o|a|do|da|pra|pro|para|esse|cnpj|cpf|documento|is))*[\s:]*$"
)
WRONG: Final = "errad"
ISSUED: Final = re.compile(r"\b(?:saiu|sairam|veio|foi|emiti\w*|fez|fizeram)\b")  # of an invoice that exists
NEGATED_RIGHT: Final = re.compile(
    r",? nao(?= *(?:[,.;!\n]|$|eh\b|e\b|mas\b))|,? (?:eh o |era o |ta |esta |eh )?(?:errad|antig)[oa]"
)
REPLACED_LEFT: Final = re.compile(
    r"\b(?:troc\w+|mud\w+|alter\w+|substitu\w+|corrig\w+)(?: (?:o|a|esse|do|da|de|cnpj|cpf|documento|cliente))*[\s:]*$"
)
REPLACED_RIGHT: Final = re.compile(r" (?:por|pelo|pela|para|pra|pro) (?:o |a )?(?:cnpj |cpf )?[DB]")
REPAIR: Final = Cued(
    "act ago ali alt cer cor dig diz eng err mel min mud na nov opa ops per sor sub tro ver",
    r"\b(?:ops|opa|digo|quer dizer|alias|minto|corrig\w+|correcao|corret\w+|certo|certa|errei|errado|errada|engan\w+|"
    r"na verdade|na real|ou melhor|perdao|sorry|actually|mud\w+|troc\w+|alter\w+|substitu\w+|novo|nova|agora)\b",
)
NEAR: Final = 3  # edits between two tries at typing one document


def read_document(skeleton: Skeleton, contexto: Context, hostile_from: int) -> Reading:
    """Read the customer's document of one turn; those at or after ``hostile_from`` (plain index) are never taken."""
    marks = [m for m in skeleton.marks if m.kind in {Kind.DOCUMENT, Kind.BROKEN}]
    if not marks:
        return Reading()
    safe = [m for m in marks if m.start < hostile_from]
    used = frozenset(marks)
    roles = {m: _role(skeleton, m, contexto, alone=len(marks) == 1) for m in safe}
    mine = [m for m in safe if roles[m] == OWN]
    denied = [m for m in safe if roles[m] == NEGATED]
    theirs = [m for m in safe if roles[m] == CUSTOMER]
    repaired = bool(denied) or REPAIR.search(skeleton.line, skeleton.stems) is not None
    valid = [m for m in theirs if m.kind is Kind.DOCUMENT]
    known = contexto.conhecidos.get(Campo.DOCUMENTO)
    distinct = list(dict.fromkeys(m.value for m in valid))
    if len(distinct) > 1 and repaired:
        fresh = [v for v in distinct if v != known] or distinct
        distinct = [fresh[-1]]
    if len(distinct) > 1:
        return Reading(doubt=_doubt(skeleton, valid, Motivo.VARIOS), used=used)
    broken = [m for m in theirs if m.kind is Kind.BROKEN]
    if distinct:
        chosen = next(m for m in reversed(valid) if m.value == distinct[0])
        return _accept(skeleton, chosen, broken, used, repaired=repaired)
    if broken:
        return Reading(doubt=_doubt(skeleton, broken[-1:], broken[-1].motivo or Motivo.INCOMPLETO), used=used)
    if denied:
        return Reading(clear=True, used=used, replaces=True)
    if mine and known is None:
        return Reading(doubt=_doubt(skeleton, mine[-1:], Motivo.PROPRIO_DOCUMENTO), used=used)
    hostile = [m for m in marks if m not in safe]
    if hostile:
        return Reading(doubt=_doubt(skeleton, hostile, Motivo.AMBIGUO), used=used)
    return Reading(used=used)


def _accept(skeleton: Skeleton, mark: Mark, broken: list[Mark], used: frozenset[Mark], *, repaired: bool) -> Reading:
    strangers = [b for b in broken if not _is_retry(skeleton, b, mark)]
    if strangers and not repaired:
        return Reading(doubt=_doubt(skeleton, [*strangers, mark], Motivo.VARIOS), used=used)
    if mark.motivo is not None:
        return Reading(doubt=_doubt(skeleton, [mark], mark.motivo), used=used)
    confianca = Confianca.CERTA if not mark.words else Confianca.PROVAVEL
    trecho = skeleton.text.verbatim(mark.start, mark.end)
    return Reading(
        candidate=Candidate(Campo.DOCUMENTO, mark.value, trecho, confianca=confianca), used=used, replaces=repaired
    )


def _is_retry(skeleton: Skeleton, broken: Mark, mark: Mark) -> bool:
    typed = "".join(c for c in skeleton.text.plain[broken.start : broken.end] if c.isalnum()).upper()
    return DamerauLevenshtein.distance(typed, mark.value, score_cutoff=NEAR) <= NEAR


def _role(skeleton: Skeleton, mark: Mark, contexto: Context, *, alone: bool) -> str:
    line, pos = skeleton.line, skeleton.position(mark)
    if mark.value in contexto.proprios:
        return OWN
    left = _clause(line[:pos])
    right = line[pos + 1 :]
    denied = NEGATED_LEFT.search(left)
    if denied and alone and WRONG in denied[0] and _is_in_place(mark, left, contexto):
        return CUSTOMER
    if denied or NEGATED_RIGHT.match(right):
        return NEGATED
    if REPLACED_LEFT.search(left) and REPLACED_RIGHT.match(right):
        return NEGATED
    for pattern, role in ((RIGHT_OWN, OWN), (RIGHT_CUSTOMER, CUSTOMER)):
        if pattern.match(right):
            return role
    behind = RIGHT_OTHER.match(right)
    if behind and (behind["key"] or not alone):
        return OTHER
    cues = [cue for cue in CUES.finditer(left) if cue.lastgroup != "nobody"]
    if any(cue.lastgroup == OTHER and _is_about(cue, left) for cue in cues):
        return OTHER
    cues = [cue for cue in cues if not alone or cue.lastgroup == CUSTOMER or _is_about(cue, left)]
    last = (cues[-1].lastgroup if cues else None) or CUSTOMER
    # "meu cnpj" in a forwarded line is its author's
    return CUSTOMER if last == OWN and Kind.HEADER in left else last


def _is_about(cue: re.Match[str], left: str) -> bool:
    """Say whether a word is what the document is called: "meu cnpj …", "chave pix …", "cnpj do meu contador …"."""
    return ABOUT.match(left, cue.start()) is not None or OF_MINE.search(left, 0, cue.start()) is not None


def _is_in_place(mark: Mark, left: str, contexto: Context) -> bool:
    """Say whether "cnpj errado 59.201…" gives a draft the right one: wrong is what stands, or was asked about."""
    open_draft = contexto.conhecidos or contexto.pendente is Campo.DOCUMENTO
    other = mark.value != contexto.conhecidos.get(Campo.DOCUMENTO)
    return bool(open_draft) and other and ISSUED.search(left) is None


def _clause(before: str) -> str:
    """Return the end of what stands before a document, on its own line or at the end of the line above."""
    before = before.removesuffix("\n")
    return before[max(len(before) - LONGEST_CLAUSE, *(before.rfind(end) + 1 for end in CLAUSE_ENDS)) :]


def _doubt(skeleton: Skeleton, marks: list[Mark], motivo: Motivo) -> Doubt:
    trecho = ", ".join(skeleton.text.verbatim(m.start, m.end) for m in marks)
    detalhe = marks[-1].detalhe if len(marks) == 1 else None
    return Doubt(Campo.DOCUMENTO, motivo, trecho, detalhe)
