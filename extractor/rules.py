"""The deterministic reader of a turn, and the product's default: finds, judges and names.

Reads which fields a turn takes back without saying what they should be instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractor.amounts.find import mark_amounts
from extractor.amounts.value import read_value
from extractor.contract import WHOLE, Ato, Context, Extraction, Reading
from extractor.fields.dates import NOT_A_MONTH, mark_dates
from extractor.fields.description import labelled, read_answer, read_description, service_edit
from extractor.fields.documents import mark_documents, mark_spoken
from extractor.fields.people import answered_name, read_document, read_email, read_name, recipient_span
from extractor.requests import recognisers as wants
from extractor.requests.yes_no import is_yes
from extractor.text import folding
from extractor.text.distractors import mark_distractors, mark_named_numbers
from extractor.text.folding import Cued, Text, read
from extractor.text.fragments import Fragment, fragments
from extractor.text.marks import GREETING_LINE, NOISE, TALK, Canvas, Kind, Skeleton, is_work
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

WRONG: Final = (
    r"(?:errad[oa]s?|incorret[oa]s?|trocad[oa]s?|invalid[oa]s?|diferente|equivocad[oa]|nao (?:ta|esta|eh|era|foi|bate|"
    r"confere)|veio errad[oa]|saiu errad[oa]|nao existe|wrong|incorrect|nao procede)"
)
IS: Final = (
    r"(?:(?:ta|esta|eh|e|foi|ficou|veio|saiu|tava|estava|que|is|aqui|ai|tudo|que eu (?:te )?(?:passei|mandei)|"
    r"que (?:voce|ce) (?:colocou|botou|pegou)|da nota|do cliente|do servico|do tomador|dele|dela) )*"
)
VERBS: Final = (
    r"(?:tir\w+|remov\w+|apag\w+|exclu\w+|delet\w+|retir\w+|limp\w+|esquec[ea]|desconsider\w+|ignor[ea]|troc\w+|mud\w+|"
    r"alter\w+|corrig\w+|corrij\w+|arrum\w+|edit\w+|ajust\w+|refaz\w*|change|fix|remove|modific\w+|atualiz\w+)"
)
ARTICLE: Final = r"(?:(?:o|a|os|as|esse|essa|este|esta|aquele|meu|the|no|na|do|da|so|apenas|isso d[oa]) )*"


def cleared(skeleton: Skeleton) -> frozenset[Campo]:
    """Return the fields a skeleton calls wrong, or asks to change or remove."""
    line, words = skeleton.line, skeleton.stems
    return frozenset([campo for campo, pattern in _PATTERNS if pattern.search(line, words)])


def _pattern(names: str, cues: str) -> Cued:
    return Cued(
        cues,
        rf"\b(?:{names})\b,? {IS}{WRONG}\b|\b(?:err(?:ei|ado|ou)|enganei|engan\w+|confundi|troquei|erro)(?: (?:com|em|"
        rf"no|na|foi|eh))* {ARTICLE}(?:{names})\b|\b(?:passei|mandei|digitei|coloquei|escrevi|botei|falei|informei|"
        rf"pegou|colocou) {ARTICLE}(?:{names})(?: (?:dele|dela|do cliente|da nota))? errad[oa]|\bnao (?:eh|era|foi|"
        rf"ta certo|esta certo|pra|para) {ARTICLE}(?:{names})\b(?! [VNDB])|\b(?:{names}) (?:nao (?:eh|era|"
        rf"foi) (?:ess[ea]|est[ea]|isso|assim|bem isso)|errad[oa])\b|\b(?:{names}) (?:que )?(?:eh|e|era) (?:outr[oa]|"
        rf"diferente)\b|\b(?:{names}) (?:(?:eh )?que )?nao *(?:$|[,.;!])|\b(?:menos|exceto|fora|tirando|salvo) (?:o|"
        rf"a) (?:{names})\b|\b{VERBS} {ARTICLE}(?:{names})\b|\b(?:wrong|outro|outra) (?:{names})\b|"
        rf"^\W*{ARTICLE}(?:{names})\W*$",
    )


_PATTERNS: Final = tuple((campo, _pattern(row.words, row.stems)) for campo, row in FIELDS.items())


TWO_NOTES: Final = Cued(
    "cad inv not out par pra pro two",
    r"\b(?:duas|tres|quatro|cinco|varias|algumas|umas|N|\d+) (?:novas? )?(?:notas|invoices)\b|\buma (?:de|pra|pro|"
    r"para|no valor de) .{1,200}\be (?:a )?outra\b|\boutra (?:nota )?(?:de [VN]|pra [od]? ?D|pro D|para D|no valor)|"
    r"\b(?:nota|uma) (?:pra|pro|para) .{1,200}\b(?:nota|uma) (?:pra|pro|para)\b|\bcada (?:uma|um)\b.{1,200}\bnotas\b|"
    r"\bnotas\b.{1,200}\bcada (?:uma|um)\b|\btwo notas\b|\buma nota\b.{1,200}\b(?:e|mais) (?:uma )?outra\b",
)
KEEPS_EVERYTHING: Final = WHOLE | {Ato.SOCIAL, Ato.PERGUNTA, Ato.FORA}
GIVES_UP: Final = re.compile(r"\W{0,20}+(?:nao,? )?(?:pode |quero |vou )?(?:cancel|desist)\w*")
ACTS_WITHOUT_FIELDS: Final = frozenset({Ato.RECUSA, Ato.REPETE, Ato.REGISTRO, Ato.PERGUNTA})


@dataclass(frozen=True, slots=True)
class RulesReading:
    """What the rules read, and whether they could name it."""

    extraction: Extraction
    skeleton: Skeleton
    limit: int  # plain index at which hostile text begins
    unsure: bool  # no rule named the act
    undecided: Candidate | None = None  # an amount in doubt that a model's word makes certain
    edited: bool = False  # the known service was corrected in words: added to, cut, or with a word for another


def extract(texto: str, contexto: Context) -> Extraction:
    """Read one turn (several short messages arrive joined by newlines). Never raises for what the user wrote."""
    return read_turn(texto, contexto).extraction


def read_turn(texto: str, contexto: Context) -> RulesReading:
    """Read one turn and report what is left for a model. Never raises for what the user wrote."""
    text = read(texto)
    limit = folding.begins(text)
    skeleton = recognise(text, contexto)
    known = contexto.conhecidos.get(Campo.DESCRICAO)
    edit = service_edit(text, known) if contexto.conhecidos else None
    if edit is not None:  # the numbers in its words are the text's
        skeleton = Skeleton(text, [m for m in skeleton.marks if not edit.start <= m.start < edit.end])
    documento = read_document(skeleton, contexto, limit)
    valor = read_value(skeleton, contexto, limit)
    if wants.other_trade(text.plain, text.stems) and not documento.used:
        return RulesReading(Extraction(Ato.FORA), skeleton, limit, unsure=False)
    row = wants.first(wants.BY_WORDS, text, shown=contexto.resumo_mostrado)
    act = row.wants if row else None
    if act is Ato.RECUSA and wants.NOTE_IS_GONE.search(text.plain) and not contexto.resumo_mostrado:
        return RulesReading(Extraction(act), skeleton, limit, unsure=False)
    if act is Ato.REGISTRO and wants.QUESTION.search(text.plain) and documento.candidate is None:
        return RulesReading(Extraction(act), skeleton, limit, unsure=False)
    asks_only = act in ACTS_WITHOUT_FIELDS or _asks(text, documento, valor)
    extras = [] if asks_only else _extras(skeleton, limit)
    prose = _prose(skeleton, contexto, (documento, valor), act=act, limit=limit, accompanied=bool(extras))
    if edit is not None:
        prose = _Prose(Reading(candidate=edit.candidate, replaces=True), None, [])
    if prose.answers and valor.doubt is not None and Campo.VALOR in contexto.conhecidos:
        valor = Reading()  # the numbers in an answer about the service belong to the service
    readings = _two_notes(skeleton, [documento, valor, prose.descricao], act)
    candidates = (
        [r.candidate for r in readings if r.candidate is not None] + extras + ([prose.nome] if prose.nome else [])
    )
    doubts = [r.doubt for r in readings if r.doubt is not None]
    if not (asks_only or any(c.campo is Campo.COMPETENCIA for c in candidates)):
        doubts += _no_month(skeleton, limit)
    asks = act is Ato.PERGUNTA and wants.ABOUT.search(text.plain, text.stems)
    clear = frozenset() if asks else _clear(skeleton, contexto, readings, candidates, doubts)
    fields = bool(candidates or doubts)
    ato = _act(text, contexto, act, clear=clear, candidates=candidates, doubts=doubts)
    if ato in KEEPS_EVERYTHING and not fields:
        clear = frozenset()
    unsure = not fields and not clear and act is None and bool(prose.pieces)
    extraction = Extraction(ato, tuple(candidates), tuple(doubts), clear)
    return RulesReading(extraction, skeleton, limit, unsure, edited=edit is not None or prose.descricao.edits)


class RulesExtractor:
    """``extract`` behind the asynchronous seam."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn by rules alone."""
        return extract(texto, contexto)


