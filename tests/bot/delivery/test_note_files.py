"""Mails that carry notes: each with its PDF and XML, none that was cancelled, none without its files."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

from bot.delivery.mailing import Documents, Mailing, MailPolicy, NoteFiles
from bot.loops.pump import Pump
from gateway.lines import Lines
from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.message import MailServer
from operations.batches import Upload, upload
from persistence.batches import records
from persistence.db.engine import Database
from persistence.fiscal import notes
from proofs.sandbox.mailbox import Mailbox
from state_machine.protocol.channel import Natureza
from state_machine.protocol.emission import Arquivo, NotReady
from telemetry.metrics import Metrics
from tests.made_batches import QUEM, company, customer, issued

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from persistence.batches.work import TakenBatch
    from state_machine.protocol.channel import Canal
    from state_machine.protocol.emission import Download

POLICY = MailPolicy("notas@ana.com.br", (60.0,), 600.0, "https://prosa.com.br")
CUSTOMERS = {"ana": "12345678909", "bia": "11144477735", "caio": "52998224725"}
FILES = {"pdf": Arquivo(b"%PDF-1.7 nota", "application/pdf"), "xml": Arquivo(b"<NFSe/>", "application/xml")}


class Gateway:
    """A channel that draws PDFs or keeps them, and all channels in one; it draws anew at each question, or not now."""

    def __init__(self, *, draws: bool = False, page: bool = False) -> None:
        self.natureza = Natureza(draws=draws, page=page)
        self.lines = Lines(clock=time.monotonic)
        self.away = self.unmarked = False
        self.asked = 0

    def of(self, _canal: Canal) -> Gateway:
        """Return itself: there is one."""
        return self

    async def download(self, _prestador: str, _id_externo: str, formato: str) -> Download:
        """Draw it."""
        self.asked += 1
        if self.away:
            return NotReady("away")
        return Arquivo(f"{formato} {self.asked}".encode(), "application/pdf", self.unmarked)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


async def keep(database: Database, emissao_id: int) -> None:
    async with database.alone() as connection:
        for formato, documento in FILES.items():
            notes.store_document(connection, emissao_id, formato, documento)


async def states(database: Database) -> list[tuple[str, str | None]]:
    found = await database.pool.fetch("SELECT estado, problemas FROM lote_linhas ORDER BY id")
    return [(row["estado"], row["problemas"][0]["codigo"] if row["problemas"] else None) for row in found]


async def test_a_mail_carries_its_notes(database: Database) -> None:
    """Both files of each note go; a note cancelled since the yes fails its mail; one whose files are not to be had yet
    waits for them.
    """
    emissions = {}
    for number, (name, documento) in enumerate(CUSTOMERS.items()):
        await customer(database, name, documento)
        emissions[name] = await issued(database, documento, str(number), date(2026, 11, 3))
    for name in ("ana", "bia"):
        await keep(database, emissions[name])
    content = "\n".join(("email;competencia", *(f"{name}@test.com.br;2026-11" for name in CUSTOMERS))).encode()
    batch, _ = await upload(database, await company(database), Upload(nome_arquivo="lista.csv", conteudo=content), QUEM)
    async with database.transaction() as connection:
        assert await records.confirm(connection, batch.id, batch.revisao, QUEM)
    gone = "UPDATE nfse_processada SET status = 'cancelado' WHERE emissao_id = $1"
    await database.pool.execute(gone, emissions["bia"])

    box = Mailbox()
    files = NoteFiles(database, Documents(database, cast("Any", Gateway())), lambda *_: None)  # nothing is fetched
    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        mailing = Mailing(database, lambda: MailConnection(server, mail_tls(None)), POLICY, Metrics(), files)
        pump: Pump[TakenBatch] = Pump(
            "mailing", mailing.claim, mailing.work, mailing.renew, lease_seconds=30, concurrency=1
        )
        await pump.run_once()
        assert await states(database) == [
            ("DONE", None),
            ("FAILED", "nota_cancelada"),
            ("PENDING", "documento_indisponivel"),
        ]
        await keep(database, emissions["caio"])
        await database.pool.execute("UPDATE lote_linhas SET a_partir_de = now() WHERE estado = 'PENDING'")
        await database.pool.execute("UPDATE lote_fila SET a_partir_de = now()")
        await pump.run_once()
    assert [kept.to for kept in box.kept] == ["ana@test.com.br", "caio@test.com.br"]
    sent = {part.get_filename(): part.get_content() for part in box.kept[0].message.iter_attachments()}
    assert sent == {"NFSe-0.pdf": FILES["pdf"].conteudo, "NFSe-0.xml": FILES["xml"].conteudo}
    assert box.kept[0].message["Subject"] == "Sua nota fiscal de novembro de 2026"
    text = box.kept[0].message.get_body(("plain",))
    assert text is not None
    assert "Nota 0: R$ 1.500,00" in text.get_content()


async def test_a_note_whose_files_fail_keeps_no_other_mail_back(database: Database) -> None:
    """Its channel may be closed since: that mail fails at the end of its ladder, the ones behind it go at once."""
    for numero, name, documento in (("0", "dora", "12312312387"), ("1", "eva", "32132132191")):
        await customer(database, name, documento)
        await keep(database, await issued(database, documento, numero, date(2026, 9, 3)))
    content = b"email;competencia\ndora@test.com.br;2026-09\neva@test.com.br;2026-09"
    batch, _ = await upload(database, await company(database), Upload(nome_arquivo="set.csv", conteudo=content), QUEM)
    async with database.transaction() as connection:
        assert await records.confirm(connection, batch.id, batch.revisao, QUEM)

    class Closed(NoteFiles):
        async def of(self, notas: Sequence[Mapping[str, Any]]) -> Any:
            if notas[0]["numero"] == "0":
                raise LookupError
            return await super().of(notas)

    box = Mailbox()
    files = Closed(database, Documents(database, cast("Any", Gateway())), lambda *_: None)
    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        mailing = Mailing(database, lambda: MailConnection(server, mail_tls(None)), POLICY, Metrics(), files)
        for _ in range(len(POLICY.ladder) + 1):
            [taken] = await mailing.claim(1)
            await mailing.work(taken)
            await database.pool.execute("UPDATE lote_linhas SET a_partir_de = now() WHERE estado = 'PENDING'")
            await database.pool.execute("UPDATE lote_fila SET a_partir_de = now()")
    assert [kept.to for kept in box.kept] == ["eva@test.com.br"]
    found = await database.pool.fetch("SELECT estado FROM lote_linhas WHERE lote_id = $1 ORDER BY id", batch.id)
    assert [row["estado"] for row in found] == ["FAILED", "DONE"]


async def test_a_mail_carries_the_page_of_a_note_without_a_pdf(database: Database) -> None:
    """A text with its address goes in the PDF's place, instead of waiting for one."""
    emission = await issued(database, CUSTOMERS["ana"], "78", date(2026, 11, 3))
    page = "UPDATE nfse_processada SET url_pdf = 'https://nota.example/78' WHERE emissao_id = $1"
    await database.pool.execute(page, emission)
    async with database.alone() as connection:
        notes.store_document(connection, emission, "xml", FILES["xml"])
    files = NoteFiles(database, Documents(database, cast("Any", Gateway(page=True))), lambda *_: None)
    found = await files.of([{"emissao_id": emission, "numero": "78"}])
    assert isinstance(found, tuple)
    assert [(file.nome, file.conteudo) for file in found[0]] == [
        ("NFSe-78.txt", b"https://nota.example/78\r\n"),
        ("NFSe-78.xml", FILES["xml"].conteudo),
    ]
    of_goods = await files.of([{"emissao_id": emission, "numero": "78", "tipo": "NFC-e"}])
    assert isinstance(of_goods, tuple)
    assert [file.nome for file in of_goods[0]] == ["NFCe-78.txt", "NFCe-78.xml"]


