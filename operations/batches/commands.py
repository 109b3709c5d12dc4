"""Batches from a terminal: the lines that are printed, and the sentences of what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operations.batches import orders
from operations.batches.orders import AnotherRevisionError, UnknownBatchError
from operations.batches.upload import AnotherTextError, RepeatedContentError, upload
from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.audit.records import Author
from persistence.batches import listing, suppression
from state_machine.mailing.addresses import NotAnAddressError, normalised
from state_machine.mailing.reading import ListRefusedError
from state_machine.mailing.states import EstadoLinha, EstadoLote, TipoLote

if TYPE_CHECKING:
    from operations.batches.orders import BatchStanding
    from operations.batches.upload import Upload
    from persistence.db.engine import Database

TEXT_SHOWN: Final = 1_000  # characters of the first mail
MAILS_SHOWN: Final = 20  # of those that carry notes: what a terminal shows at once; GET /lotes/{id}/linhas has all
QUEM: Final = "linha de comando"
_SAID: Final = {
    EstadoLinha.DONE: "enviados",
    EstadoLinha.PENDING: "na fila",
    EstadoLinha.PROCESSING: "saindo agora",
    EstadoLinha.FAILED: "recusados",
    EstadoLinha.INVALID: "com problema",
    EstadoLinha.IGNORADA: "ignorados",
    EstadoLinha.CANCELADA: "cancelados",
}


async def send_list(
    database: Database, *, cnpj: str, tipo: str, file: Upload, confirmar: str | None, reachable: bool
) -> list[str]:
    """Take a list in, and with the revision that was shown let it be sent. Raises ``CommandRefusedError``.

    ``reachable``: whether this installation has a mail server.
    """
    if tipo not in tuple(TipoLote):
        raise CommandRefusedError(f"--tipo é um destes: {', '.join(TipoLote)}. Nada mudou.")
    if confirmar is not None and not reachable:
        raise CommandRefusedError("Falta PROSA_SMTP_URL: não há por onde enviar. Nada mudou.")
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
    try:
        lote, created = await upload(database, company.id, file, QUEM)
        if confirmar is not None:
            await orders.confirm(database, lote.id, revisao=confirmar, quem=QUEM)
    except ListRefusedError as error:
        raise CommandRefusedError(f"{file.nome_arquivo} {error}. Nada foi guardado.") from error
    except RepeatedContentError as error:
        raise CommandRefusedError(f"Nada foi guardado: {error}. Se é outro envio, use --repetir.") from error
    except AnotherTextError as error:
        raise CommandRefusedError(f"Nada mudou: {error}. Para outro envio, mude o nome e use --repetir.") from error
    except AnotherRevisionError as error:
        raise CommandRefusedError(f"Nada foi enviado: {error}.") from error
    found = await orders.standing(database, lote.id)
    first = [] if created else ["Este arquivo já tinha chegado; vale o lote de então, com o texto de agora."]
    if file.repetir and not created:
        first.append("--repetir não faz outro envio com o mesmo nome: para outro, mude o nome do arquivo.")
    return [*first, *_told(found), *await _carried(database, lote.id), *_first(found), *_next(found)]


async def show_batch(database: Database, lote_id: int) -> list[str]:
    """Say how a batch stands. Raises ``CommandRefusedError``."""
    return [*_told(await _standing(database, lote_id)), *await _carried(database, lote_id)]


async def stop_batch(database: Database, lote_id: int) -> list[str]:
    """Cancel what was not sent of a batch. Raises ``CommandRefusedError``."""
    before = await _standing(database, lote_id)
    if orders.has_ended(before.lote):
        return [f"O lote {lote_id} já estava {before.lote.estado}; nada mudou.", *_told(before)]
    cancelled = await orders.stop(database, lote_id, QUEM)
    said = f"Lote {lote_id} parado: {cancelled} e-mails não saem mais. O que já saiu, saiu."
    return [said, *_told(await _standing(database, lote_id))]


async def release(database: Database, cnpj: str, email: str, motivo: str) -> list[str]:
    """Let an address that wanted no more, or bounced, get a company's mails again. Raises ``CommandRefusedError``."""
    if not motivo.strip():
        raise CommandRefusedError("Diga em --motivo quem pediu e quando. Nada mudou.")
    try:
        address = normalised(email)
    except NotAnAddressError as error:
        raise CommandRefusedError(f"{email}: {error}. Nada mudou.") from error
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        why = await suppression.release(connection, company.id, address)
        if why is None:
            raise CommandRefusedError(f"{address} não estava fora dos envios de {company.razao_social}. Nada mudou.")
        await audit.write_by(
            connection, Author(QUEM, motivo=motivo), "liberou um e-mail", company.id, {"estava fora por": why}
        )
    return [f"{address} volta a receber de {company.razao_social}. Estava fora: {why}."]


async def _standing(database: Database, lote_id: int) -> BatchStanding:
    try:
        return await orders.standing(database, lote_id)
    except UnknownBatchError as error:
        raise CommandRefusedError(f"Nada mudou: {error}.") from error


def _told(found: BatchStanding) -> list[str]:
    lote = found.lote
    rows = ", ".join(f"{found.linhas[estado]} {said}" for estado, said in _SAID.items() if found.linhas.get(estado))
    lines = [
        f"Lote {lote.id} ({lote.nome_arquivo}): {lote.estado}, revisão {lote.revisao}",
        f"{lote.linhas} linhas: {rows or 'nenhuma guardada ainda'}; {lote.iguais} repetidas, {lote.ignoradas} vazias",
    ]
    if found.incertas:
        lines.append(f"{found.incertas} sem resposta do servidor: podem ter chegado; repetem-se uma vez só")
    if lote.erro:
        lines.append(f"Última falha: {lote.erro}")
    return lines


async def _carried(database: Database, lote_id: int) -> list[str]:
    """Say which notes go to whom, of the first mails that carry some."""
    async with database.alone() as connection:
        rows, mails = await listing.carrying(connection, lote_id, MAILS_SHOWN)
    lines = [f"Linha {row.linha}, {row.email}: {', '.join(nota['numero'] for nota in row.notas)}" for row in rows]
    more = [f"e mais {mails - len(rows)}"] if mails > len(rows) else []
    return [f"{mails} e-mails levam notas:", *lines, *more] if rows else []


def _first(found: BatchStanding) -> list[str]:
    mail = found.primeiro
    if mail is None:
        return []
    text = mail.mensagem if len(mail.mensagem) <= TEXT_SHOWN else f"{mail.mensagem[:TEXT_SHOWN]}…"
    said = [f"Assunto: {mail.assunto}", *text.splitlines()]
    return [f"O primeiro e-mail, da linha {mail.linha}, para {mail.email}:", *(f"  {line}".rstrip() for line in said)]


def _next(found: BatchStanding) -> list[str]:
    if found.lote.estado != EstadoLote.AGUARDANDO_CONFIRMACAO:
        return []
    return [f"Nada foi enviado. Para enviar {found.prontas} e-mails, repita com --confirmar {found.lote.revisao}"]
