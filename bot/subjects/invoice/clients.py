"""Adds to what was said the client whom a name means, among the clients of the very company that would issue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.fields.clients import find_client, recipients, until_number
from persistence.people import clients
from state_machine.catalogue.memory_texts import NOMEADOS, quais_clientes
from state_machine.invoice.draft import StatusCampo
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.machine.events import Conversou, Informou

if TYPE_CHECKING:
    from bot.conversation.inbound import Palavras
    from extractor.fields.clients import Clientes
    from persistence.db.engine import Database
    from state_machine.invoice.draft import Rascunho
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao


class ClientFinder:
    """Looks names up in the records of a company; no name is looked up where a document was said."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def answered(self, evento: Evento, sessao: Sessao | None, palavras: Palavras, empresa_id: int) -> Evento:
        """Return words without data as the client's name, where that is what we asked for and they are one."""
        if not isinstance(evento, Conversou) or sessao is None or sessao.pendente is not Campo.DOCUMENTO:
            return evento
        nomes = recipients(palavras.texto) or [palavras.texto]
        found = await self._find(empresa_id, nomes[:1])
        if found is None:
            return evento
        return _with(Informou(escritas=palavras.escritas), *found)

    async def named(self, dito: Informou, rascunho: Rascunho, empresa_id: int) -> Informou:
        """Return what was said with the client's document where the name is clear, with a question where it is not."""
        if Campo.DOCUMENTO in {*(c.campo for c in dito.candidates), *(d.campo for d in dito.doubts)}:
            return dito
        standing = rascunho.documento if rascunho.documento.status is StatusCampo.VALIDATED else None
        if standing and standing.origem is not Origem.CADASTRO:
            return dito  # the person gave it: a name does not change it
        nomes = [c.trecho for c in dito.candidates if c.campo is Campo.NOME and c.confianca is not Confianca.DUVIDOSA]
        if not nomes and standing is None:
            nomes = [nome for escrita in dito.escritas for nome in recipients(escrita.texto)]
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
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id)
        for nome in nomes:
            trecho = until_number(nome)
            found = find_client(trecho, known)
            if found.possiveis:
                return trecho, found
        return None


def _with(dito: Informou, trecho: str, found: Clientes) -> Informou:
    if not found.certo:
        several = len(found.possiveis) > 1
        doubt = Doubt(
            Campo.DOCUMENTO,
            Motivo.VARIOS if several else Motivo.AMBIGUO,
            trecho,
            quais_clientes(found.possiveis),
            tuple(cliente.documento for cliente in found.possiveis[:NOMEADOS]),
        )
        return replace(dito, doubts=(*dito.doubts, doubt))
    [cliente] = found.possiveis
    others = tuple(c for c in dito.candidates if c.campo is not Campo.NOME)
    filled = [Candidate(Campo.DOCUMENTO, cliente.documento, trecho, Origem.CADASTRO, Confianca.PROVAVEL)]
    if cliente.nome:
        filled.append(Candidate(Campo.NOME, cliente.nome, trecho, Origem.CADASTRO, Confianca.PROVAVEL))
    return replace(dito, candidates=(*others, *filled))
