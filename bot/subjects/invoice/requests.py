"""Answers what people ask about invoices already issued."""

from __future__ import annotations

from dataclasses import replace
from secrets import randbelow
from typing import TYPE_CHECKING, Protocol, assert_never

from bot.subjects.invoice.repeat import Notes, Usual, clients_named
from extractor.requests.requests import Pedido, RequestKind
from state_machine.catalogue import records, staff_messages
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.requests import LISTADAS
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.mailing.addresses import normalised
from state_machine.values.period import MesOuAno

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date, datetime

    from persistence.conversations.edits import Mudanca, Ouvida
    from persistence.people.companies import Empresa
    from state_machine.catalogue.records import Emitidas
    from state_machine.machine.effects import EnviarArquivo, Mensagem
    from state_machine.machine.session import Sessao
    from state_machine.values.yearly_limit import Medidor

    Answer = str | Mensagem | tuple[EnviarArquivo, ...]

QUESTIONS = 10**9  # a yes is to one of them: the mail that it lets go goes once
LOOKED_AT = 300  # newest notes among which the end of a number is looked for


class Records(Notes, Protocol):
    """The part of the conversation's memory that is asked here."""

    async def issued(self, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
        """The company's authorised notes of a period that stand; those of one client where its document is given."""
        ...

    @property
    def mails(self) -> bool:
        """Whether there is a server that takes mails."""
        ...

    async def email_of(self, documento: str) -> str | None:
        """The address that a client of the company is known by."""
        ...

    async def called(self) -> bool:
        """Whether somebody of the staff was asked for, and nobody came yet."""
        ...

    async def mei(self, hoje: date) -> Medidor | None:
        """How much of a MEI's limit the company used this year."""
        ...


class Memory(Records, Usual, Protocol):
    """What the conversation remembers, read as needed; see ``bot.conversation.memory``."""

    @property
    def ativa(self) -> Sessao | None:
        """The session that waits for the user."""
        ...

    @property
    def empresa(self) -> Empresa:
        """The company that issues."""
        ...

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        ...

    async def latest(self) -> tuple[Sessao, datetime] | None:
        """The newest session and when it last changed."""
        ...

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data up."""
        ...

    async def stopped(self, sessao: Sessao) -> bool:
        """Whether the session's invoice waits for its person's word: nobody has accepted it for a day."""
        ...

    async def cancelled(self, sessao: Sessao) -> bool:
        """Whether the session's invoice was issued, and is cancelled."""
        ...

    async def refused_instead(self, sessao: Sessao) -> Sessao | None:
        """The newest session of which a refused invoice should have taken the place of this one's note."""
        ...

    async def wrong(self, sessao: Sessao) -> str | None:
        """What its person said to be wrong with the session's cancelled note."""
        ...

    async def heard(self, wamid: str) -> Ouvida:
        """What is known of a message that came before."""
        ...

    async def changes(self, wamids: Collection[str]) -> Sequence[Mudanca]:
        """Every notice so far that one of these messages was edited or deleted."""
        ...


async def answer(pedido: Pedido, memory: Records, hoje: date) -> Answer:
    """Return the answer, the documents asked for, or a question; ``RETOMAR`` and ``REPETIR`` are the plan's."""
    if pedido.documento is None and pedido.clientes:
        found = await clients_named(memory, pedido.clientes[0])
        if not found.certo:
            return memory_texts.qual_cliente(pedido.clientes[0], found.possiveis)
        pedido = replace(pedido, documento=found.possiveis[0].documento)
    return await _answer(pedido, memory, hoje)


async def _answer(pedido: Pedido, memory: Records, hoje: date) -> Answer:
    match pedido.tipo:
        case RequestKind.SEGUNDA_VIA | RequestKind.EMAIL:
            return await (_mail if pedido.tipo is RequestKind.EMAIL else _copy)(pedido, memory)
        case RequestKind.MINHAS_NOTAS:
            return await _list(pedido, memory, hoje)
        case RequestKind.TOTAL:
            return await _total(pedido, memory, hoje)
        case RequestKind.LIMITE_MEI:
            return _limite(await memory.mei(hoje))
        case RequestKind.STATUS:
            achadas = await memory.notes(1, numero=pedido.numero, documento=pedido.documento, autorizadas=False)
            return pedidos.status(next(iter(achadas), None), pedido.numero)
        case RequestKind.ATENDENTE:
            return staff_messages.chamada(ja=await memory.called())
        case RequestKind.PARAR:
            return pedidos.parar()
        case RequestKind.CANCELAR_NOTA:
            return pedidos.cancelar_emitida(pedido.numero)
        case RequestKind.RETOMAR | RequestKind.REPETIR:
            return pedidos.nada_a_retomar()
        case _:
            assert_never(pedido.tipo)


def _limite(medidor: Medidor | None) -> str:
    return records.limite_mei(medidor) if medidor else records.sem_mei()


async def _list(pedido: Pedido, memory: Records, hoje: date) -> str:
    if pedido.quando is None:
        return pedidos.minhas_notas(await memory.notes(LISTADAS, documento=pedido.documento))
    periodo = pedido.quando.em(hoje)
    return records.lista(periodo, await memory.issued(periodo, pedido.documento), pedido.cliente)


async def _total(pedido: Pedido, memory: Records, hoje: date) -> str:
    periodo = pedido.quando.em(hoje) if pedido.quando else MesOuAno(hoje.year)
    mei = await memory.mei(hoje) if periodo.ano == hoje.year and pedido.documento is None else None
    return records.total(periodo, await memory.issued(periodo, pedido.documento), mei, pedido.cliente)


async def _copy(pedido: Pedido, memory: Records) -> str | tuple[EnviarArquivo, ...]:
    achadas = await memory.notes(1, numero=pedido.numero, documento=pedido.documento)
    if achadas:
        return tuple(pedidos.segunda_via(achadas[0], formato) for formato in pedido.formatos)
    return memory_texts.sem_nota_para(pedido.cliente) if pedido.cliente else await _none_of(pedido.numero, memory)


async def _mail(pedido: Pedido, memory: Records) -> str | Mensagem:
    """Ask before a note goes to an address, as a wrong one cannot be undone; where no mail goes the plan sends files.

    Of an address nothing is guessed: it was said once, or is the one that the note's client is known by.
    """
    nota = next(iter(await memory.notes(1, numero=pedido.numero, documento=pedido.documento)), None)
    if nota is None:
        return memory_texts.sem_nota_para(pedido.cliente) if pedido.cliente else await _none_of(pedido.numero, memory)
    if not memory.mails:
        return pedidos.sem_email(nota)
    if nota.cancelada:
        return pedidos.email_de_cancelada(nota)
    ditos = pedido.emails or tuple(filter(None, [await memory.email_of(nota.documento)]))
    try:
        [email] = map(normalised, ditos)
    except ValueError:  # none, several, or what is no address
        return pedidos.qual_email(nota, ditos)
    return pedidos.ask_to_mail(nota, email, randbelow(QUESTIONS))


async def _none_of(numero: str | None, memory: Records) -> str:
    """Say that no note has this number, and offer the one note whose number ends with it."""
    shown = [nota.numero or "" for nota in await memory.notes(LOOKED_AT)] if numero else []
    ends = [each for each in shown if each.endswith(numero or "")]
    return pedidos.sem_nota(numero, ends[0] if len(ends) == 1 else None)