def recognise(text: Text, contexto: Context) -> Skeleton:
    """Mark everything the rules know in a text; the order lets each reader see only what the ones before left."""
    canvas = Canvas(text)
    mark_distractors(canvas)
    mark_documents(canvas, contexto)
    mark_dates(canvas, contexto.hoje)
    mark_spoken(canvas, contexto)
    mark_named_numbers(canvas)
    mark_amounts(canvas)
    return Skeleton(text, canvas.marks)


def _asks(text: Text, documento: Reading, valor: Reading) -> bool:
    """Say whether the turn only asks something, so that "hoje" or "outubro" in it dates no service."""
    return not (documento.used or valor.used) and wants.QUESTION.search(GREETING_LINE.sub(" ", text.plain)) is not None


def _extras(skeleton: Skeleton, limit: int) -> list[Candidate]:
    """Read e-mail, day and competência."""
    found: list[Candidate] = []
    email = read_email(skeleton)
    if email is not None:
        found.append(email)
    for kind, campo in ((Kind.DAY, Campo.DATA), (Kind.MONTH, Campo.COMPETENCIA)):
        marks = [
            m for m in skeleton.marks if m.kind is kind and m.value not in {"", None, NOT_A_MONTH} and m.start < limit
        ]
        if marks:
            found.append(Candidate(campo, marks[-1].value, skeleton.text.verbatim(marks[-1].start, marks[-1].end)))
    return found


