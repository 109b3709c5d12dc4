"""The release before and this one, one after the other: stopped amid everything, migrated, started.

The release before is a commit of this very repository; its own migrations, command line and processes are used.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import sys
import tarfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import redis

from operations.batches import upload
from persistence.batches import records
from persistence.embedded import postgres
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.plugnotas.model import CANCELLED
from tests import children
from tests.made_batches import QUEM, listed
from tests.road.road_people import PADARIA, Person, new_phone, unlike, until
from tests.road.road_process import ROOT
from tests.road.road_stage import LEASES, open_stage, waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from persistence.embedded import Embedded
    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_process import Prosa
    from tests.road.road_stage import Stage

pytestmark = [pytest.mark.storm, pytest.mark.timeout(600)]  # starts both releases several times

BEFORE = "e352c3a7ad85f8cf7bb516b983f517b6fd38ce32"  # the last commit whose schema is 0062
EMAILS = [f"cliente{number}@test.com.br" for number in range(4)]
LIMIT = 120.0  # seconds that anything may take, on a machine that is busy with other things
COMPANY = ("--cnpj", "11.222.333/0001-81", "--razao-social", "ANA DESIGN ME", "--inscricao-municipal", "12345")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the release before, as it was committed."""
    git = shutil.which("git")
    assert git, "this test takes the release before from the repository: install git"
    packed = children.run([git, "-C", ROOT, "archive", BEFORE], capture_output=True)
    assert packed.returncode == 0, (
        f"the history has no commit {BEFORE[:7]}, the release before, which this test runs before this one: "
        f"fetch it with `git fetch --unshallow` ({packed.stderr.decode().strip()})"
    )
    home = tmp_path_factory.mktemp("release-before")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(home, filter="data")
    return home


@pytest.fixture
async def empty_url(embedded: Embedded) -> AsyncIterator[str]:
    """A database that nobody has migrated."""
    server = embedded.servers.owner_url  # one account for everything, as the release before has it
    name = f"upgrade_{os.urandom(4).hex()}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name}")
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


class Releases:
    """A stage on which processes of both releases come and go, and people who may issue."""

    def __init__(self, stage: Stage, before: Path, phones: Sequence[str], box: Mailbox) -> None:
        self.stage = stage
        self.box = box
        self._before = str(before)
        self._phones = list(phones)

    def person(self) -> Person:
        """Return somebody new who may issue."""
        return Person(self.stage.world, self._phones.pop())

    async def old(self, command: str) -> Prosa:
        """Start a process of the release before."""
        return await self.stage.start(command, PYTHONPATH=self._before)

    async def new(self, command: str) -> Prosa:
        """Start a process of this release."""
        return await self.stage.start(command)

    async def migrate(self) -> str:
        """Bring the database to this release's schema, or return what is said against it."""
        return await _run(self.stage.env, ROOT, "migrate")


async def _run(env: dict[str, str], tree: Path, *words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    done = await asyncio.to_thread(
        children.run,
        [sys.executable, "-m", "bot.cli", *words],
        env={**kept, "PYTHONPATH": str(tree), **env},
        cwd=tree,  # which Python looks into first
        timeout=LIMIT,
        capture_output=True,
    )
    return str(done.stderr.decode()) if done.returncode else ""


@asynccontextmanager
async def opened(url: str, redis_url: str, before: Path, cwd: Path) -> AsyncIterator[Releases]:
    """Open a stage whose database and company the release before has made."""
    phones, authority = [new_phone() for _ in range(40)], Authority(cwd / "authority")
    box = Mailbox(accounts={"ana": "segredo"}, starttls=authority.server_context())
    async with box.listening() as port:
        settings: dict[str, Any] = {
            "PROSA_SESSION_TTL_SECONDS": "3600",
            "PROSA_SMTP_URL": f"smtp://ana:segredo@127.0.0.1:{port}",
            "PROSA_SMTP_CA_FILE": str(authority.ca_file),
            "PROSA_SMTP_FROM": "notas@ana.com.br",
            "PROSA_PUBLIC_URL": "https://prosa.exemplo.com.br",
            "PROSA_SMTP_LADDER": ",".join(["0.5"] * 200),
            "PROSA_SMTP_DOMAIN_PER_MINUTE": "0",
        }
        async with open_stage(url, redis_url, cwd, **settings) as stage:
            assert await _run(stage.env, before, "migrate") == ""
            users = [word for phone in phones for word in ("--usuario", f"+{phone}")]
            assert not await _run(stage.env, before, "empresa", "add", *COMPANY, "--municipio", "3550308", *users)
            yield Releases(stage, before, phones, box)


@pytest.fixture
async def releases(empty_url: str, redis_url: str, before: Path, tmp_path: Path) -> AsyncIterator[Releases]:
    async with opened(empty_url, redis_url, before, tmp_path) as both:
        yield both


async def _button(person: Person, title: str) -> None:
    await person.world.meta.wait_for(person.who, lambda b: any(x.title == title for x in b.buttons), LIMIT)


async def _summary(person: Person) -> None:
    await _button(person, "Confirmar")


async def _filed(person: Person) -> None:
    await person.world.meta.wait_for(
        person.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), LIMIT
    )


