"""Batches of mails over a real line to a server that goes wrong: each mail once, or counted."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from bot.delivery.mailing import Documents, Mailing, MailPolicy, NoteFiles
from bot.loops.pump import Pump
from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.message import MailServer
from persistence.batches import records, work
from persistence.db.engine import Database
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.nacional.authority import Authority
from telemetry.metrics import Metrics
from tests.made_batches import confirmed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.mail.message import Mail
    from state_machine.mailing.delivery import MailOutcome

POLICY = MailPolicy("notas@ana.com.br", (60.0, 600.0), 600.0, "https://prosa.com.br")
EMAILS = tuple(f"user{number}@test.com.br" for number in range(6))


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await opened.pool.execute("DELETE FROM lotes")
    await opened.pool.execute("DELETE FROM email_suprimido")
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@asynccontextmanager
async def sending(
    database: Database, box: Mailbox, authority: Authority, policy: MailPolicy = POLICY
) -> AsyncIterator[Pump[work.TakenBatch]]:
    """Two workers' way to a mailbox over TLS."""
    async with box.listening(authority.server_context()) as port:
        server = MailServer("smtps", "127.0.0.1", port)
        tls = mail_tls(authority.ca_file)
        works = Mailing(database, lambda: MailConnection(server, tls), policy, Metrics(), files(database))
        yield Pump("mailing", works.claim, works.work, works.renew, lease_seconds=30, concurrency=2)


def files(database: Database) -> NoteFiles:
    """What nobody asks here: these mails carry none."""
    return NoteFiles(database, Documents(database, cast("Any", None)), lambda *_: None)


async def due(database: Database) -> None:
    """Let what waits for its time be due now."""
    await database.pool.execute("UPDATE lote_linhas SET a_partir_de = now() WHERE estado = 'PENDING'")
    await database.pool.execute("UPDATE lote_fila SET a_partir_de = now()")


async def states(database: Database) -> list[str]:
    rows = await database.pool.fetch("SELECT estado FROM lote_linhas ORDER BY id")
    return [str(row["estado"]) for row in rows]


async def test_each_address_gets_one_mail(database: Database, authority: Authority) -> None:
    """Two workers and a word that comes twice send each mail once, encrypted, with the company and the reason."""
    box = Mailbox()
    lote_id = await confirmed(database, "lista.csv", *EMAILS)
    async with sending(database, box, authority) as one, sending(database, box, authority) as other:
        await asyncio.gather(one.run_once(), other.run_once())
        await database.pool.execute("INSERT INTO lote_fila (lote_id) VALUES ($1)", lote_id)
        await asyncio.gather(one.run_once(), other.run_once())
    assert [kept.to for kept in box.kept] == list(EMAILS)
    assert all(kept.secret for kept in box.kept)
    assert await states(database) == ["DONE"] * len(EMAILS)
    assert tuple(await database.pool.fetchrow("SELECT estado, status FROM lotes")) == ("concluido", "DONE")
    ids = [row["external_id"] for row in await database.pool.fetch("SELECT external_id FROM lote_linhas ORDER BY id")]
    assert [kept.message["Message-ID"] for kept in box.kept] == ids
    text = box.kept[0].message.get_body(("plain",))
    assert text is not None
    assert "porque é cliente de" in text.get_content()
    token = await database.pool.fetchval("SELECT token FROM lote_linhas ORDER BY id LIMIT 1")
    assert box.kept[0].message["List-Unsubscribe"] == f"<https://prosa.com.br/descadastro/{token}>"


