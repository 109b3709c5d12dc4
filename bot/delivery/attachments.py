"""Gets an invoice's PDF or XML ready to be sent: from our store, else from the gateway; then up to WhatsApp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateway.lines import CallKind
from gateway.whatsapp.media import Uploaded
from gateway.whatsapp.messages import DocumentoMidia
from persistence.fiscal import notes
from state_machine.protocol.emission import Documento

if TYPE_CHECKING:
    from bot.ports import Messenger
    from gateway.registry import Channels
    from gateway.whatsapp.errors import Failure
    from persistence.db.engine import Database
    from persistence.fiscal.notes import Guardado
    from state_machine.machine.effects import EnviarArquivo


@dataclass(frozen=True, slots=True)
class NotYet:
    """The document does not exist yet, or can't be fetched now."""

    motivo: str


class Attachments:
    """Documents of notes, fetched once and kept for good, save a PDF that is drawn here."""

    def __init__(self, database: Database, messenger: Messenger, channels: Channels) -> None:
        self._database = database
        self._messenger = messenger
        self._channels = channels

    async def prepare(self, arquivo: EnviarArquivo) -> DocumentoMidia | NotYet | Failure:
        """Return the message to send, or why it can't be made now."""
        documento = await self.fetch(arquivo.emissao_id, arquivo.formato)
        if isinstance(documento, NotYet):
            return documento
        uploaded = await self._messenger.upload_media(documento.conteudo, documento.mime, arquivo.nome)
        if not isinstance(uploaded, Uploaded):
            return uploaded
        return DocumentoMidia(uploaded.media_id, arquivo.nome, arquivo.legenda)

    async def fetch(self, emissao_id: int, formato: Literal["pdf", "xml"]) -> Documento | NotYet:
        """Return a note's document, or why it can't be had now.

        A PDF that the channel draws is drawn anew, for the note may have been cancelled since; where that cannot be
        done now, the kept one serves for a note that stands as far as we know. One that we know as cancelled never goes
        without its mark.
        """
        async with self._database.alone() as connection:
            kept = await notes.document(connection, emissao_id, formato)
        drawn = formato == "pdf" and self._channels.of(kept.canal).natureza.draws
        if kept.documento is not None and not drawn:
            return kept.documento
        fetched = await self._fetched(emissao_id, formato, kept)
        return kept.documento if isinstance(fetched, NotYet) and kept.documento and not kept.cancelada else fetched

    async def _fetched(self, emissao_id: int, formato: Literal["pdf", "xml"], kept: Guardado) -> Documento | NotYet:
        if kept.id_externo is None:
            return NotYet("the gateway has not named the note yet")
        gateway = self._channels.of(kept.canal)
        if not gateway.lines.breaker(kept.prestador, CallKind.DOWNLOAD).allows():
            return NotYet("downloads of this company fail: left alone for a moment")
        fetched = await gateway.download(kept.prestador, kept.id_externo, formato)
        if not isinstance(fetched, Documento):
            return NotYet(fetched.motivo)
        if fetched.unmarked and kept.cancelada:
            return NotYet("the authority does not say how the note ended")
        async with self._database.alone() as connection:  # the first one stays
            await notes.store_document(connection, emissao_id, formato, fetched)
        return fetched
