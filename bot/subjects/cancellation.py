"""Cancelling an issued note by conversation.

What is asked while a cancellation waits for its person: the answer ends with what it waits for.

Finds which issued note a request means: this conversation's first, then the company's; asks when several fit.

One turn about a cancellation, inside its one transaction: which note, why, and whether it is really wanted.

Cancelling an issued note: takes from a conversation what belongs to that, and leaves the rest alone.

While a cancellation waits for the user's word, words are taken as said to it, so that a yes can't confirm the draft
that lies beside it; a button goes where it belongs. Only the button of the present summary cancels.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import assert_never

import structlog

from bot.budgets import Owed, Voice
from bot.conversation.inbound import Edicao, Palavras, Toque
from bot.conversation.subject import Resources, RowHandler, Turn, one_row
from bot.loops.jobs import Deadline
from bot.subjects.invoice.plan import Plano
from extractor.requests.cancellation import (
    Pedido,
    PorCliente,
    PorNumero,
    PorValor,
    Qual,
    Ultima,
    begins_a_note,
    is_greeting,
    keeps,
    request,
    similar,
    too_vague,
)
from extractor.text.folding import read
from extractor.utterance import MISTAKE, is_aside, only_asks
from persistence.conversations import conversations, snapshots
from persistence.db.clock import database_now
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import cancellations, issued
from persistence.people.companies import Empresa
from persistence.queue import outbox
from persistence.queue.inbox import Arrival, Inbox
from persistence.queue.lanes import InboxRow, Lease
from persistence.rows import CancellationDeadlineRow, CancellationRow, ResumeRow
from state_machine.cancellation.machine import (
    CONVERSANDO,
    Cancelamento,
    Codigo,
    ConfirmouCancelamento,
    ConversouNoCancelamento,
    EstadoCancelamento,
    Evento,
    Manteve,
    Motivou,
    NotaEmitida,
    PrazoCancelamentoVencido,
    StatusNota,
    Substituiu,
    abre,
    decide,
)
from state_machine.catalogue import knowledge, messages
from state_machine.catalogue.texts import cancellation as textos
from state_machine.invoice.session import Estado, Mensagem
from state_machine.machine.events import Abriu, Conversou, PediuAjuda
from state_machine.values.money import formata_brl


def asks_aside(texto: str) -> bool:
    """Say whether the words are a request or a question, and so neither a reason nor an answer."""
    plain = read(texto).plain
    known = knowledge.find(plain) is not None and not MISTAKE.search(plain)
    return is_aside(texto) or (known and ("?" in plain or only_asks(texto)))


async def open_question(database: Database, conversa: str) -> Mensagem | None:
    """Return in one line what the conversation's cancellation waits for, ``None`` where none waits."""
    async with database.transaction() as connection:
        talking = await cancellations.talking(connection, conversa)
        atual = await cancellations.locked(connection, talking[0], conversa) if talking else None
    return textos.pergunta_de_novo(atual) if atual else None


def with_question(plano: Plano, falta: Mensagem) -> Plano:
    """Return a plan whose answer ends with what a cancellation waits for: the next words are said to that.

    A plan without an answer has this one.
    """
    eventos = plano.eventos
    if not eventos or all(isinstance(evento, Abriu | Conversou) for evento in eventos):
        return replace(plano, eventos=(), resposta=_ending(plano.resposta, falta))
    ajudas = (
        replace(evento, resposta=_ending(evento.resposta or messages.ajuda(), falta), aberto=False)
        if isinstance(evento, PediuAjuda)
        else evento
        for evento in eventos
    )
    return replace(plano, eventos=tuple(ajudas))


def _ending(resposta: Mensagem | None, falta: Mensagem) -> Mensagem:
    if resposta is None:
        return falta
    botoes = resposta.botoes if resposta.botoes or resposta.lista else falta.botoes
    return replace(resposta, texto=f"{resposta.texto}\n\n{falta.texto}", botoes=botoes, outras=())


Escolha = NotaEmitida | tuple[NotaEmitida, ...]
"""The one note that is meant, or those that fit: none, or several."""


async def choose(connection: Connection, empresa_id: int, pedido: Pedido, conversa: str) -> Escolha:
    """Return what the request names; a client's name counts only among notes that stand."""
    match pedido:
        case PorNumero(numero):
            found = await issued.by_number(connection, empresa_id, numero, conversa)
        case PorValor(valor):
            found = await issued.by_value(connection, empresa_id, valor, conversa)
        case PorCliente(nome):
            notas = _standing(await issued.recent(connection, empresa_id, conversa))
            found = [notas[place] for place in similar(nome, [nota.tomador for nota in notas])]
        case Ultima():
            notas = await issued.recent(connection, empresa_id, conversa)
            minhas = [nota for nota in notas if nota.feita_por is None]
            found = (minhas or notas)[:1]  # "the one I just made" is this person's, not the company's newest
        case Qual():
            return ()
        case _:
            assert_never(pedido)
    return found[0] if len(found) == 1 else tuple(found)


