"""Adds to what was said the client whom a name means, among the clients of the very company that would issue."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.fields.clients import Clientes, find_client, recipients, until_number
from persistence.people import clients
from state_machine.catalogue.memory_texts import quais_clientes
from state_machine.invoice.draft import LEITURAS_MAX, StatusCampo
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.machine.events import Conversou, Informou

if TYPE_CHECKING:
    from bot.conversation.inbound import Palavras
    from persistence.db.engine import Database
    from state_machine.invoice.draft import Rascunho
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
        if Campo.DOCUMENTO in {*(c.campo for c in dito.candidates), *(d.campo for d in dito.doubts)}:
            return dito
        standing = rascunho.documento if rascunho.documento.status is StatusCampo.VALIDATED else None
        if standing and standing.origem is not Origem.CADASTRO:
            return dito  # the person gave it: a name does not change it
        nomes = [c.trecho for c in dito.candidates if c.campo is Campo.NOME and c.confianca is not Confianca.DUVIDOSA]
        if standing is None:  # whoever else the words name may be the one that is meant
            nomes += [nome for escrita in dito.escritas for nome in recipients(escrita.texto)]
        if not nomes:
            return dito
        found = await self._find(empresa_id, nomes)
        if standing is None:
            return _with(dito, *found) if found else dito
        if found is None:  # the client that was found by name is not the one named now
            return replace(dito, clear=dito.clear | {Campo.DOCUMENTO})
        same = standing.valor in {cliente.documento for cliente in found[1].possiveis}
        return dito if same else _with(dito, *found)

    async def _find(self, empresa_id: int, nomes: list[str]) -> tuple[str, Clientes] | None:
        """Return whom the names mean, and the first that means anybody; where they mean several, none is clear."""
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id)
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
