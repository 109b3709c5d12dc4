"""Sends the mails of batches, one after the other, and stores what became of each bunch before the next.

Gets an invoice's PDF or XML ready to be sent: from our store, else from the gateway; then up to WhatsApp.

The PDFs and XMLs of the notes that a mail carries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

import structlog

from bot.ports import Mailer, Messenger
from gateway.lines import CallKind
from gateway.mail.message import Mail, MailedFile
from gateway.registry import Channels
from gateway.whatsapp.errors import Failure
from gateway.whatsapp.media import Uploaded
from gateway.whatsapp.messages import DocumentoMidia, ImageMessage, Mensagem, Texto
from operations.month import (
    MIME,
    PAGE_MIME,
    Mes,
    MonthError,
    image_of,
    month_named,
    month_of,
    named,
    page_file,
    xlsx_of,
)
from persistence.batches import mailed_notes, records, suppression, work
from persistence.batches.work import TakenBatch
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import notes
from persistence.fiscal.notes import Guardado
from persistence.people.companies import get_company
from persistence.queue import outbox
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.records import Emitidas, fechamento
from state_machine.invoice.session import EnviarArquivo, EnviarMes, file_name
from state_machine.mailing.delivery import (
    EstadoLinha,
    EstadoLote,
    MailIncomplete,
    MailUnreachable,
    Settled,
    settle,
)
from state_machine.mailing.reading import reason, text_of
from state_machine.protocol.emission import Arquivo
from state_machine.values.local_time import MesOuAno
from telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class NotYet:
    """The document does not exist yet, or can't be fetched now."""

    motivo: str


class Documents:
    """Documents of notes, fetched once and kept for good, save a PDF that is drawn here."""

    def __init__(self, database: Database, channels: Channels) -> None:
        self._database = database
        self._channels = channels

    async def fetch(self, emissao_id: int, formato: Literal["pdf", "xml"]) -> Arquivo | NotYet:
        """Return a note's document, or why it can't be had now.

        A PDF that the channel draws is drawn anew, for the note may have been cancelled since; where that cannot be
        done now, the kept one serves for a note that stands as far as we know. One that we know as cancelled never goes
        without its mark. Of a channel without PDFs it is a text with the note's page.
        """
        async with self._database.alone() as connection:
            kept = await notes.document(connection, emissao_id, formato)
        natureza = self._channels.of(kept.canal).natureza
        if formato == "pdf" and natureza.page and kept.endereco:
            return page_file(kept.endereco)
        drawn = formato == "pdf" and natureza.draws
        if kept.documento is not None and not drawn:
            return kept.documento
        fetched = await self._fetched(emissao_id, formato, kept)
        return kept.documento if isinstance(fetched, NotYet) and kept.documento and not kept.cancelada else fetched

    async def _fetched(self, emissao_id: int, formato: Literal["pdf", "xml"], kept: Guardado) -> Arquivo | NotYet:
        if kept.id_externo is None:
            return NotYet("the gateway has not named the note yet")
        gateway = self._channels.of(kept.canal)
        if not gateway.lines.breaker(kept.prestador, CallKind.DOWNLOAD).allows():
            return NotYet("downloads of this company fail: left alone for a moment")
        fetched = await gateway.download(kept.prestador, kept.id_externo, formato)
        if not isinstance(fetched, Arquivo):
            return NotYet(fetched.motivo)
        if fetched.unmarked and kept.cancelada:
            return NotYet("the authority does not say how the note ended")
        async with self._database.alone() as connection:  # the first one stays
            notes.store_document(connection, emissao_id, formato, fetched)
        return fetched


MonthLink = Callable[[int, MesOuAno], str | None]
"""Returns the address of a company's ZIP of a month, ``None`` where there is none."""


class Attachments:
    """Documents as messages."""

    def __init__(
        self,
        database: Database,
        documents: Documents,
        messenger: Messenger,
        link: MonthLink,
    ) -> None:
        self._database = database
        self._documents = documents
        self._messenger = messenger
        self._link = link

    async def prepare(self, arquivo: EnviarArquivo) -> Mensagem | NotYet | Failure:
        """Return the message to send, or why it can't be made now; in the place of a PDF that is none, the page."""
        documento = await self._documents.fetch(arquivo.emissao_id, arquivo.formato)
        if isinstance(documento, NotYet):
            return documento
        if arquivo.formato == "pdf" and documento.mime == PAGE_MIME:
            page = f"A nota, na página da prefeitura: {documento.conteudo.decode().strip()}"
            return Texto("\n\n".join(filter(None, (arquivo.legenda, page))))
        uploaded = await self._messenger.upload_media(documento.conteudo, documento.mime, arquivo.nome)
        if not isinstance(uploaded, Uploaded):
            return uploaded
        return DocumentoMidia(uploaded.media_id, arquivo.nome, arquivo.legenda)

    async def month(self, asked: EnviarMes) -> Mensagem | Failure:
        """Return a company's month as a message, as it stands now: the workbook, or the picture."""
        try:
            if asked.formato == "png":
                nome, picture = await _drawn(self._database, asked.empresa_id, asked.mes)
                drawn = await self._messenger.upload_media(picture, MIME["png"], nome)
                return ImageMessage(drawn.media_id) if isinstance(drawn, Uploaded) else drawn
            nome, workbook, said = await _closing(self._database, self._link, asked.empresa_id, asked.mes)
        except MonthError as error:
            return Texto(str(error))
        uploaded = await self._messenger.upload_media(workbook, MIME[asked.formato], nome)
        return DocumentoMidia(uploaded.media_id, nome, said) if isinstance(uploaded, Uploaded) else uploaded


