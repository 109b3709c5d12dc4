"""Takes data over from earlier invoices: a draft like one of them, and what is usual for a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from extractor.fields.clients import PART_OF_NAME, find_client
from state_machine.catalogue import memory_texts as textos
from state_machine.invoice.draft import Rascunho, ler
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.machine.events import Abriu, Conversou, Informou

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.catalogue.requests import NotaListada
    from state_machine.invoice.known_clients import Cliente, Costume


class Notes(Protocol):
    """The part of the conversation's memory that is asked here."""

    async def notes(
        self,
        limit: int,
        *,
        numero: str | None = None,
        autorizadas: bool = True,
        sessao_id: str | None = None,
        documento: str | None = None,
        valem: bool = False,
    ) -> Sequence[NotaListada]:
        """This conversation's newest authorised invoices, newest first; ``valem``: not the cancelled ones."""
        ...

    async def clients(self) -> Sequence[Cliente]:
        """The company's own clients."""
        ...


class Usual(Protocol):
    """The part of it that knows habits."""

    async def usual(self, documento: str) -> Costume | None:
        """What the company usually invoices to a client."""
        ...


async def repeated(memory: Notes, clientes: Sequence[str] = (), sessao_id: str | None = None) -> Abriu | str:
    """Return the opening of a draft like the invoice that is meant, or why there is none; nothing is issued by it.

    ``clientes`` are the names that were said; with ``sessao_id`` it is the invoice of that session.
    """
    documento = None
    if clientes:
        found = await client_named(memory, clientes[0])
        if isinstance(found, str):
            return found
        documento = found.documento
    notas = await memory.notes(1, sessao_id=sessao_id, documento=documento, valem=True)
    if not notas:
        return textos.sem_nota_para(clientes[0]) if clientes else textos.nada_a_repetir()
    return Abriu(like(notas[0]), igual_a=notas[0].numero)


async def usual(memory: Usual, rascunho: Rascunho) -> Informou | Conversou:
    """Return what is missing as the client's usual; words that tell nothing, where there is no usual any more."""
    costume = await memory.usual(rascunho.validado(Campo.DOCUMENTO) or "")
    oferta = costume.preenche(rascunho) if costume else {}
    ditos = tuple(Candidate(campo, valor, valor, Origem.CADASTRO) for campo, valor in oferta.items())
    return Informou(ditos) if ditos else Conversou()


async def client_named(memory: Notes, nome: str) -> Cliente | str:
    """Return the company's client of this name, of which a word is enough, or the words that ask which one is meant."""
    found = find_client(nome, await memory.clients(), fills=PART_OF_NAME)
    if found.certo:
        return found.possiveis[0]
    return textos.qual_cliente(nome, found.possiveis)


def like(nota: NotaListada) -> Rascunho:
    """Return a draft with the customer, the amount and the service of an invoice, checked by the rules of today."""
    ditos = {
        Campo.DOCUMENTO: nota.documento,
        Campo.VALOR: str(nota.valor),
        Campo.DESCRICAO: nota.descricao,
        Campo.NOME: nota.nome,
    }
    rascunho = Rascunho()
    for campo, valor in ditos.items():
        if valor:
            rascunho = rascunho.com(campo, ler(Candidate(campo, valor, valor, Origem.CADASTRO)))
    return rascunho
