"""Measures the console on an invented history: ``python proofs/scripts/console_bench.py 210000``.

210,000 cases make a million rows of journal.
Each page is asked for over real HTTP by somebody who sees every company; figures are milliseconds as the browser waits.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyotp
from aiohttp import ClientSession, CookieJar, web
from aiohttp.test_utils import TestServer

from persistence.access.accounts import Papel
from persistence.crypto import KEY_BYTES, Vault
from persistence.db.engine import Database
from persistence.db.migrate import upgrade
from persistence.embedded import Embedded
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from persistence.staff import dashboard
from proofs.history import invent, tidy
from webhooks.console.access.accounts import Enrolment, enrol
from webhooks.console.app import create_console, mount
from webhooks.console.deps import new_secret

SAMPLES = 40


async def measure(url: str, owner_url: str, sessions: int) -> None:
    """Invent the history, log in, ask for every kind of page, print."""
    database = await Database.open(url)
    began = time.monotonic()
    print(f"journal rows: {await invent(database, sessions)} in {time.monotonic() - began:.0f} s")
    await tidy(owner_url)
    rows = await database.pool.fetch(
        "SELECT sessao_id, telefone, cnpj, id_integracao FROM session_snapshot "
        "WHERE id_integracao IS NOT NULL ORDER BY random() LIMIT $1",
        SAMPLES,
    )
    began = time.monotonic()
    await dashboard.refresh(database)  # as a worker does every ten minutes
    print(f"dashboard counted in {time.monotonic() - began:.1f} s")
    app = web.Application()
    inbox = Inbox(database, 0.0)
    cofre = Vault((secrets.token_bytes(KEY_BYTES),))
    mount(app, create_console(database, inbox, Backlog(database), cofre, secure=False))
    login = Enrolment("medida", "uma-senha-bem-comprida", new_secret())
    await enrol(database, cofre, login.nome, Papel.ADMIN, known=login)
    async with TestServer(app) as server, ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
        base = f"{server.make_url('/console')}"
        form = re.search(r'name="csrf" value="(\w+)"', await (await browser.get(f"{base}/entrar")).text())
        assert form is not None
        fields = {"csrf": form[1], "nome": login.nome, "senha": login.senha, "codigo": pyotp.TOTP(login.segredo).now()}
        await browser.post(f"{base}/entrar", data=fields)
        form = re.search(r'name="csrf" value="(\w+)"', await (await browser.get(f"{base}/busca")).text())
        assert form is not None
        for name, asked in _asked(rows).items():
            print(name.ljust(22), await _times(browser, base, form[1], asked))
    await inbox.close()
    await database.close()


def _asked(rows: list[Any]) -> dict[str, list[str]]:
    """Return what each figure asks for: addresses below the console's, or what is typed into the search."""
    return {
        "fila": [""] * SAMPLES,
        "fila, todas": ["?ver=todas"] * SAMPLES,
        "fila, por valor": ["?ver=todas&de=1.000,00&ate=1.010,00"] * SAMPLES,
        "busca por telefone": [row["telefone"] for row in rows],
        "busca por documento": [row["cnpj"] for row in rows],
        "busca por referência": [row["id_integracao"] for row in rows],
        "linha do tempo": [f"/sessoes/{row['sessao_id']}" for row in rows],
        "snapshot": [f"/sessoes/{row['sessao_id']}/snapshot" for row in rows],
        "saúde": ["/saude"] * SAMPLES,
        "falhas": ["/falhas"] * 10,
        "painel": ["/painel"] * 10,
    }


async def _times(browser: ClientSession, base: str, csrf: str, asked: list[str]) -> str:
    took = []
    for words in asked:
        began = time.perf_counter()
        page = words[:1] in {"", "/", "?"}
        sent = browser.get(base + words) if page else browser.post(f"{base}/busca", data={"csrf": csrf, "q": words})
        async with sent as answer:
            await answer.read()
            answer.raise_for_status()
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return f"p50 {took[len(took) // 2]:5.0f}   p95 {took[int(len(took) * 0.95) - 1]:5.0f}   max {took[-1]:5.0f} ms"


def main() -> None:
    """Open servers of its own, which are gone afterwards."""
    home = Path(tempfile.mkdtemp(prefix="prosa-bench-"))
    try:
        with Embedded.start(home, durable=False) as servers:
            owner, run_time = servers.servers.owner_url, servers.servers.database_url
            upgrade(owner, run_time)
            asyncio.run(measure(run_time, owner, int(sys.argv[1]) if len(sys.argv) > 1 else 2100))
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
