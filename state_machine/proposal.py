"""What a proposal is that another system sends: its states.

The states of a proposal, as another system reads them.

What a draft has of another system's proposal: its values, each with where it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from state_machine.invoice.draft import Rascunho, StatusCampo, ler
from state_machine.invoice.field_table import FIELDS, INSCRICAO, SIM
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.values.address import city_of


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


def place(prestacao: Mapping[str, Any]) -> dict[Campo, str]:
    """Return what a proposal tells of the place and of the tax (``prestacao``, as it was sent) as a draft holds it."""
    obra, evento = prestacao.get("obra") or {}, prestacao.get("evento") or {}
    endereco = obra.get("endereco") or evento.get("endereco") or {}
    city = city_of(endereco.get("codigo_municipio") or prestacao.get("local_prestacao") or "")
    told: dict[Campo, str] = {}
    if city is not None:
        parts = ("cep", "logradouro", "numero", "bairro", "complemento")
        told[Campo.LOCAL] = str(replace(city, **{part: endereco.get(part) or "" for part in parts}))
    if "cno" in obra:
        told[Campo.OBRA] = obra["cno"]
    elif "inscricao_imobiliaria" in obra:
        told[Campo.OBRA] = f"{INSCRICAO}{obra['inscricao_imobiliaria']}"
    if evento:
        told |= {Campo.EVENTO: evento["nome"], Campo.DATA: evento["inicio"], Campo.FIM: evento["fim"]}
    return told | ({Campo.RETIDO: SIM} if prestacao.get("iss_retido") else {})


def proposed_by(rascunho: Rascunho) -> str | None:
    """Return which proposal the draft still has values of ("proposta 12"), ``None`` where it has none."""
    return next((lido.escrito for lido in rascunho.lidos if lido.origem is Origem.PROPOSTA), None)