async def ask_which(connection: Connection, empresa_id: int, pedido: Pedido, cabem: Escolha, conversa: str) -> Mensagem:
    """Ask which of those that fit; of none, say so and show the last ones."""
    if isinstance(cabem, tuple) and cabem:
        return textos.qual_nota(cabem)
    return textos.qual_nota(_standing(await issued.recent(connection, empresa_id, conversa)), _named(pedido))


def _standing(notas: list[NotaEmitida]) -> list[NotaEmitida]:
    return [nota for nota in notas if nota.status is StatusNota.AUTORIZADO]


def _named(pedido: Pedido) -> str | None:
    match pedido:
        case PorNumero(numero):
            return f"a nota {numero}"
        case PorValor(valor):
            return f"nota de {formata_brl(valor)}"
        case PorCliente(nome):
            return f"nota para “{nome}”"
        case Ultima() | Qual():
            return None
        case _:
            assert_never(pedido)


log = structlog.get_logger(__name__)


class Talk:
    """One turn about a cancellation, inside its one transaction."""

    def __init__(
        self,
        connection: Connection,
        inbox: Inbox,
        conversa: str,
        empresa: Empresa,
        correlacao: str,
        prazo: timedelta,
    ) -> None:
        self._connection = connection
        self._inbox = inbox
        self._conversa = conversa
        self._empresa = empresa
        self._correlacao = correlacao
        self._prazo = prazo
        self.decided = False  # a cancellation went on: a reason was given, or the note stays

    def say(self, mensagem: Mensagem) -> None:
        """Answer."""
        outbox.enqueue(self._connection, conversa=self._conversa, mensagem=mensagem, correlacao=self._correlacao)

    async def hear(self, entrada: object, pedido: Pedido | None) -> Mensagem | None:
        """Apply what arrived and return the answer."""
        if isinstance(entrada, Toque):
            return await self._pressed(entrada)
        if pedido is not None:
            return await self._asked(pedido)
        assert isinstance(entrada, Palavras)  # noqa: S101 - ``take`` lets nothing else in
        talking = await cancellations.talking(self._connection, self._conversa)
        if talking is None:  # another conversation took the note over a moment ago
            return textos.qual_nota(())
        return await self._event(talking[0], _event(entrada))

    async def _pressed(self, toque: Toque) -> Mensagem | None:
        alvo = int(toque.sessao_id) if toque.sessao_id.isascii() and toque.sessao_id.isdigit() else 0
        if toque.acao in {"cancelar_nota", "refazer_nota"}:
            nota = await issued.of_company(self._connection, self._empresa.id, alvo)
            motivo = (
                Motivou(Codigo.ERRO_NA_EMISSAO, textos.erro(toque.escolha)) if toque.acao == "refazer_nota" else None
            )
            return await self._open(nota, motivo) if nota else textos.qual_nota(())
        versao = toque.revisao if toque.revisao is not None else -1
        evento: Evento
        match toque.acao:
            case "cancelar_sim":
                evento = ConfirmouCancelamento(versao)
            case "cancelar_erro":
                evento = _motivo(Codigo.ERRO_NA_EMISSAO, versao)
            case "cancelar_nao_prestado":
                evento = _motivo(Codigo.NAO_PRESTADO, versao)
            case _:
                evento = Manteve()
        return await self._event(alvo, evento)

    async def _asked(self, pedido: Pedido) -> Mensagem | None:
        if isinstance(pedido, Ultima) and await issued.in_flight(self._connection, self._empresa.id, self._conversa):
            return textos.ainda_em_emissao()
        escolha = await choose(self._connection, self._empresa.id, pedido, self._conversa)
        if isinstance(escolha, tuple):
            return await ask_which(self._connection, self._empresa.id, pedido, escolha, self._conversa)
        return await self._open(escolha)

    async def _open(self, nota: NotaEmitida, motivo: Motivou | None = None) -> Mensagem | None:
        """Begin with this note, in the place of whatever else is being asked about it or here; ask why, if need be."""
        atual = await issued.locked(self._connection, nota.emissao_id, self._conversa)
        if atual is None or atual.status is StatusNota.CANCELADO:
            anew = atual is not None and motivo is not None and atual.substituta is None
            return textos.cancelada(atual) if atual and anew else textos.ja_cancelada(atual or nota)
        if atual.status is StatusNota.CANCELAMENTO_PENDENTE:
            return textos.em_curso(atual)
        agora = await database_now(self._connection)
        for outro in await cancellations.live(self._connection, atual, self._conversa):
            decisao = decide(outro, Substituiu(), agora)
            await cancellations.save(self._connection, outro, decisao.cancelamento)
        modelo = abre(0, atual, agora, self._prazo).cancelamento
        assert modelo.expira_em is not None  # noqa: S101 - it has just begun to wait
        novo = await cancellations.open_row(
            self._connection,
            atual,
            self._conversa,
            pedido_por="conversa",
            correlacao=self._correlacao,
            expira_em=modelo.expira_em,
        )
        log.info("cancellation", emissao_id=atual.emissao_id, estado=EstadoCancelamento.AGUARDANDO_MOTIVO)
        return abre(novo, atual, agora).mensagem if motivo is None else await self._event(novo, motivo)

    async def _event(self, cancelamento_id: int, evento: Evento) -> Mensagem | None:
        atual = await cancellations.locked(self._connection, cancelamento_id, self._conversa)
        if atual is None or not await issued.of_company(self._connection, self._empresa.id, atual.nota.emissao_id):
            return textos.qual_nota(())  # a forged button, another conversation's, or of a company left since
        if atual.estado in CONVERSANDO and atual.nota.status is not StatusNota.AUTORIZADO:
            await self._move(atual, Substituiu())  # cancelled outside of Prosa while we talked about it
            return textos.ja_cancelada(atual.nota)
        return await self._move(atual, evento)

    async def _move(self, atual: Cancelamento, evento: Evento) -> Mensagem | None:
        atual = replace(atual, prazo=self._prazo)
        decisao = decide(atual, evento, await database_now(self._connection))
        depois = decisao.cancelamento
        if depois != atual:
            await cancellations.save(self._connection, atual, depois)
        self.decided = depois.estado is not atual.estado
        if atual.estado in CONVERSANDO and depois.estado not in CONVERSANDO:
            await self._take_up_draft(atual)
        log.info("cancellation", emissao_id=atual.nota.emissao_id, evento=type(evento).__name__, estado=depois.estado)
        return decisao.mensagem

    async def _take_up_draft(self, encerrado: Cancelamento) -> None:
        """Show again the draft that lies beside it, as an inbox row of its own: a session changes in no other way."""
        draft = await snapshots.active(self._connection, self._conversa)
        if draft is None or draft.estado is Estado.COLETA:
            return
        arrival = Arrival.of(
            ResumeRow(draft.sessao_id),
            chave=f"retomar:{encerrado.id}",
            lane=self._conversa,
            correlacao=self._correlacao,
        )
        await self._inbox.put_in(self._connection, [arrival])


