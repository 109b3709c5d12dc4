"""The PDFs and XMLs of the notes that a mail carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from gateway.mail.message import MailedFile
from persistence.batches import mailed_notes
from state_machine.machine.effects import file_name
from state_machine.mailing.delivery import MailIncomplete
from state_machine.protocol.emission import Documento

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bot.delivery.attachments import Attachments
    from persistence.db.engine import Database

FORMATS: Final[tuple[Literal["pdf", "xml"], ...]] = ("pdf", "xml")


class NoteFiles:
    """Gets them ready, each from our store or else from the gateway."""

    def __init__(self, database: Database, attachments: Attachments) -> None:
        self._database = database
        self._attachments = attachments

    async def of(self, notas: Sequence[Mapping[str, Any]]) -> tuple[MailedFile, ...] | MailIncomplete:
        """Return both files of each note (``emissao_id``, ``numero``), or why the mail cannot go."""
        async with self._database.alone() as connection:
            if not await mailed_notes.stand(connection, [nota["emissao_id"] for nota in notas]):
                return MailIncomplete(final=True)
        files = []
        for nota in notas:
            for formato in FORMATS:
                documento = await self._attachments.fetch(nota["emissao_id"], formato)
                if not isinstance(documento, Documento):
                    return MailIncomplete()
                files.append(MailedFile(file_name(nota["numero"], formato), documento.mime, documento.conteudo))
        return tuple(files)