async def test_what_is_refused_for_now_goes_later(database: Database, authority: Authority) -> None:
    """A 4xx waits for its step of the ladder, and fails after the last; a 5xx fails at once; the others go."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS[:3])
    box.fail("rcpt", "451 later", "550 nobody")
    async with sending(database, box, authority) as pump:
        await pump.run_once()
        assert await states(database) == ["PENDING", "FAILED", "DONE"]
        assert await database.pool.fetchval("SELECT a_partir_de > now() FROM lote_fila")
        for _ in POLICY.ladder:
            box.fail("rcpt", "451 later")
            await due(database)
            await pump.run_once()
    assert await states(database) == ["FAILED", "FAILED", "DONE"]
    said = await database.pool.fetchval("SELECT problemas FROM lote_linhas ORDER BY id LIMIT 1")
    assert said[0]["codigo"] == "recusado_por_ora"
    assert [kept.to for kept in box.kept] == [EMAILS[2]]


@pytest.mark.parametrize(("fault", "copies"), [(Mailbox.LOSE, 2), (Mailbox.FORGET, 1)])
async def test_a_lost_answer_is_tried_once_more(
    database: Database, authority: Authority, fault: str, copies: int
) -> None:
    """A mail whose answer was lost goes once more after ten minutes, under the same Message-ID, and is counted."""
    box = Mailbox()
    lote_id = await confirmed(database, "lista.csv", *EMAILS[:2])
    box.fail("end", fault)
    async with sending(database, box, authority) as pump:
        await pump.run_once()
        waits = await database.pool.fetchval("SELECT a_partir_de - last_attempt FROM lote_linhas ORDER BY id LIMIT 1")
        assert waits.total_seconds() >= POLICY.unknown
        await due(database)
        await pump.run_once()
    first = [kept for kept in box.kept if kept.to == EMAILS[0]]
    assert len(first) == copies
    assert len({kept.message["Message-ID"] for kept in first}) == 1
    assert await states(database) == ["DONE", "DONE"]
    async with database.alone() as connection:
        assert await records.uncertain(connection, lote_id) == 1


async def test_a_domain_has_its_share_of_a_minute(database: Database, authority: Authority) -> None:
    """Past it the mails to that domain wait, over all batches, and those to others go on."""
    box, policy = Mailbox(), replace(POLICY, per_minute=4)
    await confirmed(database, "a.csv", *EMAILS[:3])
    await confirmed(database, "b.csv", *EMAILS[3:], "ana@outro.com.br")
    async with sending(database, box, authority, policy) as pump:
        for _ in range(3):
            await database.pool.execute("UPDATE lote_fila SET a_partir_de = now()")
            await pump.run_once()
        sent = [kept.to.partition("@")[2] for kept in box.kept]
        assert sent.count("outro.com.br") == 1
        assert sent.count("test.com.br") == 4
        assert await database.pool.fetchval("SELECT a_partir_de > now() FROM lote_fila")
        await database.pool.execute("UPDATE lote_linhas SET last_attempt = now() - interval '61 seconds'")
        await due(database)
        await pump.run_once()
    assert await states(database) == ["DONE"] * 7


async def test_a_server_that_is_away_costs_no_attempt(database: Database, authority: Authority) -> None:
    """While no mail gets through, the batch waits, and its rows are as they were."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS)
    box.fail("mail", "550 not you")
    async with sending(database, box, authority) as pump:
        await pump.run_once()
        assert tuple(await database.pool.fetchrow("SELECT estado, status FROM lotes")) == ("processando", "FAILED")
        assert await database.pool.fetchval("SELECT max(attempts) FROM lote_linhas") == 0
        await due(database)
        await pump.run_once()
    assert [kept.to for kept in box.kept] == list(EMAILS)


async def test_a_stop_holds_from_the_next_mail_on(database: Database) -> None:
    """What is sent is sent, and nothing after it; the mail that was under way has its answer."""
    box = Mailbox()
    lote_id = await confirmed(database, "lista.csv", *EMAILS)

    class Stopping(MailConnection):
        async def send(self, mail: Mail) -> MailOutcome:
            outcome = await super().send(mail)
            if len(box.kept) == 2:
                async with database.transaction() as connection:
                    assert await records.stop(connection, lote_id) == 0  # they are in hand
            return outcome

    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        works = Mailing(database, lambda: Stopping(server, mail_tls(None)), POLICY, Metrics(), files(database))
        [batch] = await works.claim(1)
        await works.work(batch)
    assert await states(database) == ["DONE", "DONE", "CANCELADA", "CANCELADA", "CANCELADA", "CANCELADA"]
    assert tuple(await database.pool.fetchrow("SELECT estado, status FROM lotes")) == ("cancelado", "DONE")


async def test_a_worker_that_dies_half_way_is_followed(database: Database, authority: Authority) -> None:
    """After the sweep another goes on behind what is done; only its bunch may come twice, and is counted."""
    box = Mailbox()
    lote_id = await confirmed(database, "lista.csv", *EMAILS)
    async with sending(database, box, authority) as pump:
        async with database.transaction() as connection:
            [dead] = await work.take_due(connection, 1, work.STALE)
        async with database.transaction() as connection:
            assert len(await work.next_rows(connection, dead, "ana.com.br")) == len(EMAILS)
        assert await pump.run_once() == 0
        await database.pool.execute("UPDATE lotes SET last_attempt = now() - interval '1 minute'")
        async with database.transaction() as connection:
            assert await work.recover(connection) == 1
        await pump.run_once()
        assert box.kept == []  # all of the bunch may have arrived
        await due(database)
        await pump.run_once()
    assert [kept.to for kept in box.kept] == list(EMAILS)
    assert await states(database) == ["DONE"] * len(EMAILS)
    async with database.alone() as connection:
        assert await records.uncertain(connection, lote_id) == len(EMAILS)


