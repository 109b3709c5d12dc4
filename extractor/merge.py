"""Joins what a model read to what the two readers made of a turn: it upholds, fills gaps, and contradicts by asking."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from extractor.contract import Extraction, Intent
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.fields import Doubt, Motivo

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.rules import RulesReading
    from state_machine.invoice.fields import Candidate

DATED: Final = frozenset({FieldKind.MES, FieldKind.DIA})


def merge(
    reading: RulesReading, proposed: tuple[Candidate, ...], intent: Intent | None, contexto: Context
) -> Extraction:
    """Join the two readers' reading with a model's grounded candidates and proposed intent.

    Of a critical field the model's word makes certain only what is ``undecided``; anything else that it says is asked.
    Of dates it says nothing: the rules see every one that it may name, and one that they leave is not the service's.
    """
    both = reading.extraction
    candidates = {c.campo: c for c in both.candidates}
    doubts = {d.campo: d for d in both.doubts}
    for candidate in proposed:
        campo, mine = candidate.campo, candidates.get(candidate.campo)
        if campo in both.clear or FIELDS[campo].kind in DATED:
            continue
        if campo in doubts:
            if _upholds(candidate, reading.undecided):
                candidates[campo] = candidate
                del doubts[campo]
        elif mine is not None:
            if FIELDS[campo].critical and mine.valor != candidate.valor:
                del candidates[campo]
                doubts[campo] = _asked(mine, candidate)
        elif campo in contexto.conhecidos:
            continue  # what was validated is replaced by the user's clear words only
        elif FIELDS[campo].critical:
            doubts[campo] = _asked(candidate)
        else:
            candidates[campo] = candidate
    named = bool(
        candidates.keys() - {c.campo for c in both.candidates} or doubts.keys() - {d.campo for d in both.doubts}
    )
    return replace(
        both,
        intent=_intent(reading, intent, contexto, named=named),
        candidates=tuple(candidates.values()),
        doubts=tuple(doubts.values()),
        modelo_usado=True,
    )


def _upholds(candidate: Candidate, undecided: Candidate | None) -> bool:
    return undecided is not None and (candidate.campo, candidate.valor) == (undecided.campo, undecided.valor)


def _asked(*seen: Candidate) -> Doubt:
    """Ask which of these the field is."""
    trechos = ", ".join(dict.fromkeys(candidate.trecho for candidate in seen))
    return Doubt(seen[0].campo, Motivo.DISCORDANCIA, trechos, leituras=tuple(candidate.valor for candidate in seen))


def _intent(reading: RulesReading, proposed: Intent | None, contexto: Context, *, named: bool) -> Intent:
    own = reading.extraction.intent
    if named and own not in {Intent.INFORMAR, Intent.CORRIGIR}:
        return Intent.CORRIGIR if contexto.resumo_mostrado else Intent.INFORMAR
    nameless = reading.unsure and reading.extraction.ato is None
    return proposed if nameless and proposed is not None else own
