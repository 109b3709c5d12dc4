"""Adds to what was said the client whom a name means, among the clients of the very company that would issue.

Takes data over from earlier invoices: a draft like one of them, and what is usual for a client.

Measures a MEI's year against its limit; another company has no meter.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any, Protocol

from bot.conversation.inbound import Palavras
from bot.conversation.subject import Customers
from bot.orders.accept import remembered
from extractor.fields.clients import (
    PART_OF_NAME,
    Clientes,
    find_client,
    heads,
    is_called,
    is_recipient,
    recipients,
    recipients_of_order,
    until_number,
)
from extractor.requests.cancellation import PorCliente, PorNumero, PorValor, Qual, Ultima, similar
from extractor.requests.cancellation import request as cancellation
from extractor.requests.requests import as_number
from extractor.text.folding import written_out
from gateway.register import CompanyEntry
from persistence.db.engine import Database
from persistence.fiscal import history
from persistence.people import clients
from persistence.people.companies import Empresa
from state_machine.catalogue.records import aviso_mei
from state_machine.catalogue.requests import SERVICO, NotaListada
from state_machine.catalogue.texts import memory as textos
from state_machine.catalogue.texts.memory import quais_clientes
from state_machine.invoice.choices import Cliente, Costume
from state_machine.invoice.draft import LEITURAS_MAX, VAZIO, Lido, Rascunho, StatusCampo, Substituida, ler
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from state_machine.invoice.session import Mensagem, Sessao
from state_machine.invoice.summary import sem_substituir, sem_troca
from state_machine.machine.events import Abriu, Conversou, Evento, Informou
from state_machine.protocol.channel import NATIONAL_LIST
from state_machine.values.local_time import MesOuAno
from state_machine.values.money import LimitesMei, Medidor, medidor

_WHO = re.compile(r"\b(?:quem (?:que )?(?:eh|e|era) (?:mesmo )?|qual (?:eh |e )?)(?:o |esse )?(?:cliente|tomador)\b")
_WHOSE = re.compile(
    r"\b(?:cnpj|cpf|documento) d[aeo]s? (?!(?:cliente|tomador|empresa|minha|meu|prosa|nota)\b)"
    r"(?P<nome>[a-z][a-z ]{1,40}?)\W*$"
)
_CLAUSE = re.compile(r"[,;\n]|\d\S*|\bnotas?\b", re.IGNORECASE)
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
        if not (nomes := names_said(dito, rascunho) or _clauses(dito, rascunho)):
            return dito
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id, _looked_up(nomes), rascunho.documento.valor)
        return await with_customer(dito, rascunho, known)

    async def _find(self, empresa_id: int, nomes: list[str]) -> tuple[str, Clientes] | None:
        async with self._database.alone() as connection:
            known = await clients.of_company(connection, empresa_id, _looked_up(nomes))
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
    if standing is None:
        found = await _found(nomes, known)
        return _with(dito, *found) if found else await _with_head(dito, rascunho, known)
    if not nomes:
        return dito
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


def _clauses(dito: Informou, rascunho: Rascunho) -> list[str]:
    """Return the clauses of an order in which a client may stand without a "pra": "padaria, 1.2k, logo novo"."""
    priced = Campo.VALOR in {*(c.campo for c in dito.candidates), *(d.campo for d in dito.doubts)}
    known = {*(c.campo for c in dito.candidates), *(d.campo for d in dito.doubts)}
    if not priced or Campo.DOCUMENTO in known or rascunho.documento != VAZIO:
        return []
    said = [c.trecho for c in dito.candidates if c.campo in {Campo.NOME, Campo.DESCRICAO}]
    behind = [each for escrita in dito.escritas for each in recipients(written_out(escrita.texto))]
    clauses = [each for escrita in dito.escritas for each in _CLAUSE.split(escrita.texto)]
    return [each.strip() for each in (*behind, *said, *clauses) if each.strip()][:NAMES]


async def _with_head(dito: Informou, rascunho: Rascunho, known: Sequence[Cliente]) -> Informou:
    """Ask about a client with whose name a clause begins; what follows it there is the service."""
    for said in _clauses(dito, rascunho):
        for head in heads(said):
            await asyncio.sleep(0)  # others have their turn between two names
            found = find_client(head, known)
            if found.possiveis:
                return _with(_without_head(dito, head, rascunho), head, replace(found, certo=False))
    return dito


def _without_head(dito: Informou, head: str, rascunho: Rascunho) -> Informou:
    """Give to the service what stands behind the client's name in the same clause, or in the only other one."""
    kept, service = [], None
    for each in dito.candidates:
        rest = each.valor.removeprefix(head).strip()
        if each.campo not in {Campo.NOME, Campo.DESCRICAO} or rest == each.valor:
            kept.append(each)
        elif rest:
            service = rest
    if any(c.campo is Campo.DESCRICAO for c in kept):
        return replace(dito, candidates=tuple(kept))
    if service is None and rascunho.descricao == VAZIO:
        prices = {*(c.trecho for c in dito.candidates), *(d.trecho for d in dito.doubts)}
        clauses = [part.strip() for each in dito.escritas for part in re.split(r"[,;\n]", each.texto)]
        others = [part for part in clauses if part and part != head and part not in prices]
        service = others[0] if len(others) == 1 and not any(map(str.isdigit, others[0])) else None
    if service is not None:
        kept.append(Candidate(Campo.DESCRICAO, service, service, confianca=Confianca.PROVAVEL))
    return replace(dito, candidates=tuple(kept))


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


def _looked_up(nomes: Sequence[str]) -> list[str]:
    return [*dict.fromkeys(map(until_number, nomes[:NAMES]))]