async def test_a_pdf_that_is_drawn_here_is_drawn_anew_for_every_copy(database: Database) -> None:
    """The note may be cancelled by now; the kept one serves only while it stands as far as we know."""
    emission = await issued(database, CUSTOMERS["ana"], "77", date(2026, 11, 3))
    await database.pool.execute("UPDATE nfse_emissao SET id_externo = 'ext' WHERE id = $1", emission)
    gateway = Gateway(draws=True)
    attachments = Documents(database, cast("Any", gateway))

    async def copy(formato: Literal["pdf", "xml"] = "pdf") -> bytes | None:
        found = await attachments.fetch(emission, formato)
        return found.conteudo if isinstance(found, Arquivo) else None

    assert [await copy(), await copy(), await copy("xml"), await copy("xml")] == [
        b"pdf 1",
        b"pdf 2",
        b"xml 3",
        b"xml 3",
    ]
    gateway.unmarked = True
    assert await copy() == b"pdf 4"
    gateway.away = True
    assert await copy() == b"pdf 1"
    await database.pool.execute("UPDATE nfse_processada SET status = 'cancelado' WHERE emissao_id = $1", emission)
    assert await copy() is None
    gateway.away = False
    assert await copy() is None
    gateway.unmarked = False
    assert await copy() == b"pdf 8"
