"""One turn about a cancellation, inside its one transaction: which note, why, and whether it is really wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from bot.conversation.inbound import Palavras, Toque
from bot.subjects.cancellation.choose_note import ask_which, choose
from extractor.requests.cancellation import Ultima, is_greeting, keeps, too_vague
from persistence.conversations import snapshots
from persistence.db.clock import database_now
from persistence.fiscal import cancellations, issued
from persistence.queue import outbox
from persistence.queue.arrival import Arrival
from persistence.rows.inbox_rows import ResumeRow
from state_machine.cancellation.machine import (
    CONVERSANDO,
    Codigo,
    ConfirmouCancelamento,
    ConversouNoCancelamento,
    EstadoCancelamento,
    Manteve,
    Motivou,
    StatusNota,
    Substituiu,
    abre,
    decide,
)
from state_machine.catalogue.texts import cancellation as textos
from state_machine.machine.states import Estado

if TYPE_CHECKING:
    from datetime import timedelta

    from extractor.requests.cancellation import Pedido
    from persistence.db.connection import Connection
    from persistence.people.companies import Empresa
    from persistence.queue.inbox import Inbox
    from state_machine.cancellation.machine import Cancelamento, Evento, NotaEmitida
    from state_machine.machine.effects import Mensagem

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