async def _found(nomes: Sequence[str], known: Sequence[Cliente]) -> tuple[str, Clientes] | None:
    """Return whom the names mean, and the first that means anybody; where they mean several, none is clear."""
    found = []
    for trecho in _looked_up(nomes):
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

    async def clients(self, nome: str) -> Sequence[Cliente]:
        """The company's own clients among whom those called so are."""
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
    return textos.com_oferta(resposta, notas[0]) if notas and notas[0].tipo == SERVICO else resposta


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


def _opening(nota: NotaListada) -> Abriu | Mensagem:
    """Return a draft like a service's note; of goods a note alone does not tell the products, so none is made."""
    return Abriu(like(nota), igual_a=nota.numero) if nota.tipo == SERVICO else textos.sem_repetir_produtos(nota)


async def usual(memory: Usual, rascunho: Rascunho, marca: str) -> Informou | Conversou:
    """Return what is missing as the client's usual; words that tell nothing, where that is not what was offered."""
    costume = await memory.usual(rascunho.validado(Campo.DOCUMENTO) or "")
    oferta = costume.preenche(rascunho) if costume and costume.marca == marca else {}
    ditos = tuple(Candidate(campo, valor, valor, Origem.CADASTRO) for campo, valor in oferta.items())
    return Informou(ditos) if ditos else Conversou()


async def clients_named(memory: Notes, nome: str) -> Clientes:
    """Return the company's clients of this name, of which a word is enough: it is of an invoice that exists."""
    return find_client(nome, await memory.clients(nome), fills=PART_OF_NAME)


def which_note(alvo: str | None) -> PorNumero | PorValor | PorCliente | Ultima | Qual | None:
    """Return the note that a model's words for it name: "a 12", "essa", "da padaria"."""
    return (cancellation(f"cancelar {alvo}") or cancellation(f"cancelar a nota {alvo}")) if alvo else None


def is_meant(which: PorNumero | PorValor | PorCliente | Ultima | Qual, nota: NotaListada) -> bool:
    """Tell whether the note is one that these words mean."""
    match which:
        case PorNumero(numero):
            return as_number(numero) == nota.numero
        case PorValor(valor):
            return valor == nota.valor
        case PorCliente(nome):
            return bool(similar(nome, [nota.nome]))
        case _:
            return True


async def notes_told(memory: Notes, nome: str | None) -> Sequence[NotaListada]:
    """Return the newest note, or the newest that stands of each client who may be named; none of nobody's."""
    if not nome:
        return await memory.notes(1)
    found = (await clients_named(memory, nome)).possiveis[:NAMES]
    return [nota for each in found for nota in await memory.notes(1, documento=each.documento, valem=True)]


async def about_client(plain: str, memory: Notes, ativa: Sessao | None) -> str | None:
    """Return what is known of the open invoice's client, or of one of the company's, where that is asked."""
    rascunho = ativa.rascunho if ativa else Rascunho()
    documento = rascunho.validado(Campo.DOCUMENTO)
    if documento and _WHO.search(plain):
        return textos.e_o_cliente(Cliente(documento, rascunho.tomador_nome))
    named = _WHOSE.search(plain)
    found = await clients_named(memory, named["nome"]) if named else None
    return textos.documentos_de(found.possiveis) if found and found.possiveis else None


def like(nota: NotaListada) -> Rascunho:
    """Return a draft with the customer, the amount and the service of an invoice, checked by the rules of today."""
    rascunho = _taken(Rascunho(), Campo.DOCUMENTO, nota.documento)
    rascunho = _taken(rascunho, Campo.VALOR, str(nota.valor))
    rascunho = _taken(rascunho, Campo.DESCRICAO, nota.descricao)
    return _taken(rascunho, Campo.NOME, nota.nome) if nota.nome else rascunho


def _taken(rascunho: Rascunho, campo: Campo, valor: str) -> Rascunho:
    return rascunho.com(campo, ler(Candidate(campo, valor, valor, Origem.CADASTRO)))


class MeiMeter:
    """Counts the notes that we know; the opening is the public register's, as far as it is known."""

    def __init__(self, database: Database, customers: Customers, limites: LimitesMei) -> None:
        self._database = database
        self._customers = customers
        self._limites = limites

    async def of(self, empresa: Empresa, hoje: date) -> Medidor | None:
        """Return the meter of a company on a day, ``None`` for one that is no MEI; asks the register if it must."""
        if empresa.regime != "mei":
            return None
        entry = await self._customers.find(empresa.cnpj)
        async with self._database.alone() as connection:
            emitido = await history.total_issued(connection, empresa.id, MesOuAno(hoje.year))
        return self._measured(empresa, hoje.year, emitido, entry)

    async def after(self, emissao_id: int, hoje: date) -> str | None:
        """Return what to add to the news of a note, ``None`` below the threshold; asks nobody."""
        async with self._database.alone() as connection:
            empresa = await history.issuer_of(connection, emissao_id)
            if empresa is None or empresa.regime != "mei":
                return None
            emitido = await history.total_issued(connection, empresa.id, MesOuAno(hoje.year))
            entry = await remembered(connection, empresa.cnpj)
        return aviso_mei(self._measured(empresa, hoje.year, emitido, entry))

    def _measured(self, empresa: Empresa, ano: int, emitido: Decimal, entry: CompanyEntry | None) -> Medidor:
        limite = self._limites.transporte if empresa.mei_transporte else self._limites.geral
        return medidor(limite, ano, emitido, _opened_on(entry.raw) if entry else None)


def _opened_on(raw: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(raw.get("data_inicio_atividade")))
    except ValueError:
        return None
