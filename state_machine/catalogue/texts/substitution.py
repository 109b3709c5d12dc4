"""Every sentence about a note that takes the place of another; short, precise pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from state_machine.invoice.replaced import Substituida

MOTIVO = "Correção de dados da nota substituída"  # what the authority is told
SEM_CANAL = "a nota que esta substitui saiu por outro emissor; para corrigir, peça o cancelamento dela e emita outra"


def substituira(antiga: Substituida) -> str:
    """Say in the summary what a yes does beside."""
    return f"⚠️ Substitui a nota {antiga.numero}, que deixa de valer quando esta sair."


def substituiu(antiga: Substituida) -> str:
    """Say with the new note what became of the old one."""
    return f"A nota {antiga.numero} foi substituída por esta e não vale mais."


def sem_substituir(numero: str) -> str:
    """The note is none that can be replaced any more."""
    return f"A nota {numero} já não vale, então não há o que substituir. Para outra, me manda os dados."
