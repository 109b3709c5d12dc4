"""What is told and refused of batches at a terminal."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from operations import batches
from operations.batches import Upload, release, send_list, show_batch, stop_batch
from operations.protocol import CommandRefusedError
from persistence.batches import suppression
from persistence.db.engine import Database
from proofs.demo.world import COMPANY
from tests.made_batches import company, issued, listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FILE = listed("lista.csv", "user@test.com.br", "nada", "other@test.com.br", "user@test.com.br")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=2)
    await opened.pool.execute("DELETE FROM lotes")
    await company(opened)
    yield opened
    await opened.close()


async def send(database: Database, file: Upload = FILE, confirmar: str | None = None, tipo: str = "envio") -> list[str]:
    """Send as the command does, where there is a mail server."""
    return await send_list(database, cnpj=COMPANY.cnpj, tipo=tipo, file=file, confirmar=confirmar, reachable=True)


async def test_a_list_is_shown_before_it_is_sent(database: Database) -> None:
    """The first time says what was read and how to say yes; nobody is told to send anything."""
    lines = await send(database)
    lote = await database.pool.fetchrow("SELECT * FROM lotes")
    assert lines == [
        f"Lote {lote['id']} (lista.csv): aguardando_confirmacao, revisão {lote['revisao']}",
        "4 linhas: 2 na fila, 1 com problema; 1 repetidas, 0 vazias",
        "O primeiro e-mail, da linha 2, para user@test.com.br:",
        "  Assunto: Suas notas",
        "  Bom dia!",
        f"Nada foi enviado. Para enviar 2 e-mails, repita com --confirmar {lote['revisao']}",
    ]
    assert await database.pool.fetchval("SELECT count(*) FROM lote_fila") == 0


async def test_the_yes_names_what_was_shown(database: Database) -> None:
    """With the revision that was shown the batch is queued, once however often it is said; with another it is not."""
    await send(database)
    revisao = await database.pool.fetchval("SELECT revisao FROM lotes")
    with pytest.raises(CommandRefusedError, match="Nada foi enviado"):
        await send(database, confirmar="outra")
    for _ in range(2):
        lines = await send(database, confirmar=revisao)
        assert "processando" in lines[1]
    assert lines[0].startswith("Este arquivo já tinha chegado")
    assert await database.pool.fetchval("SELECT count(*) FROM lote_fila") == 1
    acoes = await database.pool.fetch("SELECT acao FROM auditoria WHERE acao LIKE '%lote' ORDER BY id")
    assert [row["acao"] for row in acoes][-2:] == ["mandou lote", "confirmou lote"]


async def test_a_yes_is_to_the_words_that_were_shown(database: Database) -> None:
    """A corrected text takes the place of the wrong one and wants another yes; after the yes it says so."""
    file = Upload(
        nome_arquivo="a.csv", conteudo=b"email;nome\nana@x.com.br;Ana", assunto="Oi", mensagem="{nome}: dia 5"
    )
    wrong = (await send(database, file))[0].rpartition(" ")[2]
    right = replace(file, mensagem="{nome}: dia 10")
    with pytest.raises(CommandRefusedError, match="Nada foi enviado"):
        await send(database, right, confirmar=wrong)
    lines = await send(database, right)
    assert lines[-4:-1] == [
        *("O primeiro e-mail, da linha 2, para ana@x.com.br:", "  Assunto: Oi", "  Ana: dia 10"),
    ]
    told = next(line for line in lines if "revisão" in line).rpartition(" ")[2]
    assert told != wrong
    with pytest.raises(CommandRefusedError, match="Nada foi enviado"):
        await send(database, right, confirmar=wrong)
    await send(database, right, confirmar=told)
    assert tuple(await database.pool.fetchrow("SELECT mensagem, estado FROM lotes")) == (right.mensagem, "processando")
    with pytest.raises(CommandRefusedError, match=r"processando, com outro assunto.*--repetir"):
        await send(database, file, confirmar=wrong)
    assert await database.pool.fetchval("SELECT mensagem FROM lotes") == right.mensagem
    again = await send(database, replace(right, repetir=True))
    assert again[1].startswith("--repetir não faz outro envio com o mesmo nome")


async def test_what_mails_carry_is_told_before_the_yes(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each mail with its notes, as many as a terminal shows; of what is left out it says how much that is."""
    for numero in ("41", "42"):
        await issued(database, "12345678909", numero, date(2026, 11, 3))
    file = Upload(
        nome_arquivo="notas.csv",
        conteudo=b"email;documento;competencia\n"
        + b"".join(b"%s@test.com.br;12345678909;2026-11\n" % nome for nome in (b"ana", b"caio")),
    )
    assert (await send(database, file))[2:5] == [
        "2 e-mails levam notas:",
        "Linha 2, ana@test.com.br: 41, 42",
        "Linha 3, caio@test.com.br: 41, 42",
    ]
    monkeypatch.setattr(batches, "MAILS_SHOWN", 1)
    lote_id = await database.pool.fetchval("SELECT id FROM lotes")
    assert (await show_batch(database, lote_id))[-2:] == ["Linha 2, ana@test.com.br: 41, 42", "e mais 1"]