async def _whole(person: Person) -> None:
    await person.tell(unlike())
    await _summary(person)
    await person.touch("Confirmar")
    await _filed(person)


async def _judged(releases: Releases, people: Sequence[Person]) -> None:
    """Exactly one note each, nothing open, nothing set aside, nobody told twice."""
    stage = releases.stage
    await stage.settled(LIMIT)
    for person in people:
        assert len(await stage.notes(person)) == 1, person.answers
        assert len(set(person.answers)) == len(person.answers), person.answers
    spoilt = "SELECT tipo, erro FROM inbox WHERE estado = 2"
    assert [tuple(row) for row in await stage.database.pool.fetch(spoilt)] == []
    assert await stage.database.pool.fetchval("SELECT count(*) FROM outbox WHERE status = 'falhou'") == 0
    keys = [r.data["payload"]["idIntegracao"] for r in stage.world.plugnotas.ledger.of("note.created")]
    assert len(keys) == len(set(keys))


async def _dumped_and_restored(url: str) -> None:
    """Replace the database by what its dump makes of it, as an operator who moves to another server does."""
    programs, name = postgres.installation(), urlsplit(url).path[1:]
    base = programs.base / Path(programs.program).parent
    dump = await asyncio.to_thread(
        children.run, [base / "pg_dump", url], capture_output=True, env={"PGCONNECT_TIMEOUT": "10"}, timeout=LIMIT
    )
    assert dump.returncode == 0, dump.stderr
    server = await asyncpg.connect(urlsplit(url)._replace(path="/postgres").geturl())
    try:
        await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await server.execute(f"CREATE DATABASE {name}")
    finally:
        await server.close()
    words: list[str | Path] = [base / "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", url]
    restored = await asyncio.to_thread(
        children.run, words, input=dump.stdout, capture_output=True, env={"PGCONNECT_TIMEOUT": "10"}, timeout=LIMIT
    )
    assert restored.returncode == 0, restored.stderr


@dataclass
class Begun:
    """People amid everything that may be under way, and the note that one of them wants cancelled."""

    asked: Person  # has a summary
    partial: Person  # has given an amount
    refused: Person
    emitting: list[Person]  # confirmed; the gateway was told, may have been told, or was not
    cancelling: Person
    note: Note
    unheard: Person  # the answer waits in our outbox
    unread: Person  # the message waits at Meta
    lista: int  # half of its mails have gone


async def _confirmed(releases: Releases, status: str) -> Person:
    """Return somebody whose confirmed emission stands there."""
    stage, person = releases.stage, releases.person()
    await person.tell(unlike())
    await _summary(person)
    await person.touch("Confirmar")
    there = (
        "SELECT EXISTS (SELECT FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id "
        "WHERE s.conversa = $1 AND e.status = $2)"
    )
    await until(lambda: stage.database.pool.fetchval(there, stage.conversation(person), status), LIMIT)
    return person


