"""What words after an ended invoice have to do with it: they mend it, go on with it, or begin another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from state_machine.catalogue import announcement as anuncio
from state_machine.invoice.draft import Rascunho
from state_machine.invoice.field_table import obrigatorios
from state_machine.invoice.fields import Campo
from state_machine.machine.events import Abriu, Informou, PediuAjuda
from state_machine.machine.states import Estado

if TYPE_CHECKING:
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao


class Repaired(Protocol):
    """The part of the conversation's memory that is asked here."""

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data over."""
        ...


async def lapsed(ultima: Sessao, memory: Repaired) -> bool:
    """True when the user speaks as if the invoice that expired were still open (a yes without a summary is talk)."""
    return ultima.estado is Estado.EXPIRADO and not await memory.repaired(ultima.sessao_id)


async def broke_off(ultima: Sessao, memory: Repaired) -> bool:
    """True when the last invoice expired while its data were still being collected, and had some."""
    open_ended = ultima.rascunho != Rascunho() and not ultima.rascunho.completo
    return open_ended and await lapsed(ultima, memory)


def after_expiry(antiga: Sessao, evento: Evento) -> tuple[tuple[Evento, ...], str | None]:
    """Go on with what the expired invoice had, or begin another where the words tell again what it had; say which.

    Returns the events of a new session, and the one whose data it takes over.

    What is shown after an expiry is confirmed anew: the answer is the last word, so that no yes of before counts.
    """
    rascunho = antiga.rascunho
    fields = _fields(evento) if isinstance(evento, Informou) else frozenset()
    ditos = (evento,) if fields else ()
    if Campo.DOCUMENTO in fields:
        fields -= {Campo.NOME}  # of whom the document names
    if fields <= {campo for campo in obrigatorios() if rascunho.validado(campo) is None}:
        aviso = PediuAjuda(anuncio.guardei(antiga), aberto=True)
        return (Abriu(rascunho), *ditos, aviso), antiga.sessao_id
    return (Abriu(), *ditos, PediuAjuda(anuncio.comecei_outra(antiga), aberto=True)), None


def _fields(evento: Informou) -> frozenset[Campo]:
    return frozenset({c.campo for c in evento.candidates} | {d.campo for d in evento.doubts})


async def repairs(evento: Informou, ultima: Sessao, memory: Repaired) -> bool:
    """True when the words mend the invoice that was just rejected, rather than begin another one."""
    if ultima.estado is not Estado.REJEITADO or await memory.repaired(ultima.sessao_id):
        return False
    fields = _fields(evento)
    if ultima.pendente is not None:
        return fields == {ultima.pendente}
    return len(fields) == 1 and Campo.NOME not in fields  # somebody else's name is somebody else's invoice
