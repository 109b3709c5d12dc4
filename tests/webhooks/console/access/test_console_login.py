from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pyotp
import pytest
from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestServer

from persistence.access.accounts import Papel, totp_place
from persistence.access.delay import PAR
from persistence.crypto import Vault
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from webhooks.console.access.accounts import AccountError, display_name, enrol, rekey, rename
from webhooks.console.app import create_console, mount

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from tests.webhooks.console.conftest import Browser, Office

KEYLESS = Vault(())


async def _audit(database: Database, quem: str) -> list[str]:
    rows = await database.pool.fetch("SELECT acao FROM auditoria WHERE quem = $1 ORDER BY id", quem)
    return [row["acao"] for row in rows]


def _cookie(browser: Browser) -> str:
    return next(c.value for c in browser.session.cookie_jar if c.key == "prosa-console")


async def test_name_password_and_code_open_the_queue(office: Office) -> None:
    """All three together lead to the queue, and the audit knows who came and went."""
    async with office.browser() as ana:
        status, _, where = await ana.enter()
        assert (status, where) == (303, "/console")
        assert "<h1>Fila" in (await ana.get("/console"))[1]
        status, _, where = await ana.post("/console/sair", {}, form="/console")
        assert (status, where) == (303, "/console/entrar")
        assert "<h1>Entrar" in (await ana.get("/console"))[1]
        assert await _audit(office.database, ana.who.nome) == ["entrou", "saiu"]


@pytest.mark.parametrize(
    "wrong", [{"senha": "outra-senha-qualquer"}, {"codigo": "000000"}, {"nome": "ninguem"}, {"senha": ""}], ids=str
)
async def test_one_wrong_part_is_refused_without_saying_which(office: Office, wrong: dict[str, str]) -> None:
    """Whoever guesses learns nothing from the refusal, not even whether the name exists."""
    async with office.browser() as ana:
        status, page, _ = await ana.enter(**wrong)
        assert status == 401
        assert "Nome, senha ou código não conferem" in page
        assert (await ana.get("/console", allow_redirects=False))[0] == 303


async def test_a_code_is_good_for_one_login(office: Office) -> None:
    """Who looked over a shoulder comes too late: a used code opens nothing, in another browser either."""
    who = await office.account()
    code = pyotp.TOTP(who.segredo).now()
    async with office.browser(who) as ana, office.browser(who) as thief:
        assert (await ana.enter(codigo=code))[0] == 303
        assert (await thief.enter(codigo=code))[0] == 401


async def test_two_logins_at_once_share_no_code(office: Office) -> None:
    """The same code at the same moment from several browsers opens one session."""
    who = await office.account()
    code = pyotp.TOTP(who.segredo).now()

    async def once() -> int:
        async with office.browser(who) as somebody:
            return (await somebody.enter(codigo=code))[0]

    answers = await asyncio.gather(*(once() for _ in range(PAR.livres)))
    assert answers.count(303) == 1


async def test_a_login_changes_the_cookie(office: Office) -> None:
    """A cookie planted before the login is worth nothing after it (session fixation)."""
    async with office.browser() as ana, office.browser() as thief:
        await ana.get("/console/entrar")
        planted = _cookie(ana)
        thief.session.cookie_jar.update_cookies({"prosa-console": planted})
        assert (await ana.enter())[0] == 303
        assert _cookie(ana) != planted
        assert (await thief.get("/console", allow_redirects=False))[0] == 303  # to the login
        assert (
            await office.database.pool.fetchval(
                "SELECT count(*) FROM staff_sessao WHERE token_hash = sha256($1)", planted.encode()
            )
            == 0
        )


async def test_a_provisional_password_opens_only_the_form_to_replace_it(office: Office) -> None:
    """The password from the command line lets nobody work until it is replaced; then it opens nothing."""
    given = await enrol(office.database, office.cofre, "novata", Papel.ADMIN)
    async with office.browser(given) as novata:
        assert (await novata.enter())[0] == 303
        assert "Escolha a sua senha" in (await novata.get("/console"))[1]
        wrong = {"atual": given.senha, "nova": "curta", "repetida": "curta"}
        assert (await novata.post("/console/senha", wrong, form="/console/senha"))[0] == 422
        right = {"atual": given.senha, "nova": "cavalo-bateria-grampo", "repetida": "cavalo-bateria-grampo"}
        assert (await novata.post("/console/senha", right, form="/console/senha"))[2] == "/console/entrar"
        assert (await novata.get("/console", allow_redirects=False))[0] == 303
        await office.database.pool.execute("UPDATE staff SET totp_passo = 0 WHERE nome = 'novata'")
        assert (await novata.enter())[0] == 401
        assert (await novata.enter(senha="cavalo-bateria-grampo"))[0] == 303
        assert "<h1>Fila" in (await novata.get("/console"))[1]