async def _begin(releases: Releases) -> Begun:
    """Bring people amid everything, and kill whatever runs."""
    stage, pool = releases.stage, releases.stage.database.pool
    gateway, meta = stage.world.plugnotas.faults, stage.world.meta
    cancelling, refused, asked, partial, unheard, unread = (releases.person() for _ in range(6))
    await _whole(cancelling)
    await asked.tell(unlike())
    await _summary(asked)
    await partial.say("nota de 1500")
    gateway.set("rejeitar", times=1)
    await refused.say(unlike())
    await refused.touch("Confirmar")
    await refused.expect("aceit")  # as each release says it
    gateway.set("sem_webhook")
    gateway.set("erro_500", method="GET")
    emitting = [await _confirmed(releases, "enviado")]
    gateway.set("perder_resposta", times=1)
    emitting.append(await _confirmed(releases, "desconhecido"))
    gateway.set("pendurar_resposta", times=1, seconds=LIMIT)
    emitting.append(await _confirmed(releases, "enviando"))
    gateway.set("limite_429", seconds=3600.0, method="POST")
    emitting.append(await _confirmed(releases, "pendente"))
    [note] = await stage.notes(cancelling)
    await cancelling.tell(f"cancela a nota {note.numero}")
    await meta.wait_for(cancelling.who, lambda b: "Qual é o motivo?" in b.text, LIMIT)
    await cancelling.tell("valor errado, vou emitir outra")
    await _button(cancelling, "Cancelar a nota")
    await cancelling.touch("Cancelar a nota")
    await until(lambda: pool.fetchval("SELECT count(*) FROM cancelamento WHERE estado = 'pendente'"), LIMIT)
    releases.box.weather = lambda command: "451 later" if command == "rcpt" and len(releases.box.kept) >= 2 else None
    lista, _ = await upload(
        stage.database, await pool.fetchval("SELECT id FROM empresa"), listed("a.csv", *EMAILS), QUEM
    )
    async with stage.database.transaction() as connection:
        assert await records.confirm(connection, lista.id, lista.revisao, QUEM)
    half = "SELECT count(*) = 2 FROM lote_linhas WHERE lote_id = $1 AND estado = 'DONE'"
    await until(lambda: pool.fetchval(half, lista.id), LIMIT)
    meta.faults.set("erro_500", method="POST")
    await unheard.tell(unlike())
    queued = "SELECT EXISTS (SELECT FROM outbox WHERE conversa = $1 AND run_at IS NOT NULL)"
    await until(lambda: pool.fetchval(queued, stage.conversation(unheard)), LIMIT)
    await stage.clear()
    await unread.tell(unlike())
    gateway.clear()
    meta.faults.clear()
    releases.box.weather = lambda _: None
    return Begun(asked, partial, refused, emitting, cancelling, note, unheard, unread, lista.id)


async def test_this_release_finishes_what_the_one_before_had_begun(releases: Releases) -> None:
    """Killed amid everything, dumped, restored, migrated, and started anew: whatever was under way ends.

    A dump has no Redis in it: live sessions are read from their snapshots. On the old schema ``prosa serve`` of this
    release does not start, changes nothing and says which command does.
    """
    stage = releases.stage
    await releases.old("serve")
    begun = await _begin(releases)
    await _dumped_and_restored(stage.env["PROSA_DATABASE_URL"])
    with redis.Redis.from_url(stage.env["PROSA_REDIS_URL"]) as lost:
        lost.flushdb()
    with pytest.raises(RuntimeError, match="prosa migrate"):
        await releases.new("serve")
    assert await releases.migrate() == ""
    await stage.leases_run_out(*LEASES)
    for table in ("nfse_emissao", "cancelamento"):  # as if the hour had passed that the gateway asked for
        due = f"UPDATE {table} SET proxima_acao_em = now() WHERE proxima_acao_em > now()"  # noqa: S608 - ours
        await stage.database.pool.execute(due)
    await releases.new("serve")
    async with waits_passing(stage, doubts=True, leases=True):
        await asyncio.gather(*map(_filed, begun.emitting))
        await begun.asked.touch("Confirmar")
        await begun.partial.tell(f"pra {PADARIA}, consultoria de marketing")
        late = (begun.partial, begun.unheard, begun.unread)
        for person in late:
            await _summary(person)
            await person.touch("Confirmar")
        await asyncio.gather(*map(_filed, (begun.asked, *late)))
        told = f"Nota {begun.note.numero} cancelada"
        await stage.world.meta.wait_for(begun.cancelling.who, lambda b: told in b.text, LIMIT)
        await _judged(releases, [begun.asked, *late, *begun.emitting])
    assert stage.world.plugnotas.notes[begun.note.id].situacao == CANCELLED
    assert await stage.notes(begun.refused) == []
    ended = "SELECT estado = 'concluido' FROM lotes WHERE id = $1"
    await until(lambda: stage.database.pool.fetchval(ended, begun.lista), LIMIT)
    assert sorted(kept.to for kept in releases.box.kept) == sorted(EMAILS)  # each once


async def test_a_running_process_keeps_its_schema_and_another_release_s_is_refused(releases: Releases) -> None:
    """Whoever migrates under it is told to stop it; on the schema of a release to come none of ours starts."""
    pool = releases.stage.database.pool
    version = "UPDATE alembic_version SET version_num = $1"
    assert await releases.migrate() == ""
    serve = await releases.new("serve")
    await _whole(releases.person())
    assert await releases.migrate() == ""  # nothing is to be migrated
    await pool.execute(version, "0062")
    assert "Pare todos" in await releases.migrate()
    assert (await serve.terminate())[0] == 0
    await pool.execute(version, "later")
    with pytest.raises(RuntimeError, match="mais nova"):
        await releases.new("serve")
    assert "mais nova" in await releases.migrate()
    assert await pool.fetchval("SELECT version_num FROM alembic_version") == "later"
