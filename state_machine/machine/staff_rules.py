"""What a session does when the staff step in; see ``transition`` for the table. They never confirm for the user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from state_machine.catalogue import staff_messages
from state_machine.machine.effects import Decision, Responder
from state_machine.machine.states import Estado
from state_machine.machine.steps import diz, entra

if TYPE_CHECKING:
    from datetime import datetime

    from state_machine.machine.events import EquipeAssumiu, EquipeDevolveu, EquipeEncerrou
    from state_machine.machine.session import Sessao


def assume(sessao: Sessao, evento: EquipeAssumiu, _agora: datetime) -> Decision:
    """Void every summary shown so far: what is said from now on may change what the user wants."""
    return diz(replace(sessao, revisao=sessao.revisao + 1), staff_messages.assumiu(evento.quem))


def devolve(sessao: Sessao, evento: EquipeDevolveu, agora: datetime) -> Decision:
    """Show what stands, under a revision of its own, and ask again; only this summary can be confirmed."""
    sessao = replace(sessao, revisao=sessao.revisao + 1)
    if sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO or not sessao.rascunho.completo:
        return diz(sessao, staff_messages.devolveu(sessao, evento.esperam))
    sessao = replace(sessao, mostrado_em=agora, resumos=sessao.resumos + 1)
    return Decision(sessao, (Responder(staff_messages.devolveu(sessao, evento.esperam)),))


def encerra(sessao: Sessao, _evento: EquipeEncerrou, _agora: datetime) -> Decision:
    """Give it up on the user's behalf, and tell them."""
    return entra(sessao, Estado.CANCELADO_USUARIO, Responder(staff_messages.encerrou(sessao)))