async def test_leaving_ends_the_session_on_the_server(office: Office) -> None:
    """A copy of the cookie from before the logout opens nothing after it."""
    async with office.at_work() as ana, office.browser() as thief:
        copied = _cookie(ana)
        thief.session.cookie_jar.update_cookies({"prosa-console": copied})
        assert (await thief.get("/console", allow_redirects=False))[0] == 200
        await ana.post("/console/sair", {}, form="/console")
        assert (await thief.get("/console", allow_redirects=False))[0] == 303


async def test_a_display_name_is_made_of_the_login_until_one_is_given(office: Office) -> None:
    """What customers read is no login; a new password keeps the name, and nothing that WhatsApp formats gets in."""
    pool, shown = office.database.pool, "SELECT exibicao FROM staff WHERE nome = 'rita.de-cassia'"
    given = await enrol(office.database, office.cofre, "rita.de-cassia", Papel.LEITURA)
    async with office.browser(given) as rita:
        await rita.enter()
        assert "Rita De Cassia" in (await rita.get("/console/senha"))[1]
    await enrol(office.database, office.cofre, "rita.de-cassia", Papel.LEITURA, exibicao=" Rita  de Cássia ")
    await enrol(office.database, office.cofre, "rita.de-cassia", Papel.SUPORTE)
    assert await pool.fetchval(shown) == "Rita de Cássia"
    for wrong in ("R", "*Rita*", "Rita_", "…", "R" * 41, "12"):
        with pytest.raises(AccountError):
            display_name(wrong)
    with pytest.raises(AccountError, match="Não há conta"):
        await rename(office.database, "ninguem", "Alguém")
    assert await rename(office.database, "Rita.de-Cassia", "Cássia") == "Cássia"
    assert await pool.fetchval(shown) == "Cássia"


@pytest.mark.parametrize(
    ("column", "minutes", "status"),
    [("visto_em", 29, 200), ("visto_em", 31, 303), ("expira_em", 12 * 60 - 1, 200), ("expira_em", 12 * 60 + 1, 303)],
)
async def test_a_session_ends_by_itself(office: Office, column: str, minutes: int, status: int) -> None:
    """After half an hour without a look, and after twelve hours in any case, the login is asked for again."""
    async with office.at_work() as ana:
        assert (await ana.get("/console", allow_redirects=False))[0] == 200
        await office.database.pool.execute(
            f"UPDATE staff_sessao SET {column} = {column} - make_interval(mins => $2) "  # noqa: S608 - our own names
            "WHERE staff_id = (SELECT id FROM staff WHERE nome = $1)",
            ana.who.nome,
            minutes,
        )
        assert (await ana.get("/console", allow_redirects=False))[0] == status


async def test_a_closed_account_is_out_at_once(office: Office) -> None:
    """Switching an account off ends the session that is open."""
    async with office.at_work() as ana:
        await office.database.pool.execute("UPDATE staff SET desativado_em = now() WHERE nome = $1", ana.who.nome)
        assert (await ana.get("/console", allow_redirects=False))[0] == 303


async def test_the_database_holds_no_secret_that_opens_anything(office: Office) -> None:
    """Neither a password nor a session's token stands in a row: only an argon2id hash, and a SHA-256."""
    async with office.at_work() as ana:
        row = await office.database.pool.fetchrow("SELECT * FROM staff WHERE nome = $1", ana.who.nome)
        assert row["senha_hash"].startswith("$argon2id$")
        hashes = await office.database.pool.fetch("SELECT token_hash FROM staff_sessao WHERE staff_id = $1", row["id"])
        assert [len(found["token_hash"]) for found in hashes] == [32]
        assert _cookie(ana).encode() not in {found["token_hash"] for found in hashes}