async def _read(database: Database, empresa_id: int, month: str) -> Mes:
    async with database.alone() as connection:
        empresa, _ = await get_company(connection, empresa_id)
        return await month_of(connection, empresa.id, empresa.cnpj, month_named(month))


async def _drawn(database: Database, empresa_id: int, month: str) -> tuple[str, bytes]:
    mes = await _read(database, empresa_id, month)
    return f"{mes.nome}.png", await asyncio.to_thread(image_of, mes)


async def _closing(database: Database, link: MonthLink, empresa_id: int, month: str) -> tuple[str, bytes, str]:
    """Return the name and the bytes of a month's workbook as it stands now, and what is said of it."""
    mes = await _read(database, empresa_id, month)
    standing, address = sum(nota.vale for nota in mes.notas), link(empresa_id, mes.periodo)
    said = fechamento(mes.periodo, Emitidas(standing, mes.total), len(mes.notas) - standing, address)
    return f"{mes.nome}.xlsx", await asyncio.to_thread(xlsx_of, mes), said


FORMATS: Final[tuple[Literal["pdf", "xml"], ...]] = ("pdf", "xml")


class NoteFiles:
    """Gets them ready, each from our store or else from the gateway; a month as it stands now."""

    def __init__(self, database: Database, documents: Documents, link: MonthLink) -> None:
        self._database = database
        self._documents = documents
        self._link = link

    async def of(self, notas: Sequence[Mapping[str, Any]]) -> tuple[tuple[MailedFile, ...], str] | MailIncomplete:
        """Return both files of each note (``emissao_id``, ``numero``), or why the mail cannot go.

        Of a month (``empresa_id``, ``mes``): the workbook, and what the mail says of it.
        """
        if notas and "mes" in notas[0]:
            try:
                nome, workbook, said = await _closing(
                    self._database, self._link, notas[0]["empresa_id"], notas[0]["mes"]
                )
            except MonthError:
                return MailIncomplete(final=True)
            return (MailedFile(nome, MIME["xlsx"], workbook),), said.replace("*", "")
        async with self._database.alone() as connection:
            if not await mailed_notes.stand(connection, [nota["emissao_id"] for nota in notas]):
                return MailIncomplete(final=True)
        files = []
        for nota in notas:
            for formato in FORMATS:
                documento = await self._documents.fetch(nota["emissao_id"], formato)
                if not isinstance(documento, Arquivo):
                    return MailIncomplete()
                name = named(file_name(nota["numero"], formato, nota.get("tipo", "NFS-e")), documento)
                files.append(MailedFile(name, documento.mime, documento.conteudo))
        return tuple(files), ""


CONCURRENCY: Final = 2  # batches at a time in one process: two lines to the mail server
SLICE_SECONDS: Final = 4.0  # then the batch is given back: below the time that a process has to end in good order
IDLE: Final = timedelta(seconds=5)  # until somebody looks again at rows that are due and may not go, for their domain
NOT_BEGUN: Final = Settled(EstadoLinha.PENDING, not_sent=True)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class MailPolicy:
    """Who sends, and when again: ``ladder`` in seconds after each 4xx, ``unknown`` in seconds after a lost answer.

    ``public_url``: where the pages are on which readers say no to more. ``per_minute``: mails to one domain.
    """

    sender: str
    ladder: tuple[float, ...]
    unknown: float
    public_url: str
    per_minute: int | None = None

    @property
    def domain(self) -> str:
        """The right side of our Message-IDs."""
        return self.sender.rpartition("@")[2]


