"""Adds to a yes what only the records know: what its writer had seen, and what has changed or was issued since."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from persistence import attempts, outbox
from persistence.repeats import equal_invoice
from state_machine.estado import Estado
from state_machine.eventos import Confirmou, NaoQuisMais, QuisAinda
from state_machine.fields import Campo

if TYPE_CHECKING:
    from persistence.connection import Connection
    from persistence.people import Empresa
    from state_machine.eventos import Evento
    from state_machine.sessao import Sessao

CLOCKS_APART = timedelta(seconds=2)  # Meta's clock tells whole seconds, and is not ours


async def as_seen(
    connection: Connection, sessao: Sessao, empresa: Empresa, evento: Evento, repeat: timedelta
) -> Evento:
    """Return a yes with its circumstances, and any other event as it is.

    ``repeat``: for so long an invoice of the same content makes us ask before a second one; zero never asks.
    """
    if not isinstance(evento, Confirmou) or sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO:
        return evento
    if sessao.mostrado_em and empresa.atualizado_em > sessao.mostrado_em:
        return replace(evento, emitente=empresa.razao_social)
    if evento.revisao is None:  # a button is itself the proof that its summary arrived
        shown, aside = await outbox.seen(connection, sessao)
        visto = shown is not None and evento.escrita_em is not None and evento.escrita_em >= shown - CLOCKS_APART
        evento = replace(evento, visto=visto and not aside)  # of an issued note, say: the yes may be for that
    documento, descricao = sessao.rascunho.validado(Campo.DOCUMENTO), sessao.rascunho.validado(Campo.DESCRICAO)
    if not repeat or not sessao.rascunho.completo or documento is None or descricao is None:
        return evento
    valor = sessao.rascunho.valor_servico
    igual = await equal_invoice(connection, empresa.id, sessao.sessao_id, documento, valor, descricao, repeat)
    return replace(evento, igual=igual)


async def as_stopped(connection: Connection, sessao: Sessao, evento: Evento) -> Evento:
    """Return a word about a stopped invoice with whether it still is one, its row locked; any other event as it is."""
    if not isinstance(evento, QuisAinda | NaoQuisMais):
        return evento
    return replace(evento, parada=await attempts.waits_for_person(connection, sessao.sessao_id, sessao.revisao))
