"""Finds which issued note a request means: this conversation's first, then the company's; asks when several fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from extractor.requests.cancellation import PorCliente, PorNumero, PorValor, Qual, Ultima, similar
from persistence.fiscal import issued
from state_machine.cancellation.machine import NotaEmitida, StatusNota
from state_machine.catalogue.texts import cancellation as textos
from state_machine.values.money import formata_brl

if TYPE_CHECKING:
    from extractor.requests.cancellation import Pedido
    from persistence.db.connection import Connection
    from state_machine.machine.effects import Mensagem

Escolha = NotaEmitida | tuple[NotaEmitida, ...]
"""The one note that is meant, or those that fit: none, or several."""


async def choose(connection: Connection, empresa_id: int, pedido: Pedido, conversa: str) -> Escolha:
    """Return what the request names; a client's name counts only among notes that stand."""
    match pedido:
        case PorNumero(numero):
            found = await issued.by_number(connection, empresa_id, numero, conversa)
        case PorValor(valor):
            found = await issued.by_value(connection, empresa_id, valor, conversa)
        case PorCliente(nome):
            notas = _standing(await issued.recent(connection, empresa_id, conversa))
            found = [notas[place] for place in similar(nome, [nota.tomador for nota in notas])]
        case Ultima():
            notas = await issued.recent(connection, empresa_id, conversa)
            minhas = [nota for nota in notas if nota.feita_por is None]
            found = (minhas or notas)[:1]  # "the one I just made" is this person's, not the company's newest
        case Qual():
            return ()
        case _:
            assert_never(pedido)
    return found[0] if len(found) == 1 else tuple(found)


async def ask_which(connection: Connection, empresa_id: int, pedido: Pedido, cabem: Escolha, conversa: str) -> Mensagem:
    """Ask which of those that fit; of none, say so and show the last ones."""
    if isinstance(cabem, tuple) and cabem:
        return textos.qual_nota(cabem)
    return textos.qual_nota(_standing(await issued.recent(connection, empresa_id, conversa)), _named(pedido))


def _standing(notas: list[NotaEmitida]) -> list[NotaEmitida]:
    return [nota for nota in notas if nota.status is StatusNota.AUTORIZADO]


def _named(pedido: Pedido) -> str | None:
    match pedido:
        case PorNumero(numero):
            return f"a nota {numero}"
        case PorValor(valor):
            return f"nota de {formata_brl(valor)}"
        case PorCliente(nome):
            return f"nota para “{nome}”"
        case Ultima() | Qual():
            return None
        case _:
            assert_never(pedido)
