"""What people and systems do with batches: send a list, say yes to it, ask about it, stop it.

What is done to a batch that was read: a yes to its revision, a stop, and how it stands.

A list arrives: read off the event loop, made a batch once, and its rows stored once.

Batches from a terminal: the lines that are printed, and the sentences of what is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from operations.channel import company_of
from operations.protocol import CommandRefusedError
from persistence.api import approvals
from persistence.api.keys import WORDS
from persistence.audit import records as audit
from persistence.audit.records import Author
from persistence.batches import records, suppression
from persistence.batches.records import FirstMail
from persistence.db.connection import Connection
from persistence.db.connection import Row as Found
from persistence.db.engine import Database
from persistence.queue import outbox
from state_machine.catalogue import requests as pedidos
from state_machine.mailing.delivery import ENCERRADOS, EstadoLinha, EstadoLote, TipoLote
from state_machine.mailing.reading import ListRefusedError, NotAnAddressError, normalised, read
from state_machine.values.errors import ProsaError

Also = Callable[[Connection, Found, bool], Awaitable[None]]
"""What a transaction stores besides: of which batch, and whether it changed."""


LARGEST_ID: Final = 2**63 - 1  # of a ``bigint``


class UnknownBatchError(ProsaError):
    """There is no such batch."""

    code = "lote_desconhecido"


class AnotherRevisionError(ProsaError):
    """The yes was to other rows than those that stand there, or the batch waits for none."""

    code = "revisao_diferente"


@dataclass(frozen=True, slots=True)
class BatchStanding:
    """A batch and its rows by their state; ``incertas``: mails of which an answer was lost.

    ``primeiro``: the first mail as it will look, while the batch waits for a yes.
    """

    lote: Found
    linhas: dict[EstadoLinha, int]
    incertas: int
    primeiro: FirstMail | None

    @property
    def prontas(self) -> int:
        """Rows that a mail goes to, or has gone to."""
        return sum(self.linhas.values()) - self.problemas

    @property
    def problemas(self) -> int:
        """Rows that no mail goes to."""
        return self.linhas.get(EstadoLinha.INVALID, 0)


async def nothing_more(_: Connection, __: Found, ___: bool) -> None:
    """Store nothing besides."""


async def standing(database: Database, lote_id: int) -> BatchStanding:
    """Return how a batch stands. Raises ``UnknownBatchError``."""
    async with database.transaction() as connection:
        lote = await _known(connection, lote_id)
        linhas = await records.counts(connection, lote_id)
        first = await records.first_mails(connection, [lote])
        return BatchStanding(lote, linhas, await records.uncertain(connection, lote_id), first.get(lote_id))


async def confirm(
    database: Database,
    lote_id: int,
    *,
    revisao: str,
    quem: str,
    also: Also = nothing_more,
    staff_id: int | None = None,
    person: bool = True,
) -> None:
    """Let a batch be sent, audited; the same yes again changes nothing. ``also``: what its transaction stores besides.

    A system's yes (``person`` is false) to a batch with addresses that never got a mail of the company lets nothing be
    sent: those who issue for it are asked on WhatsApp. Whoever sits at a terminal or the console is a person.
    Raises ``UnknownBatchError`` and ``AnotherRevisionError``; nothing is sent then.
    """
    async with database.transaction() as connection:
        lote = await _known(connection, lote_id)
        if not person and await _asks(connection, lote, revisao, quem):
            await also(connection, lote, False)  # noqa: FBT003 - an ``Also``
            return
        if await confirm_in(connection, lote, revisao, quem, staff_id=staff_id):
            await also(connection, lote, True)  # noqa: FBT003 - an ``Also``
            return
        lote = await _known(connection, lote_id)  # a yes at the same moment may have come first
        if lote.revisao != revisao or lote.confirmado_em is None:
            raise AnotherRevisionError(f"o lote {lote_id} está {lote.estado}, na revisão {lote.revisao}")
        await also(connection, lote, False)  # noqa: FBT003 - an ``Also``


async def confirm_in(
    connection: Connection, lote: Found, revisao: str, quem: str, *, staff_id: int | None = None
) -> bool:
    """Do the same in a transaction that is open; says whether the yes is to what stands there, and new."""
    new = await records.confirm(connection, lote.id, revisao, quem)
    if new:
        await _audited(connection, lote, quem=quem, staff_id=staff_id, acao="confirmou lote")
    return new


async def _asks(connection: Connection, lote: Found, revisao: str, quem: str) -> bool:
    """Ask each of those who can be written to, once, whether the batch goes; says whether it waits for that."""
    people = await approvals.askable(connection, lote.empresa_id)
    asked = await records.ask(connection, lote.id, revisao, len(people))
    if asked is None:
        return False
    linhas = await records.counts(connection, lote.id)
    mail = (await records.first_mails(connection, [asked])).get(lote.id)
    question = pedidos.ask_to_send(
        (lote.id, lote.nome_arquivo),
        revisao,
        (linhas.get(EstadoLinha.PENDING, 0) + linhas.get(EstadoLinha.PROCESSING, 0), asked.pergunta_novos),
        None if mail is None else (mail.email, mail.assunto, mail.mensagem),
    )
    for person in people:
        chave = f"lista:{lote.id}:{revisao}:{asked.epoch}:{person.id}"
        outbox.enqueue(connection, conversa=person.conversa, mensagem=question, chave=chave)
    await _audited(connection, lote, quem=quem, staff_id=None, acao="pediu o sim de um lote")
    return True


def waits_for_people(lote: Found) -> bool:
    """Say whether a system said yes to a batch as it stands, and a person has not yet."""
    return bool(lote.estado == EstadoLote.AGUARDANDO_CONFIRMACAO and lote.pergunta_revisao == lote.revisao)


def of_another_environment(lote: Found, ambiente: str) -> bool:
    """Say whether a key of the environment in which the company does not issue now sent the batch."""
    other = [f"prosa_{word}_" for its, word in WORDS.items() if its != ambiente]
    return (lote.usuario or "").startswith(tuple(other))


async def stop(database: Database, lote_id: int, quem: str, *, staff_id: int | None = None) -> int:
    """Cancel what was not sent, audited; returns how many rows, 0 where the batch has ended already.

    Raises ``UnknownBatchError``.
    """
    async with database.transaction() as connection:
        return await stop_in(connection, await _known(connection, lote_id), quem, staff_id=staff_id) or 0


async def stop_in(connection: Connection, lote: Found, quem: str, *, staff_id: int | None = None) -> int | None:
    """Do the same in a transaction that is open; ``None`` where the batch has ended already."""
    cancelled = await records.stop(connection, lote.id)
    if cancelled is not None:
        await _audited(connection, lote, quem=quem, staff_id=staff_id, acao="parou lote")
    return cancelled


def has_ended(lote: Found) -> bool:
    """Say whether nothing more of a batch is sent."""
    return EstadoLote(lote.estado) in ENCERRADOS


async def _known(connection: Connection, lote_id: int) -> Found:
    lote = await records.by_id(connection, lote_id) if 0 < lote_id <= LARGEST_ID else None
    if lote is None:
        raise UnknownBatchError(f"não existe o lote {lote_id}")
    return lote


async def _audited(connection: Connection, lote: Found, *, quem: str, staff_id: int | None, acao: str) -> None:
    await audit.write(
        connection, staff_id=staff_id, quem=quem, acao=acao, alvo=f"lote {lote.id}", empresa_id=lote.empresa_id
    )


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
            await confirm(database, lote.id, revisao=confirmar, quem=QUEM)
    except ListRefusedError as error:
        raise CommandRefusedError(f"{file.nome_arquivo} {error}. Nada foi guardado.") from error
    except RepeatedContentError as error:
        raise CommandRefusedError(f"Nada foi guardado: {error}. Se é outro envio, use --repetir.") from error
    except AnotherTextError as error:
        raise CommandRefusedError(f"Nada mudou: {error}. Para outro envio, mude o nome e use --repetir.") from error
    except AnotherRevisionError as error:
        raise CommandRefusedError(f"Nada foi enviado: {error}.") from error
    found = await standing(database, lote.id)
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
    if has_ended(before.lote):
        return [f"O lote {lote_id} já estava {before.lote.estado}; nada mudou.", *_told(before)]
    cancelled = await stop(database, lote_id, QUEM)
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
        return await standing(database, lote_id)
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
    if waits_for_people(lote):
        asked = f"{lote.pergunta_novos} para endereços novos, {lote.pergunta_pessoas} perguntadas"
        lines.append(f"Espera o sim de uma pessoa da empresa no WhatsApp: {asked}")
    if lote.erro:
        lines.append(f"Última falha: {lote.erro}")
    return lines


async def _carried(database: Database, lote_id: int) -> list[str]:
    """Say which notes go to whom, of the first mails that carry some."""
    async with database.alone() as connection:
        rows, mails = await records.carrying(connection, lote_id, MAILS_SHOWN)
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