async def test_a_mail_that_cannot_be_made_keeps_no_other_back(database: Database, authority: Authority) -> None:
    """It is that row's problem; an older version took such an address."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS[:3])
    await database.pool.execute("UPDATE lote_linhas SET email = '=?a?q?b?=@x.com.br' WHERE email = $1", EMAILS[1])
    async with sending(database, box, authority) as pump:
        await pump.run_once()
    assert [kept.to for kept in box.kept] == [EMAILS[0], EMAILS[2]]
    assert await states(database) == ["DONE", "INVALID", "DONE"]
    problems = await database.pool.fetchval("SELECT problemas FROM lote_linhas WHERE estado = 'INVALID'")
    assert [each["codigo"] for each in problems] == ["email_impossivel"]
    assert await database.pool.fetchval("SELECT estado FROM lotes") == "concluido"


async def test_an_address_that_nobody_has_gets_no_mail_next_month(database: Database, authority: Authority) -> None:
    """What the server says for good of an address is remembered for lists; a no to the mail or to us is not."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS[:3])
    box.fail("rcpt", "550 5.1.1 nobody", "550 5.7.1 not from you")
    async with sending(database, box, authority) as pump:
        await pump.run_once()
    assert await states(database) == ["FAILED", "FAILED", "DONE"]
    await confirmed(database, "outra.csv", *EMAILS[1::-1])
    problems = await database.pool.fetch("SELECT email, problemas FROM lote_linhas WHERE estado = 'INVALID'")
    said = {"codigo": "suprimido", "detalhe": "o servidor deste endereço respondeu 550"}
    assert [(row["email"], row["problemas"]) for row in problems] == [(EMAILS[0], [said])]


async def test_who_was_frozen_asks_whether_the_mail_is_still_theirs(
    database: Database, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that comes back after its lease sends nothing that another has sent."""
    box = Mailbox()
    await confirmed(database, "lista.csv", EMAILS[0])
    take = work.next_rows

    async def frozen(*arguments: Any) -> Any:
        rows = await take(*arguments)
        await arguments[0].exec_driver_sql("UPDATE lotes SET epoch = epoch + 1")  # another took it meanwhile
        return rows

    async with sending(database, box, authority) as pump:
        monkeypatch.setattr(work, "next_rows", frozen)
        await pump.run_once()
    assert box.kept == []


async def test_a_bunch_is_taken_and_told_of_with_one_commit_each(
    database: Database, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many mails cost the database as many commits as one would."""
    box, calls = Mailbox(), []
    await confirmed(database, "lista.csv", *(f"{number}@test.com.br" for number in range(2 * work.BUNCH)))
    take, tell = work.next_rows, work.settle

    async def taking(*arguments: Any) -> Any:
        calls.append("take")
        return await take(*arguments)

    async def telling(*arguments: Any) -> Any:
        calls.append("tell")
        return await tell(*arguments)

    monkeypatch.setattr(work, "next_rows", taking)
    monkeypatch.setattr(work, "settle", telling)
    async with sending(database, box, authority) as pump:
        await pump.run_once()
    assert len(box.kept) == 2 * work.BUNCH
    assert calls == ["take", "tell", "take", "tell", "take"]


async def test_what_is_known_of_a_bunch_is_stored_however_it_ends(database: Database) -> None:
    """A worker that fails half-way leaves one mail in doubt; what went before is done, the others were never begun."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS)

    class Failing(MailConnection):
        async def send(self, mail: Mail) -> MailOutcome:
            if mail.to == EMAILS[2]:
                raise RuntimeError
            return await super().send(mail)

    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        works = Mailing(database, lambda: Failing(server, mail_tls(None)), POLICY, Metrics(), files(database))
        [batch] = await works.claim(1)
        await works.work(batch)
    assert await states(database) == ["DONE", "DONE", "PROCESSING", "PENDING", "PENDING", "PENDING"]
    assert await database.pool.fetchval("SELECT max(attempts) FROM lote_linhas WHERE estado = 'PENDING'") == 0


async def test_who_says_no_while_the_bunch_is_in_hand_gets_nothing(database: Database) -> None:
    """Each mail is looked at once more before it goes."""
    box = Mailbox()
    await confirmed(database, "lista.csv", *EMAILS[:3])

    class Told(MailConnection):
        async def send(self, mail: Mail) -> MailOutcome:
            said = "INSERT INTO email_suprimido SELECT empresa_id, $1, 'pediu' FROM lotes ON CONFLICT DO NOTHING"
            await database.pool.execute(said, EMAILS[1])
            return await super().send(mail)

    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        works = Mailing(database, lambda: Told(server, mail_tls(None)), POLICY, Metrics(), files(database))
        [batch] = await works.claim(1)
        await works.work(batch)
    assert [kept.to for kept in box.kept] == [EMAILS[0], EMAILS[2]]
    assert await states(database) == ["DONE", "INVALID", "DONE"]