async def test_the_audit_cannot_be_rewritten(office: Office) -> None:
    """Not even the program's own account changes, deletes or empties the audit."""
    async with office.at_work():
        pass
    for statement in ("UPDATE auditoria SET quem = 'x'", "DELETE FROM auditoria", "TRUNCATE auditoria"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await office.database.pool.execute(statement)


@pytest.mark.parametrize("volta", ["https://mal.example/console", "//mal.example", "/webhooks", "/console\\@mal"])
async def test_a_login_leads_nowhere_else(office: Office, volta: str) -> None:
    """The page to go back to is one of ours, whatever the link said."""
    async with office.browser() as ana:
        assert (await ana.enter(volta=volta))[2] == "/console"


async def test_a_login_leads_back_to_the_page_that_was_asked_for(office: Office) -> None:
    """A link from a colleague opens after the login."""
    async with office.browser() as ana:
        async with ana.session.get(f"{ana.base}/console/busca?q=ana&x=1", allow_redirects=False) as answer:
            led = urlsplit(answer.headers["Location"])
            assert (led.path, parse_qs(led.query)) == ("/console/entrar", {"volta": ["/console/busca?q=ana&x=1"]})
        assert (await ana.enter(volta="/console/busca?q=ana"))[2] == "/console/busca?q=ana"


async def test_behind_https_the_cookie_is_bound_to_the_host(office: Office) -> None:
    """In production the cookie is a ``__Host-`` one: https only, this host only, no script, no other site's post."""
    database = office.database
    inbox = Inbox(database, 0.0)
    app = web.Application()
    mount(app, create_console(database, inbox, Backlog(database), KEYLESS, secure=True))
    async with (
        TestServer(app) as server,
        office.browser() as ana,
        ana.session.get(server.make_url("/console/entrar")) as answer,
    ):
        cookie = answer.headers["Set-Cookie"]
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert cookie.startswith("__Host-prosa=")
    assert {part.strip() for part in cookie.split(";")[1:]} == {"HttpOnly", "Path=/", "SameSite=Lax", "Secure"}
    await inbox.close()


@pytest.mark.parametrize(("nome", "cnpj"), [("A", None), ("com espaço", None), ("boa", "11.222.333/0001-80")])
async def test_an_account_that_makes_no_sense_is_refused(office: Office, nome: str, cnpj: str | None) -> None:
    """A wrong name or a CNPJ whose digits do not fit stores nothing."""
    with pytest.raises(AccountError, match="Nada mudou"):
        await enrol(office.database, office.cofre, nome, Papel.LEITURA, [cnpj] if cnpj else [])
    assert await office.database.pool.fetchval("SELECT count(*) FROM staff WHERE nome = $1", nome) == 0


async def test_the_authenticators_secret_is_sealed_in_the_database(office: Office) -> None:
    """Who reads the table has no code, and who writes it chooses none: unsealed, it lets nobody in until `rekey`."""
    who = await office.account()
    pool, query = office.database.pool, "SELECT totp_segredo FROM staff WHERE nome = $1"
    assert who.segredo not in await pool.fetchval(query, who.nome)
    await pool.execute("UPDATE staff SET totp_segredo = $2 WHERE nome = $1", who.nome, who.segredo)
    async with office.browser(who) as browser:
        assert (await browser.enter())[0] == 401
        assert await rekey(office.database, office.cofre) == (1, [])
        assert (await browser.enter())[0] == 303
    sealed = await pool.fetchval(query, who.nome)
    assert sealed.startswith("v1.")
    assert office.cofre.open(sealed, totp_place(who.nome)) == who.segredo


async def test_another_accounts_secret_opens_nothing(office: Office) -> None:
    """A seal copied from one's own row into somebody else's does not let one in as them."""
    mine, theirs = await office.account(), await office.account()
    await office.database.pool.execute(
        "UPDATE staff SET totp_segredo = (SELECT totp_segredo FROM staff WHERE nome = $1) WHERE nome = $2",
        mine.nome,
        theirs.nome,
    )
    async with office.browser(replace(theirs, segredo=mine.segredo)) as browser:
        assert (await browser.enter())[0] == 401


async def test_all_secrets_move_to_a_new_key(office: Office) -> None:
    """With both keys in hand every secret is sealed under the new one; then the old key is not needed."""
    who = await office.account()
    new = bytes(range(1, 33))
    done, lost = await rekey(office.database, Vault((new, bytes(range(32)))))
    assert done > 0
    sealed = await office.database.pool.fetchval("SELECT totp_segredo FROM staff WHERE nome = $1", who.nome)
    assert Vault((new,)).open(sealed, totp_place(who.nome)) == who.segredo
    assert who.nome not in lost
    await rekey(office.database, Vault((bytes(range(32)), new)))


async def test_without_the_master_key_nobody_enters_and_the_page_says_why(office: Office) -> None:
    """The login refuses with the setting's name before it looks at anybody; nothing else is hindered."""
    app = web.Application()
    mount(
        app,
        create_console(office.database, Inbox(office.database, 0.0), Backlog(office.database), KEYLESS, secure=False),
    )
    who = await office.account()
    async with TestServer(app) as server, ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
        browser = office.stranger(session, str(server.make_url("")).rstrip("/"), who)
        status, page, _ = await browser.enter()
        assert (status, "PROSA_MASTER_KEY" in page) == (503, True)
    with pytest.raises(AccountError, match="PROSA_MASTER_KEY"):
        await enrol(office.database, KEYLESS, "novissima", Papel.ADMIN)