async def test_a_stop_says_what_stays(database: Database) -> None:
    """What was not sent is cancelled, and a second stop changes nothing."""
    await send(database)
    lote_id = await database.pool.fetchval("SELECT id FROM lotes")
    lines = await stop_batch(database, lote_id)
    assert lines[0] == f"Lote {lote_id} parado: 2 e-mails não saem mais. O que já saiu, saiu."
    assert "2 cancelados" in lines[2]
    assert (await stop_batch(database, lote_id))[0] == f"O lote {lote_id} já estava cancelado; nada mudou."
    revisao = await database.pool.fetchval("SELECT revisao FROM lotes")
    with pytest.raises(CommandRefusedError, match="cancelado"):
        await send(database, confirmar=revisao)


async def test_what_is_refused_says_that_nothing_changed(database: Database) -> None:
    """A file that is none, a name that is new, another kind, no server, no batch: each has its sentence."""
    await send(database)
    for file, word in (
        (Upload(nome_arquivo="lista.xlsx", conteudo=b"x"), "guardado"),
        (replace(FILE, nome_arquivo="b.csv"), "--repetir"),
    ):
        with pytest.raises(CommandRefusedError, match=word):
            await send(database, file)
    with pytest.raises(CommandRefusedError, match="--tipo"):
        await send(database, tipo="notas")
    with pytest.raises(CommandRefusedError, match="PROSA_SMTP_URL"):
        await send_list(database, cnpj=COMPANY.cnpj, tipo="envio", file=FILE, confirmar="x", reachable=False)
    for lote_id in (0, 2**70):
        with pytest.raises(CommandRefusedError, match="não existe"):
            await show_batch(database, lote_id)
    assert await database.pool.fetchval("SELECT count(*) FROM lotes") == 1


async def test_an_address_that_said_no_gets_mails_again_for_a_reason(database: Database) -> None:
    """Its rows are read as anybody's, the audit says why and not who; without a reason, or twice, nothing changes."""
    async with database.transaction() as connection:
        number = await database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", COMPANY.cnpj)
        await suppression.suppress(connection, number, "user@test.com.br", suppression.LINK)
    assert "2 com problema" in (await send(database))[1]
    with pytest.raises(CommandRefusedError, match="--motivo"):
        await release(database, COMPANY.cnpj, "user@test.com.br", " ")
    with pytest.raises(CommandRefusedError, match="não é um endereço"):
        await release(database, COMPANY.cnpj, "nada", "pediu por telefone em 28/11")
    (line,) = await release(database, COMPANY.cnpj, "User@Test.com.br", "pediu por telefone em 28/11")
    assert line == f"user@test.com.br volta a receber de {COMPANY.razao_social}. Estava fora: {suppression.LINK}."
    with pytest.raises(CommandRefusedError, match="não estava fora"):
        await release(database, COMPANY.cnpj, "user@test.com.br", "pediu por telefone em 28/11")
    await database.pool.execute("DELETE FROM lotes")
    assert "2 na fila, 1 com problema" in (await send(database))[1]
    told = await database.pool.fetchrow(
        "SELECT acao, motivo, detalhe::text FROM auditoria ORDER BY id DESC LIMIT 1 OFFSET 1"
    )
    assert (told["acao"], told["motivo"], "user@" in told["detalhe"]) == (
        "liberou um e-mail",
        "pediu por telefone em 28/11",
        False,
    )
