"""Takes data over from earlier invoices: a draft like one of them, and what is usual for a client."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from extractor.fields.clients import PART_OF_NAME, find_client
from state_machine.catalogue.texts import memory as textos
from state_machine.catalogue.texts.substitution import sem_substituir, sem_troca
from state_machine.invoice.draft import LEITURAS_MAX, Rascunho, ler
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.invoice.replaced import Substituida
from state_machine.machine.effects import Mensagem
from state_machine.machine.events import Abriu, Conversou, Informou
from state_machine.protocol.channel import NATIONAL_LIST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from extractor.fields.clients import Clientes
    from persistence.people.companies import Empresa
    from state_machine.catalogue.requests import NotaListada
    from state_machine.invoice.known_clients import Cliente, Costume
    from state_machine.machine.session import Sessao

LONGEST_ID = 18  # digits of an id; PostgreSQL reads no more as an integer


class Notes(Protocol):
    """The part of the conversation's memory that is asked here."""

    async def notes(
        self,
        limit: int,
        *,
        numero: str | None = None,
        autorizadas: bool = True,
        emissao_id: int | None = None,
        documento: str | None = None,
        valem: bool = False,
    ) -> Sequence[NotaListada]:
        """This conversation's newest authorised invoices, newest first; ``valem``: not the cancelled ones."""
        ...

    async def clients(self) -> Sequence[Cliente]:
        """The company's own clients."""
        ...


class Substituting(Notes, Protocol):
    """The part of it of which a note that takes another's place is made."""

    @property
    def empresa(self) -> Empresa:
        """The company that issues."""
        ...

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        ...


class Usual(Protocol):
    """The part of it that knows habits."""

    async def usual(self, documento: str) -> Costume | None:
        """What the company usually invoices to a client."""
        ...


async def with_offer(memory: Notes, resposta: Mensagem) -> Mensagem:
    """Return an answer with the button that repeats the newest invoice that stands, where there is one."""
    notas = await memory.notes(1, valem=True)
    return textos.com_oferta(resposta, notas[0]) if notas else resposta


async def repeated(memory: Notes, nomes: Sequence[str]) -> Abriu | Mensagem:
    """Return the opening of a draft like the newest invoice, of the client first named in ``nomes`` where one is.

    Else which one is meant, or why there is none. Nothing is issued by it.
    """
    if not nomes:
        notas = await memory.notes(1, valem=True)
        return _opening(notas[0]) if notas else textos.nada_a_repetir()
    found = await clients_named(memory, nomes[0])
    newest = [await memory.notes(1, documento=c.documento, valem=True) for c in found.possiveis[:LEITURAS_MAX]]
    notas = [nota for notas in newest for nota in notas]
    if not notas:
        return Mensagem(textos.sem_nota_para(nomes[0]))
    return _opening(notas[0]) if found.certo else textos.qual_repetir(nomes[0], notas)


async def repeated_note(memory: Notes, emissao: str) -> Abriu | Mensagem:
    """Return the same of the very invoice that a button names, by its emission; a cancelled one is not repeated."""
    nota = await _named(memory, emissao)
    return _opening(nota) if nota and not nota.cancelada else textos.sem_repetir(nota)


async def substituted(memory: Substituting, emissao: str) -> Abriu | Mensagem:
    """Return the opening of a draft that takes the place of the issued note which a button names, or why not.

    It has the data of that note, its day too, so that only what was wrong changes. Nothing is issued by it.
    """
    nota = await _named(memory, emissao)
    antiga = await memory.load(nota.sessao) if nota and nota.sessao else None
    if nota is None or antiga is None or nota.numero is None or nota.competencia is None:
        return textos.sem_repetir(nota)
    if nota.cancelada or not replaceable(memory.empresa):
        return Mensagem(sem_substituir(nota.numero, nota.substituta))
    rascunho = replace(antiga.rascunho, substitui=Substituida(nota.emissao_id, nota.numero))
    return Abriu(_taken(rascunho, Campo.DATA, nota.competencia.isoformat()))


async def as_it_stands_now(memory: Notes, rascunho: Rascunho) -> Rascunho | Mensagem:
    """Return a draft that is taken up again as it may be issued, or why not: beside a note that stands, never.

    The note whose place it takes may be gone since: cancelled, and the draft is an invoice of its own; or replaced.
    """
    antiga = rascunho.substitui
    if antiga is None:
        return rascunho
    nota = await _named(memory, str(antiga.emissao_id))
    if nota is None or nota.substituta:
        return Mensagem(sem_substituir(antiga.numero, nota.substituta)) if nota else textos.sem_repetir(None)
    if nota.cancelada:
        return replace(rascunho, substitui=None)
    return sem_troca(antiga) if antiga.recusada else rascunho


async def _named(memory: Notes, emissao: str) -> NotaListada | None:
    known = emissao.isascii() and emissao.isdigit() and len(emissao) <= LONGEST_ID
    notas = await memory.notes(1, emissao_id=int(emissao)) if known else ()
    return next(iter(notas), None)


def replaceable(empresa: Empresa) -> bool:
    """Tell whether another note may take the place of a company's with another value, customer or competence.

    The national emitter refuses it to MEI and Simples (E0061); no other channel does it.
    """
    return empresa.canal.nome in NATIONAL_LIST and empresa.regime == "normal"


def _opening(nota: NotaListada) -> Abriu:
    return Abriu(like(nota), igual_a=nota.numero)


async def usual(memory: Usual, rascunho: Rascunho, marca: str) -> Informou | Conversou:
    """Return what is missing as the client's usual; words that tell nothing, where that is not what was offered."""
    costume = await memory.usual(rascunho.validado(Campo.DOCUMENTO) or "")
    oferta = costume.preenche(rascunho) if costume and costume.marca == marca else {}
    ditos = tuple(Candidate(campo, valor, valor, Origem.CADASTRO) for campo, valor in oferta.items())
    return Informou(ditos) if ditos else Conversou()


async def clients_named(memory: Notes, nome: str) -> Clientes:
    """Return the company's clients of this name, of which a word is enough: it is of an invoice that exists."""
    return find_client(nome, await memory.clients(), fills=PART_OF_NAME)


def like(nota: NotaListada) -> Rascunho:
    """Return a draft with the customer, the amount and the service of an invoice, checked by the rules of today."""
    rascunho = _taken(Rascunho(), Campo.DOCUMENTO, nota.documento)
    rascunho = _taken(rascunho, Campo.VALOR, str(nota.valor))
    rascunho = _taken(rascunho, Campo.DESCRICAO, nota.descricao)
    return _taken(rascunho, Campo.NOME, nota.nome) if nota.nome else rascunho


def _taken(rascunho: Rascunho, campo: Campo, valor: str) -> Rascunho:
    return rascunho.com(campo, ler(Candidate(campo, valor, valor, Origem.CADASTRO)))
