"""Joins what rules and model read of one turn: rules stand, the model fills gaps, two amounts become a question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.contract import Extraction, Intent
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Doubt, Motivo

if TYPE_CHECKING:
    from extractor.contract import Context
    from extractor.rules import RulesReading
    from state_machine.invoice.fields import Candidate


def merge(
    reading: RulesReading, proposed: tuple[Candidate, ...], intent: Intent | None, contexto: Context
) -> Extraction:
    """Join a rules' reading with a model's grounded candidates and proposed intent."""
    rules = reading.extraction
    mine = {c.campo: c for c in rules.candidates}
    doubted = {d.campo for d in rules.doubts}
    candidates, doubts = dict(mine), list(rules.doubts)
    for candidate in proposed:
        campo = candidate.campo
        if campo in doubted or campo in rules.clear:
            continue  # the rules know why it must be asked; a model's guess does not lift that
        if campo not in mine:
            if campo not in contexto.conhecidos:  # what was validated is replaced by the user's clear words only
                candidates[campo] = candidate
        elif FIELDS[campo].critical and mine[campo].valor != candidate.valor:
            del candidates[campo]
            doubts.append(Doubt(campo, Motivo.DISCORDANCIA, f"{mine[campo].trecho}, {candidate.trecho}"))
    named = bool(set(candidates) - set(mine)) or len(doubts) > len(rules.doubts)
    return replace(
        rules,
        intent=_intent(reading, intent, contexto, named=named),
        candidates=tuple(candidates.values()),
        doubts=tuple(doubts),
        modelo_usado=True,
    )


def _intent(reading: RulesReading, proposed: Intent | None, contexto: Context, *, named: bool) -> Intent:
    own = reading.extraction.intent
    if named and own not in {Intent.INFORMAR, Intent.CORRIGIR}:
        return Intent.CORRIGIR if contexto.resumo_mostrado else Intent.INFORMAR
    return proposed if reading.unsure and proposed is not None else own