class Mailing:
    """Works on confirmed batches; any number of replicas. ``connect`` opens a line to the mail server."""

    lease_seconds = work.LEASES.seconds
    concurrency = CONCURRENCY

    def __init__(
        self,
        database: Database,
        connect: Callable[[], AbstractAsyncContextManager[Mailer]],
        policy: MailPolicy,
        metrics: Metrics,
        files: NoteFiles,
    ) -> None:
        self._database = database
        self._connect = connect
        self._policy = policy
        self._metrics = metrics
        self._files = files

    async def claim(self, limit: int) -> list[TakenBatch]:
        """Take batches of which there is word."""
        async with self._database.transaction() as connection:
            return await work.take_due(connection, limit, timedelta(seconds=self._policy.unknown))

    async def renew(self, batch: TakenBatch) -> bool:
        """Give a sign of life."""
        return await work.LEASES.keep(self._database, batch)

    async def work(self, batch: TakenBatch) -> bool:
        """Send what is due of a batch for some seconds, and give it back; never raises."""
        structlog.contextvars.bind_contextvars(correlacao=f"lote-{batch.id}")  # of this task alone
        try:
            async with self._connect() as line:
                pause, why = await self._send_rows(batch, line)
            if why is None:
                async with self._database.transaction() as connection:
                    if await work.leave(connection, batch, pause) is EstadoLote.CONCLUIDO:
                        await _tell(connection, batch.id)
            else:
                log.warning("mail_server_unreachable", reason=why)
                await self._failed(batch, why)
        except Exception as error:
            log.exception("batch_failed", error=type(error).__name__)
            try:
                await self._failed(batch, type(error).__name__)
            except Exception as again:  # noqa: BLE001 - without the database, the sweep finds it
                log.warning("batch_left", error=type(again).__name__)
        return True

    async def _failed(self, batch: TakenBatch, why: str) -> None:
        async with self._database.transaction() as connection:
            if await work.mark_failed(connection, batch, why, timedelta(seconds=self._policy.ladder[0])):
                await _tell(connection, batch.id, waits=True)

    async def _send_rows(self, batch: TakenBatch, line: Mailer) -> tuple[timedelta, str | None]:
        """Send bunch after bunch; returns how long nothing can be sent now, and why no mail gets through, if none does.

        What became of a bunch is stored with one commit, however it ends; what was not begun is given back.
        """
        end = time.monotonic() + SLICE_SECONDS
        while time.monotonic() < end:
            async with self._database.transaction() as connection:
                rows = await work.next_rows(connection, batch, self._policy.domain, self._policy.per_minute)
            if not rows:
                return IDLE, None
            became = {row.id: NOT_BEGUN for row in rows}
            try:
                why = await self._send_bunch(batch, line, rows, became, end)
            finally:
                async with self._database.transaction() as connection:
                    ours = await work.settle(connection, batch, became)
            if why is not None or not ours:
                return IDLE, why  # or another has it, and counts these mails as uncertain
        return timedelta(0), None

    async def _send_bunch(
        self, batch: TakenBatch, line: Mailer, rows: list[Any], became: dict[int, Settled], end: float
    ) -> str | None:
        """Send these until ``end``, one at least, and note in ``became`` what of each; returns why none gets through.

        The one in hand stands in no ``became``: until its answer is known it may have arrived.
        """
        for number, row in enumerate(rows):
            if number and time.monotonic() > end:
                break
            found = await self._found(row)
            async with self._database.alone() as connection:
                goes = await work.goes(connection, batch, row.id)
            if goes is None:
                break  # stopped, or another's
            if goes:
                del became[row.id]
                outcome = (
                    found if isinstance(found, MailIncomplete) else await line.send(self._mail(batch, row, *found))
                )
                self._metrics.mails.labels(type(outcome).__name__.removeprefix("Mail").lower()).inc()
                after = self._policy.ladder, self._policy.unknown
                became[row.id] = settle(outcome, row.attempts, row.incertas, *after)
                if isinstance(outcome, MailUnreachable):
                    return outcome.why
        return None

    async def _found(self, row: Any) -> tuple[tuple[MailedFile, ...], str] | MailIncomplete:
        """Return what a mail carries; where that fails, only this mail waits, and ends with the ladder."""
        try:
            return await self._files.of(row.notas) if row.notas else ((), "")
        except Exception as error:
            log.exception("mail_files_failed", error=type(error).__name__)
            return MailIncomplete()

    def _mail(self, batch: TakenBatch, row: Any, files: tuple[MailedFile, ...], below: str) -> Mail:
        assunto, texto = text_of(batch.assunto, batch.mensagem, row.dados)
        sair = suppression.address(self._policy.public_url, row.token)
        why = reason(batch.empresa, contador=bool(below))
        said = (assunto, "\n\n".join(filter(None, (texto, below))), why, sair)
        return Mail(row.external_id, self._policy.sender, batch.empresa, row.email, *said, files)


def asked_for(lote_id: int) -> str:
    """Return the key of the answer to whoever asked for one mail: in that conversation it is told what became of it."""
    return f"lote:{lote_id}"


async def _tell(connection: Connection, lote_id: int, *, waits: bool = False) -> None:
    """Tell whoever asked for one mail that it went, or why not, once; ``waits``: that no server takes it now."""
    conversa = await outbox.lane_of(connection, asked_for(lote_id))
    row = next(iter(await records.rows(connection, lote_id, 0, 1)), None) if conversa else None
    if conversa is None or row is None or not row.notas:  # a list's, or erased
        return
    carried = row.notas[0]
    kind = pedidos.carried_month if "mes" in carried else pedidos.carried_note
    nota = (kind(carried["numero"]), row.email)
    if waits:
        said = pedidos.email_demora(*nota)
    elif row.estado == EstadoLinha.DONE:
        said = pedidos.mail_sent(*nota)
    else:
        said = pedidos.mail_failed(*nota, next(iter(row.problemas), {}))
    chave = f"{asked_for(lote_id)}:{'espera' if waits else 'fim'}"
    outbox.enqueue(connection, conversa=conversa, mensagem=said, chave=chave)
