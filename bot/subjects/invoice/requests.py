"""Answers what people ask about invoices already issued."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from extractor.requests.requests import Pedido, RequestKind
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
    """Return the words of the answer, or the document asked for; ``RETOMAR`` and ``REPETIR`` are the plan's."""
    match pedido.tipo:
        case RequestKind.SEGUNDA_VIA:
            achadas = await memory.notes(1, numero=pedido.numero)
            return pedidos.segunda_via(achadas[0]) if achadas else pedidos.sem_nota(pedido.numero)
        case RequestKind.MINHAS_NOTAS:
            return pedidos.minhas_notas(await memory.notes(LISTADAS))
        case RequestKind.STATUS:
            achadas = await memory.notes(1, numero=pedido.numero, autorizadas=False)
            return pedidos.status(next(iter(achadas), None), pedido.numero)
        case RequestKind.ATENDENTE:
            return pedidos.atendente()
        case RequestKind.PARAR:
            return pedidos.parar()
        case RequestKind.CANCELAR_NOTA:
            return pedidos.cancelar_emitida(pedido.numero)
        case RequestKind.RETOMAR | RequestKind.REPETIR:
            return pedidos.nada_a_retomar()
        case _:
            assert_never(pedido.tipo)
