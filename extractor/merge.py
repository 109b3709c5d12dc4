"""Joins what a model read with what the two readers made of a turn, who are the judges of amounts and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from extractor.contract import INFORMS, TALK, WHOLE, Ato, Extraction
from extractor.model.further import roles, sees_several
from extractor.model.prompt import ACTS
from extractor.requests.requests import RequestKind
from extractor.text.folding import read
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.fields import Campo, Doubt, Motivo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from extractor.contract import Context
    from extractor.model.prompt import Resposta
    from extractor.rules import RulesReading
    from state_machine.invoice.fields import Candidate

DATED: Final = frozenset({FieldKind.MES, FieldKind.DIA})
ORDER: Final = frozenset({Campo.DOCUMENTO, Campo.VALOR})  # who names both orders an invoice
BILLED: Final = frozenset({"bruto", "liquido"})  # either may be the price: shown behind the others


def merge(reading: RulesReading, resposta: Resposta, proposed: tuple[Candidate, ...], contexto: Context) -> Extraction:
    """Join a model's answer, of which ``proposed`` are the grounded candidates, with the two readers' reading.

    Its word stands for a service and a name. An amount is certain where a reader takes it too; one that only the model
    or only the readers see is doubtful, and of two that differ the person says which; so is one that it doubts itself,
    that it hears in a question or a talk, and of several invoices that could not be told apart. What it says of further
    amounts orders the readings. Of dates it says nothing: the rules see every one that it may name, and one that they
    leave is not the service's.
    """
    both = reading.extraction
    candidates = {c.campo: c for c in both.candidates}
    doubts = {d.campo: d for d in both.doubts}
    for candidate in proposed:
        campo, mine = candidate.campo, candidates.get(candidate.campo)
        if campo in both.clear or FIELDS[campo].kind in DATED or (campo is Campo.DESCRICAO and reading.edited):
            continue
        if campo in doubts:
            if _upholds(candidate, reading.undecided) and not resposta.duvida:
                candidates[campo] = candidate
                del doubts[campo]
            else:
                doubts[campo] = _with_reading(doubts[campo], candidate.valor)
        elif mine is None and campo in contexto.conhecidos and resposta.feito is not Ato.CORRIGE:
            continue  # what was validated is replaced by the user's clear words, or by a correction
        elif not FIELDS[campo].critical:
            candidates[campo] = candidate if mine is None or mine.valor != candidate.valor else mine
        elif mine is None or mine.valor != candidate.valor:
            candidates.pop(campo, None)
            doubts[campo] = _asked(*filter(None, (mine, candidate)))
    several = sees_several(resposta, reading)
    unsure = resposta.valor is None or resposta.duvida or several or resposta.feito in TALK
    if unsure and _is_new(candidates.get(Campo.VALOR), contexto):
        doubts[Campo.VALOR] = _asked(candidates.pop(Campo.VALOR))
    if doubt := doubts.get(Campo.VALOR):
        doubt = _without_others(doubt, roles(resposta, reading), _prices(*both.candidates, *proposed))
        doubts[Campo.VALOR] = replace(doubt, motivo=Motivo.DUAS_NOTAS) if several else doubt
    named = bool(
        candidates.keys() - {c.campo for c in both.candidates} or doubts.keys() - {d.campo for d in both.doubts}
    )
    merged = replace(
        both,
        ato=_act(reading, resposta.feito, contexto, named=named),
        candidates=tuple(candidates.values()),
        doubts=tuple(doubts.values()),
        modelo_usado=True,
    )
    return _decided(merged, resposta, proposed, reading, contexto)


def _decided(
    merged: Extraction,
    resposta: Resposta,
    proposed: tuple[Candidate, ...],
    reading: RulesReading,
    contexto: Context,
) -> Extraction:
    """Return what the turn says under the act that the model names; a giving up of ours has no fields of a model."""
    both = reading.extraction
    if _holds(resposta, proposed, both, contexto):
        return _commanded(merged, resposta, reading)
    return replace(both, modelo_usado=True) if both.ato in WHOLE else merged


def _holds(resposta: Resposta, proposed: tuple[Candidate, ...], both: Extraction, contexto: Context) -> bool:
    """Say whether an act that a model named decides the turn; none that issues, and none that loses an order."""
    fields = {c.campo for c in proposed}
    match ACTS[resposta.ato]:
        case RequestKind.ATENDENTE | Ato.CANCELA_NOTA:
            return True
        case RequestKind():
            return Campo.VALOR not in fields
        case Ato.VARIAS:
            return bool(contexto.conhecidos)
        case Ato.RECLAMA:
            return resposta.alvo is not None or not contexto.conhecidos
        case Ato.PERGUNTA:
            return not fields and not {c.campo for c in both.candidates} >= ORDER
        case Ato.ESPERA:
            return not fields and not both.informs
        case Ato.NEGA | Ato.RECUSA:
            return contexto.resumo_mostrado and not fields and not both.informs
        case _:
            return False


def _commanded(merged: Extraction, resposta: Resposta, reading: RulesReading) -> Extraction:
    """Return the reading of a turn whose act the model names: only another invoice has data, a request its customer.

    A giving up is a no, which only makes us ask.
    """
    named = Ato.NEGA if resposta.feito is Ato.RECUSA else resposta.feito
    alvo = resposta.alvo if resposta.alvo and read(resposta.alvo).plain in reading.skeleton.text.plain else None
    merged = replace(merged, agreed=None if named is Ato.NEGA else named, pede=str(ACTS[resposta.ato]), alvo=alvo)
    if named is Ato.VARIAS:
        return merged
    customer = tuple(c for c in merged.candidates if c.campo is Campo.DOCUMENTO and named is Ato.REGISTRO)
    return replace(merged, ato=named, candidates=customer, doubts=(), clear=frozenset())


def _with_reading(doubt: Doubt, valor: str) -> Doubt:
    """Offer what the model read first: a rule may doubt it, and drops nothing."""
    return doubt if valor in doubt.leituras else replace(doubt, leituras=(valor, *doubt.leituras), conta=None)


def _upholds(candidate: Candidate, undecided: Candidate | None) -> bool:
    return undecided is not None and (candidate.campo, candidate.valor) == (undecided.campo, undecided.valor)


def _prices(*candidates: Candidate) -> frozenset[str]:
    return frozenset(c.valor for c in candidates if c.campo is Campo.VALOR)


def _without_others(doubt: Doubt, papeis: Mapping[str, str], prices: frozenset[str]) -> Doubt:
    """Leave out what a model says is no price, unless a reader or it took that for one; some reading is left."""
    aside = {valor for valor, papel in papeis.items() if papel not in BILLED} - prices
    left = [valor for valor in doubt.leituras if valor not in aside]
    return replace(doubt, leituras=tuple(sorted(left, key=papeis.__contains__))) if left else doubt


def _is_new(valor: Candidate | None, contexto: Context) -> bool:
    return valor is not None and valor.valor != contexto.conhecidos.get(Campo.VALOR)


def _asked(*seen: Candidate) -> Doubt:
    """Ask which of these the field is."""
    trechos = ", ".join(dict.fromkeys(candidate.trecho for candidate in seen))
    return Doubt(seen[0].campo, Motivo.DISCORDANCIA, trechos, leituras=tuple(candidate.valor for candidate in seen))


def _act(reading: RulesReading, proposed: Ato, contexto: Context, *, named: bool) -> Ato:
    own = reading.extraction.ato
    if named and own not in INFORMS:
        return Ato.CORRIGE if contexto.resumo_mostrado else Ato.DADOS
    nameless = reading.unsure and reading.extraction.agreed is None
    return proposed if nameless and proposed not in WHOLE else own
