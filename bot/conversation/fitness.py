"""Has a summary looked at by the company's channel before it is shown: what cannot be sent is asked for first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from bot.conversation.effects import confirmed_of
from state_machine.machine.effects import Emitir, Responder
from state_machine.machine.events import NaoCabe
from state_machine.machine.states import Estado
from state_machine.machine.transition import transition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.orders.accept import Door
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao

log = structlog.get_logger(__name__)


async def as_fit(
    door: Door, database: Database, sessao: Sessao, eventos: Sequence[Evento], empresa: Empresa, agora: datetime
) -> list[Evento]:
    """Return the events, with what the channel could never send of the summary that they lead to as the last one.

    ``sessao`` is the one that they are said to. A check that fails says nothing: the one after the yes is the law.
    """
    shown = _shown(sessao, eventos, agora)
    if shown is None or shown.empresa_id != empresa.id:
        return list(eventos)
    try:
        explicacao = await door.complaint(database, confirmed_of(shown, Emitir(shown.revisao), empresa, agora))
    except Exception as error:  # noqa: BLE001 - whatever it is, a summary is shown without its check
        log.error("summary_unchecked", sessao_id=sessao.sessao_id, error=type(error).__name__)  # noqa: TRY400 - it may quote data
        return list(eventos)
    if explicacao is None:
        return list(eventos)
    log.info("summary_unfit", sessao_id=sessao.sessao_id, campo=explicacao.campo)
    return [*eventos, NaoCabe(explicacao.texto, explicacao.campo)]


def _shown(sessao: Sessao, eventos: Sequence[Evento], agora: datetime) -> Sessao | None:
    """Return the session as its summary will show it, ``None`` where the last answer shows none."""
    answer = None
    for evento in eventos:
        decision = transition(sessao, evento, agora)
        sessao = decision.sessao
        answer = next((efeito for efeito in decision.efeitos if isinstance(efeito, Responder)), answer)
    if answer is None or sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO or not sessao.rascunho.completo:
        return None
    return sessao if any(key.startswith("confirmar:") for key in answer.mensagem.ids) else None