def _no_month(skeleton: Skeleton, limit: int) -> list[Doubt]:
    """Ask about a month that no calendar has, which nobody may believe to stand on the invoice."""
    named = [m for m in skeleton.marks if m.kind is Kind.MONTH and m.value == NOT_A_MONTH and m.start < limit]
    said = [skeleton.text.verbatim(m.start, m.end) for m in named]
    return [Doubt(Campo.COMPETENCIA, Motivo.AMBIGUO, each, "esse mês não existe") for each in said[-1:]]


@dataclass(frozen=True, slots=True)
class _Prose:
    descricao: Reading
    nome: Candidate | None
    pieces: list[Fragment]
    answers: bool = False  # the whole turn is the description


def _prose(
    skeleton: Skeleton,
    contexto: Context,
    fields: tuple[Reading, Reading],
    *,
    act: Ato | None,
    limit: int,
    accompanied: bool,
) -> _Prose:
    """Read description and name from what the other fields left over."""
    if act in {None, Ato.DADOS} and (whole := answered_name(skeleton, contexto)) is not None:
        return _Prose(Reading(), whole, [])
    line = skeleton.line
    end = len(line)
    if limit < len(skeleton.text.plain):
        end = next((i for i in range(len(line)) if skeleton.plain(i) >= limit), end)
    used = frozenset(skeleton.position(m) for r in fields for m in r.used)
    cuts = used | {p for p, m in skeleton.where.items() if m.kind is Kind.PERCENT}
    pieces: list[Fragment] = []
    recipients: list[tuple[int, int]] = []
    for piece in fragments(skeleton, cuts, end):
        span = recipient_span(skeleton, piece)
        if span is None:
            pieces.append(piece)
        else:
            recipients.append(span)
    answers = _answers_description(skeleton, contexto, fields, act)
    nome = read_name(skeleton, [] if answers else recipients)
    if answers:
        return _Prose(read_answer(skeleton, end), nome, pieces, answers=True)
    accompanied = (
        accompanied or any(r.candidate or r.doubt for r in fields) or any(m.kind is Kind.PHONE for m in skeleton.marks)
    )
    told = any(r.used for r in fields)
    if act in ACTS_WITHOUT_FIELDS and not (act is Ato.PERGUNTA and told) and labelled(skeleton, end) is None:
        return _Prose(Reading(), nome, pieces)
    foreign_task = act is Ato.FORA and not any(r.used for r in fields)
    only_labelled = folding.commands(skeleton.text) or foreign_task or bool(TWO_NOTES.search(line, skeleton.stems))
    descricao = read_description(
        skeleton,
        contexto,
        _without_name(pieces, nome, skeleton),
        end,
        accompanied=accompanied,
        only_labelled=only_labelled,
    )
    return _Prose(descricao, nome, pieces)


