"""Reads the customer's name and e-mail.

Decides which document of a turn is the customer's.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from rapidfuzz.distance import DamerauLevenshtein

from extractor.contract import Context, Reading
from extractor.text.folding import Cued
from extractor.text.fragments import Fragment
from extractor.text.marks import NOISE, TALK, Kind, Mark, Skeleton, is_work
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

LABEL: Final = Cued(
    "",
    r"(?:^|[\n,;.|({\"*]|\b)\s{0,9}+(?:razao social|nome(?: completo| fantasia| da empresa| do cliente|"
    r" del[ea]| do tomador)?|cliente|tomador|empresa|contratante|customer|company|name)"
    r"[\"* ]*[:=][ \"*]*(?P<n>[^\n,;DBEVFUT|\"]+)",
    signs=(":", "="),
)
SPOKEN: Final = Cued(
    "cha cli del emp nom raz se tom",
    r"\b(?:em nome d[eoa]|no nome d[eoa]|nome (?:del[ea]|do cliente|da cliente|da empresa|completo)? ?(?:eh|e)|"
    r"(?:cliente|empresa|tomador) (?:eh|se chama)|(?:del[ea]|cliente) (?:eh|se chama)|razao social (?:eh|e)?|"
    r"chama-se|se chama) (?:o |a )?(?P<n>[^\n,;DBEVNFUT|]+)",
)
NAMED: Final = Cued(
    "nom", r"\bnome (?!d[aeo]s?\b|eh\b|e\b|fantasia\b|complet)(?P<n>[a-z][a-z' ]{1,80}?)(?=\W{0,9}(?:cnpj|cpf|[DB\n]))"
)
SUFFIX: Final = re.compile(r"\b(?:ltda|eireli|s[./]?a|epp|mei|associados|inc|llc|me)\.?$")
RECIPIENT: Final = re.compile(
    r"(?:^|\s)(?:pra|pro|para|to|for)\s{1,9}+(?:(?:a|o|os|as|um|uma|the|minha|meu|essa|esse)\s{1,9}+)?(?:(?:pessoa"
    r" fisica|pessoa juridica|nova|novo|empresa|cliente|firma|loja)\s{1,9}+(?:(?:d[oae]|chamad[oa])\s{1,9}+)?)?$"
)
INTRO: Final = re.compile(r"\b(?:pra|pro|para|to)\s+(?:(?:a|o|os|as|um|uma|the|minha|meu)\s+)?(?=\S)")
FOR: Final = re.compile(r"\b(?:pra|pro|para)\b")
STOP_NAME: Final = re.compile(
    r"\s{1,9}+(?:cnpj|cpf|documento|valor|referente|email|no valor|com|que|por|pelo|pela|mas|e o|o)\b.*+$"
)
EMAIL_OWN: Final = re.compile(  # a key of Pix is where money goes: the issuer's own, too; so is their accountant
    r"\b(?:(?:meu|minha|nosso|nossa) (?:e-?mail)|e-?mail d[ao] (?:meu |minha )?(?:contadora?|contabilidade)|pix)"
    r"\W*(?:(?:eh|o|no|pelo|via|por|e-?mail)\W+){0,3}$"
)
RECIPIENT_NOUN: Final = re.compile(
    r"(?:empresa|padaria|clinica|loja|cliente|mercado|mercadinho|restaurante|escola|igreja|condominio|prefeitura|"
    r"academia|farmacia|construtora|pet ?shop|dona|seu|sr|sra|dr|dra|doutor|doutora|salao|oficina|pousada|lanchonete|"
    r"pizzaria|bar|imobiliaria|transportadora|firma|associacao|sindicato|camara|hospital|creche|faculdade|"
    r"universidade|colegio|supermercado|acougue|papelaria)\b"
)
TAIL_RECIPIENT: Final = re.compile(r"\s(?:pra|pro|para [oa])\s+(?=(?P<w>\S+))")
OF_A_NUMBER: Final = re.compile(r"[NXTMPH]\s(?:d[aeo]s?|n[ao]s?)\s$")
AMONG_PLACES: Final = re.compile(
    r"(?<![a-z])(?:em|n[ao]s?|d[aeo]s?|entre)\s[a-z]{3,20}(?:,\s[a-z]{3,20}){0,3},\s{1,3}$"
)
DASHED: Final = re.compile(r"\s[-/|]\s{1,3}$")
LAST: Final = re.compile(r"\s{0,9}(?:$|\n|[-/|]\s)")
BEGINS: Final = re.compile(
    r"(?:^|\n|[DB]|V,|\b(?:notas?|fiscal|recibo))[\s,.:;|/-]{0,4}(?:(?:d[aeo]|oi|ola|bom dia)[\s,!]{1,2})?$"
)
BESIDE: Final = re.compile(r"[\s,.:;()|/-]{0,4}(?:(?:o )?(?:cnpj|cpf|documento|doc)\b[\s:.]{0,4})?[DB]")
PLURAL: Final = re.compile(r"[a-z]{4,20}(?:es|os|as)")
TITLE: Final = frozenset({"dona", "seu", "sra", "dra", "doutor", "doutora"})
OF_WORK: Final = re.compile(
    r"\s(?:d[aeo]s?|pel[ao]s?|referente|com|[ao]s?)\s(?:(?:uma?|ao?|servicos? de)\s)?(?P<w>[a-z]+)"
)
LISTED: Final = re.compile(
    r"(?<=[DB])[ ,]{1,3}(?P<n>(?:(?!(?:em|com|por|sem|para|pra|n[ao]s?|ao)\b)[a-z]+ ){1,5}[a-z]+)\s?,"
)
MIN_PARTS: Final = 2


def read_email(skeleton: Skeleton) -> Candidate | None:
    """Return the last e-mail of the turn that the user does not call their own."""
    for mark in reversed(skeleton.marks):
        if mark.kind is Kind.EMAIL and not EMAIL_OWN.search(skeleton.line, 0, skeleton.position(mark)):
            return Candidate(Campo.EMAIL, mark.value.lower(), skeleton.text.verbatim(mark.start, mark.end))
    return None


def read_name(skeleton: Skeleton, recipients: list[tuple[int, int]]) -> Candidate | None:
    """Read a name that was labelled, or the recipient that the order opened with."""
    for pattern in (LABEL, SPOKEN):
        for match in pattern.finditer(skeleton.line, skeleton.stems):
            span = _tidy(skeleton, *match.span("n"))
            if span and not all(w in NOISE or is_work(w) for w in _words(skeleton.line, span)):
                return _candidate(skeleton, span, Confianca.CERTA)
    for match in NAMED.finditer(skeleton.line, skeleton.stems):
        words = _words(skeleton.line, match.span("n"))
        if len(words) >= MIN_PARTS and not any(w in TALK or is_work(w) for w in words):
            return _candidate(skeleton, match.span("n"), Confianca.CERTA)
    for span in recipients:
        tidy = _tidy(skeleton, *span)
        if tidy and _may_be_name(skeleton.line, tidy):
            return _candidate(skeleton, tidy, Confianca.PROVAVEL)
    return None


def answered_name(skeleton: Skeleton, contexto: Context) -> Candidate | None:
    """Return the whole turn where it answers "what is the customer's name?".

    A company's name says so by its legal form, and the words of its trade are no service then ("Planalto Eventos
    Ltda"). Another one is taken where the name alone was asked for, no summary in sight, and it begins with no work.
    The name that is known already, said once more, is that name and nothing else.
    """
    line = skeleton.line
    span = len(line) - len(line.lstrip()), len(line.rstrip())
    if skeleton.marks or span[0] >= span[1]:
        return None
    if skeleton.verbatim(*span).casefold() == contexto.conhecidos.get(Campo.NOME, "").casefold():
        return _candidate(skeleton, span, Confianca.CERTA)
    if contexto.pendente is not Campo.NOME or "\n" in line.strip():
        return None
    if not line[span[0] : span[0] + 1].isalpha() or "?" in line:
        return None
    if not _is_company(skeleton, *span) and (contexto.resumo_mostrado or not _names_alone(line, span)):
        return None
    if ":" in line or INTRO.search(line) or SPOKEN.search(line, skeleton.stems) is not None:
        return None  # "o nome é …" is read by its label, "pra …" by what stands before it
    return _candidate(skeleton, span, Confianca.CERTA)


def _names_alone(line: str, span: tuple[int, int]) -> bool:
    words = _words(line, span)
    works = bool(words) and is_work(words[0]) and RECIPIENT_NOUN.match(line, span[0]) is None
    if len(words) < MIN_PARTS or words[0] in TALK or works:
        return False
    return sum(w in TALK or w in NOISE for w in words) * 2 < len(words)


def recipient_span(skeleton: Skeleton, piece: Fragment) -> tuple[int, int] | None:
    """Return the part of a fragment that names a recipient ("pra padaria do Zé"), or ``None``."""
    line = skeleton.line
    lead_start = piece.start - len(piece.lead)
    opened = INTRO.match(line, piece.start, piece.end)
    if opened:
        return None if _is_purpose(skeleton, opened.end(), piece.end) else (opened.end(), piece.end)
    if FOR.search(piece.lead) and RECIPIENT.search(line[max(0, lead_start - 30) : piece.start]):
        return None if _is_purpose(skeleton, piece.start, piece.end) else (piece.start, piece.end)
    words = line[piece.start : piece.end].split()
    if not piece.works and (
        _is_company(skeleton, piece.start, piece.end)
        or (piece.before_document and _capitalised(skeleton, piece.start, piece.end))
    ):
        return piece.start, piece.end
    shouted = skeleton.verbatim(piece.start, piece.end).isupper()  # in a text of capitals they name nobody
    if _in_the_list(skeleton, piece):
        return piece.start, piece.end
    if OF_A_NUMBER.search(line, max(0, lead_start - 1), piece.start) or AMONG_PLACES.search(line, 0, piece.start):
        return None  # "loja 12 do Mercado Central" is a place, and so is Cotia in "em Osasco, Barueri e Cotia"
    named = len(words) >= MIN_PARTS and not piece.works and not shouted and _stands_apart(line, piece.start, piece.end)
    if named and _capitalised(skeleton, piece.start, piece.end):
        return piece.start, piece.end
    return None


def _stands_apart(line: str, start: int, end: int) -> bool:
    """Say whether a stretch is beside a document, or begins a message or a line: elsewhere capitals name a place."""
    ends = DASHED.search(line, 0, start) is not None and LAST.match(line, end) is not None
    return ends or BEGINS.search(line, 0, start) is not None or BESIDE.match(line, end) is not None


def _is_purpose(skeleton: Skeleton, start: int, end: int) -> bool:
    """Say whether what stands behind "pra" is what was done or whom it served: "p/ afiação …", "para gestantes"."""
    words = skeleton.line[start:end].split()
    if (
        not words
        or not skeleton.verbatim(start, start + 1).islower()
        or RECIPIENT_NOUN.match(skeleton.line, start, end)
    ):
        return False
    work = is_work(words[0]) and not _is_company(skeleton, start, end)
    return work or (len(words) == 1 and PLURAL.fullmatch(words[0]) is not None)


def _in_the_list(skeleton: Skeleton, piece: Fragment) -> bool:
    """Say whether a name in small letters stands between a document and the work: "D maria da silva, aula"."""
    match = LISTED.match(skeleton.line, max(0, piece.start - 1))
    if match is None or match.end("n") != piece.end or piece.works or piece.talks:
        return False
    words = _words(skeleton.line, match.span("n"))
    named = len(words) >= MIN_PARTS and not any(w in NOISE and len(w) > 2 for w in words)  # noqa: PLR2004 - "da"
    return named and any(is_work(w) for w in _words(skeleton.line, (match.end(), len(skeleton.line))))


def tail_recipient(skeleton: Skeleton, start: int, end: int) -> int | None:
    """Return where a description stops and names whom it was for: "frete | pra padaria do Zé"."""
    for match in TAIL_RECIPIENT.finditer(skeleton.line, start, end):
        at = match.start("w")
        if RECIPIENT_NOUN.match(skeleton.line, at, end) or skeleton.verbatim(at, at + 1).isupper():
            return match.start()
    return None


def _is_company(skeleton: Skeleton, start: int, end: int) -> bool:
    """Say whether a stretch ends in a company's legal form; "me" only in capitals, for it is a pronoun too."""
    match = SUFFIX.search(skeleton.line, start, end)
    return match is not None and (match[0] != "me" or skeleton.verbatim(*match.span()).isupper())


