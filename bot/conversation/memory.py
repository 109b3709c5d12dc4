"""What a conversation remembers, asked of the database as a turn needs it.

Reads an answer about the customer's address, and has its CEP say what the person left out.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import reduce
from typing import Final

from bot.conversation.inbound import Palavras
from bot.ports import CepLookup
from extractor.text.folding import read
from extractor.utterance import MISTAKE
from gateway.register import CepEntry, NotFound
from persistence.conversations import handoff, snapshots
from persistence.conversations.snapshots import Mudanca, Ouvida
from persistence.db.engine import Database
from persistence.fiscal import attempts, cancellations, history, issued, notes
from persistence.fiscal.notes import Quais
from persistence.people import clients
from persistence.people.companies import Empresa
from state_machine.catalogue.records import DeCliente, Emitida, Emitidas
from state_machine.catalogue.requests import NotaListada
from state_machine.catalogue.texts import address as texts
from state_machine.catalogue.texts.cancellation import DE_BOTAO, o_errado
from state_machine.invoice.choices import Cliente, Costume
from state_machine.invoice.draft import LEITURAS_MAX, VAZIO, Rascunho, StatusCampo
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.invoice.session import Estado, Sessao
from state_machine.machine.events import Conversou, Encaminhou, Evento, Informou, Negou, PediuCorrecao
from state_machine.services.codes import Onde, Servico, onde
from state_machine.values.address import EnderecoDito, cities_named, read_address, read_more
from state_machine.values.local_time import MesOuAno
from state_machine.values.money import Medidor

Meter = Callable[[Empresa, date], Awaitable[Medidor | None]]


class ConversationMemory:
    """What ``plan`` may ask about a conversation, one statement each."""

    def __init__(
        self,
        database: Database,
        conversa: str,
        empresa: Empresa,
        ativa: Sessao | None,
        mei: Meter,
        *,
        mails: bool,
    ) -> None:
        self._database = database
        self._conversa = conversa
        self.empresa = empresa
        self._empresa_id = empresa.id
        self._mei = mei
        self.ativa = ativa
        self.mails = mails
        self._latest: tuple[tuple[Sessao, datetime] | None] | None = None  # once it was asked for

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        async with self._database.alone() as connection:
            return await snapshots.load(connection, self._conversa, sessao_id)

    async def latest(self) -> tuple[Sessao, datetime] | None:
        """The newest session and when it last changed."""
        if self._latest is None:
            async with self._database.alone() as connection:
                self._latest = (await snapshots.latest(connection, self._conversa),)
        return self._latest[0]

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data up."""
        async with self._database.alone() as connection:
            return await snapshots.repaired(connection, sessao_id)

    async def stopped(self, sessao: Sessao) -> bool:
        """Whether the session's invoice waits for its person's word."""
        async with self._database.alone() as connection:
            return await attempts.waits_for_person(connection, sessao.sessao_id, sessao.revisao)

    async def cancelled(self, sessao: Sessao) -> bool:
        """Whether the session's invoice was issued, and is cancelled."""
        async with self._database.alone() as connection:
            return await issued.is_cancelled(connection, sessao.sessao_id)

    async def refused_instead(self, sessao: Sessao) -> Sessao | None:
        """The newest session of which a refused invoice should have taken the place of this one's note."""
        async with self._database.alone() as connection:
            found = await issued.refused_instead(connection, sessao.sessao_id)
        return await self.load(found) if found else None

    async def wrong(self, sessao: Sessao) -> str | None:
        """What its person said to be wrong with the session's cancelled note, ``None`` where nothing was told."""
        async with self._database.alone() as connection:
            motivo = await cancellations.reason(connection, sessao.sessao_id)
        if not motivo or motivo in DE_BOTAO:
            return None
        return o_errado(motivo) or (motivo if MISTAKE.search(read(motivo).plain) else None)

    async def notes(
        self,
        limit: int,
        *,
        numero: str | None = None,
        autorizadas: bool = True,
        emissao_id: int | None = None,
        documento: str | None = None,
        valem: bool = False,
    ) -> list[NotaListada]:
        """This conversation's newest invoices of the company for which it issues now, newest first; nobody else's.

        Only those of a number, an emission or a client, where one is given; with ``valem`` no cancelled ones.
        """
        quais = Quais(numero, emissao_id, documento, autorizadas=autorizadas or valem, valem=valem)
        async with self._database.alone() as connection:
            return await notes.listed(connection, self._conversa, self._empresa_id, limit, quais)

    async def clients(self, nome: str) -> list[Cliente]:
        """The clients of the company for which the conversation issues now, among whom those called so are."""
        async with self._database.alone() as connection:
            return await clients.of_company(connection, self._empresa_id, [nome])

    async def email_of(self, documento: str) -> str | None:
        """The address that a client of the company is known by."""
        async with self._database.alone() as connection:
            return await clients.email_of(connection, self._empresa_id, documento)

    async def issued(self, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
        """The company's authorised notes of a period that stand, by their day of issue; one client's, or all."""
        async with self._database.alone() as connection:
            return await history.issued(connection, self._empresa_id, periodo, documento)

    async def largest(self, periodo: MesOuAno, documento: str | None = None) -> Emitida | None:
        """The largest of the same notes."""
        async with self._database.alone() as connection:
            return await history.largest(connection, self._empresa_id, periodo, documento)

    async def of_clients(self, periodo: MesOuAno) -> list[DeCliente]:
        """Whom the same notes are to, with how many and their sum."""
        async with self._database.alone() as connection:
            return await history.of_clients(connection, self._empresa_id, periodo)

    async def issued_in(self, mes: MesOuAno) -> bool:
        """Whether the company has a note of this month's competence, cancelled or not."""
        async with self._database.alone() as connection:
            return bool(await history.closing(connection, self._empresa_id, mes, 1))

    async def called(self) -> bool:
        """Whether somebody of the staff was asked for, and nobody came yet."""
        async with self._database.alone() as connection:
            return await handoff.is_asked(connection, self._conversa)

    async def mei(self, hoje: date) -> Medidor | None:
        """How much of a MEI's limit the company used this year, ``None`` if it is none."""
        return await self._mei(self.empresa, hoje)

    async def usual(self, documento: str) -> Costume | None:
        """What the company usually invoices to a client."""
        async with self._database.alone() as connection:
            return await history.usual(connection, self._empresa_id, documento)

    async def heard(self, wamid: str) -> Ouvida:
        """What is known of a message that came before."""
        async with self._database.alone() as connection:
            return await snapshots.heard(connection, self._conversa, wamid)

    async def changes(self, wamids: Collection[str]) -> list[Mudanca]:
        """Every notice so far that one of these messages was edited or deleted."""
        async with self._database.alone() as connection:
            return await snapshots.changes(connection, self._conversa, wamids)


_NAMED: Final = {
    Campo.ENDERECO: re.compile(r"\b(?:endereco|cep)\b"),
    Campo.LOCAL: re.compile(r"\b(?:local|lugar|cidade|obra|evento|foi em|feit[oa] em)\b"),
}
_BESIDE: Final = frozenset(  # what words of an address are read as, too
    {Campo.DESCRICAO, Campo.NOME} | {c for c, row in FIELDS.items() if row.kind in {FieldKind.MES, FieldKind.DIA}}
)
_CNO: Final = re.compile(r"\b(?:cno|cei)\W{0,3}([0-9]{2}\.?[0-9]{3}\.?[0-9]{5}/?[0-9]{2})(?![0-9])", re.IGNORECASE)
_SPAN: Final = re.compile(  # "de 20 a 22/11", "28/10 até 2/11/2026"
    r"(?:\b(?:d[eo]|dias?) ){0,2}\b(?P<first>[0-9]{1,2})(?:/(?P<begins>[0-9]{1,2})(?:/[0-9]{2,4})?)?"
    r" ?(?:-|ao?|at[ée])(?: o)?(?: dia)? ?(?P<last>[0-9]{1,2})/(?P<month>[0-9]{1,2})(?:/[0-9]{2,4})?(?![/0-9])",
    re.IGNORECASE,
)
_EVENT: Final = re.compile(r"^(?:o )?(?:nome do )?evento\s?(?:[:=]|é|foi|se chama)\s?(.{2,200})$", re.IGNORECASE)
_STREET: Final = re.compile(  # in an order: a kind of street, its name and a number
    r"\b(?:rua|r\.|av\.?|avenida|al\.|alameda|travessa|tv\.|rodovia|rod\.|estrada|pra[cç]a|largo|viela|beco)\s"
    r"[^\n,;:0-9]{2,60}?,?\s(?:n[º°o.]{0,2}\s?)?[0-9]{1,6}\b(?![.,]?[0-9])",
    re.IGNORECASE,
)


async def as_address(
    evento: Evento, sessao: Sessao | None, palavras: Palavras, cep_register: CepLookup
) -> Informou | None:
    """Return the address that words say, or complete: the customer's, or that of the work; else ``None``.

    They answer the question about it, and correct by its name one that stands in a summary.
    """
    if sessao is None or not isinstance(evento, Informou | Conversou | PediuCorrecao | Encaminhou | Negou):
        return None
    if sessao.rascunho.onde is not None and (named := _named(sessao.rascunho, palavras)) is not None:
        return named
    campo = _asked(sessao, read(palavras.texto).plain)
    if campo is None:
        return None
    if sessao.rascunho.onde is Onde.EVENTO and isinstance(evento, Informou):
        evento = _with_days(evento)
    dias = _days(evento) if campo is Campo.LOCAL else ()
    texto = reduce(lambda text, dia: text.replace(dia.trecho, ","), dias, palavras.texto)
    lido = sessao.rascunho.campo(campo)
    antes = read_address(lido.valor or lido.escrito or "")
    if campo is Campo.LOCAL:
        if (cidade := _city(sessao.rascunho, texto, palavras)) is not None:
            return replace(cidade, candidates=(*cidade.candidates, *dias))
        if not antes.logradouro and not antes.cep:  # a city alone that stood is no part of another address
            antes = EnderecoDito()
    dito = read_more(antes, texto)
    again = lido.status is StatusCampo.INVALID and read_address(texto).cep  # its CEP may be answered by now
    if (dito == antes and not again) or not (_about_it(evento) or _says(texto)):
        return Informou(dias, escritas=palavras.escritas) if dias and sessao.pendente is campo else None
    told = await _told(campo, replace(dito, codigo_cidade=""), palavras, cep_register)
    return replace(told, candidates=(*told.candidates, *dias))


async def with_delivery(dito: Informou, rascunho: Rascunho, uf: str, cep_register: CepLookup) -> Informou:
    """Return what an order of goods says with the customer's address in it; of another state than ``uf`` it is none."""
    of_goods = rascunho.itens != VAZIO or any(c.campo is Campo.ITENS for c in dito.candidates)
    if not of_goods:
        return dito
    told = {c.campo for c in dito.candidates} | {d.campo for d in dito.doubts}
    in_hand = any(c.campo is Campo.MODELO and c.valor == "nfce" for c in dito.candidates)
    texto = "\n".join(escrita.texto for escrita in dito.escritas)
    street = _STREET.search(texto)
    if street and Campo.ENDERECO not in told and rascunho.endereco == VAZIO and not in_hand:
        said = read_more(EnderecoDito(), texto[street.start() :])
        palavras = Palavras(texto[street.start() :], None, dito.escritas)
        address = await _told(Campo.ENDERECO, replace(said, codigo_cidade=""), palavras, cep_register)
        dito = replace(dito, candidates=(*dito.candidates, *address.candidates), doubts=(*dito.doubts, *address.doubts))
    places = [c.valor for c in dito.candidates if c.campo is Campo.ENDERECO]
    places += [d.trecho for d in dito.doubts if d.campo is Campo.ENDERECO]
    elsewhere = next((at for each in places if (at := read_address(each).estado) not in {"", uf}), None)
    if not uf or elsewhere is None:
        return dito
    doubt = Doubt(Campo.ENDERECO, Motivo.NAO_CABE, places[0], texts.outro_estado(elsewhere, uf))
    candidates = tuple(c for c in dito.candidates if c.campo is not Campo.ENDERECO)
    doubts = (*(d for d in dito.doubts if d.campo is not Campo.ENDERECO), doubt)
    return replace(dito, candidates=candidates, doubts=doubts)


async def with_place(
    dito: Informou, rascunho: Rascunho, servicos: Sequence[Servico], cep_register: CepLookup
) -> Informou:
    """Return what an order says with the address of the work in it, where one of the company's codes asks for one.

    An event's first and last day are read where all of them are of events.
    """
    if {onde(each.codigo) for each in servicos} == {Onde.EVENTO}:
        dito = _with_days(dito)
    if rascunho.local != VAZIO or not {onde(each.codigo) for each in servicos} & {Onde.OBRA, Onde.EVENTO}:
        return dito
    texto = "\n".join(escrita.texto for escrita in dito.escritas)
    street = _STREET.search(texto)
    if street is None:
        return dito
    cep = read_address(texto).cep
    palavras = Palavras(texto, None, dito.escritas)
    said = await _told(Campo.LOCAL, replace(read_address(street[0]), cep=cep), palavras, cep_register)
    return replace(dito, candidates=(*dito.candidates, *said.candidates), doubts=(*dito.doubts, *said.doubts))


def _asked(sessao: Sessao, texto: str) -> Campo | None:
    """Return which address the words may be about."""
    shown = sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    for campo, named in _NAMED.items():
        stands = sessao.rascunho.campo(campo) != VAZIO
        if sessao.pendente is campo or (shown and stands and named.search(texto)):
            return campo
    waits = sessao.pendente is Campo.DATA and Campo.LOCAL in sessao.rascunho.faltam
    return Campo.LOCAL if waits else None


def _named(rascunho: Rascunho, palavras: Palavras) -> Informou | None:
    """Return the number of a building site, or the name of an event, where words say just that."""
    if rascunho.onde is Onde.OBRA and (found := _CNO.search(palavras.texto)):
        return Informou((Candidate(Campo.OBRA, found[1], palavras.texto),), escritas=palavras.escritas)
    if rascunho.onde is Onde.EVENTO and (called := _EVENT.match(palavras.texto.strip())):
        return Informou((Candidate(Campo.EVENTO, called[1].strip(), palavras.texto),), escritas=palavras.escritas)
    return None


def _days(evento: Evento) -> tuple[Candidate, ...]:
    if not isinstance(evento, Informou):
        return ()
    return tuple(c for c in evento.candidates if c.campo in {Campo.DATA, Campo.FIM})


def _with_days(dito: Informou) -> Informou:
    """Return what was said with the first and the last day of an event, where a span of days was read as its month."""
    texto = "\n".join(escrita.texto for escrita in dito.escritas)
    for said in dito.candidates:
        found = _SPAN.search(texto) if said.campo is Campo.COMPETENCIA else None
        if found is None or said.trecho not in found[0] or int(found["month"]) != int(said.valor[-2:]):
            continue
        year, month, begins = int(said.valor[:4]), int(found["month"]), int(found["begins"] or found["month"])
        try:
            days = date(year - (begins > month), begins, int(found["first"])), date(year, month, int(found["last"]))
        except ValueError:
            continue
        first, last = (replace(said, valor=day.isoformat(), trecho=found[0]) for day in days)
        others = [c for c in dito.candidates if c is not said]
        days_said = (replace(first, campo=Campo.DATA), replace(last, campo=Campo.FIM))
        return replace(dito, candidates=(*others, *days_said)) if days[0] <= days[1] else dito
    return dito


def _city(rascunho: Rascunho, texto: str, palavras: Palavras) -> Informou | None:
    """Return the city that words are the name of, where a city is enough; ``None`` for other words."""
    found = cities_named(_OF_THE_PLACE.sub("", texto.strip()))
    enough = rascunho.onde is not Onde.EVENTO and (rascunho.onde is not Onde.OBRA or rascunho.tem_cno)
    if not found or not enough:
        return None
    if len(found) == 1:
        return Informou((Candidate(Campo.LOCAL, str(found[0]), palavras.texto),), escritas=palavras.escritas)
    leituras = tuple(map(str, found[:LEITURAS_MAX]))
    doubt = Doubt(Campo.LOCAL, Motivo.VARIOS, palavras.texto, leituras=leituras)
    return Informou((), (doubt,), escritas=palavras.escritas)


_OF_THE_PLACE: Final = re.compile(
    r"^(?:(?:o|a) )?(?:local|lugar|cidade)(?: d[aoe] (?:servi[cç]o|obra))?\s?(?:[:=]|é|foi|era)?\s?", re.IGNORECASE
)


def _about_it(evento: Evento) -> bool:
    """Tell whether the words gave nothing else that an invoice has."""
    if not isinstance(evento, Informou):
        return True
    return {c.campo for c in evento.candidates} | {d.campo for d in evento.doubts} | evento.clear <= _BESIDE


def _says(texto: str) -> bool:
    dito = read_address(texto)
    return dito.is_certain or dito == EnderecoDito(numero=dito.numero)


async def _told(campo: Campo, dito: EnderecoDito, palavras: Palavras, cep_register: CepLookup) -> Informou:
    found = await cep_register.lookup(dito.cep) if dito.cep else None
    if isinstance(found, CepEntry):
        if not _same_place(dito, found):
            outra = texts.outra_cidade(dito, found.cidade, found.estado)
            return _asks(campo, dito, palavras, Motivo.AMBIGUO, outra)
        dito = EnderecoDito(
            logradouro=dito.logradouro or found.logradouro,
            numero=dito.numero,
            bairro=dito.bairro or found.bairro,
            cidade=found.cidade,
            estado=found.estado,
            cep=found.cep,
            complemento=dito.complemento,
            codigo_cidade=found.codigo_cidade,
        )
    elif isinstance(found, NotFound):
        return _asks(campo, replace(dito, cep=""), palavras, Motivo.AMBIGUO, texts.sem_cep(dito.cep))
    if dito.faltam:
        return _asks(campo, dito, palavras, Motivo.INCOMPLETO, texts.faltam(dito).rstrip("."))
    if found is None or not isinstance(found, CepEntry):
        return _asks(campo, dito, palavras, Motivo.AMBIGUO, texts.SEM_RESPOSTA)
    try:
        whole = read_address(FIELDS[campo].check(str(dito)))
    except ValueError:
        whole = None
    if whole is None or whole.codigo_cidade != dito.codigo_cidade:
        return _asks(campo, dito, palavras, Motivo.AMBIGUO, texts.CONFUSO)
    return Informou((Candidate(campo, str(dito), palavras.texto),), escritas=palavras.escritas)


def _same_place(dito: EnderecoDito, found: CepEntry) -> bool:
    cidade = not dito.cidade or read(dito.cidade).plain.strip() == read(found.cidade).plain.strip()
    return cidade and dito.estado in {"", found.estado}


def _asks(campo: Campo, dito: EnderecoDito, palavras: Palavras, motivo: Motivo, detalhe: str) -> Informou:
    """Keep what is known so far in the doubt, where the next answer finds it."""
    known = str(replace(dito, codigo_cidade=""))
    return Informou((), (Doubt(campo, motivo, known, detalhe),), escritas=palavras.escritas)
