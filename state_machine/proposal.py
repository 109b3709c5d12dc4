"""What a proposal is that another system sends: its states.

The states of a proposal, as another system reads them.

What a draft has of another system's proposal: its values, each with where it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from state_machine.invoice.draft import Rascunho, StatusCampo, ler
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Origem


class EstadoProposta(StrEnum):
    """Where a proposal stands: the first four are its way, the others how it may end."""

    RASCUNHO = "rascunho"
    ENVIADA = "enviada"  # a person of the company is asked
    ACEITA = "aceita"  # that person confirmed it; it is being issued
    EMITIDA = "emitida"
    RECUSADA = "recusada"  # that person said no
    EXPIRADA = "expirada"  # that person did not answer
    REJEITADA = "rejeitada"  # by the authority
    ERRO = "erro"
    CANCELADA = "cancelada"


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
