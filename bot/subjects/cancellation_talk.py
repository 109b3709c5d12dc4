"""Talks about cancelling an issued note: takes from a conversation what belongs to that, and leaves the rest alone.

While a cancellation waits for the user's word, words are taken as said to it, so that a yes can't confirm the draft
that lies beside it; a button goes where it belongs. Only the button of the present summary cancels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bot.budgets import Voice
from bot.conversation.effects import text_message
from bot.conversation.inbound import CANCELAMENTO, Edicao, Palavras, Toque
from bot.subjects.choose_note import ask_which, choose
from extractor.requests.cancellation import (
    PorCliente,
    PorNumero,
    Qual,
    Ultima,
    begins_a_note,
    keeps,
    request,
    similar,
    too_vague,
)
from persistence.conversations import conversations, edits, snapshots
from persistence.db.clock import database_now
from persistence.fiscal import cancellations, issued
from persistence.queue import outbox
from persistence.queue.arrival import Arrival
from state_machine.cancellation.machine import (
    CONVERSANDO,
    PRAZO,
    Codigo,
    ConfirmouCancelamento,
    ConversouNoCancelamento,
    EstadoCancelamento,
    Manteve,
    Motivou,
    PrazoCancelamentoVencido,
    StatusNota,
    Substituiu,
    abre,
    decide,
)
from state_machine.catalogue import cancellation_texts as textos
from state_machine.catalogue import messages
from state_machine.machine.states import Estado

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from datetime import timedelta

    from bot.conversation.inbound import Chegada
    from extractor.requests.cancellation import Pedido
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.people.companies import Empresa
    from persistence.queue.inbox import Inbox
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.cancellation.machine import Cancelamento, Evento, NotaEmitida
    from state_machine.machine.effects import Mensagem

log = structlog.get_logger(__name__)


class Cancelling:
    """The desk at which issued notes are cancelled; one for all conversations.

    ``prazo`` is how long a cancellation waits for its person's next word.
    """

    def __init__(
        self, database: Database, inbox: Inbox, lanes: Lanes, *, ring: Callable[[], None], prazo: timedelta = PRAZO
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._lanes = lanes
        self._ring = ring
        self._prazo = prazo

    async def take(
        self,
        lease: Lease,
        chegada: Chegada,
        empresa: Empresa,
        *,
        talking: bool,
        drafting: bool,
        voice: Callable[[], Awaitable[Voice]],
    ) -> Collection[int] | None:
        """Take one turn if it is about a cancellation and return the rows consumed; ``None``: it is not ours.

        ``talking``: a cancellation of this conversation waits for its next word; ``drafting``: an invoice does.
        ``voice`` says how talk may be answered; what decides is always answered.
        """
        entrada = chegada.entrada
        if talking and isinstance(entrada, Edicao):
            entrada = await self._as_said_here(lease.lane, entrada)
        match entrada:
            case Toque(acao) if acao in CANCELAMENTO:
                pedido = None
            case Palavras(texto, proprias=proprias):
                pedido = request(texto if proprias is None else proprias)
                if not talking and not await self._is_ours(lease.lane, empresa, pedido):
                    return None
                if talking and pedido is None and begins_a_note(texto):
                    await self._put_aside(lease.lane)
                    return None
            case _:
                return None
        ids = [row.id for row in chegada.rows]
        # Beside a draft we always answer: else a yes that follows is one to the draft's summary.
        always = drafting or isinstance(entrada, Toque) or too_vague(entrada.texto)
        voz = Voice.SPEAK if always else await voice()
        async with self._database.transaction() as connection:
            await conversations.greet(connection, chegada.contato, len(ids))
            agora_emite = await conversations.issuer(connection, chegada.contato)
            empresa = agora_emite or empresa
            turn = _Turn(connection, self._inbox, lease.lane, empresa, chegada.rows[-1].correlacao, self._prazo)
            resposta = await turn.hear(entrada, pedido) if agora_emite else messages.sem_empresa()
            if resposta is not None and (voz is not Voice.SILENT or turn.decided):
                await turn.say(messages.devagar() if voz is Voice.NOTICE and not turn.decided else resposta)
            await self._lanes.done(connection, lease, ids)
        self._ring()
        return ids

    async def on_deadline(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """The sweep saw a cancellation's deadline pass."""
        row = rows[0]
        async with self._database.transaction() as connection:
            atual = await cancellations.locked(connection, row.payload["cancelamento_id"], lease.lane)
            if atual is not None:
                decisao = decide(atual, PrazoCancelamentoVencido(), await database_now(connection))
                if decisao.aplicado:
                    await cancellations.save(connection, atual, decisao.cancelamento)
            await self._lanes.done(connection, lease, [row.id])
        return [row.id]

    async def _as_said_here(self, conversa: str, edicao: Edicao) -> Palavras | Edicao:
        """Return an edited message as words, unless it told the draft that lies beside: then it is not said to us."""
        if edicao.original is None or edicao.texto is None:
            return edicao
        async with self._database.transaction() as connection:
            ouvida = await edits.heard(connection, conversa, edicao.original)
        return Palavras(edicao.texto, edicao.escrita_em, proprias="") if ouvida.sessao is None else edicao

    async def _is_ours(self, conversa: str, empresa: Empresa, pedido: Pedido | None) -> bool:
        """Tell an issued note from the open draft, which "cancela a nota" and its own client's name mean."""
        if pedido is None:
            return False
        async with self._database.transaction() as connection:
            draft = await snapshots.active(connection, conversa)
            if isinstance(pedido, PorNumero | Ultima) or draft is None:
                return True
            if isinstance(pedido, Qual):
                return False
            found = await choose(connection, empresa.id, pedido)
        if isinstance(pedido, PorCliente) and similar(pedido.nome, [draft.rascunho.tomador_nome]):
            return False
        return found != ()

    async def _put_aside(self, conversa: str) -> None:
        """The user goes on with a new invoice: the question about the old one is dropped, and nothing is cancelled."""
        async with self._database.transaction() as connection:
            talking = await cancellations.talking(connection, conversa)
            atual = await cancellations.locked(connection, talking[0], conversa) if talking else None
            if atual is not None and atual.estado in CONVERSANDO:
                decisao = decide(atual, Substituiu(), await database_now(connection))
                await cancellations.save(connection, atual, decisao.cancelamento)