def _capitalised(skeleton: Skeleton, start: int, end: int) -> bool:
    words = [
        w for w in skeleton.verbatim(start, end).split() if w.lower() not in {"de", "da", "do", "dos", "das", "e", "&"}
    ]
    return bool(words) and all(w[0].isupper() for w in words) and any(w[0].isalpha() for w in words)


def _may_be_name(line: str, span: tuple[int, int]) -> bool:
    words = _words(line, span)
    return (
        bool(words)
        and not any(w in TALK for w in words)
        and not all(w in NOISE for w in words)
        and not re.fullmatch(r"(?<![a-z])[a-z]{2,}[aei]r", words[0])
    )


def _tidy(skeleton: Skeleton, start: int, end: int) -> tuple[int, int] | None:
    line = skeleton.line
    match = STOP_NAME.search(line, start, end)
    end = match.start() if match else end
    end = _before_work(skeleton, start, end)
    while start < end and not line[start].isalnum():
        start += 1
    if line.endswith("s.a", start, end) and line.startswith(".", end):
        end += 1
    keeps_dot = re.search(r"\b(?:ltda|s\.a|cia|me)\.$", line[start:end]) is not None
    while start < end and not line[end - 1].isalnum() and not keeps_dot:
        end -= 1
    return (start, end) if start < end else None


