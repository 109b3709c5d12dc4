"""The release before and this one: side by side on a schema that is migrated under the former, and one after the other.

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
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest
import redis

from persistence.embedded import postgres
from proofs.sandbox.plugnotas.model import CANCELLED
from tests import children
from tests.nightly import size
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

# The commits before the schema's and the tree's great changes: money and doors (0018 on), then folders by subject, then
# the last whose orders name their bytes ``payload_enviado``.
NIGHTLY = ("fc9482d06fbc51900cdfe3a2c5bd49bf86bcb549", "69785dd8c860b82693670faa8019f873d525dfeb")
RELEASES = ("fff3b9483c42fc3998fcbd6c3983793b1399e96f", *size((), NIGHTLY))
PEOPLE = 8
LIMIT = 120.0  # seconds that anything may take, on a machine that is busy with other things
COMPANY = ("--cnpj", "11.222.333/0001-81", "--razao-social", "ANA DESIGN ME", "--inscricao-municipal", "12345")


@pytest.fixture(scope="module", params=RELEASES, ids=lambda commit: str(commit)[:7])
def before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of a release before, as it was committed."""
    git = shutil.which("git")
    assert git, "this test takes the release before from the repository: install git"
    packed = children.run([git, "-C", ROOT, "archive", request.param], capture_output=True)
    assert packed.returncode == 0, (
        f"the history has no commit {request.param[:7]}, a release before, which this test runs beside this one: "
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
    name = f"two_releases_{os.urandom(4).hex()}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name}")
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


class Releases:
    """A stage on which processes of both releases come and go, and people who may issue."""

    def __init__(self, stage: Stage, before: Path, phones: Sequence[str]) -> None:
        self.stage = stage
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

    async def migrate(self) -> None:
        """Bring the database to this release's schema."""
        await _run(self.stage.env, ROOT, "migrate")


async def _run(env: dict[str, str], tree: Path, *words: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    done = await asyncio.to_thread(
        children.run,
        [sys.executable, "-m", "bot.cli", *words],
        env={**kept, "PYTHONPATH": str(tree), **env},
        cwd=tree,  # which Python looks into first
        timeout=LIMIT,
        capture_output=True,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)


@asynccontextmanager
async def opened(url: str, redis_url: str, before: Path, cwd: Path) -> AsyncIterator[Releases]:
    """Open a stage whose database and company the release before has made."""
    phones = [new_phone() for _ in range(40)]
    async with open_stage(url, redis_url, cwd, PROSA_SESSION_TTL_SECONDS="3600") as stage:
        await _run(stage.env, before, "migrate")
        users = [word for phone in phones for word in ("--usuario", f"+{phone}")]
        await _run(stage.env, before, "empresa", "add", *COMPANY, "--municipio", "3550308", *users)
        yield Releases(stage, before, phones)


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


def _turns(process: Prosa) -> int:
    return sum(entry.get("event") == "transition" for entry in process.log)


async def test_two_releases_side_by_side_issue_each_note_once(releases: Releases) -> None:
    """Migrate first, under the running release, then add processes of the new one: both work, and no note is doubled.

    Webhooks come to the old one, then to the new one; what one began the other may go on with.
    """
    old = await releases.old("serve")
    first, begun = releases.person(), [releases.person() for _ in range(PEOPLE)]
    await _whole(first)
    for person in begun:
        await person.tell(unlike())
    await asyncio.gather(*map(_summary, begun))
    await releases.migrate()
    still = releases.person()
    await _whole(still)  # the release before goes on with the new schema
    new = await releases.new("worker")
    both = [releases.person() for _ in range(PEOPLE)]
    async with waits_passing(releases.stage, doubts=True, leases=False):
        for person in begun:
            await person.touch("Confirmar")
        await asyncio.gather(*map(_filed, begun), *map(_whole, both))
        web = await releases.new("web")
        more = [releases.person() for _ in range(PEOPLE)]
        await asyncio.gather(*map(_whole, more))
        assert _turns(old) > 0
        assert _turns(new) > 0
        for process in (old, web):
            assert (await process.terminate())[0] == 0
        await releases.new("web")
        last = releases.person()
        await _whole(last)
        await _judged(releases, [first, still, *begun, *both, *more, last])


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
    meta.faults.set("erro_500", method="POST")
    await unheard.tell(unlike())
    queued = "SELECT EXISTS (SELECT FROM outbox WHERE conversa = $1 AND run_at IS NOT NULL)"
    await until(lambda: pool.fetchval(queued, stage.conversation(unheard)), LIMIT)
    await stage.clear()
    await unread.tell(unlike())
    gateway.clear()
    meta.faults.clear()
    return Begun(asked, partial, refused, emitting, cancelling, note, unheard, unread)


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
    await releases.migrate()
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


async def test_this_release_starts_on_the_schema_of_one_to_come(releases: Releases) -> None:
    """Migrations only add: while the next release takes over, and if it has to go back, this one starts and works."""
    await releases.migrate()
    await releases.stage.database.pool.execute("UPDATE alembic_version SET version_num = 'later'")
    await releases.new("serve")
    ana = releases.person()
    await _whole(ana)
    await releases.migrate()  # changes nothing, and is no error
    assert await releases.stage.database.pool.fetchval("SELECT version_num FROM alembic_version") == "later"
    await _judged(releases, [ana])
