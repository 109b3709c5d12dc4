"""Adds to what was said the client whom a name means, among the clients of the very company that would issue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.fields.clients import (
    Clientes,
    find_client,
    is_called,
    is_recipient,
    recipients,
    recipients_of_order,
    until_number,
)
from persistence.people import clients
from state_machine.catalogue.texts.memory import quais_clientes
from state_machine.invoice.draft import LEITURAS_MAX, StatusCampo
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.invoice.known_clients import Cliente
from state_machine.machine.events import Conversou, Informou

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.conversation.inbound import Palavras
    from persistence.db.engine import Database
    from state_machine.invoice.draft import Lido, Rascunho
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao

NAMES = 4  # of one turn that are looked up: comparing them with all clients takes milliseconds


class ClientFinder:
    """Looks names up in the records of a company; no name is looked up where a document was said."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def answered(self, evento: Evento, sessao: Sessao | None, palavras: Palavras, empresa_id: int) -> Evento:
        """Return words without data as the client's name, where that is what we asked for and they are one.

        One word is asked about: "claro" and "oi" are words of every day, and names of companies.
        """
        if not isinstance(evento, Conversou) or sessao is None or sessao.pendente is not Campo.DOCUMENTO:
            return evento
        nomes = recipients(palavras.texto)
        found = await self._find(empresa_id, nomes or [palavras.texto])
        if found is None:
            return evento
        trecho, clientes = found
        if not nomes and len(palavras.texto.split()) == 1:
            clientes = replace(clientes, certo=False)
        return _with(Informou(escritas=palavras.escritas), trecho, clientes)

    async def named(self, dito: Informou, rascunho: Rascunho, empresa_id: int) -> Informou:
        """Return what was said with the client's document where the name is clear, with a question where it is not."""
        if not names_said(dito, rascunho):
            return dito
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id)
        return await with_customer(dito, rascunho, known)

    async def _find(self, empresa_id: int, nomes: list[str]) -> tuple[str, Clientes] | None:
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id)
        return await _found(nomes, known)


def names_said(dito: Informou, rascunho: Rascunho) -> list[str]:
    """Return the names that may decide about the document; none where a document was said itself.

    One that the person gave is changed by a name behind "pra" only: any other words may just name its owner.
    """
    if Campo.DOCUMENTO in {*(c.campo for c in dito.candidates), *(d.campo for d in dito.doubts)}:
        return []
    nomes = [c.trecho for c in dito.candidates if c.campo is Campo.NOME and c.confianca is not Confianca.DUVIDOSA]
    standing = _standing(rascunho)
    if standing is None:  # whoever else the words name may be the one that is meant
        return [*nomes, *(nome for escrita in dito.escritas for nome in recipients(escrita.texto))]
    if standing.origem is Origem.CADASTRO:
        return nomes
    behind = [nome for escrita in dito.escritas for nome in recipients_of_order(escrita.texto)]
    return behind or [nome for nome in nomes if any(is_recipient(nome, each.texto) for each in dito.escritas)]


async def with_customer(dito: Informou, rascunho: Rascunho, known: Sequence[Cliente]) -> Informou:
    """Return what was said with whom its names mean among the company's clients, ``known``.

    Another customer than the one who stands is never left beside that one's document.
    """
    nomes, standing = names_said(dito, rascunho), _standing(rascunho)
    if not nomes:
        return dito
    if standing is None:
        found = await _found(nomes, known)
        return _with(dito, *found) if found else dito
    cliente = _who_stands(rascunho, known)
    if not cliente.nomes:  # nobody said yet whose the document is
        return dito
    if any(is_called(until_number(nome), cliente) for nome in nomes):
        return _without_shorter(dito, cliente)
    found = await _found(nomes, known)
    if found and standing.valor in {each.documento for each in found[1].possiveis}:
        return dito
    if found:
        return _with(dito, *found)
    said = () if any(c.campo is Campo.NOME for c in dito.candidates) else (_name(until_number(nomes[0])),)
    return replace(dito, candidates=(*dito.candidates, *said), clear=dito.clear | {Campo.DOCUMENTO})


def _standing(rascunho: Rascunho) -> Lido | None:
    return rascunho.documento if rascunho.documento.status is StatusCampo.VALIDATED else None


def _who_stands(rascunho: Rascunho, known: Sequence[Cliente]) -> Cliente:
    """Return the customer of the draft under all names: the register's, what the person said, our records'."""
    documento = rascunho.validado(Campo.DOCUMENTO) or ""
    ours = [nome for cliente in known if cliente.documento == documento for nome in cliente.nomes]
    nomes = (rascunho.tomador_nome, rascunho.validado(Campo.NOME), *ours)
    return Cliente(documento, None, tuple(dict.fromkeys(nome for nome in nomes if nome)))


def _without_shorter(dito: Informou, cliente: Cliente) -> Informou:
    """Leave out a part of the standing customer's name: a fuller name is worth more, and a shorter one less."""
    shorter = {c for c in dito.candidates if c.campo is Campo.NOME and is_called(c.valor, cliente, fuller=False)}
    return replace(dito, candidates=tuple(c for c in dito.candidates if c not in shorter))


def _name(nome: str) -> Candidate:
    return Candidate(Campo.NOME, nome, nome, confianca=Confianca.PROVAVEL)


async def _found(nomes: Sequence[str], known: Sequence[Cliente]) -> tuple[str, Clientes] | None:
    """Return whom the names mean, and the first that means anybody; where they mean several, none is clear."""
    found = []
    for trecho in dict.fromkeys(map(until_number, nomes[:NAMES])):
        await asyncio.sleep(0)  # others have their turn between two names
        if (clientes := find_client(trecho, known)).possiveis:
            found.append((trecho, clientes))
    if not found:
        return None
    possiveis = tuple(dict.fromkeys(cliente for _, clientes in found for cliente in clientes.possiveis))
    return found[0][0], Clientes(possiveis, certo=len(possiveis) == 1 and all(one.certo for _, one in found))


def _with(dito: Informou, trecho: str, found: Clientes) -> Informou:
    if not found.certo:
        several = len(found.possiveis) > 1
        doubt = Doubt(
            Campo.DOCUMENTO,
            Motivo.VARIOS if several else Motivo.AMBIGUO,
            trecho,
            quais_clientes(found.possiveis),
            tuple(cliente.documento for cliente in found.possiveis),
            nomes=tuple((c.documento, c.nome) for c in found.possiveis[:LEITURAS_MAX] if c.nome),
        )
        return replace(dito, doubts=(*dito.doubts, doubt))
    [cliente] = found.possiveis
    others = tuple(c for c in dito.candidates if c.campo is not Campo.NOME)
    filled = [Candidate(Campo.DOCUMENTO, cliente.documento, trecho, Origem.CADASTRO, Confianca.PROVAVEL)]
    if cliente.nome:
        filled.append(Candidate(Campo.NOME, cliente.nome, trecho, Origem.CADASTRO, Confianca.PROVAVEL))
    return replace(dito, candidates=(*others, *filled))
