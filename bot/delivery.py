"""Hands messages to WhatsApp, each conversation's in order, and remembers what became of them; writes no text."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, assert_never

import structlog

from gateway.whatsapp_errors import (
    Ambiguous,
    Broken,
    Dropped,
    Halted,
    RetryLater,
    RetryPair,
    SendResult,
    Sent,
    WindowClosed,
)
from gateway.whatsapp_limits import MensagemInvalida
from gateway.whatsapp_media import Uploaded
from gateway.whatsapp_messages import Botao, ComBotoes, DocumentoMidia, Mensagem, Texto
from persistence import notes, outbox
from state_machine.emission import Documento

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bot.ports import FiscalGateway, Messenger
    from persistence.engine import Database
    from persistence.lanes import InboxRow, Lanes, Lease
    from persistence.outbox import Saida

log = structlog.get_logger(__name__)

CONCURRENCY = 20  # messages in flight per worker; Meta takes 80 a second per number
MAX_TRIES = 8  # with the back-off below: about ten minutes of trouble at Meta
BACKOFF_CAP = 120.0  # seconds
AMBIGUOUS_WAIT = 30.0  # seconds for the status webhook to say whether it left
HALTED_WAIT = 60.0  # seconds between probes while Meta refuses our token or account
NOT_READY_WAIT = 2.0  # seconds between looks for a PDF that the gateway is still rendering
CAPTION_AFTER = timedelta(seconds=60)  # then the result is told without waiting for the PDF any longer
GIVE_UP_FILE_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class _Later:
    """The content is not there yet."""

    seconds: float
    motivo: str


class Delivery:
    """Empties the outbox; any number of replicas."""

    def __init__(self, database: Database, lanes: Lanes, messenger: Messenger, gateway: FiscalGateway) -> None:
        self._database = database
        self._lanes = lanes
        self._messenger = messenger
        self._gateway = gateway

    async def claim(self, limit: int) -> list[Saida]:
        """Take messages that are due."""
        async with self._database.transaction() as connection:
            return await outbox.claim(connection, limit)

    async def renew(self, saida: Saida) -> bool:
        """Keep a message that takes long."""
        async with self._database.transaction() as connection:
            return await outbox.renew(connection, saida)

    async def work(self, saida: Saida) -> None:
        """Send one message once, and settle what came of it; never raises."""
        with structlog.contextvars.bound_contextvars(correlacao=saida.correlacao, outbox_id=saida.id):
            try:
                content = await self._content(saida)
                if isinstance(content, _Later):
                    await self._postpone(saida, content)
                    return
                result = await self._messenger.send(content, saida.endereco, str(saida.id), tentativa=saida.tentativas)
            except MensagemInvalida as error:
                result = Broken(0, str(error))
            except Exception as error:
                log.exception("delivery_failed", error=type(error).__name__)
                return
            try:
                await self._settle(saida, result)
            except Exception as error:
                # It may have left: its status webhook will tell; else the lease runs out and it is sent again.
                log.exception("delivery_unsettled", error=type(error).__name__)

    async def _content(self, saida: Saida) -> Mensagem | _Later:
        match saida.mensagem:
            case {"tipo": "texto", "texto": str(texto), "botoes": []}:
                return Texto(texto)
            case {"tipo": "texto", "texto": str(texto), "botoes": list(botoes)}:
                return ComBotoes(texto, tuple(Botao(b["id"], b["titulo"]) for b in botoes))
            case {"tipo": "arquivo"}:
                return await self._file(saida.mensagem)
            case _:
                raise MensagemInvalida("an outbox row of an unknown kind")

    async def _file(self, mensagem: dict[str, Any]) -> Mensagem | _Later:
        emissao_id, formato = mensagem["emissao_id"], mensagem["formato"]
        async with self._database.transaction() as connection:
            documento = await notes.document(connection, emissao_id, formato)
            id_externo = await notes.external_id(connection, emissao_id)
        if documento is None:
            if id_externo is None:
                return _Later(NOT_READY_WAIT, "the gateway has not named the note yet")
            fetched = await self._gateway.download(id_externo, formato)
            if not isinstance(fetched, Documento):
                return _Later(NOT_READY_WAIT, fetched.motivo)
            documento = fetched
            async with self._database.transaction() as connection:
                await notes.store_document(connection, emissao_id, formato, documento)
        uploaded = await self._messenger.upload_media(documento.conteudo, documento.mime, mensagem["nome"])
        if not isinstance(uploaded, Uploaded):
            return _Later(NOT_READY_WAIT * 5, f"upload: {type(uploaded).__name__}")
        return DocumentoMidia(uploaded.media_id, mensagem["nome"], mensagem.get("legenda"))

    async def _postpone(self, saida: Saida, later: _Later) -> None:
        idade = saida.agora - saida.criado_em
        async with self._database.transaction() as connection:
            if idade > GIVE_UP_FILE_AFTER:
                await outbox.give_up(connection, saida, erro=later.motivo, codigo=None)
                return
            legenda = saida.mensagem.get("legenda")
            if idade > CAPTION_AFTER and legenda:
                texto = {"tipo": "texto", "texto": f"{legenda}\nO PDF chega em seguida.", "botoes": []}
                await outbox.enqueue(
                    connection,
                    conversa=saida.conversa,
                    mensagem=texto,
                    sessao_id=saida.sessao_id,
                    chave=f"legenda:{saida.id}",
                    correlacao=saida.correlacao,
                )
                await outbox.without_caption(connection, saida)
            seconds = later.seconds if idade < CAPTION_AFTER else HALTED_WAIT
            await outbox.again(connection, saida, seconds, erro=later.motivo, conta=False)

    async def _settle(self, saida: Saida, result: SendResult) -> None:
        async with self._database.transaction() as connection:
            match result:
                case Sent(wamid):
                    await outbox.sent(connection, saida, wamid)
                case RetryLater(after, code) if saida.tentativas < MAX_TRIES:
                    seconds = after if after is not None else _backoff(saida.tentativas)
                    await outbox.again(connection, saida, seconds, erro="retry", codigo=code or None)
                case RetryPair(after) if saida.tentativas < MAX_TRIES:
                    await outbox.again(connection, saida, after, erro="pair rate", codigo=131056)
                case Ambiguous(why) if saida.tentativas < MAX_TRIES:
                    await outbox.again(connection, saida, AMBIGUOUS_WAIT, erro=why, incerto=True)
                case Halted(code):
                    await outbox.again(connection, saida, HALTED_WAIT, erro="halted", codigo=code, conta=False)
                case Dropped(code, why) | Broken(code, why):
                    await outbox.give_up(connection, saida, erro=why, codigo=code)
                case WindowClosed():
                    await outbox.give_up(connection, saida, erro="24 h window closed", codigo=131047)
                case RetryLater() | RetryPair() | Ambiguous():
                    await outbox.give_up(connection, saida, erro="too many tries", codigo=None)
                case _:
                    assert_never(result)
        write = log.info if isinstance(result, Sent) else log.warning
        write("message_sent" if isinstance(result, Sent) else "message_not_sent", resultado=type(result).__name__)

    async def on_status(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Meta's ticks for our messages."""
        ids = [row.id for row in rows]
        async with self._database.transaction() as connection:
            for row in rows:
                await _tick(connection, row.payload["status"])
            await self._lanes.done(connection, lease, ids)
        return ids


_TICKS = {"sent": "enviado", "delivered": "entregue", "read": "lido", "played": "lido", "failed": "falhou"}


async def _tick(connection: Any, status: dict[str, Any]) -> None:
    ours = str(status.get("biz_opaque_callback_data") or "")
    tick = _TICKS.get(str(status.get("status")))
    if tick is None:
        return
    error: dict[str, Any] = next(iter(status.get("errors") or ()), {})
    known = await outbox.tick(
        connection,
        outbox_id=int(ours) if ours.isascii() and ours.isdigit() else None,
        wamid=str(status.get("id")),
        status=tick,
        codigo=error.get("code"),
        erro=error.get("title"),
    )
    if not known:
        log.info("status_of_unknown_message", status=tick)


def _backoff(tentativas: int) -> float:
    delay = min(2.0**tentativas, BACKOFF_CAP)
    return float(delay * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
