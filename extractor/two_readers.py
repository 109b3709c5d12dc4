"""The product's reader: what rules and the learned reader both see is certain; where they differ, it is asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from extractor.agreement.alone import not_alone
from extractor.agreement.amount import (
    ACT,
    amount_of_both,
    only_price,
    undecided,
    without_asides,
    without_service,
)
from extractor.agreement.name import name_of_both
from extractor.agreement.service import as_candidate, price_marks, service_of_both
from extractor.amounts.reckoned import names_net, reckoned, two_amounts
from extractor.contract import TALK, Ato, Context, Extraction
from extractor.learned.evidence import Evidence, evidence, situation
from extractor.learned.reader import LearnedReader, LearnedReading, Rotulo, learned_reader
from extractor.requests.recognisers import DISCARDS
from extractor.requests.several import documents
from extractor.requests.yes_no import is_firm_yes
from extractor.rules import RulesReading, read_turn
from extractor.service.whole import Whole
from extractor.text.folding import commands
from extractor.utterance import is_whole_order
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

SURE_LABEL: Final = 0.7  # a label of a document, a date or the service that outweighs the rules
# An act that decides counts only where the rules say the same.
DECIDES: Final = {
    Ato.CONFIRMA: frozenset({Ato.CONFIRMA}),
    Ato.RECUSA: frozenset({Ato.NEGA, Ato.RECUSA}),
}
# The rules' yes is a closed grammar of the whole message: a reader that takes it for an order says nothing against it,
# and one that takes it for talk only where the same words greet or thank. Whatever else it sees is an objection.
NO_OBJECTION: Final = frozenset({Ato.CONFIRMA, Ato.DADOS})
# A no only makes us ask, so that it stands against a reader that takes the words for a yes.
REFUSES: Final = {
    Ato.RECUSA: frozenset({Ato.RECUSA}),
    Ato.NEGA: frozenset({Ato.RECUSA, Ato.CONFIRMA}),
}
WITHOUT_DATA: Final = frozenset({Ato.PERGUNTA, Ato.REGISTRO, Ato.REPETE, Ato.FORA, Ato.CORRIGE})
NOT_THE_CUSTOMERS: Final = (Rotulo.DOC_PROPRIO, Rotulo.DOC_OUTRO)
NOT_THE_SERVICES: Final = (Rotulo.DATA_VENCIMENTO, Rotulo.DATA_FUTURA, Rotulo.DATA_OUTRA)
BIRTH: Final = re.compile(r"\b(?:nasc\w*|d\.?\s?n)\b\W{0,15}(?:(?:em|dia|é)\W{1,3})?\Z", re.IGNORECASE)
OF_SERVICE: Final = re.compile(r"\b(?:servi[cç]o|compet[eê]ncia)\b[\s:]{0,3}(?:de |em |dia )?\Z", re.IGNORECASE)
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
    rules, left = without_asides(rules, learned, contexto)
    found = [each for each in evidence(rules, learned, contexto) if each.start not in left]
    weighed = sorted(((reader.certainty(each.features), each) for each in found), key=lambda pair: -pair[0])
    joined = agree(rules, learned, weighed, contexto)
    made = None if commands(rules.skeleton.text) else reckoned(rules.skeleton, contexto)
    if made is not None:
        joined = _with_reckoned(joined, *made, contexto)
    elif (either := two_amounts(rules.skeleton)) or names_net(rules.skeleton):
        joined = _in_doubt(joined, tuple(format(each, ".2f") for each in either))
    joined = not_alone(joined, rules, learned, weighed, contexto)
    return replace(rules, extraction=joined, undecided=undecided(rules, joined, weighed, contexto))


def agree(
    rules: RulesReading, learned: LearnedReading, weighed: Sequence[tuple[float, Evidence]], contexto: Context
) -> Extraction:
    """Join two readings of one turn: what both see stands, what one sees is asked, what is only mentioned is left.

    ``weighed`` is how sure each amount is (0 to 1), the surest first.
    """
    extraction, texto = rules.extraction, rules.skeleton.text.original
    service = service_of_both(rules, learned, price_marks(rules, weighed, contexto.conhecidos), contexto)
    weighed = without_service(rules, weighed, service)
    alone = only_price(rules, learned, weighed, service)
    valor, doubt = (alone, None) if alone is not None else amount_of_both(rules, learned, weighed, contexto)
    candidates = [c for c in extraction.candidates if c.campo is not Campo.VALOR and not _elsewhere(c, learned, texto)]
    candidates = [c for c in candidates if c.campo not in {Campo.DESCRICAO, Campo.NOME}]
    candidates += _name_and_service(name_of_both(rules, learned, contexto), service, learned, texto, contexto)
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
    ato = _named(rules, learned, data=bool(candidates or doubts or extraction.clear))
    return replace(
        extraction,
        ato=ato,
        candidates=tuple(candidates),
        doubts=tuple(doubts),
        agreed=None if _takes_data_for_more(learned, texto, candidates, contexto) else _act(ato, learned, rules),
    )


def _name_and_service(
    nome: Candidate | None, service: Whole | Candidate | None, learned: LearnedReading, texto: str, contexto: Context
) -> list[Candidate]:
    """Return both, where the same words are not taken twice: a name is no service, and what was done no name.

    A name that is a part of the service ("filmagem na Serra do Cipó") stands where the second reader says so too.
    """
    said = as_candidate(service) if isinstance(service, Whole) else service
    if nome is None or said is None:
        return [each for each in (nome, said) if each is not None]
    aside = contexto.pendente is Campo.NOME or Campo.DESCRICAO in contexto.conhecidos
    if said.trecho in nome.trecho and (aside or (said.valor == nome.valor and not nome.valor.islower())):
        return [nome]  # in small letters the same words are work: "flash tattoo"
    before = f"{nome.trecho},"  # "529.982.247-25 Caio, aula de canto"
    if (
        nome.valor.isalpha()
        and nome.valor.istitle()
        and said.trecho.startswith(before)
        and said.valor.startswith(before)
    ):
        valor, trecho = (each.removeprefix(before).strip() for each in (said.valor, said.trecho))
        return [nome, replace(said, valor=valor, trecho=trecho)]
    apart = nome.confianca is Confianca.CERTA or nome.trecho not in said.valor
    seen = said.valor != nome.valor and _labelled(nome, learned, texto, (Rotulo.NOME,))
    return [nome, said] if apart or seen else [said]


def _with_reckoned(joined: Extraction, made: Doubt, alone: bool, contexto: Context) -> Extraction:
    """Propose a reckoned amount in the place of whatever was read of it, or of the whole message."""
    if any(d.motivo is Motivo.DUAS_NOTAS for d in joined.doubts):
        return joined
    known = Campo.VALOR in contexto.conhecidos
    return replace(
        joined,
        ato=Ato.CORRIGE if known else Ato.DADOS,
        candidates=() if alone else tuple(c for c in joined.candidates if c.campo is not Campo.VALOR),
        doubts=(*(d for d in joined.doubts if d.campo is not Campo.VALOR), made),
        agreed=Ato.CORRIGE if known else Ato.DADOS,
    )


def _in_doubt(joined: Extraction, readings: tuple[str, ...]) -> Extraction:
    """Take no amount for certain that may be another one of the message, or the gross one: both are offered."""
    taken = next((c for c in joined.candidates if c.campo is Campo.VALOR), None)
    asked = next((d for d in joined.doubts if d.campo is Campo.VALOR), None)
    if asked is not None and asked.motivo is not Motivo.DUAS_NOTAS and readings:
        if asked.leituras and set(asked.leituras).isdisjoint(readings):
            return joined  # "safra 26/27 … 26.650,00": the two were no prices
        doubts = tuple(replace(d, leituras=readings, conta=None) if d is asked else d for d in joined.doubts)
        return replace(joined, doubts=doubts)
    if taken is None or (readings and taken.valor not in readings):
        return joined
    doubt = Doubt(Campo.VALOR, Motivo.AMBIGUO, taken.trecho, leituras=readings or (taken.valor,))
    candidates = tuple(c for c in joined.candidates if c is not taken)
    return replace(joined, candidates=candidates, doubts=(*joined.doubts, doubt))


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


def _act(named: Ato, learned: LearnedReading, rules: RulesReading) -> Ato | None:
    """Return the act where the readers agree; a yes that nothing objects to, or a clear refusal, has no other one."""
    if named is Ato.RECUSA and DISCARDS.fullmatch(rules.skeleton.text.plain):
        return None
    if learned.certeza < ACT or (named is Ato.CONFIRMA and learned.ato is not Ato.CONFIRMA):
        return None
    needed = DECIDES.get(learned.ato)
    return learned.ato if needed is None or named in needed else None


def _takes_data_for_more(
    learned: LearnedReading, texto: str, candidates: Sequence[Candidate], contexto: Context
) -> bool:
    """Say whether the learned reader sees an instruction in an order that holds its fields and nothing else."""
    return learned.ato is Ato.FISCAL and is_whole_order(texto, candidates, contexto.conhecidos.get(Campo.DESCRICAO))


def _named(rules: RulesReading, learned: LearnedReading, *, data: bool) -> Ato:
    """Return the rules' act, unless it decides and the other reader disagrees, or its data were none."""
    ato = rules.extraction.ato
    if learned.certeza < ACT:
        return ato
    if ato is Ato.CONFIRMA and _objects(learned.ato, rules.skeleton.text.plain):
        return Ato.SOCIAL
    if ato in REFUSES and learned.ato not in REFUSES[ato] and not DISCARDS.fullmatch(rules.skeleton.text.plain):
        return Ato.SOCIAL
    if ato is Ato.DADOS and not data:
        talk = Ato.SOCIAL if learned.ato in TALK else ato
        return learned.ato if learned.ato in WITHOUT_DATA else talk
    return ato


def _objects(ato: Ato, plain: str) -> bool:
    """Say whether a reader that is sure of this act speaks against a yes of these words."""
    return ato not in NO_OBJECTION and not (ato is Ato.SOCIAL and is_firm_yes(plain))
