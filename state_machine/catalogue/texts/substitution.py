"""Every sentence about a note that takes the place of another; short, precise pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.machine.effects import Botao, Mensagem
from state_machine.values.text.length import apara

if TYPE_CHECKING:
    from state_machine.invoice.replaced import Substituida

_MOTIVO_MAX = 400  # UTF-16 units

MOTIVO = "Correção de dados da nota substituída"  # what the authority is told
SEM_CANAL = "a nota que esta substitui saiu por outro emissor; para corrigir, peça o cancelamento dela e emita outra"


def substituira(antiga: Substituida) -> str:
    """Say in the summary what a yes does beside."""
    return f"⚠️ Substitui a nota {antiga.numero}, que deixa de valer quando esta sair."


def substituiu(antiga: Substituida) -> str:
    """Say with the new note what became of the old one."""
    return f"A nota {antiga.numero} foi substituída por esta e não vale mais."


def sem_substituir(numero: str, substituta: str | None = None) -> str:
    """The note is none that can be replaced any more."""
    porque = f"foi {fim(substituta)}" if substituta else "não vale"
    return f"A nota {numero} já {porque}, então não há o que substituir. Para outra, me manda os dados."


def sem_troca(antiga: Substituida, motivo: str | None = None) -> Mensagem:
    """The authority takes no other note in its place: what is kept, and the way that is left."""
    porque = f"\nMotivo: {apara(motivo, _MOTIVO_MAX)}" if motivo else ""
    return Mensagem(
        f"*A nota {antiga.numero} não pode ser substituída.*{porque}\n\nNenhuma nota nova foi emitida, e a sua "
        "correção está guardada. Toca em *Cancelar e refazer*: depois do cancelamento, a nova sai corrigida, com o "
        "seu sim.",
        (Botao(f"refazer_nota:{antiga.emissao_id}", "Cancelar e refazer"),),
    )


def fim(substituta: str | None) -> str:
    """Say why a note counts no more: the number of the one that took its place, or that it was cancelled."""
    return f"substituída pela nota {substituta}" if substituta else "cancelada"
