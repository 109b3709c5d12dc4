"""Answers what people ask about invoices already issued; changes no invoice, and no draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from extractor.requests.requests import Pedido, Tipo
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.requests import LISTADAS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from state_machine.catalogue.requests import NotaListada
    from state_machine.machine.effects import EnviarArquivo

    class Notes(Protocol):
        """The part of the conversation's memory that is asked here."""

        async def notes(
            self, limit: int, *, numero: str | None = None, autorizadas: bool = True
        ) -> Sequence[NotaListada]:
            """This conversation's newest invoices, newest first."""
            ...


async def answer(pedido: Pedido, memory: Notes) -> str | EnviarArquivo:
    """Return the words of the answer, or the document that is asked for. ``RETOMAR`` is the plan's own work."""
    match pedido.tipo:
        case Tipo.SEGUNDA_VIA:
            achadas = await memory.notes(1, numero=pedido.numero)
            return pedidos.segunda_via(achadas[0]) if achadas else pedidos.sem_nota(pedido.numero)
        case Tipo.MINHAS_NOTAS:
            return pedidos.minhas_notas(await memory.notes(LISTADAS))
        case Tipo.STATUS:
            achadas = await memory.notes(1, numero=pedido.numero, autorizadas=False)
            return pedidos.status(next(iter(achadas), None), pedido.numero)
        case Tipo.REPETIR:
            return pedidos.repetir(next(iter(await memory.notes(1)), None))
        case Tipo.ATENDENTE:
            return pedidos.atendente()
        case Tipo.PARAR:
            return pedidos.parar()
        case Tipo.CANCELAR_NOTA:
            return pedidos.cancelar_emitida(pedido.numero)
        case Tipo.RETOMAR:
            return pedidos.nada_a_retomar()
        case _:
            assert_never(pedido.tipo)