def _event(entrada: Palavras) -> Evento:
    """Return what the words say of the cancellation; forwarded or edited ones may tell why, and decide nothing."""
    if keeps(entrada.decidem):
        return Manteve()
    if is_greeting(entrada.texto):
        return ConversouNoCancelamento(saudacao=True)
    if too_vague(entrada.texto) or keeps(entrada.texto):
        return ConversouNoCancelamento()
    return Motivou(Codigo.OUTROS, entrada.texto)


def _motivo(codigo: Codigo, versao: int) -> Motivou:
    return Motivou(codigo, textos.MOTIVO_DO_BOTAO[codigo][1], versao)


class Cancellation:
    """Takes the turns that are about cancelling an issued note."""

    shows_reading = True
    actions = frozenset(
        {
            *("cancelar_nota", "cancelar_erro", "cancelar_nao_prestado", "cancelar_sim", "cancelar_nao"),
            "refazer_nota",
        }
    )
    deadlines: tuple[Deadline, ...] = (
        Deadline(
            "cancellation_expiry",
            "Put an event into the lane of every cancellation whose deadline for the user's word passed",
            cancellations.overdue,
            CancellationDeadlineRow,
        ),
    )

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """News of the authority, and the deadline of the user's next word."""
        return (one_row(CancellationRow, self._on_news), one_row(CancellationDeadlineRow, self._on_deadline))

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Take what speaks of an issued note, or answers a cancellation that waits for its next word."""
        lease, chegada, empresa = turn.lease, turn.chegada, turn.conversa.empresa
        if empresa is None:
            return None
        entrada, talking = chegada.entrada, turn.conversa.cancelando
        if talking and isinstance(entrada, Edicao):
            entrada = await self._as_said_here(lease.lane, entrada)
        match entrada:
            case Toque(acao) if acao in self.actions:
                pedido = None
            case Palavras(decidem=decidem):
                pedido = request(decidem)
                if not await self._is_said_here(lease.lane, empresa, entrada, pedido, talking=talking):
                    return None
            case _:
                return None
        # Beside a draft an answer is owed: else a yes that follows is one to the draft's summary.
        owed: Owed | None = "rascunho" if turn.conversa.ativa is not None else None
        if isinstance(entrada, Toque):
            owed = "botao"
        elif too_vague(entrada.texto):
            owed = "vaga"
        voz = await turn.voice(owed=owed)
        async with self._r.committing(turn) as connection:
            agora_emite = await conversations.issuer(connection, chegada.contato)
            talk = Talk(
                connection,
                self._r.inbox,
                lease.lane,
                agora_emite or empresa,
                chegada.correlacao,
                self._r.cancellation_wait,
            )
            resposta = await talk.hear(entrada, pedido) if agora_emite else messages.sem_empresa()
            if resposta is not None and (voz is not Voice.SILENT or talk.decided):
                talk.say(messages.devagar() if voz is Voice.NOTICE and not talk.decided else resposta)
        self._r.ring()
        return chegada.ids

    async def _on_deadline(self, lease: Lease, row: InboxRow, prazo: CancellationDeadlineRow) -> None:
        """The sweep saw a cancellation's deadline pass."""
        async with self._r.database.transaction() as connection:
            atual = await cancellations.locked(connection, prazo.cancelamento_id, lease.lane)
            if atual is not None:
                decisao = decide(atual, PrazoCancelamentoVencido(), await database_now(connection))
                if decisao.aplicado:
                    await cancellations.save(connection, atual, decisao.cancelamento)
            await self._r.lanes.done(connection, lease, [row.id])

    async def _on_news(self, lease: Lease, row: InboxRow, news: CancellationRow) -> None:
        """Tell the user what became of a cancellation, or that a note was cancelled elsewhere."""
        async with self._r.database.transaction() as connection:
            nota = await issued.locked(connection, news.emissao_id, lease.lane)
            if nota is not None:
                mensagem = _news(nota, news)
                outbox.enqueue(
                    connection, conversa=lease.lane, mensagem=mensagem, chave=row.chave, correlacao=row.correlacao
                )
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring()

    async def _as_said_here(self, conversa: str, edicao: Edicao) -> Palavras | Edicao:
        """Return an edited message as words, unless it told the draft that lies beside: then it is not said to us."""
        if edicao.original is None or edicao.texto is None:
            return edicao
        async with self._r.database.transaction() as connection:
            ouvida = await snapshots.heard(connection, conversa, edicao.original)
        return Palavras(edicao.texto, edicao.escrita_em, proprias="") if ouvida.sessao is None else edicao

    async def _is_said_here(
        self, conversa: str, empresa: Empresa, palavras: Palavras, pedido: Pedido | None, *, talking: bool
    ) -> bool:
        """Tell whether words are about a cancellation; who goes on with a new invoice puts the question aside.

        A request or a question is the invoice's subject's, whose answer ends with what is waited for.
        """
        if not talking:
            return await self._is_ours(conversa, empresa, pedido)
        if pedido is None and begins_a_note(palavras.texto):
            await self._put_aside(conversa)
            return False
        return pedido is not None or palavras.proprias is not None or not asks_aside(palavras.texto)

    async def _is_ours(self, conversa: str, empresa: Empresa, pedido: Pedido | None) -> bool:
        """Tell an issued note from the open draft, which "cancela a nota" and its own client's name mean."""
        if pedido is None:
            return False
        async with self._r.database.transaction() as connection:
            draft = await snapshots.active(connection, conversa)
            if draft is None:
                return True
            if isinstance(pedido, Qual) or (isinstance(pedido, Ultima) and pedido.pointed):
                return False
            if isinstance(pedido, PorNumero | Ultima):
                return True
            found = await choose(connection, empresa.id, pedido, conversa)
        if isinstance(pedido, PorCliente) and similar(pedido.nome, [draft.rascunho.tomador_nome]):
            return False
        return found != ()

    async def _put_aside(self, conversa: str) -> None:
        """The user goes on with a new invoice: the question about the old one is dropped, and nothing is cancelled."""
        async with self._r.database.transaction() as connection:
            talking = await cancellations.talking(connection, conversa)
            atual = await cancellations.locked(connection, talking[0], conversa) if talking else None
            if atual is not None and atual.estado in CONVERSANDO:
                decisao = decide(atual, Substituiu(), await database_now(connection))
                await cancellations.save(connection, atual, decisao.cancelamento)


def _news(nota: NotaEmitida, news: CancellationRow) -> Mensagem:
    match news.aviso:
        case "cancelada":
            return textos.cancelada(nota)
        case "por_fora":
            return textos.cancelada_por_fora(nota)
        case "negada":
            return textos.negada(nota, news.motivo or "")
        case "demorou":
            return textos.demorou(nota)
        case "falhou":
            return textos.com_a_equipe(nota)
        case _:
            assert_never(news.aviso)
