"""A list arrives: read off the event loop, made a batch once, and its rows stored once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from operations.batches.orders import nothing_more
from persistence.audit import records as audit
from persistence.batches import records
from state_machine.mailing.reading import read
from state_machine.mailing.states import EstadoLote, TipoLote
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from operations.batches.orders import Also
    from persistence.db.connection import Row as Found
    from persistence.db.engine import Database


class RepeatedContentError(ProsaError):
    """The same content is a batch already, under another name: ``lote_id`` is that one."""

    code = "conteudo_repetido"

    def __init__(self, lote_id: int, nome_arquivo: str) -> None:
        super().__init__(f"o mesmo conteúdo já chegou como {nome_arquivo}, no lote {lote_id}")
        self.lote_id = lote_id


class AnotherTextError(ProsaError):
    """The same file was a batch before, with other words, and somebody has decided about it already."""

    code = "texto_diferente"

    def __init__(self, lote: Found) -> None:
        super().__init__(f"este arquivo já é o lote {lote.id}, {lote.estado}, com outro assunto ou outra mensagem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it came, and the words of the rows that have none of their own; ``repetir``: knowingly once more."""

    nome_arquivo: str
    conteudo: bytes
    assunto: str | None = None
    mensagem: str | None = None
    repetir: bool = False


async def upload(
    database: Database, empresa_id: int, file: Upload, quem: str, also: Also = nothing_more
) -> tuple[Found, bool]:
    """Return the batch of this file as it stands when its rows are stored, and whether it is new.

    A file that came before is answered with its first batch; one whose reader died is gone on with. Until somebody
    decides about a batch, other words take the place of its own, with another revision. ``also``: what the transaction
    that makes or finds the batch stores besides. Raises ``ListRefusedError``, ``RepeatedContentError`` and
    ``AnotherTextError``; nothing is stored then.
    """
    leitura = await asyncio.to_thread(read, file.nome_arquivo, file.conteudo, file.assunto, file.mensagem)
    values = {
        "empresa_id": empresa_id,
        "tipo": TipoLote.ENVIO,
        "nome_arquivo": file.nome_arquivo,
        "sha256": leitura.sha256,
        "tamanho": len(file.conteudo),
        "assunto": file.assunto,
        "mensagem": file.mensagem,
        "revisao": leitura.revisao,
        "linhas": leitura.total,
        "ignoradas": leitura.ignoradas,
        "iguais": leitura.iguais,
        "usuario": quem,
    }
    async with database.transaction() as connection:
        await records.lock_content(connection, empresa_id, leitura.sha256)
        found = await records.by_file(connection, empresa_id, file.nome_arquivo, leitura.sha256)
        if found is None and not file.repetir:
            other = await records.by_content(connection, empresa_id, leitura.sha256)
            if other is not None:
                raise RepeatedContentError(other.id, other.nome_arquivo)
        made = await records.make(connection, values) if found is None else None
        batch = found or made
        if batch is None:
            raise AssertionError("the lock lets nobody make it meanwhile")
        if made is not None:
            await audit.write(
                connection, staff_id=None, quem=quem, acao="mandou lote", alvo=f"lote {made.id}", empresa_id=empresa_id
            )
        elif (batch.assunto, batch.mensagem) != (file.assunto, file.mensagem):
            changed = await records.replace(connection, batch.id, values)
            if changed is None:
                raise AnotherTextError(batch)
            batch = changed
            await audit.write(
                connection, staff_id=None, quem=quem, acao="mudou lote", alvo=f"lote {batch.id}", empresa_id=empresa_id
            )
        await also(connection, batch, made is not None)
    if batch.estado == EstadoLote.LENDO and batch.revisao == leitura.revisao:
        await records.ingest(database, batch.id, leitura)
    async with database.alone() as connection:
        return await records.by_id(connection, batch.id) or batch, made is not None