def _without_name(pieces: list[Fragment], nome: Candidate | None, skeleton: Skeleton) -> list[Fragment]:
    if nome is None:
        return pieces
    return [p for p in pieces if nome.trecho not in skeleton.verbatim(p.start, p.end)]


def _answers_description(
    skeleton: Skeleton, contexto: Context, fields: tuple[Reading, Reading], act: Ato | None
) -> bool:
    """Say whether the whole turn answers "what was the service?": nothing else is named in it."""
    if contexto.pendente is not Campo.DESCRICAO or act not in {None, Ato.DADOS}:
        return False
    if is_yes(skeleton.text.plain):
        return False
    documento, valor = fields
    priced = valor.candidate is not None and valor.candidate.confianca is Confianca.CERTA
    named = priced or any(m.kind is Kind.MONEY for m in valor.used) or bool(documento.used)
    if named or (valor.candidate and Campo.VALOR not in contexto.conhecidos) or cleared(skeleton):
        return False
    words = [w for w in re.findall(r"[a-z]+", skeleton.line) if w not in {"servico", "servicos"}]  # name no work
    works = any(is_work(w) for w in words)
    if "?" in skeleton.line or not (
        works or (any(w not in NOISE for w in words) and not any(w in TALK for w in words))
    ):
        return False
    return labelled(skeleton, len(skeleton.line)) is None


def _two_notes(skeleton: Skeleton, readings: list[Reading], act: Ato | None) -> list[Reading]:
    """Ask for one invoice at a time when a turn orders several."""
    documento, valor, descricao = readings
    if act in ACTS_WITHOUT_FIELDS or not TWO_NOTES.search(skeleton.line, skeleton.stems):
        return readings
    several = documento.doubt is not None and documento.doubt.motivo is Motivo.VARIOS
    asked: list[Reading] = []
    for campo, reading in ((Campo.DOCUMENTO, documento), (Campo.VALOR, valor)):
        said = reading.doubt.trecho if reading.doubt else reading.candidate.trecho if reading.candidate else None
        keep = said is None or (campo is Campo.DOCUMENTO and not several)
        asked.append(reading if keep else Reading(doubt=Doubt(campo, Motivo.DUAS_NOTAS, said or ""), used=reading.used))
    return [*asked, descricao if not several else Reading()]


def _clear(
    skeleton: Skeleton,
    contexto: Context,
    readings: list[Reading],
    candidates: list[Candidate],
    doubts: list[Doubt],
) -> frozenset[Campo]:
    """Return what is taken back and not given anew; only what was known can be taken back."""
    named = {c.campo for c in candidates} | {d.campo for d in doubts}
    taken = set(cleared(skeleton)) if contexto.conhecidos else set()
    taken |= {
        campo for campo, r in zip((Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO), readings, strict=True) if r.clear
    }
    return frozenset((taken - named) & contexto.conhecidos.keys())


def _act(
    text: Text,
    contexto: Context,
    act: Ato | None,
    *,
    clear: frozenset[Campo],
    candidates: list[Candidate],
    doubts: list[Doubt],
) -> Ato:
    if candidates or doubts:
        named = {c.campo for c in candidates}
        if act is Ato.REPETE and not contexto.resumo_mostrado and Campo.DOCUMENTO not in named:
            return act
        if act is Ato.RECUSA and GIVES_UP.match(text.plain) and Campo.DOCUMENTO not in named:
            return act  # "esquece, é 1700" corrects; "cancela, ele não quis pagar os 500" ends
        touched = {c.campo for c in candidates if contexto.conhecidos.get(c.campo, c.valor) != c.valor}
        touched |= {d.campo for d in doubts if d.campo in contexto.conhecidos}
        corrects = contexto.resumo_mostrado or touched or clear & set(contexto.conhecidos)
        return Ato.CORRIGE if corrects else Ato.DADOS
    if act in {Ato.RECUSA, Ato.CONFIRMA, Ato.REPETE, Ato.REGISTRO}:
        return act
    if clear:
        return Ato.CORRIGE
    return act or _small_talk(text.plain)


def _small_talk(plain: str) -> Ato:
    """Tell a question about our work from one about the world, and both from a greeting."""
    rest = GREETING_LINE.sub(" ", plain).strip(" ?!.,\n")
    asks = wants.QUESTION.search(rest) or (rest and plain.rstrip().endswith("?"))
    if not asks or not re.search(r"[a-z]{3,}", rest) or is_yes(rest):  # "é isso?" asks for no other trade
        return Ato.SOCIAL
    return Ato.PERGUNTA if wants.HOUSE_WORDS.search(rest) else Ato.FORA
