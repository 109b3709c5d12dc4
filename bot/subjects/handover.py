"""Conversations that staff hold: hears what is said meanwhile, and carries out what staff ask for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog

from bot.conversation.subject import Resources, RowHandler, Turn, one_row
from bot.loops.jobs import Deadline
from persistence.conversations import handoff, snapshots
from persistence.db.connection import Connection
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lease
from persistence.rows import MisshapenRowError, StaffRow
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue import staff_messages
from state_machine.goods import nome_da_nota
from state_machine.invoice.session import Mensagem, Sessao
from state_machine.machine.events import EquipeAssumiu, EquipeDevolveu, EquipeEncerrou, Evento

log = structlog.get_logger(__name__)


class Handover:
    """The first subject: while staff speak with somebody, no other one answers. A new command is a case below."""

    shows_reading = False
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """Commands of the staff: each a row of the conversation's own lane, in one commit."""
        return (one_row(StaffRow, self._on_command),)

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Mark the messages as heard; they stay in the inbox table, where the console shows them."""
        if not turn.conversa.atendida:
            return None
        async with self._r.committing(turn):
            pass
        log.info("heard_for_staff", rows=len(turn.chegada.rows))
        return turn.chegada.ids

    async def _on_command(self, lease: Lease, row: InboxRow, pedido: StaffRow) -> None:
        """Carry it out. What is no longer possible by now does nothing; the audit has the request."""
        async with self._r.database.transaction() as connection:
            sessao = await self._obey(connection, lease.lane, row, pedido)
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring()
        if sessao is not None:
            await self._r.live.put(sessao)
        log.info("staff_command", tipo=pedido.comando, sessao_id=pedido.sessao_id)

    async def _obey(self, connection: Connection, conversa: str, row: InboxRow, pedido: StaffRow) -> Sessao | None:
        exibido = pedido.exibicao or pedido.quem
        atendente, janela = await handoff.holder(connection, conversa)
        match pedido:
            case StaffRow(comando="assumir") if atendente != pedido.staff_id:
                await handoff.take(connection, conversa, pedido.staff_id)
                mensagem = staff_messages.assumiu(exibido)
                return await self._step(connection, conversa, EquipeAssumiu(exibido), mensagem, row)
            case StaffRow(comando="devolver") if atendente is not None:
                await handoff.give_back(connection, conversa)
                esperam = await handoff.waiting(connection, conversa)
                sem_nota = staff_messages.devolveu(None, esperam)
                return await self._step(connection, conversa, EquipeDevolveu(esperam), sem_nota, row)
            case StaffRow(comando="escrever", texto=str(texto), sessao_id=str(sessao_id)) if (
                atendente == pedido.staff_id and janela
            ):
                outbox.enqueue(
                    connection,
                    conversa=conversa,
                    mensagem=Mensagem(staff_messages.da_equipe(exibido, texto)),
                    de=exibido,
                    sessao_id=sessao_id,
                    correlacao=row.correlacao,
                )
            case StaffRow(comando="encerrar", sessao_id=str(sessao_id), motivo=str(motivo)):
                sessao = await self._close(connection, conversa, sessao_id, row)
                await handoff.resolve(connection, sessao_id, pedido.quem, motivo)
                if await handoff.drop(connection, conversa) and sessao is None:
                    mensagem = staff_messages.pedido_encerrado()
                    outbox.enqueue(connection, conversa=conversa, mensagem=mensagem, correlacao=row.correlacao)
                return sessao
            case StaffRow(comando="consultar", sessao_id=str(sessao_id)):
                await handoff.ask_now(connection, sessao_id)
            case StaffRow(comando="reenviar", outbox_id=int(outbox_id)):
                await handoff.copy_message(connection, conversa, outbox_id, f"reenvio:{row.chave}")
            case StaffRow(comando="reenviar_nota", emissao_id=int(emissao_id)) if janela:
                await self._files_again(connection, conversa, emissao_id, row)
            case StaffRow(comando="assumir" | "devolver" | "escrever" | "reenviar_nota"):
                log.info("staff_command_late", tipo=pedido.comando)
            case _:
                raise MisshapenRowError(f"a command of the staff: {pedido.comando}")
        return None

    async def _files_again(self, connection: Connection, conversa: str, emissao_id: int, row: InboxRow) -> None:
        """Put PDF and XML into the outbox once for this command, as they went out at first."""
        nota = await handoff.issued_note(connection, conversa, emissao_id)
        if nota is None:
            return
        cancelada = nota.status == StatusNota.CANCELADO
        for arquivo in staff_messages.de_novo(emissao_id, nota.numero, nome_da_nota(nota.canal), cancelada=cancelada):
            outbox.enqueue(
                connection,
                conversa=conversa,
                mensagem=arquivo,
                sessao_id=nota.sessao_id,
                chave=f"reenvio:{row.chave}:{arquivo.formato}",
                bloqueia=False,
                correlacao=row.correlacao,
            )

    async def _step(
        self, connection: Connection, conversa: str, evento: Evento, sem_nota: Mensagem, row: InboxRow
    ) -> Sessao | None:
        """Take the active session through ``transition``; without one, only say it."""
        ativa = await snapshots.active(connection, conversa)
        if ativa is not None:
            return await self._r.sessions.apply_one(connection, ativa, evento, row.correlacao)
        outbox.enqueue(connection, conversa=conversa, mensagem=sem_nota, correlacao=row.correlacao)
        return None

    async def _close(self, connection: Connection, conversa: str, sessao_id: str, row: InboxRow) -> Sessao | None:
        sessao = await snapshots.load(connection, conversa, sessao_id)
        if sessao is None or not sessao.espera_usuario:
            return None
        return await self._r.sessions.apply_one(connection, sessao, EquipeEncerrou(), row.correlacao)
