"""Carries out what staff asked for: each a row of the conversation's own lane, in one commit; it trusts no old page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from bot.conversation.effects import file_message, text_message
from persistence.conversations import handoff, snapshots
from persistence.people import companies as people
from persistence.queue import outbox
from persistence.versions import AnotherVersionError
from state_machine.cancellation.machine import StatusNota
from state_machine.catalogue import staff_messages
from state_machine.machine.events import EquipeAssumiu, EquipeDevolveu, EquipeEncerrou

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from bot.conversation.turn import Conversations
    from persistence.conversations.sessions import LiveSessions
    from persistence.db.connection import Connection
    from persistence.db.engine import Database
    from persistence.queue.lanes import InboxRow, Lanes, Lease
    from state_machine.machine.effects import Mensagem
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao

log = structlog.get_logger(__name__)


class StaffCommands:
    """Handler of the rows that the console puts into a conversation's lane; a new kind is a new case below."""

    def __init__(
        self,
        database: Database,
        lanes: Lanes,
        live: LiveSessions,
        conversations: Conversations,
        ring: Callable[[], None],
    ) -> None:
        self._database = database
        self._lanes = lanes
        self._live = live
        self._conversations = conversations
        self._ring = ring

    async def on_command(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Carry out the first of them. What is no longer possible by now does nothing; the audit has the request."""
        row = rows[0]
        async with self._database.transaction() as connection:
            sessao = await self._obey(connection, lease.lane, row)
            await self._lanes.done(connection, lease, [row.id])
        self._ring()
        if sessao is not None:
            await self._live.put(sessao)
        log.info("staff_command", tipo=row.payload["comando"], sessao_id=row.payload.get("sessao_id"))
        return [row.id]

    async def _obey(self, connection: Connection, conversa: str, row: InboxRow) -> Sessao | None:
        pedido = row.payload
        quem, staff_id = str(pedido["quem"]), int(pedido["staff_id"])
        exibido = str(pedido.get("exibicao") or quem)  # rows of an older release have the login only
        atendente, janela = await handoff.holder(connection, conversa)
        match pedido:
            case {"comando": "assumir"} if atendente != staff_id:
                await handoff.take(connection, conversa, staff_id)
                mensagem = staff_messages.assumiu(exibido)
                return await self._step(connection, conversa, EquipeAssumiu(exibido), mensagem, row)
            case {"comando": "devolver"} if atendente is not None:
                await handoff.give_back(connection, conversa)
                return await self._step(connection, conversa, EquipeDevolveu(), staff_messages.devolveu(None), row)
            case {"comando": "escrever", "texto": str(texto), "sessao_id": str(sessao_id)} if (
                atendente == staff_id and janela
            ):
                said = staff_messages.da_equipe(exibido, texto)
                mensagem_json = {"tipo": "texto", "texto": said, "botoes": [], "de": exibido}
                outbox.enqueue(
                    connection,
                    conversa=conversa,
                    mensagem=mensagem_json,
                    sessao_id=sessao_id,
                    correlacao=row.correlacao,
                )
            case {"comando": "encerrar", "sessao_id": str(sessao_id), "motivo": str(motivo)}:
                sessao = await self._close(connection, conversa, sessao_id, row)
                await handoff.resolve(connection, sessao_id, quem, motivo)
                return sessao
            case {"comando": "consultar", "sessao_id": str(sessao_id)}:
                await handoff.ask_now(connection, sessao_id)
            case {"comando": "reenviar", "outbox_id": int(outbox_id)}:
                await handoff.copy_message(connection, conversa, outbox_id, f"reenvio:{row.chave}")
            case {"comando": "reenviar_nota", "emissao_id": int(emissao_id)} if janela:
                await self._files_again(connection, conversa, emissao_id, row)
            case {"comando": "assumir" | "devolver" | "escrever" | "reenviar_nota"}:
                log.info("staff_command_late", tipo=pedido["comando"])
            case _:
                raise AnotherVersionError(f"a command of the staff: {pedido.get('comando')}")
        return None

    async def _files_again(self, connection: Connection, conversa: str, emissao_id: int, row: InboxRow) -> None:
        """Put PDF and XML into the outbox once for this command, as they went out at first."""
        nota = await handoff.issued_note(connection, conversa, emissao_id)
        if nota is None:
            return
        cancelada = nota.status == StatusNota.CANCELADO
        for arquivo in staff_messages.de_novo(emissao_id, nota.numero, cancelada=cancelada):
            outbox.enqueue(
                connection,
                conversa=conversa,
                mensagem=file_message(arquivo),
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
            return await self._apply(connection, ativa, evento, row)
        mensagem: dict[str, Any] = text_message(sem_nota)
        outbox.enqueue(connection, conversa=conversa, mensagem=mensagem, correlacao=row.correlacao)
        return None

    async def _close(self, connection: Connection, conversa: str, sessao_id: str, row: InboxRow) -> Sessao | None:
        sessao = await snapshots.load(connection, conversa, sessao_id)
        if sessao is None or not sessao.espera_usuario:
            return None
        return await self._apply(connection, sessao, EquipeEncerrou(), row)

    async def _apply(self, connection: Connection, sessao: Sessao, evento: Evento, row: InboxRow) -> Sessao:
        empresa, agora = await people.get_company(connection, sessao.empresa_id)
        return await self._conversations.apply(
            connection, sessao, (evento,), empresa, agora, row.correlacao, telefone=None
        )
