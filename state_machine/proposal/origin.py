"""What a draft has of another system's proposal: its values, each with where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.invoice.draft import Rascunho, StatusCampo, ler
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Candidate, Origem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from state_machine.invoice.fields import Campo


def draft(numero: int, valores: Mapping[Campo, str]) -> Rascunho:
    """Return a draft with what a proposal tells, checked by the rules of an invoice; what cannot stand is left out."""
    rascunho = Rascunho()
    for campo in FIELDS:
        if valor := valores.get(campo):
            lido = ler(Candidate(campo, valor, f"proposta {numero}", Origem.PROPOSTA))
            rascunho = rascunho.com(campo, lido) if lido.status is StatusCampo.VALIDATED else rascunho
    return rascunho


def proposed_by(rascunho: Rascunho) -> str | None:
    """Return which proposal the draft still has values of ("proposta 12"), ``None`` where it has none."""
    return next((lido.escrito for lido in rascunho.lidos if lido.origem is Origem.PROPOSTA), None)
