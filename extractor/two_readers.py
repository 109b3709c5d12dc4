"""The product's reader: what rules and the learned reader both see is certain; where they differ, it is asked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from extractor.contract import Ato, Extraction, Intent
from extractor.learned.evidence import evidence
from extractor.learned.labels import Rotulo
from extractor.learned.proposal import proposal
from extractor.learned.reader import learned_reader
from extractor.learned.situation import situation
from extractor.requests.several import documents
from extractor.requests.yes_no import is_firm_yes
from extractor.rules import read_turn
from extractor.text.folding import MAX_CHARS
from extractor.text.folding import read as fold
from extractor.text.hostile import commands
from extractor.text.vocabulary import is_work
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from extractor.contract import Context
    from extractor.learned.evidence import Evidence
    from extractor.learned.reader import LearnedReader, LearnedReading
    from extractor.rules import RulesReading

# Of how sure an amount is (0 to 1). Chosen on the part of the corpus that is for choosing: docs/extraction.md.
BOTH: Final = 0.92  # the rules took it too
CHOSEN: Final = 0.97  # the rules left it among others
WORTH_ASKING: Final = 0.15  # less sure than this, an amount that is only mentioned
READINGS: Final = 3  # offered with a question
OFFERED: Final = 0.02  # less sure than this, a reading is not offered
ACT: Final = 0.6  # an act less sure than this is none
ORDER: Final = 0.97  # so sure that it is an order, that the rules alone may read its service
FIRST_WORDS: Final = 3
ALONE: Final = 3  # words of a message that is an amount and nothing else
SERVICE: Final = 0.2  # words less sure than this are no service
ASIDE: Final = 0.6  # nor less sure than this, where something else was asked
SURE_OTHER: Final = 0.95  # so sure that another amount is the invoice's, and
SURER_BY: Final = 0.1  # by so much surer than of the one that is taken, that it is asked
SURE_LABEL: Final = 0.7  # a label of a document, a date or the service that outweighs the rules
# A model names the invoice's amount so many times as readily as another one that stands in the words: docs/adr/0039.
THIRD: Final = 4
DENIED_BY_NOBODY: Final = frozenset({Motivo.VARIOS, Motivo.DISCORDANCIA})  # any other doubt says why it is no amount
# Acts in which an amount is only mentioned, unless it is very likely the invoice's.
TALK: Final = frozenset(
    {
        Ato.PERGUNTA,
        Ato.RECLAMA,
        Ato.REGISTRO,
        Ato.ESPERA,
        Ato.RECUSA,
        Ato.CANCELA_NOTA,
        Ato.SOCIAL,
        Ato.PESSOA,
        Ato.FORA,
    }
)
# An act that decides counts only where the rules say the same.
DECIDES: Final = {
    Ato.CONFIRMA: frozenset({Intent.CONFIRMAR}),
    Ato.RECUSA: frozenset({Intent.NEGAR, Intent.CANCELAR}),
}
# The rules' yes is a closed grammar of the whole message: a reader that takes it for an order says nothing against it,
# and one that takes it for talk only where the same words greet or thank. Whatever else it sees is an objection.
NO_OBJECTION: Final = frozenset({Ato.CONFIRMA, Ato.DADOS})
# A no only makes us ask, so that it stands against a reader that takes the words for a yes.
REFUSES: Final = {
    Intent.CANCELAR: frozenset({Ato.RECUSA}),
    Intent.NEGAR: frozenset({Ato.RECUSA, Ato.CONFIRMA}),
}
WITHOUT_DATA: Final = {
    Ato.PERGUNTA: Intent.AJUDA,
    Ato.REGISTRO: Intent.CONSULTAR,
    Ato.REPETE: Intent.REPETIR,
    Ato.FORA: Intent.FORA_ESCOPO,
    Ato.CORRIGE: Intent.CORRIGIR,
}
NOT_THE_CUSTOMERS: Final = (Rotulo.DOC_PROPRIO, Rotulo.DOC_OUTRO)
NOT_THE_SERVICES: Final = (Rotulo.DATA_VENCIMENTO, Rotulo.DATA_FUTURA, Rotulo.DATA_OUTRA)
COMPOUND: Final = re.compile(r"(?:[-/]\w+)+")
LABEL: Final = re.compile(r"\b(?:servi[cç]o|descri[cç][aã]o|referente)\b[^\n]{0,12}\Z", re.IGNORECASE)
BIRTH: Final = re.compile(r"\b(?:nasc\w*|d\.?\s?n)\b\W{0,15}(?:(?:em|dia|é)\W{1,3})?\Z", re.IGNORECASE)
OF_SERVICE: Final = re.compile(r"\b(?:servi[cç]o|compet[eê]ncia)\b[\s:]{0,3}(?:de |em |dia )?\Z", re.IGNORECASE)
NO_SERVICE: Final = re.compile(r"\b(?:e-?mail|cnpj|cpf|valor)\b", re.IGNORECASE)
WORD: Final = re.compile(r"[a-z]{4,}")
# "a nota de agora é só a parte dela": which of two amounts is billed is said by words that neither reader is sure of.
ONLY_PART: Final = re.compile(r"\bnota\b[^.\n]{0,40}\b(?:so|somente|apenas)\b")
CURRENCY: Final = frozenset({"reais", "centavos", "conto", "pila", "mango", "prata", "limpo", "total", "valor"})
OF_ONE_NOTE: Final = frozenset({Campo.DOCUMENTO, Campo.DESCRICAO, Campo.NOME})
DATES: Final = frozenset({Campo.DATA, Campo.COMPETENCIA})


class TwoReaders:
    """Rules and the learned reader, behind the asynchronous seam."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn by both. Never raises for what the user wrote."""
        return read_by_both(texto, contexto).extraction


