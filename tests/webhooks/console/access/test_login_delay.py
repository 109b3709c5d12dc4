"""Wrong logins cost time, never the account."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from persistence.access.delay import CONTA, ENDERECO, PAR, PROPRIO, Regra
from tests.narrowing import group
from webhooks.console.access.accounts import unblock
from webhooks.console.deps import NOBODY, Passwords

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Browser, Office
    from webhooks.console.access.accounts import Enrolment

DEVICE = "prosa-aparelho"
LONG = 100  # seconds put onto every wait: none ends while a busy machine takes its time


@pytest.fixture(autouse=True)
async def nothing_counted(office: Office) -> None:
    """Begin each test without a wrong attempt."""
    await office.database.pool.execute("DELETE FROM staff_atraso")


async def _guess(browser: Browser, times: int, **wrong: str) -> list[int]:
    return [(await browser.enter(**(wrong or {"senha": "errada"})))[0] for _ in range(times)]


async def _besieged(office: Office, who: Enrolment) -> None:
    """Let strangers at several addresses guess at an account until it is guarded."""
    for number in range(CONTA.livres // 2):
        async with office.browser(who, at=f"127.0.1.{number + 1}") as stranger:
            assert await _guess(stranger, 2) == [401, 401]


async def _later(office: Office, seconds: float) -> None:
    """Let time pass for every counter."""
    await office.database.pool.execute(
        "UPDATE staff_atraso SET livre_em = livre_em - $1::interval", timedelta(seconds=seconds)
    )


async def test_guessing_from_one_address_waits_longer_and_longer(office: Office) -> None:
    """After five wrong attempts each further one doubles the wait, which is said at once and to the second."""
    async with office.browser(at="127.0.2.1") as ana:
        assert await _guess(ana, PAR.livres) == [401] * PAR.livres
        for longest in (1, 2, 4, 8):
            guessed = time.monotonic()  # or later: what passes on a busy machine is no longer waited for
            await _later(office, -LONG)
            form = (await ana.get("/console/entrar"))[1]
            fields = {"csrf": group(r'name="csrf" value="(\w+)"', form), "nome": ana.who.nome, "codigo": "1"}
            async with ana.session.post(f"{ana.base}/console/entrar", data=fields) as answer:
                wait = int(answer.headers["Retry-After"])
                assert answer.status == 429
                assert f"Tente de novo em {wait} segundos" in await answer.text()
            assert LONG - (time.monotonic() - guessed) <= wait <= LONG + longest
            await _later(office, LONG + longest)
            assert await _guess(ana, 1) == [401]
        kept = "SELECT falhas FROM staff_atraso WHERE conta = $1 AND origem = '127.0.2.1'"
        assert await office.database.pool.fetchval(kept, ana.who.nome) == PAR.livres + 4
        await _later(office, PAR.teto)
        assert (await ana.enter())[0] == 303


async def test_parallel_guesses_are_counted_one_by_one(office: Office) -> None:
    """Of thirty guesses at the same moment, when one is free, one is looked at."""
    async with office.browser(at="127.0.2.2") as ana:
        await _guess(ana, 1)
        await office.database.pool.execute(
            "UPDATE staff_atraso SET falhas = 12 WHERE conta = $1 AND origem = '127.0.2.2'", ana.who.nome
        )
        answers = await asyncio.gather(*(ana.enter(senha="errada") for _ in range(30)))
    assert sorted(status for status, _, _ in answers) == [401] + [429] * 29


async def test_what_is_refused_prolongs_no_wait(office: Office) -> None:
    """Who knocks all the time while a wait lasts does not lengthen it."""
    async with office.browser(at="127.0.2.3") as ana:
        await _guess(ana, PAR.livres)
        await _later(office, -LONG)
        assert await _guess(ana, 20) == [429] * 20
        await _later(office, LONG + 1)
        assert (await ana.enter())[0] == 303


async def test_strangers_cannot_keep_the_owner_of_a_known_device_out(office: Office) -> None:
    """However many addresses guess at an account, a browser that logged in before enters without any wait."""
    async with office.browser(at="127.0.3.1") as ana:
        assert (await ana.enter())[0] == 303
        await ana.post("/console/sair", {}, form="/console")
        await _besieged(office, ana.who)
        async with office.browser(ana.who, at="127.0.3.1") as neighbour:  # of the very address, in another browser
            await _guess(neighbour, 3 * PAR.livres)
        await office.database.pool.execute("UPDATE staff SET totp_passo = 0 WHERE nome = $1", ana.who.nome)
        assert (await ana.enter())[0] == 303


async def test_a_new_device_waits_once_and_not_long_while_an_account_is_guessed_at(office: Office) -> None:
    """Its own first wait is all that the owner's new browser waits, though the guessing goes on elsewhere."""
    who = await office.account()
    await _besieged(office, who)
    async with office.browser(who, at="127.0.4.1") as ana:
        status, page, _ = await ana.enter()
        wait = int(group(r"de novo em (\d+) segundo", page))
        assert (status, wait <= CONTA.teto) == (429, True)
        await _later(office, wait)
        async with office.browser(who, at="127.0.4.2") as stranger:
            await _guess(stranger, 3)
        assert (await ana.enter())[0] == 303