class _Turn:
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

    async def say(self, mensagem: Mensagem) -> None:
        """Answer."""
        outbox.enqueue(
            self._connection, conversa=self._conversa, mensagem=text_message(mensagem), correlacao=self._correlacao
        )

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
        if toque.acao == "cancelar_nota":
            nota = await issued.of_company(self._connection, self._empresa.id, alvo)
            return await self._open(nota) if nota else textos.qual_nota(())
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
        if isinstance(pedido, Ultima) and await issued.in_flight(self._connection, self._empresa.id):
            return textos.ainda_em_emissao()
        escolha = await choose(self._connection, self._empresa.id, pedido)
        if isinstance(escolha, tuple):
            return await ask_which(self._connection, self._empresa.id, pedido, escolha)
        return await self._open(escolha)

    async def _open(self, nota: NotaEmitida) -> Mensagem | None:
        """Begin with this note, in the place of whatever else is being asked about it or here."""
        atual = await issued.locked(self._connection, nota.emissao_id)
        if atual is None or atual.status is StatusNota.CANCELADO:
            return textos.ja_cancelada(atual or nota)
        if atual.status is StatusNota.CANCELAMENTO_PENDENTE:
            return textos.em_curso(atual)
        agora = await database_now(self._connection)
        for outro in await cancellations.live(self._connection, atual, self._conversa):
            decisao = decide(outro, Substituiu(), agora)
            await cancellations.save(self._connection, outro, decisao.cancelamento)
        modelo = abre(0, atual, agora, self._prazo).cancelamento
        assert modelo.expira_em is not None  # noqa: S101 - it has just begun to wait
        novo = await cancellations.open_row(
            self._connection, atual, self._conversa, "conversa", self._correlacao, modelo.expira_em
        )
        log.info("cancellation", emissao_id=atual.emissao_id, estado=EstadoCancelamento.AGUARDANDO_MOTIVO)
        return abre(novo, atual, agora).mensagem

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
        arrival = Arrival(
            chave=f"retomar:{encerrado.id}",
            lane=self._conversa,
            tipo="retomar",
            payload={"sessao_id": draft.sessao_id},
            correlacao=self._correlacao,
            imediato=True,
        )
        await self._inbox.put_in(self._connection, [arrival])


def _event(entrada: Palavras) -> Evento:
    """Return what the words say of the cancellation; forwarded or edited ones may tell why, and decide nothing."""
    if keeps(entrada.texto if entrada.proprias is None else entrada.proprias):
        return Manteve()
    if too_vague(entrada.texto) or keeps(entrada.texto):
        return ConversouNoCancelamento()
    return Motivou(Codigo.OUTROS, entrada.texto)


def _motivo(codigo: Codigo, versao: int) -> Motivou:
    return Motivou(codigo, textos.MOTIVO_DO_BOTAO[codigo][1], versao)
