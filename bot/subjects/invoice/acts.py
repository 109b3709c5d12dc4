"""The table of answers to speech acts: what is said to each act in each moment of a conversation.

What the words of a turn say to an invoice: one event, or a request that is about something else.

Answers what people ask about invoices already issued.

To add a speech act: a member of ``Ato`` (``extractor/contract.py``), a row that recognises it
(``extractor/requests/recognisers.py``), and its rows in ``ANSWERS``; a test names the pairs of act and moment without.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from secrets import randbelow
from typing import Final, Protocol, assert_never

from bot.conversation.inbound import Palavras
from bot.subjects.invoice.clients import (
    Notes,
    Usual,
    about_client,
    clients_named,
    is_meant,
    notes_told,
    replaceable,
    which_note,
    with_offer,
)
from extractor.contract import Ato, Extraction, RequestKind
from extractor.fields.clients import mentioned
from extractor.requests.cancellation import PorNumero, Qual, Ultima
from extractor.requests.requests import Pedido, as_number
from extractor.text.folding import ABUSE, read
from extractor.utterance import (
    CHANGES,
    COMPLAINT,
    GOOD_NEWS,
    HOW_TO_USE,
    NUMBERED,
    OF_ISSUED,
    SWEARING,
    TAKES_BACK,
    THANKS,
    WAS_WRONG,
    Utterance,
    another_one,
    leaves,
    names_customer,
)
from persistence.conversations.snapshots import Mudanca, Ouvida
from persistence.people.companies import Empresa
from state_machine.catalogue import acts as textos
from state_machine.catalogue import knowledge, messages, records, staff_messages
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.records import DeCliente, Emitida, Emitidas
from state_machine.catalogue.requests import LISTADAS
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import EnviarArquivo, EnviarMes, Estado, Mensagem, Sessao
from state_machine.machine.events import (
    Cancelou,
    Confirmou,
    Conversou,
    Encaminhou,
    Evento,
    Informou,
    Negou,
    PediuAjuda,
    PediuCorrecao,
)
from state_machine.mailing.reading import normalised
from state_machine.protocol.channel import NATIONAL_LIST
from state_machine.values.local_time import MesOuAno
from state_machine.values.money import Medidor

FINAL_WORDS = frozenset({Ato.CONFIRMA, Ato.NEGA})  # they answer us; they ask for nothing


def said(entrada: Palavras, dita: Utterance, proprias: Utterance | None) -> Evento:
    """Return what the words say; those of a forwarded message give data, and decide nothing."""
    leitura = dita.dados
    if entrada.proprias is None:
        return _event(leitura, entrada)
    if leitura.informs:
        return Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=entrada.escritas)
    evento = _event(proprias.dados, entrada) if proprias else Conversou()
    return Encaminhou() if isinstance(evento, Conversou) else evento


def _event(leitura: Extraction, entrada: Palavras) -> Evento:
    informing = leitura.informs
    match leitura.ato:
        case Ato.CONFIRMA if not informing and leitura.agreed in {None, Ato.CONFIRMA}:
            return Confirmou(None, entrada.escrita_em)
        case Ato.NEGA if not informing and leitura.agreed in {None, Ato.RECUSA}:
            return Negou()
        case Ato.RECUSA if leitura.agreed in {None, Ato.RECUSA}:
            return Cancelou(entrada.escrita_em)
        case Ato.PERGUNTA if not informing:
            return PediuAjuda()
        case Ato.CORRIGE if not informing:
            return PediuCorrecao()
        case _ if informing:
            return Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=entrada.escritas)
        case _:
            return Conversou()


def asked(entrada: Palavras, dita: Utterance, proprias: Utterance | None, ativa: Sessao | None) -> Pedido | None:
    """Return what the user asks for in words of their own."""
    if entrada.proprias is None:
        return _request(dita, ativa)
    return None if proprias is None or dita.dados.informs else _request(proprias, ativa)


def _request(dita: Utterance, ativa: Sessao | None) -> Pedido | None:
    """Return what the words ask for when they carry no data of an invoice; "cancela" alone is about the open one.

    Data beside "a mesma" say what differs, unless they are for the invoice that is being made. Without any, words that
    ask for a file ("manda a nota de novo") order no invoice.
    """
    leitura, pedido = dita.dados, dita.pedido
    if pedido and pedido.inteiro and _is_its_own(pedido, leitura, ativa):
        named = (c.valor for c in leitura.candidates if c.campo is Campo.DOCUMENTO)
        return replace(pedido, documento=next(named, None))
    sends = pedido is not None and pedido.tipo is RequestKind.SEGUNDA_VIA and not leitura.informs
    said = {*(c.campo for c in leitura.candidates), *(d.campo for d in leitura.doubts)}
    same = leitura.agreed is Ato.REPETE and Campo.DOCUMENTO not in said  # "a mesma só que 430"
    if (same or leitura.ato is Ato.REPETE) and not sends and not (leitura.informs and begun(ativa)):
        return Pedido(RequestKind.REPETIR, clientes=mentioned(dita.texto))
    if (leitura.informs and not _is_its_own(pedido, leitura, ativa)) or (ativa and leitura.ato in FINAL_WORDS):
        return None
    if leitura.agreed is Ato.PESSOA and pedido is None:
        return Pedido(RequestKind.ATENDENTE)
    if leitura.ato is Ato.RECUSA:
        return pedido if pedido and pedido.tipo in {RequestKind.CANCELAR_NOTA, RequestKind.PARAR} else None
    return pedido


# What a request names may look like data of an invoice: "notas de outubro", "o xml da 12".
_OWN_WORDS = {
    RequestKind.TOTAL: frozenset({Campo.COMPETENCIA, Campo.DATA}),
    RequestKind.MINHAS_NOTAS: frozenset({Campo.COMPETENCIA, Campo.DATA}),
    RequestKind.SEGUNDA_VIA: frozenset({Campo.VALOR}),
}
_CLIENTS_WORDS = frozenset({Campo.NOME, Campo.DESCRICAO})  # a client's name: "segunda via da oficina"
_OWN_WORDS[RequestKind.FECHAMENTO] = _OWN_WORDS[RequestKind.TOTAL] | _CLIENTS_WORDS  # "pro meu contador"


def _is_its_own(pedido: Pedido | None, leitura: Extraction, ativa: Sessao | None) -> bool:
    if pedido and pedido.tipo is RequestKind.EMAIL:  # an address, and a note's number; over a draft it may be its own
        said = {*(c.campo for c in leitura.candidates), *(d.campo for d in leitura.doubts)}
        return said <= {Campo.EMAIL, Campo.VALOR, Campo.NOME} and (pedido.numero is not None or not begun(ativa))
    if pedido is None or leitura.doubts or leitura.clear:
        return False
    said = {c.campo for c in leitura.candidates}
    if pedido.inteiro:
        number = {Campo.VALOR} if pedido.numero else set()
        service = set() if begun(ativa) else {Campo.DESCRICAO}  # over a draft these may be its words
        return said <= _OWN_WORDS[RequestKind.TOTAL] | {Campo.DOCUMENTO, Campo.NOME} | number | service
    if pedido.tipo is RequestKind.SEGUNDA_VIA and pedido.numero is None:
        return bool(pedido.clientes) and said <= _CLIENTS_WORDS
    return said <= _OWN_WORDS.get(pedido.tipo, frozenset())


def begun(ativa: Sessao | None) -> bool:
    """Tell whether an invoice is being made of which something is known."""
    return ativa is not None and ativa.estado is not Estado.COLETA


Answer = str | Mensagem | tuple[EnviarArquivo | EnviarMes, ...]


JUST_ENDED = 10  # days of a month in which an accountant asks for the one before
QUESTIONS = 10**9  # a yes is to one of them: the mail that it lets go goes once
LOOKED_AT = 300  # newest notes among which the end of a number is looked for


class Records(Notes, Protocol):
    """The part of the conversation's memory that is asked here."""

    async def issued(self, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
        """The company's authorised notes of a period that stand; those of one client where its document is given."""
        ...

    async def largest(self, periodo: MesOuAno, documento: str | None = None) -> Emitida | None:
        """The largest of the same notes."""
        ...

    async def of_clients(self, periodo: MesOuAno) -> Sequence[DeCliente]:
        """Whom the same notes are to, with how many and their sum."""
        ...

    async def issued_in(self, mes: MesOuAno) -> bool:
        """Whether the company has a note of this month's competence, cancelled or not."""
        ...

    @property
    def empresa(self) -> Empresa:
        """The company that issues."""
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
        case (
            RequestKind.MINHAS_NOTAS
            | RequestKind.TOTAL
            | RequestKind.FECHAMENTO
            | RequestKind.CLIENTES
            | RequestKind.MAIOR
        ):
            return await _OF_A_PERIOD[pedido.tipo](pedido, memory, hoje)
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
        notas = await memory.notes(LISTADAS, documento=pedido.documento)
        if not notas and pedido.cliente:
            return memory_texts.sem_nota_para(pedido.cliente)
        return pedidos.minhas_notas(notas)
    periodo = pedido.quando.em(hoje)
    return records.lista(periodo, await memory.issued(periodo, pedido.documento), pedido.cliente)


async def _total(pedido: Pedido, memory: Records, hoje: date) -> str:
    periodo = pedido.quando.em(hoje) if pedido.quando else MesOuAno(hoje.year)
    mei = await memory.mei(hoje) if periodo.ano == hoje.year and pedido.documento is None else None
    return records.total(periodo, await memory.issued(periodo, pedido.documento), mei, pedido.cliente)


async def _clients(pedido: Pedido, memory: Records, hoje: date) -> str:
    periodo = pedido.quando.em(hoje) if pedido.quando else MesOuAno(hoje.year)
    return records.clientes(periodo, await memory.of_clients(periodo))


async def _largest(pedido: Pedido, memory: Records, hoje: date) -> str:
    periodo = pedido.quando.em(hoje) if pedido.quando else MesOuAno(hoje.year, hoje.month)
    return records.largest(periodo, await memory.largest(periodo, pedido.documento), pedido.cliente)


async def _month(pedido: Pedido, memory: Records, hoje: date) -> Answer:
    """Return the month that is named; without one this month, in its first days the one that has just ended."""
    este = MesOuAno(hoje.year, hoje.month)
    periodo = pedido.quando.em(hoje) if pedido.quando else este.anterior if hoje.day <= JUST_ENDED else este
    if periodo.mes is None:
        return records.fechamento_por_mes(periodo)
    if not await memory.issued_in(periodo):
        return records.fechamento_vazio(periodo)
    if pedido.contador:
        email = memory.empresa.email_contador if memory.mails else None
        return pedidos.ask_to_mail_month(memory.empresa.id, periodo, email, randbelow(QUESTIONS))
    asked = EnviarMes(memory.empresa.id, periodo.prefixo[:-1])
    return asked, replace(asked, formato="png")


_OF_A_PERIOD: Final[Mapping[RequestKind, Callable[[Pedido, Records, date], Awaitable[Answer]]]] = {
    RequestKind.MINHAS_NOTAS: _list,
    RequestKind.TOTAL: _total,
    RequestKind.FECHAMENTO: _month,
    RequestKind.CLIENTES: _clients,
    RequestKind.MAIOR: _largest,
}


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


MIN_WORDS: Final = 3  # of a question that is one by itself: "já foi?" is about what is at hand


class Momento(StrEnum):
    """Where a conversation stands when somebody speaks."""

    SEM_NOTA = "sem_nota"  # nothing is open, and nothing ended lately
    COLETANDO = "coletando"
    RESUMO = "resumo"  # the summary waits for a yes
    EMITINDO = "emitindo"
    EMITIDA = "emitida"  # lately
    ENCERRADA = "encerrada"  # lately, without a note: refused, given up, expired, with the staff


@dataclass(frozen=True, slots=True)
class Fala:
    """What was said, and when."""

    dita: Utterance
    memory: Memory
    momento: Momento


@dataclass(frozen=True, slots=True)
class ActRow:
    """A row: ``responde`` gives the answer, ``None`` where the data decide after all.

    ``aberto``: the answer ends with what is open. ``dados``: what was said about the invoice is taken first; without
    it an answer never acts. ``retem``: no summary shown so far may be confirmed.
    """

    responde: Callable[[Fala], Awaitable[Mensagem | None]]
    aberto: bool = True
    dados: bool = False
    retem: bool = False


async def moment(memory: Memory, agora: datetime, recente: timedelta) -> Momento:
    """Say where the conversation stands; ``recente``: for so long after its end an invoice still counts."""
    if memory.ativa:
        shown = memory.ativa.estado is Estado.AGUARDANDO_CONFIRMACAO
        return Momento.RESUMO if shown else Momento.COLETANDO
    ultima, quando = await memory.latest() or (None, None)
    if ultima is None or quando is None or agora - quando >= recente:
        return Momento.SEM_NOTA
    match ultima.estado:
        case Estado.PROCESSANDO:
            return Momento.EMITINDO
        case Estado.APROVADO:
            return Momento.EMITIDA
        case _:
            return Momento.ENCERRADA


async def answer_to(
    entrada: Palavras, dita: Utterance, memory: Memory, agora: datetime, recente: timedelta
) -> tuple[Mensagem, ActRow] | None:
    """Return the answer to the act of these words with its row, ``None`` where no row of the table answers it."""
    ato = dita.ato
    if ato is None or (entrada.proprias is not None and ato is not Ato.FISCAL):  # forwarded words only give data
        return None
    momento = await moment(memory, agora, recente)
    linha = ANSWERS.get((ato, momento))
    if linha is None:
        return None
    mensagem = await linha.responde(Fala(dita, memory, momento))
    return (mensagem, linha) if mensagem else None


async def _espera(fala: Fala) -> Mensagem | None:
    if fala.dita.dados.informs:
        return None
    if fala.momento is Momento.EMITINDO:
        return textos.espera_emissao()
    return textos.espera(resumo=fala.momento is Momento.RESUMO, aberta=fala.momento is Momento.COLETANDO)


async def _pergunta(fala: Fala) -> Mensagem | None:
    dados, plain = fala.dita.dados, fala.dita.plain
    if names_customer(dados) or fala.dita.says(HOW_TO_USE):
        return None
    empresa = fala.memory.empresa
    if knowledge.OWN_CNPJ.search(plain):
        return Mensagem(knowledge.own_cnpj(empresa.razao_social, empresa.cnpj))
    if known := await about_client(plain, fala.memory, fala.memory.ativa):
        return Mensagem(known)
    if tema := knowledge.find(plain, empresa.regime):
        return Mensagem(tema.texto)
    if dados.informs:
        return None
    gives_up = dados.ato is Ato.RECUSA  # asked, and so not done
    unknown = dados.ato in {Ato.FORA, Ato.PERGUNTA} and len(plain.split()) >= MIN_WORDS
    asks = gives_up or unknown or dados.agreed is Ato.PERGUNTA
    return textos.nao_sei(imposto=knowledge.TAXES.search(plain) is not None) if asks else None


async def _reclama(fala: Fala) -> Mensagem | None:
    numbered = fala.dita.says(CHANGES) or fala.dita.says(NUMBERED)
    issued = numbered or fala.dita.says(OF_ISSUED)
    if not issued and fala.dita.says(GOOD_NEWS) and not fala.dita.says(COMPLAINT):
        return None
    if fala.memory.ativa is not None and fala.dita.dados.informs and not issued:
        return None  # "o valor tava errado, é 1800" corrects what is open
    if names_customer(fala.dita.dados):
        return None
    if TAKES_BACK.fullmatch(fala.dita.plain):
        return textos.combinado()
    if fala.momento is Momento.EMITINDO:
        return messages.ja_enviada()
    numero = as_number(numbered["n"]) if numbered else None
    if numero is None and isinstance(which := which_note(fala.dita.dados.alvo), PorNumero):
        numero = as_number(which.numero)
    told = None if numero else fala.dita.says(WAS_WRONG)
    notas = await notes_told(fala.memory, told["nome"]) if told else await fala.memory.notes(1, numero=numero)
    if told and not notas:
        return None  # no such note is out: an order
    if len(notas) > 1:  # never the note of whom they did not mean
        return pedidos.qual_cancelar(notas, None)
    if numero and not notas:
        read_as = [c.trecho for c in fala.dita.dados.candidates] + [d.trecho for d in fala.dita.dados.doubts]
        corrects = fala.memory.ativa is not None and any(numero not in trecho for trecho in read_as)
        return None if corrects else Mensagem(pedidos.sem_nota(numero))
    empresa = fala.memory.empresa
    return textos.reclama(
        next(iter(notas), None),
        em_aberto=fala.memory.ativa is not None,
        limitada=empresa.canal.nome in NATIONAL_LIST and not replaceable(empresa),
        substitui=replaceable(empresa),
        palavras=fala.dita.texto,
    )


async def _corrige(fala: Fala) -> Mensagem | None:
    vago = not fala.dita.dados.informs and fala.dita.dados.ato in {Ato.NEGA, Ato.SOCIAL}
    if not vago or fala.memory.ativa is None:
        return None
    other, customer = another_one(fala.dita), fala.memory.ativa.rascunho.tomador_nome or ""
    if other and other in read(customer).plain.split():  # "é outra padaria"
        return textos.qual_cliente()
    return textos.o_que_errado(fala.memory.ativa)


async def _fiscal(fala: Fala) -> Mensagem | None:
    dados = fala.dita.dados
    said = {c.campo for c in dados.candidates}
    dated = not (fala.dita.instrucao or dados.doubts) and said and said <= _OWN_WORDS[RequestKind.TOTAL]
    if dated or (dados.ato is Ato.RECUSA and not dados.informs):
        return None  # a date is done, not only answered
    return messages.instrucao_fiscal(fala.dita.instrucao)


async def _cancela_nota(fala: Fala) -> Mensagem | None:
    dados, pedido = fala.dita.dados, fala.dita.pedido
    if dados.informs:
        return None
    if not dados.pede:
        return Mensagem(pedidos.cancelar_emitida(pedido.numero if pedido else None))
    which = which_note(dados.alvo) or Qual()
    notas = [nota for nota in await fala.memory.notes(LISTADAS, valem=True) if is_meant(which, nota)]
    numero = which.numero if isinstance(which, PorNumero) else None
    return pedidos.qual_cancelar(notas[: 1 if which == Ultima() else None], numero)


async def _varias(fala: Fala) -> Mensagem | None:
    if begun(fala.memory.ativa) and (resto := fala.dita.outra):
        return textos.outra_nota(resto)
    partes = fala.dita.partes
    return textos.varias(len(partes), partes[1:]) if partes and fala.dita.dados.informs else None


async def _depois(_fala: Fala) -> Mensagem | None:
    return textos.depois()


async def _social(fala: Fala) -> Mensagem | None:
    if fala.dita.dados.informs:
        return None
    if fala.dita.says(ABUSE) or fala.dita.says(SWEARING):
        return textos.xingou()
    if not leaves(fala.dita):
        return None
    texto = textos.obrigado() if fala.dita.says(THANKS) else textos.ate_mais()
    idle = fala.memory.ativa is None and fala.momento is not Momento.EMITINDO
    return await with_offer(fala.memory, texto) if idle else texto


async def _fora(fala: Fala) -> Mensagem | None:
    return None if names_customer(fala.dita.dados) else textos.fora(vende=bool(fala.memory.empresa.mercado))


_ALWAYS: Final = {
    Ato.ESPERA: ActRow(_espera, aberto=False),
    Ato.PERGUNTA: ActRow(_pergunta),
    Ato.RECLAMA: ActRow(_reclama),
    Ato.CANCELA_NOTA: ActRow(_cancela_nota),
    Ato.FISCAL: ActRow(_fiscal, aberto=False, dados=True, retem=True),  # the button stays away until they say
    Ato.VARIAS: ActRow(_varias, dados=True),
    Ato.DEPOIS: ActRow(_depois, dados=True),
    Ato.SOCIAL: ActRow(_social),
    Ato.FORA: ActRow(_fora),
}
ANSWERS: Final = {
    **{(ato, momento): linha for ato, linha in _ALWAYS.items() for momento in Momento},
    (Ato.CORRIGE, Momento.RESUMO): ActRow(_corrige, aberto=False),
}
