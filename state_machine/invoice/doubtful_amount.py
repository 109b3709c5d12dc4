"""What becomes of an amount of which only one doubtful reading is left: the summary shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from state_machine.invoice.draft import com_leitura
from state_machine.invoice.fields import Campo, Confianca

if TYPE_CHECKING:
    from state_machine.invoice.draft import Rascunho


def com_unica(antes: Rascunho, rascunho: Rascunho) -> Rascunho:
    """Return the draft with the only reading of a doubtful amount in its place, once nothing else is to be asked.

    It stays doubtful: the summary marks it, and what is said of it later stands in its place. The amount that stood
    in ``antes`` is no worse a reading: both are left to choose from, ``conta`` being how the second was reckoned.
    """
    duvida, stood = rascunho.valor, antes.validado(Campo.VALOR)
    if len(duvida.leituras) != 1:
        return rascunho
    if stood is not None:
        outra = replace(duvida, leituras=(stood, *duvida.leituras))
        return rascunho.com(Campo.VALOR, antes.valor if stood in duvida.leituras else outra)
    if rascunho.a_pedir != (Campo.VALOR,):
        return rascunho
    tomado = com_leitura(rascunho, Campo.VALOR, duvida.leituras[0])
    marcado = replace(tomado.valor, confianca=Confianca.DUVIDOSA, conta=duvida.conta)
    return tomado.com(Campo.VALOR, marcado)
