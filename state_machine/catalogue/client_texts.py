"""What is said about a company's own clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.values.documents import formata_documento
from state_machine.values.text_length import apara

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.invoice.known_clients import Cliente

_NOMEADOS = 3  # clients named in a question; more are told apart by a longer name
_NOME_MAX = 34  # UTF-16 units of each: three fit into the detail of a question


def quais_clientes(clientes: Sequence[Cliente]) -> str:
    """Return the detail of a question about clients whom a name may mean."""
    if len(clientes) == 1:
        return f"entre os seus clientes há {_cliente(clientes[0])}: se for esse, me manda este número"
    nomeados = "; ".join(f"{n}) {_cliente(cliente)}" for n, cliente in enumerate(clientes[:_NOMEADOS], 1))
    mais = len(clientes) - _NOMEADOS
    return f"seus clientes: {nomeados}{f'; e mais {mais}' if mais > 0 else ''}"


def _cliente(cliente: Cliente) -> str:
    documento = formata_documento(cliente.documento)
    return f"{apara(cliente.nome, _NOME_MAX)}, {documento}" if cliente.nome else documento