async def test_a_known_device_guesses_no_faster(office: Office) -> None:
    """A stolen browser has a counter of its own: five wrong attempts, then it waits as well; others do not."""
    async with office.browser(at="127.0.5.1") as ana:
        assert (await ana.enter())[0] == 303
        await ana.post("/console/sair", {}, form="/console")
        assert await _guess(ana, PROPRIO.livres) == [401] * PROPRIO.livres
        await _later(office, -LONG)
        assert await _guess(ana, 1) == [429]
        await office.database.pool.execute("UPDATE staff SET totp_passo = 0 WHERE nome = $1", ana.who.nome)
        async with office.browser(ana.who, at="127.0.5.2") as elsewhere:
            assert (await elsewhere.enter())[0] == 303


async def test_a_device_is_known_to_its_account_only_and_by_its_newest_token(office: Office) -> None:
    """Another's cookie makes no stranger known, a copy from before the last login neither; the row is a hash."""

    def token(browser: Browser) -> str:
        return next(c.value for c in browser.session.cookie_jar if c.key == DEVICE)

    async with office.browser(at="127.0.6.1") as ana, office.browser(at="127.0.6.2") as eva:
        assert {(await ana.enter())[0], (await eva.enter())[0]} == {303}
        old = token(ana)
        await ana.post("/console/sair", {}, form="/console")
        await office.database.pool.execute("UPDATE staff SET totp_passo = 0 WHERE nome = $1", ana.who.nome)
        assert (await ana.enter())[0] == 303
        await _besieged(office, ana.who)
        for number, planted in enumerate((token(eva), old)):
            async with office.browser(ana.who, at=f"127.0.6.1{number}") as thief:
                thief.session.cookie_jar.update_cookies({DEVICE: planted})
                assert (await thief.enter())[0] == 429
        hashes = await office.database.pool.fetch("SELECT token_hash FROM staff_aparelho")
        assert token(ana).encode() not in {row["token_hash"] for row in hashes}


async def test_guessing_at_many_accounts_from_one_address_waits(office: Office) -> None:
    """Forty wrong attempts in sum slow an address down, whatever the names; another address is not slowed."""
    async with office.browser(at="127.0.7.1") as ana:
        answers = [(await ana.enter(nome=f"nome{n}", senha=""))[0] for n in range(ENDERECO.livres)]
        assert answers == [401] * ENDERECO.livres
        await _later(office, -LONG)
        assert (await ana.enter(nome="outro"))[0] == 429
        async with office.browser(ana.who, at="127.0.7.2") as elsewhere:
            assert (await elsewhere.enter())[0] == 303


async def test_a_success_forgives_its_own_mistakes_and_nobody_elses(office: Office) -> None:
    """Whoever logs in gets their own attempts back; strangers' at this account and at others stay counted."""
    who = await office.account()
    await _besieged(office, who)
    others = "SELECT conta, origem, falhas FROM staff_atraso WHERE origem <> '127.0.8.1' AND conta <> $1"
    async with office.browser(at="127.0.8.1") as ana:
        before = await office.database.pool.fetch(others, ana.who.nome)
        await _guess(ana, 3)
        assert (await ana.enter())[0] == 303
        count = "SELECT coalesce(sum(falhas), 0) FROM staff_atraso WHERE conta = $1 OR origem = '127.0.8.1'"
        assert await office.database.pool.fetchval(count, ana.who.nome) == 0
    after = await office.database.pool.fetch(others, ana.who.nome)
    assert sorted(map(tuple, after)) == sorted(map(tuple, before))
    assert sum(row["falhas"] for row in after) >= CONTA.livres