def read_by_both(texto: str, contexto: Context, reader: LearnedReader | None = None) -> RulesReading:
    """Return the rules' reading with what both readers make of the turn; ``reader`` is that of this version."""
    reader = reader or learned_reader()
    rules = read_turn(texto, contexto)
    learned = reader.read(texto, situation(contexto))
    weighed = sorted(
        ((reader.certainty(found.features), found) for found in evidence(rules, learned, contexto)),
        key=lambda pair: -pair[0],
    )
    joined = agree(rules, learned, weighed, contexto)
    return replace(rules, extraction=joined, undecided=_undecided(rules, joined, weighed, contexto))


def agree(
    rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> Extraction:
    """Join two readings of one turn: what both see stands, what one sees is asked, what is only mentioned is left.

    ``weighed`` is how sure each amount is (0 to 1), the surest first.
    """
    extraction, texto = rules.extraction, rules.skeleton.text.original
    valor, doubt = _amount(rules, learned, weighed, contexto)
    candidates = [c for c in extraction.candidates if c.campo is not Campo.VALOR and not _elsewhere(c, learned, texto)]
    service = next((c for c in candidates if c.campo is Campo.DESCRICAO), None)
    candidates = [c for c in candidates if c is not service]
    if found := _description(service, learned, contexto, texto):
        candidates.append(found)
    doubts = [d for d in extraction.doubts if d.campo is not Campo.VALOR]
    doubts += _documents(extraction, learned, texto)
    candidates += [valor] if valor else []
    doubts += [doubt] if doubt else []
    if commands(rules.skeleton.text):
        candidates, doubts = _under_orders(candidates, doubts, contexto)
    if any(d.motivo is Motivo.DUAS_NOTAS for d in doubts) and len(documents(texto)) > 1:
        candidates = [c for c in candidates if c.campo not in OF_ONE_NOTE]  # of which of them, nobody can tell
    asked = {d.campo for d in doubts}
    candidates = [c for c in candidates if c.campo not in asked]
    intent = _intent(rules, learned, data=bool(candidates or doubts or extraction.clear))
    return replace(
        extraction,
        intent=intent,
        candidates=tuple(candidates),
        doubts=tuple(doubts),
        ato=_act(intent, learned),
    )


def _amount(
    rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> tuple[Candidate | None, Doubt | None]:
    """Return the amount if both readers see it, else a question with what it may be, else nothing."""
    extraction, texto = rules.extraction, rules.skeleton.text.original
    taken = next((c for c in extraction.candidates if c.campo is Campo.VALOR), None)
    doubt = next((d for d in extraction.doubts if d.campo is Campo.VALOR), None)
    if not weighed:
        return None, doubt or (_asked(taken.trecho, (taken.valor,)) if taken else None)
    sure, best = weighed[0]
    trecho = texto[best.start : best.end]
    other = taken is not None and taken.valor != best.valor
    if taken is not None and taken.valor == contexto.conhecidos.get(Campo.VALOR) and len(texto.split()) <= ALONE:
        return taken, None  # the same again, and nothing else
    cut_short = _cut_short(best, learned, texto)
    if cut_short:
        return None, Doubt(Campo.VALOR, Motivo.AMBIGUO, cut_short)
    if sure >= (BOTH if best.taken else CHOSEN) and not other and not _is_doubtful(best, weighed, learned, texto):
        return taken if best.taken else Candidate(Campo.VALOR, best.valor, trecho), None
    made = proposal(rules, learned) if learned.ato not in TALK else None
    if made is not None:
        return None, replace(doubt or _asked(trecho, ()), leituras=(made[0],), conta=made[1])
    if sure < WORTH_ASKING and (taken is None or learned.ato in TALK):
        return None, doubt if learned.ato not in TALK else None
    readings = tuple(found.valor for weight, found in weighed[:READINGS] if weight >= OFFERED)
    if doubt is not None:
        return None, replace(doubt, leituras=readings)
    return None, _asked(taken.trecho if taken else trecho, readings)


def _undecided(
    rules: RulesReading, joined: Extraction, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> Candidate | None:
    """Return the amount that is asked about, and would be as sure as any that both take if a third reader saw it too.

    None where the rules took another one or say what it is instead, and none in the place of a validated one.
    """
    doubt = next((d for d in joined.doubts if d.campo is Campo.VALOR), None)
    if doubt is None or doubt.conta or doubt.motivo not in DENIED_BY_NOBODY or Campo.VALOR in contexto.conhecidos:
        return None
    if not weighed:
        return None
    sure, best = weighed[0]
    other = any(c.campo is Campo.VALOR and c.valor != best.valor for c in rules.extraction.candidates)
    if other or sure < _with_third(BOTH if best.taken else CHOSEN):
        return None
    return Candidate(Campo.VALOR, best.valor, rules.skeleton.text.original[best.start : best.end])


def _with_third(needed: float) -> float:
    """Return how sure two readers must be of an amount (0 to 1) that a third one's word makes as sure as ``needed``."""
    return needed / (needed + THIRD * (1 - needed))


def _cut_short(best: Evidence, learned: LearnedReading, texto: str) -> str | None:
    """Return an amount in words of which only a part was read ("mil e quinhento"), else ``None``."""
    for mention in learned.of(Rotulo.TOTAL):
        if mention.start < best.end and mention.end > best.start:
            rest = f"{texto[mention.start : best.start]} {texto[best.end : mention.end]}"
            if any(word not in CURRENCY for word in WORD.findall(fold(rest).plain)):
                return texto[mention.start : mention.end]
    return None


def _is_doubtful(
    best: Evidence, weighed: Sequence[tuple[float, Evidence]], learned: LearnedReading, texto: str
) -> bool:
    """Say whether an amount that is sure by its evidence is asked all the same, because of another one."""
    part = len(weighed) > 1 and ONLY_PART.search(fold(texto).plain) is not None
    return part or _prefers_another(best, weighed, learned)


def _prefers_another(best: Evidence, weighed: Sequence[tuple[float, Evidence]], learned: LearnedReading) -> bool:
    """Say whether the learned reader is surer that another amount of the message is the invoice's."""
    sure = {
        found.valor: max(
            (m.certeza for m in learned.of(Rotulo.TOTAL) if m.start < found.end and m.end > found.start), default=0.0
        )
        for _, found in weighed
    }
    own = sure.pop(best.valor, 0.0)
    return any(other >= SURE_OTHER and other - own >= SURER_BY for other in sure.values())


def _under_orders(
    candidates: Sequence[Candidate], doubts: Sequence[Doubt], contexto: Context
) -> tuple[list[Candidate], list[Doubt]]:
    """Ask about what a message says that gives the reader orders ("ignore as regras"); what stands, stands."""
    new = [c for c in candidates if c.campo not in contexto.conhecidos]
    asked = [
        Doubt(c.campo, Motivo.DISCORDANCIA, c.trecho, leituras=(c.valor,)) for c in new if FIELDS[c.campo].critical
    ]
    return [c for c in new if not FIELDS[c.campo].critical], [
        *(d for d in doubts if d.campo not in contexto.conhecidos),
        *asked,
    ]


def _asked(trecho: str, readings: tuple[str, ...]) -> Doubt:
    motivo = Motivo.VARIOS if len(readings) > 1 else Motivo.DISCORDANCIA
    return Doubt(Campo.VALOR, motivo, trecho, leituras=readings)


def _documents(extraction: Extraction, learned: LearnedReading, texto: str) -> Iterator[Doubt]:
    """Ask about a document that the rules take for the customer's, and the other reader for somebody else's."""
    for candidate in extraction.candidates:
        if candidate.campo is Campo.DOCUMENTO and _labelled(candidate, learned, texto, NOT_THE_CUSTOMERS):
            yield Doubt(Campo.DOCUMENTO, Motivo.DISCORDANCIA, candidate.trecho, leituras=(candidate.valor,))


def _elsewhere(candidate: Candidate, learned: LearnedReading, texto: str) -> bool:
    """Say whether a date is another one than the service's: a birth, a due date, when to issue, or that of talk."""
    talk = learned.ato in TALK and learned.certeza >= ACT
    before = texto[: max(0, texto.find(candidate.trecho))]
    if candidate.campo not in DATES or OF_SERVICE.search(before):
        return False
    return talk or BIRTH.search(before) is not None or _labelled(candidate, learned, texto, NOT_THE_SERVICES)


def _labelled(candidate: Candidate, learned: LearnedReading, texto: str, rotulos: Collection[Rotulo]) -> bool:
    start = texto.find(candidate.trecho)
    end = start + len(candidate.trecho)
    mentions = [m for m in learned.mencoes if m.start < end and m.end > start >= 0]
    return any(m.rotulo in rotulos and m.certeza >= SURE_LABEL for m in mentions)


def _description(read: Candidate | None, learned: LearnedReading, contexto: Context, texto: str) -> Candidate | None:
    """Return the service: what the other reader is surest of; the rules' words where they answer the question for it.

    Who answers another question, or has said the service already, names a new one only in words that are sure.
    """
    asked, known = contexto.pendente is Campo.DESCRICAO, Campo.DESCRICAO in contexto.conhecidos
    aside = not asked and (known or contexto.pendente is not None)
    seen = [m for m in learned.of(Rotulo.SERVICO) if m.certeza >= (ASIDE if aside else SERVICE)]
    if not seen:
        answers = asked and learned.ato not in TALK and len(texto) < MAX_CHARS
        ordered = learned.ato is Ato.DADOS and not known
        names = read is not None and _names_work(read.valor)
        orders = ordered and (names or (not aside and learned.certeza >= ORDER))
        return read if answers or orders or _is_labelled(read, texto) else None
    best = max(seen, key=lambda mention: mention.certeza)
    rest = COMPOUND.match(texto, best.end)  # "ar-condicionado" is one word
    words = texto[best.start : rest.end() if rest else best.end]
    if read is not None and (words.casefold() == read.valor.casefold() or _runs_on(words, read.valor)):
        return read
    return Candidate(Campo.DESCRICAO, words, words, confianca=Confianca.PROVAVEL)


def _runs_on(words: str, service: str) -> bool:
    """Say whether ``words`` are the service and what is no part of it: "aulas de inglês, email financeiro"."""
    return words.casefold().startswith(service.casefold()) and NO_SERVICE.search(words[len(service) :]) is not None


def _names_work(words: str) -> bool:
    """Say whether the words begin with the name of a work ("consultoria …", "aula de violão")."""
    return any(is_work(word) for word in fold(words).plain.split()[:FIRST_WORDS])


def _is_labelled(read: Candidate | None, texto: str) -> bool:
    """Say whether the user named the service as such: "serviço: …"."""
    return read is not None and LABEL.search(texto[: max(0, texto.find(read.trecho))]) is not None


def _act(intent: Intent, learned: LearnedReading) -> Ato | None:
    """Return the act where the readers agree; a yes that nothing objects to has no other one."""
    if learned.certeza < ACT or (intent is Intent.CONFIRMAR and learned.ato is not Ato.CONFIRMA):
        return None
    needed = DECIDES.get(learned.ato)
    return learned.ato if needed is None or intent in needed else None


def _intent(rules: RulesReading, learned: LearnedReading, *, data: bool) -> Intent:
    """Return the rules' intent, unless it decides and the other reader disagrees, or its data were none."""
    intent = rules.extraction.intent
    if learned.certeza < ACT:
        return intent
    if intent is Intent.CONFIRMAR and _objects(learned.ato, rules.skeleton.text.plain):
        return Intent.CONVERSA
    if intent in REFUSES and learned.ato not in REFUSES[intent]:
        return Intent.CONVERSA
    if intent is Intent.INFORMAR and not data:
        return WITHOUT_DATA.get(learned.ato, Intent.CONVERSA if learned.ato in TALK else intent)
    return intent


def _objects(ato: Ato, plain: str) -> bool:
    """Say whether a reader that is sure of this act speaks against a yes of these words."""
    return ato not in NO_OBJECTION and not (ato is Ato.SOCIAL and is_firm_yes(plain))
