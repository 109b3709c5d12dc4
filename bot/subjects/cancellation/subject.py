"""Cancelling an issued note: takes from a conversation what belongs to that, and leaves the rest alone.

While a cancellation waits for the user's word, words are taken as said to it, so that a yes can't confirm the draft
that lies beside it; a button goes where it belongs. Only the button of the present summary cancels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from bot.budgets import Voice
from bot.conversation.inbound import Edicao, Palavras, Toque
from bot.conversation.subject import one_row
from bot.loops.jobs import Deadline
from bot.subjects.cancellation.asides import asks_aside
from bot.subjects.cancellation.choose_note import choose
from bot.subjects.cancellation.talk import Talk
from extractor.requests.cancellation import (
    PorCliente,
    PorNumero,
    Qual,
    Ultima,
    begins_a_note,
    request,
    similar,
    too_vague,
)
from persistence.conversations import conversations, edits, snapshots
from persistence.db.clock import database_now
from persistence.fiscal import cancellations, issued
from persistence.queue import outbox
from persistence.rows.inbox_rows import CancellationDeadlineRow, CancellationRow
from state_machine.cancellation.machine import CONVERSANDO, PrazoCancelamentoVencido, Substituiu, decide
from state_machine.catalogue import messages
from state_machine.catalogue.texts import cancellation as textos

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.budgets import Owed
    from bot.conversation.subject import Resources, RowHandler, Turn
    from extractor.requests.cancellation import Pedido
    from persistence.people.companies import Empresa
    from persistence.queue.lanes import InboxRow, Lease
    from state_machine.cancellation.machine import NotaEmitida
    from state_machine.machine.effects import Mensagem


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
            ouvida = await edits.heard(connection, conversa, edicao.original)
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
