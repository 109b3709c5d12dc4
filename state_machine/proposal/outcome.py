"""What becomes of a proposal by what becomes of the session that was made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from state_machine.machine.events import EventoEmissao, EventoEquipe, PrazoVencido
from state_machine.machine.states import Estado
from state_machine.proposal.states import EstadoProposta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from state_machine.machine.events import Evento

OUTCOME: Final[Mapping[Estado, EstadoProposta]] = {
    Estado.COLETA: EstadoProposta.ENVIADA,
    Estado.DADOS_INCOMPLETOS: EstadoProposta.ENVIADA,
    Estado.AGUARDANDO_CONFIRMACAO: EstadoProposta.ENVIADA,
    Estado.PROCESSANDO: EstadoProposta.ACEITA,
    Estado.APROVADO: EstadoProposta.EMITIDA,
    Estado.REJEITADO: EstadoProposta.REJEITADA,
    Estado.ERRO: EstadoProposta.ERRO,
    Estado.CANCELADO_USUARIO: EstadoProposta.RECUSADA,
    Estado.EXPIRADO: EstadoProposta.EXPIRADA,
}

APPROVER: Final = "aprovador"


def author(evento: Evento) -> str:
    """Return who made the version that follows from an event, as callers read it."""
    if isinstance(evento, EventoEmissao):
        return "autoridade"
    if isinstance(evento, EventoEquipe):
        return "equipe"
    return "prazo" if isinstance(evento, PrazoVencido) else APPROVER