async def test_a_success_leaves_strangers_attempts_at_the_same_account_counted(office: Office) -> None:
    """The owner's login does not give those who guess at the account their free attempts back."""
    async with office.browser(at="127.0.8.5") as ana:
        for number in range(3):
            async with office.browser(ana.who, at=f"127.0.8.{number + 6}") as stranger:
                assert await _guess(stranger, 3) == [401] * 3
        assert (await ana.enter())[0] == 303
        kept = "SELECT falhas FROM staff_atraso WHERE conta = $1 AND origem = ''"
        assert await office.database.pool.fetchval(kept, ana.who.nome) == 9


async def test_what_is_typed_as_a_name_is_kept_nowhere(office: Office) -> None:
    """A password typed into the wrong field stands in no table, not even as a hash that could be tried out."""
    typed = "minha-senha-secreta"
    async with office.browser(at="127.0.9.1") as ana:
        await _guess(ana, 2, nome=typed)
    tables = await office.database.pool.fetch(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
    )
    assert len(tables) > 20
    for name in (row["table_name"] for row in tables):
        query = f"SELECT count(*) FROM {name} t WHERE t::text LIKE '%' || $1 || '%'"  # noqa: S608 - names of ours
        assert await office.database.pool.fetchval(query, typed) == 0, name
    count = "SELECT count(*) FROM staff_atraso WHERE conta = $1 AND origem = '127.0.9.1'"
    assert await office.database.pool.fetchval(count, office.cofre.blind(typed)) == 1


async def test_a_name_without_an_account_is_answered_like_one_with(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same words, same waits, the same hash reckoned and the same rows written, attempt by attempt."""
    checked: list[bool] = []
    fits = Passwords.fits

    async def counted(self: Passwords, senha_hash: str, senha: str) -> bool:
        checked.append(senha_hash == NOBODY)
        return await fits(self, senha_hash, senha)

    monkeypatch.setattr(Passwords, "fits", counted)
    seen, refusals = {}, "SELECT count(*) FROM auditoria WHERE acao = 'entrada recusada'"
    for typed, at in ((None, "127.0.10.1"), ("ninguem", "127.0.10.2")):
        async with office.browser(at=at) as guesser:
            nome = typed or guesser.who.nome
            before = await office.database.pool.fetchval(refusals)
            answers = [await guesser.enter(nome=nome, senha="errada") for _ in range(PAR.livres)]
            await _later(office, -LONG)
            answers.append(await guesser.enter(nome=nome, senha="errada"))
            pages = [re.sub(r'value="[^"]*"|\d+ segundos', "", page.replace(nome, "")) for _, page, _ in answers]
            written = await office.database.pool.fetchval(refusals) - before
            seen[typed] = ([status for status, _, _ in answers], pages, written)
    assert seen[None] == seen["ninguem"]
    assert seen["ninguem"][2] == PAR.livres
    assert checked == [False] * PAR.livres + [True] * PAR.livres


async def test_a_stolen_session_does_not_guess_the_password(office: Office) -> None:
    """The form that changes the password slows down too, by itself: strangers at the login do not touch it."""
    async with office.at_work() as ana:
        form = {"atual": "errada", "nova": "cavalo-bateria-grampo", "repetida": "cavalo-bateria-grampo"}
        for _ in range(PROPRIO.livres):
            assert "não confere" in (await ana.post("/console/senha", form, form="/console/senha"))[1]
        await _later(office, -LONG)
        assert "Tente de novo em" in (await ana.post("/console/senha", form, form="/console/senha"))[1]


async def test_an_operator_unblocks_an_account(office: Office) -> None:
    """That forgets the attempts at one account, and the audit knows; a name without an account changes nothing."""
    who, other = await office.account(), await office.account()
    await _besieged(office, who)
    await _besieged(office, other)
    assert await unblock(office.database, who.nome)
    async with office.browser(who, at="127.0.11.1") as ana, office.browser(other, at="127.0.11.2") as eva:
        assert (await ana.enter())[0] == 303
        assert (await eva.enter())[0] == 429
    row = await office.database.pool.fetchrow("SELECT quem, alvo FROM auditoria WHERE acao = 'conta desbloqueada'")
    assert tuple(row) == ("linha de comando", who.nome)
    assert not await unblock(office.database, "ninguem")


@pytest.mark.parametrize("regra", [PAR, ENDERECO, CONTA, PROPRIO])
def test_a_wait_grows_to_its_bound_and_no_further(regra: Regra) -> None:
    """Nothing at first, then a second, then twice as much each time, up to the bound however many there were."""
    waits = [regra.espera(n).total_seconds() for n in range(regra.livres - 1, regra.livres + 12)]
    assert waits[:3] == [0, 1, 2]
    assert waits == sorted(waits)
    assert regra.espera(10**9).total_seconds() == regra.teto == max(waits[-1], regra.teto)
