"""What is said of a proposal of another system."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from state_machine.invoice.draft import Rascunho
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Mensagem
from state_machine.values.money import formata_brl

TITULO: Final = "*Um sistema da sua empresa propôs esta nota.*\nConfere? Só sai se você tocar em Confirmar."


def espera(proposta: str) -> Mensagem:
    """Say that what was said is another invoice, beside the proposal that was open."""
    return Mensagem(f"*Esta é outra nota, à parte.* A que o sistema propôs ({proposta}) espera: mostro de novo depois.")


def pergunta(rascunho: Rascunho, mensagem: Mensagem) -> Mensagem:
    """Put before the first question what it is about."""
    valor = rascunho.validado(Campo.VALOR)
    nota = f"uma nota de {formata_brl(valor)}" if valor else "uma nota"
    inicio = f"Um sistema da sua empresa propôs {nota}, e falta um dado."
    outras = tuple(f"{inicio}\n\n{texto}" for texto in mensagem.outras)
    return replace(mensagem, texto=f"{inicio}\n\n{mensagem.texto}", outras=outras)
