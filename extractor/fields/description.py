"""Reads what was done, as the user would print it on the invoice.

Obeys corrections of the service's text: words added to it, put in its place, or taken out of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractor.contract import Context, Reading
from extractor.fields.people import tail_recipient
from extractor.text.folding import Cued, Text, read
from extractor.text.fragments import LEAD, Fragment, trail_begins
from extractor.text.marks import NOISE, Skeleton, is_work
from state_machine.invoice.fields import Campo, Candidate, Confianca

NEXT_LABEL: Final = (
    r"valor(?: total)?|preco|cnpj|cpf|documento|email|e-mail|competencia|data|cliente|tomador|"
    r"razao social|nome|total|vencimento|"
    r"telefone|endereco|obs|observacao|contato|customer|amount|price|pix|forma de pagamento|pagamento|cep"
)
# What ends a labelled description: a line, a sentence, the next label, or a mark of another field.
STOP: Final = re.compile(
    rf"\n|,? {{0,9}}+\bpode ser\b|[|;]|\.(?=\s|$)|[!?](?=\s|$)|,? {{0,9}}+\b(?:{NEXT_LABEL})\b(?= {{0,9}}+(?:[:=-]|"
    rf"eh\b|de\b|dele\b|dela\b|do cliente\b|[DBVNE]))|,? {{0,9}}(?:(?:no valor|pel[oa]|por|de|a|deu|"
    rf"custou|ficou|sao|foi|,)? ?[VU])|,? {{0,9}}+[DBEF]"
    r"|,? {1,9}+(?:pra|para|pro)(?: [oa])?(?: (?:cnpj|cpf|empresa|cliente|documento)){0,6} ?[DB]|,? (?:mas|"
    r"e) (?:o )?(?:valor|cnpj|cpf|preco)\b|, {0,9}+(?:obrigado|por favor|valeu|N *$|N,)|  {1,9}+(?=obrigado)"
)
SUBJECT: Final = (
    r"(?:descricao|discriminacao|servicos?|description|descrip\w+|concepto|texto|historico|detalhe|detalhamento|objeto)"
)
OF: Final = (
    r"(?: (?:do servico|da nota|do trabalho|dos servicos|prestados?|realizados?|executados?|"
    r"correta|correto|certa|certo|nova|novo|agora|fiscal|da nf)){0,6}"
)
COLON: Final = Cued(
    "", rf"(?:^|[\n,.;!?VDBEN|({{\"*-]|\b) *\b{SUBJECT}{OF}[\"* ]*(?:[:=]|\s-\s)[ \"*]*(?P<d>\S)", signs=(":", "=", "-")
)
NAMED: Final = Cued(
    "des dis",
    rf"\b(?:descricao|discriminacao){OF}(?: (?:eh|e|sera|fica|pode ser|foi|como|pra|para|por|"
    rf"de|do))*,? (?!(?:ta|esta|errad[oa]|nao|incorret[oa]|ruim|mas|que|tambem|tem|ficou)\b)"
    rf"(?P<d>[^\s:=])",
)
CHANGED: Final = Cued(
    "alt atu bot cha col cor dei esc mud poe pon sub tro",
    rf"\b(?:troc\w+|mud\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|substitu\w+|coloc\w+|poe|"
    rf"bot\w+|ponha|deix\w+|chang\w+|escrev\w+)(?: (?:ai|la|o|a|the|na|no|tambem))* {SUBJECT}{OF} "
    r"(?:(?:de|do|from) .{1,60}? )?(?:para|pra|pro|por|como|to|que foi|que eh|assim)[: ]+[\"']?(?P<d>[^\s\"'])",
)
BE: Final = Cued(
    "con des det dis his obj ser tex",
    rf"(?:^|[,.;\n]\s{{0,9}}+|\b(?:o|a|e) ){SUBJECT}{OF} (?:eh|foi|era|sera|correto eh|certo eh|na verdade (?:eh|foi)"
    rf"|agora eh|fica|ficou)(?: (?:o|a|de|um|uma))*,? "
    rf"(?!(?:ta|esta|errad[oa]|nao|outr[oa]|ess[ea]|est[ea]|isso|diferente|qual|que)\b)(?P<d>[^\s])",
)
OTHER: Final = Cued("out", rf"\b{SUBJECT}{OF} (?:que )?(?:eh|foi|era) outr[oa]\b *[:,-] *(?P<d>[a-z])")
ABOUT: Final = Cued(
    "con cor por ref reg rel se tit",
    r"\b(?:referente|refere-se|a titulo de|relativ[oa]s?|por concepto de|trata-se de|correspondente|"
    r"concerning|regarding)(?: (?:ao?s?|as|a|de|do|da|uma?|os?|esta|nota))*[ :]+(?:M *, *)?(?P<d>[^\s:DBE])",
)
OF_PRICE: Final = re.compile(
    r"\s{0,9}+(?:d[aeo]s?|pel[ao]s?)\s{0,9}+"
)  # "380 da pintura": price and service come as one
ORDERS: Final = Cued(
    "not", r"\b(?:quero|queria|preciso|faz|faca|fazer|emit\w+|nova|outra|gera\w*|tira\w*)\b[^.\n]{0,30}\bnotas?\b"
)
REPLACES: Final = Cued(
    "ali cer cor dig diz err nao opa ops tud ver ref",
    r"\b(?:na verdade|alias|corrig\w+|correto|certo eh|nao (?:eh|foi)|digo|ops|opa|quer dizer|errei|"
    r"(?:mud|troc|alter|refa[cz])\w* tudo)\b",
)
NOT_WAS: Final = Cued(
    "nao", r"\bnao (?:eh|foi|era) (?:.{3,60}?)(?:,|\.| mas)? (?:eh|foi|e sim|sim|mas sim) (?P<d>[^\sVNDB])"
)
CHANGED_TO: Final = Cued(
    "alt cor mud tro",
    r"^\W*(?:\w+,? )?(?:mud\w+|troc\w+|alter\w+|corrig\w+)(?: (?:isso|ai|tudo|la))? (?:pra|para|por) (?P<d>[a-z])",
)
# "em vez de casamento coloca batizado", "troca casamento por batizado": a word of the standing text for another
SWAP: Final = Cued(
    "inv lug ond sub tro vez",
    r"\b(?:em vez d[eoa]|ao inves d[eoa]|no lugar d[eoa]|troc\w+|substitu\w+|onde (?:ta|esta|tem|diz))"
    r" (?:o |a )?(?P<old>[a-z][a-z ]{2,40}?),? (?:por|pra|para|pelo|pela|coloc\w+|poe|bot\w+|eh|leia-se) "
    r"(?:o |a )?(?P<new>[a-z][a-z ]{2,40}?)\W*$",
)
JOIN_GAP: Final = re.compile(r"\s{0,9}+[,(]\s{0,9}+")
PAST: Final = re.compile(r"(?:ei|ou|aram)$")  # "ofereceu 900, aceitei": told, not sold
MAX_WORDS: Final = 40
PREFIX_PENDING: Final = re.compile(
    r"\W*(?:(?:eh|foi|foram|eh o|pode (?:colocar|por|botar|ser|escrever)|coloc(?:a|ar|que)|bot(?:a|ar)|poe|escreve|o"
    r" servico (?:eh|foi)|a descricao (?:eh|foi)|descricao|servicos?(?= ?[:=-])|discriminacao|referente (?:ao?s?|"
    r"as)?|ai|entao|bom|ah|hum|so|apenas|fiz(?:emos)?|um|uma|o|a|os|as|de|do|da|it was|it's)(?![a-z])\W*)*"
)


def labelled(skeleton: Skeleton, end: int) -> tuple[int, int] | None:
    """Return where an announced description stands in ``line[:end]``: "descrição: …", "referente a …"."""
    line, words = skeleton.before(end)
    for pattern in (CHANGED, COLON, BE, OTHER, NAMED, ABOUT):
        for match in pattern.finditer(line, words):
            start = match.start("d")
            span = _trim(line, start, _stop(line, start), lead=pattern is not COLON)
            if span is not None and _has_content(line, span):
                return span
    return None


def read_description(
    skeleton: Skeleton, contexto: Context, pieces: list[Fragment], end: int, *, accompanied: bool, only_labelled: bool
) -> Reading:
    """Read the description of one turn from its label, or from the cleaned ``pieces`` that are no recipient."""
    known = contexto.conhecidos.get(Campo.DESCRICAO)
    line, words = skeleton.before(end)
    swapped = _swap(skeleton, (line, words), known)
    if swapped is not None:
        return swapped
    span = labelled(skeleton, end)
    if span is not None:
        return Reading(candidate=_candidate(skeleton, span, Confianca.CERTA), replaces=known is not None)
    if only_labelled:
        return Reading()
    bare = CHANGED_TO.search(line, words)
    if bare and (span := _trim(line, bare.start("d"), _stop(line, bare.start("d")))) and _works(line, span):
        return Reading(candidate=_candidate(skeleton, span, Confianca.PROVAVEL), replaces=True)
    contrast = NOT_WAS.search(line, words)
    if contrast and (span := _trim(line, contrast.start("d"), _stop(line, contrast.start("d")))) and _works(line, span):
        return Reading(candidate=_candidate(skeleton, span, Confianca.PROVAVEL), replaces=True)
    chosen = _choose(line, pieces, accompanied=accompanied)
    if chosen is None:
        return Reading()
    if (
        known is not None
        and contexto.pendente is not Campo.DESCRICAO
        and not (_works(line, chosen[0]) and (REPLACES.search(line, words) or ORDERS.search(line, words) or chosen[1]))
        and not (accompanied and chosen[1] and REPLACES.search(line, words))
    ):
        return Reading()  # a summary stands: only words that announce a new text may replace it
    start, stop = chosen[0]
    if known is not None and not chosen[1] and read(skeleton.verbatim(start, stop)).plain in read(known).plain:
        return Reading()  # "emite a nota da consultoria" names the standing text, it does not shorten it
    stop = tail_recipient(skeleton, start, stop) or stop
    return Reading(candidate=_candidate(skeleton, (start, stop), Confianca.PROVAVEL), replaces=known is not None)


def read_answer(skeleton: Skeleton, end: int) -> Reading:
    """Take the whole turn as the answer to "what was the service?"."""
    line = skeleton.line[:end]
    start = PREFIX_PENDING.match(line).end()  # type: ignore[union-attr] # it matches the empty string
    span = _trim(line, start, end, lead=False)
    return Reading(candidate=_candidate(skeleton, span, Confianca.CERTA)) if span else Reading()


def _swap(skeleton: Skeleton, said: tuple[str, frozenset[str]], known: str | None) -> Reading | None:
    """Put a new word for one that stands in the known text, when it stands there exactly once."""
    match = SWAP.search(*said)
    if match is None:
        return None
    if known is None:  # "troca óleo por fora" may be the service; "em vez de …" never is
        instead = match[0].startswith(("em vez", "ao inves", "no lugar"))
        return Reading(candidate=_candidate(skeleton, match.span("new"), Confianca.PROVAVEL)) if instead else None
    places = list(re.finditer(rf"(?<!\w){re.escape(match['old'])}(?!\w)", plain := read(known).plain))
    if len(places) != 1 or len(plain) != len(known):
        return None
    typed = skeleton.verbatim(*match.span("new"))
    text = known[: places[0].start()] + typed + known[places[0].end() :]
    return Reading(candidate=Candidate(Campo.DESCRICAO, text, typed), replaces=True, edits=True)


def _choose(line: str, pieces: list[Fragment], *, accompanied: bool) -> tuple[tuple[int, int], bool] | None:
    """Pick the best fragment and those that continue it after a comma; say whether "é" or "foi" introduced it."""
    scored = [(s, p) for p in pieces if (s := _score(p, accompanied=accompanied)) > 0]
    if not scored:
        return None
    best = max(s for s, _ in scored)
    first = next(i for i, (s, _) in enumerate(scored) if s == best)
    start, stop = scored[first][1].start, scored[first][1].end
    for _, piece in scored[first + 1 :]:
        if not JOIN_GAP.fullmatch(line, stop, piece.start) or not (piece.works or best == 1):
            break
        stop = piece.end
    if line[start:stop].count("(") > line[start:stop].count(")") and line[stop : stop + 1] == ")":
        stop += 1
    piece = scored[first][1]
    announced = re.search(r"\b(?:eh|foi|foram|fiz|coloc\w+|poe|bot\w+)\b", piece.lead) is not None
    announced |= piece.after_money and OF_PRICE.fullmatch(piece.lead) is not None
    return (start, stop), announced


def _score(piece: Fragment, *, accompanied: bool) -> int:
    if len(piece.words) > MAX_WORDS:
        return 0
    if piece.works:
        head = any(is_work(w) for w in piece.words[:3])
        return (4 if head else 2) - (2 if piece.talks else 0) + (1 if piece.after_money else 0)
    if piece.talks or not accompanied:
        return 0
    if piece.content == 1 and PAST.search(piece.words[-1]):
        return 0
    if piece.content < 2 and not piece.after_money:  # noqa: PLR2004 - a stray word is more often a slip than a service
        return 0
    return 2 if piece.after_money or re.search(r"\b(?:pel[oa]s?|d[eoa]|foi|fiz)\b", piece.lead) else 1


def _stop(line: str, start: int) -> int:
    match = STOP.search(line, start)
    return match.start() if match else len(line)


def _trim(line: str, start: int, end: int, *, lead: bool = True) -> tuple[int, int] | None:
    while lead and start < end and (match := LEAD.match(line, start, end)):
        start = match.end()
    end = trail_begins(line, start, end)
    while start < end and not (line[start].isalnum()):
        start += 1
    return (start, end) if start < end else None


def _words(line: str, span: tuple[int, int]) -> list[str]:
    return re.findall(r"[a-z0-9]+", line[span[0] : span[1]])


def _has_content(line: str, span: tuple[int, int]) -> bool:
    return any(w not in NOISE or is_work(w) for w in _words(line, span))


def _works(line: str, span: tuple[int, int]) -> bool:
    return any(is_work(w) for w in _words(line, span))


def _candidate(skeleton: Skeleton, span: tuple[int, int], confianca: Confianca) -> Candidate:
    typed = skeleton.verbatim(*span)
    return Candidate(Campo.DESCRICAO, " ".join(typed.split()), typed, confianca=confianca)


_TEXT: Final = r"(?:descricao|discriminacao|texto|servicos?|detalhamento|historico)"
_ADD: Final = (
    r"(?:acrescent\w+|adicion\w+|inclu\w+|complement\w+|(?:coloc\w+|poe|ponha|bot\w+|escrev\w+) (?:tambem|mais))"
)
_MORE: Final = r"(?: (?:ai|tambem|mais|ainda|la|o texto|o seguinte|que foi|que eh|que))*"
# As in "acrescenta na descrição, pedido 4500187162".
ADDED_AFTER: Final = Cued(
    "acr adi inc com col poe pon bot esc",
    rf"\b{_ADD}{_MORE} (?:n[ao]|ao?) (?:(?:{_TEXT}){OF}|nota(?= ?:)){_MORE} ?[:,-]? ?[\"']?(?P<d>[^\s\"':,-].*)",
)
# As in "acrescenta com material incluso na descrição".
ADDED_BEFORE: Final = Cued(
    "acr adi inc com",
    rf"\b{_ADD}{_MORE}[: ]+[\"']?(?P<d>[^\s\"'].{{0,300}}?)[\"']? "
    rf"(?:n[ao]|ao?|no fim d[ao]|ao final d[ao]) {_TEXT}\W*$",
)
REPLACED: Final = Cued(
    "alt atu bot cha col cor dei esc mud poe pon sub tro",
    r"\b(?:troc\w+|mud\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|substitu\w+|coloc\w+|poe|bot\w+|ponha|deix\w+|"
    rf"escrev\w+)(?: (?:ai|la|o|a|n[ao]|tambem|so))* {_TEXT}{OF} (?:(?:de|do) .{{1,60}}? )?(?:para|pra|pro|por|como|"
    r"que foi|que eh|assim)[: ]+[\"']?(?P<d>[^\s\"'].*)",
)
# As in "serviço põe remoção de 3 veículos".
PUT: Final = Cued(
    "col poe pon bot dei esc",
    rf"(?:^|[.;!\n])\W{{0,3}}(?:[oa] |n[ao] )?{_TEXT}{OF} (?:coloc\w+|poe|ponha|bot\w+|deix\w+|escrev\w+)"
    r"(?: (?:ai|la|assim|so|o seguinte|como))*[: ,-]+[\"']?(?P<d>[^\s\"'].*)",
)
# As in "são 57 leggings, viu" where the text has 56 of them.
COUNTED: Final = Cued("sao era for", r"\b(?:sao|eram|foram)(?: so)? (?P<d>\d{1,5} [a-z]{3,})\b")
_OUT: Final = r"(?:tir[aeo]\w*|remov\w+|apag\w+|exclu\w+|retir\w+|delet\w+)(?: (?:ai|la|por favor|so))*"
REMOVED_BEFORE: Final = Cued(
    "tir rem apa exc ret del", rf"\b{_OUT} (?P<d>\S.{{0,120}}?) (?:la )?(?:d[ao]|n[ao]) (?:texto d[ao] )?{_TEXT}\W*$"
)
REMOVED_AFTER: Final = Cued(
    "tir rem apa exc ret del", rf"\b{_OUT} (?:d[ao]|n[ao]) {_TEXT}{OF} ?[:,-]? ?(?P<d>\S.{{0,120}})"
)
# Where the words of a correction end: another field is named, or the person thanks.
ENDS: Final = re.compile(
    r"[,.;\n]?\s{1,9}(?:e |mas )?(?:o |a )?(?:valor|cnpj|cpf|preco|email|e-mail)\b\s{0,9}"
    r"(?:[:=]|eh?\b|de\b|para\b|pra\b|certo).*"
    r"|[,;\n]\s{0,9}(?:e )?(?:o )?(?:valor|cnpj|cpf|preco)\s{1,9}(?:r\$ ?)?\d.*"
    r"|[,.;!\n]?\s{0,9}\b(?:por favor|por gentileza|obrigad[oa]|valeu|fazendo favor|pf|pfv)\b.*|[\s\"'!.,;]{1,9}$",
    re.DOTALL,
)
ARTICLE: Final = re.compile(
    r"(?:(?:o|a|os|as|esse|essa|aquele|aquela|um|uma|so|isso d[eo]|parte d[aeo]|palavra|trecho)\s)+"
)
MONEY: Final = re.compile(r"(?:r\$ ?|mais )?\d[\d.,]*(?: ?(?:reais|conto|pila|mil|k))?[ .!]{0,9}")
GOES_ON: Final = re.compile(r"(?:com|sem|para|pra|pro|de|d[ao]s?|n[ao]s?|em|conforme|por|pel[ao])\s")
LEFT_OVER: Final = re.compile(r"(?:\s{0,9}[,;+(]|\s{1,9}(?:e|de|d[ao]s?|com|em|n[ao]|para|pra|por))\s{0,9}$")
LONGEST_JOINT: Final = 30  # characters at the end of the text in which what joined the words to it stands


@dataclass(frozen=True, slots=True)
class Edit:
    """A correction of the known service: its new text, and where its words stand in the plain text."""

    candidate: Candidate
    start: int
    end: int


def service_edit(text: Text, known: str | None) -> Edit | None:
    """Return the known service as the message corrects it, ``None`` where it corrects no text of it.

    Where none is known yet, a new one is said in the same words: "muda a descrição pra logotipo".
    """
    for pattern, new in (
        (ADDED_AFTER, _added),
        (ADDED_BEFORE, _added),
        (REPLACED, _replaced),
        (PUT, _replaced),
        (COUNTED, _counted),
        (REMOVED_AFTER, _removed),
        (REMOVED_BEFORE, _removed),
    ):
        match = pattern.search(text.plain, text.stems) if known is not None or new is _replaced else None
        if match is None:
            continue
        end = _end(text.plain, *match.span("d"))
        typed = " ".join(text.verbatim(match.start("d"), end).split())
        if not typed or MONEY.fullmatch(text.plain, match.start("d"), end):
            continue  # "acrescenta 200 na nota" speaks of the amount
        valor = new(known or "", typed)
        if valor is not None:
            verbatim = text.verbatim(match.start("d"), end)
            return Edit(Candidate(Campo.DESCRICAO, valor, verbatim), match.start("d"), end)
    return None


def _end(plain: str, start: int, end: int) -> int:
    for match in ENDS.finditer(plain, start + 1, end):
        return match.start()
    return end


def _added(known: str, typed: str) -> str:
    joint = " " if GOES_ON.match(read(typed).plain) else ", "
    return f"{known.rstrip(' .;,')}{joint}{typed}"


def _replaced(_known: str, typed: str) -> str:
    return typed


def _counted(known: str, typed: str) -> str | None:
    """Return the text with another number before the same word, ``None`` where it has no such place or several."""
    folded, (number, what) = read(known), read(typed).plain.split(" ")
    places = [m.span(1) for m in re.finditer(rf"(?<![\w.,])(\d{{1,5}}) {re.escape(what)}(?!\w)", folded.plain)]
    if len(places) != 1:
        return None
    [(start, end)] = places
    return f"{folded.verbatim(0, start)}{number}{folded.verbatim(end, len(folded.plain))}"


def _removed(known: str, typed: str) -> str | None:
    """Return the text without words that stand in it once, ``None`` where they do not or nothing would be left."""
    folded, gone = read(known), read(typed).plain
    article = ARTICLE.match(gone)
    gone = gone[article.end() :] if article else gone
    places = [m.span() for m in re.finditer(rf"(?<!\w){re.escape(gone)}(?!\w)", folded.plain)] if gone else []
    if len(places) != 1:
        return None
    [(start, end)] = places
    before, after = folded.verbatim(0, start), folded.verbatim(end, len(folded.plain)).strip()
    while joint := LEFT_OVER.search(before, max(0, len(before) - LONGEST_JOINT)):
        before = before[: joint.start()]
    before = before.rstrip()
    if not before:
        after = re.sub(r"^(?:[\s,;+)]|(?:e|com|de|d[ao])\s)+", "", after)
    space = "" if not before or not after or after[0] in ",;.)" else " "
    return f"{before}{space}{after}".strip() or None