def _before_work(skeleton: Skeleton, start: int, end: int) -> int:
    """Return where a name ends that the service follows: "Construtora Horizonte Ltda | de corte de grama"."""
    for match in OF_WORK.finditer(skeleton.line, start, end):
        before = [w for w in skeleton.verbatim(start, match.start()).split() if w[0].isalpha() and len(w) > 2]  # noqa: PLR2004 - "da"
        before = before[1:] if before and before[0].lower() in TITLE else before
        named = len(before) >= MIN_PARTS and all(w[0].isupper() for w in before)
        if named and is_work(match["w"]) and skeleton.verbatim(match.start("w"), match.start("w") + 1).islower():
            return match.start()
    return end


def _words(line: str, span: tuple[int, int]) -> list[str]:
    return re.findall(r"[a-z]+", line[span[0] : span[1]])


def _candidate(skeleton: Skeleton, span: tuple[int, int], confianca: Confianca) -> Candidate:
    typed = skeleton.verbatim(*span)
    return Candidate(Campo.NOME, " ".join(typed.split()), typed, confianca=confianca)


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
        leituras = (mark.value or "",) if mark.motivo is Motivo.TELEFONE_OU_CPF else ()  # a tap says that it is a CPF
        return Reading(doubt=replace(_doubt(skeleton, [mark], mark.motivo), leituras=leituras), used=used)
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
