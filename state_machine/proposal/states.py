"""The states of a proposal, as another system reads them."""

from __future__ import annotations

from enum import StrEnum


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
