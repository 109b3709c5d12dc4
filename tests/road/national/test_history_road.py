"""A database that forgot its newest commits: nothing leaves under our numbers, and no confirmation makes two notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import asyncpg
import pytest
import redis

from bot.operator.reconcile import channels_of
from gateway.nacional.adapter import NATUREZA
from gateway.registry import REGISTRY
from operations.certificate import destroy_certificate
from operations.company import add_company
from operations.protocol import CommandRefusedError
from operations.restored import restore
from proofs.sandbox.nacional.sefin import NacionalConfig
from tests.owner import as_owner
from tests.road.national.test_national_road import (
    CNPJ,
    FORM,
    _certificate,
    _confirmed,
    _led_there,
    _one_note,
    _steps,
    _told,
)
from tests.road.road_people import QUICK, Person, new_phone, open_road, unlike, until
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from operations.company import CompanyForm
    from proofs.sandbox.nacional.sefin import SefinSimulator
    from tests.road.road_people import Road

pytestmark = pytest.mark.timeout(500)  # whole conversations before and after a database is put back

OTHER = replace(FORM, cnpj="45723174000110", razao_social="JARDIM LTDA", usuarios=())
KEPT = {"alembic_version", "auditoria", "auditoria_elo", "job_slots", "staff"}
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
COLUMNS = """
SELECT string_agg(format('%I', column_name), ', ') FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'
"""
LEFT = "UPDATE outbox SET run_at = NULL WHERE run_at IS NOT NULL"
SETTLES = (NATUREZA.absences * NATUREZA.absence_spacing).total_seconds()
DOUBT = "SELECT suspeita FROM historia"


@pytest.fixture
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A house of its own for each test, beside the simulated authority."""
    connection = await asyncpg.connect(database_url)  # what another house left in doubt is not waited for
    await as_owner(connection, LEFT)
    await connection.close()
    config = replace(QUICK, nacional=NacionalConfig())
    async with open_road(database_url, redis_url, config=config, between=_led_there) as road:
        await _certificate(road)
        await _certificate(road, OTHER)
        yield road
        await road.settled()  # what is cut off while it is sent is in doubt for ever, and the next house waits for it


@pytest.fixture
def sefin(road: Road) -> SefinSimulator:
    """The authority."""
    return road.world.sefin


async def _tables(owner: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await owner.fetch(TABLES) if row[0] not in KEPT]


async def copied(owner_url: str) -> None:
    """Copy all rows as they are now."""
    owner = await asyncpg.connect(owner_url)
    async with owner.transaction(isolation="repeatable_read"):
        await owner.execute("DROP SCHEMA IF EXISTS copia CASCADE; CREATE SCHEMA copia")
        for table in await _tables(owner):
            await owner.execute(f'CREATE TABLE copia."{table}" AS TABLE public."{table}"')
    await owner.close()


async def put_back(owner_url: str, redis_url: str) -> None:
    """Put the copied rows in the place of those of now, with an empty Redis."""
    owner = await asyncpg.connect(owner_url)
    async with owner.transaction():
        await owner.execute("SET LOCAL session_replication_role = replica")
        for table in await _tables(owner):
            names = await owner.fetchval(COLUMNS, table)
            await owner.execute(f'DELETE FROM public."{table}"')  # noqa: S608 - tables of this database
            await owner.execute(
                f'INSERT INTO public."{table}" ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM copia."{table}"'  # noqa: S608 - as above
            )
    await owner.close()
    with redis.Redis.from_url(redis_url) as cache:
        cache.flushdb()


async def _accepted(road: Road, late: Callable[[], object] = lambda: None) -> str:
    """Do what ``prosa restaurado`` does; ``late`` happens while it waits for what the authority takes late."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        late()

    async with channels_of(road.house.settings, road.database) as channels:
        said = " ".join(await restore(road.database, [], channels, wait=wait))
    assert [0 < seconds <= SETTLES for seconds in waited] == [True]
    return said


async def _shown(road: Road, form: CompanyForm = FORM) -> Person:
    """Return somebody new of the company to whom a summary is shown."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(form, usuarios=(person.who,)), None, REGISTRY)
    await person.say(unlike())
    return person


async def test_nothing_is_confirmed_on_a_database_that_forgot(
    road: Road, sefin: SefinSimulator, owner_url: str, redis_url: str
) -> None:
    """A replica without the last commits: the first yes finds out, gets no number, and its person is told to wait."""
    await _confirmed(road)
    person, other = await _shown(road), await _shown(road)
    await road.settled()
    await copied(owner_url)
    await person.touch("Confirmar")
    await _one_note(road, sefin, (await road.reached(person, "aprovado"))["sessao_id"])
    await road.settled()
    notes = len(sefin.notes)
    await put_back(owner_url, redis_url)
    try:
        for each in (other, person):
            await each.touch("Confirmar")
            await _told(each, "Ainda não emiti esta nota")
            assert (await road.session(each))["estado"] == "aguardando_confirmacao"
        assert await road.database.pool.fetchval(DOUBT) == "something is missing"
        assert len(sefin.notes) == notes
    finally:
        await _accepted(road)


@pytest.mark.parametrize("forgotten", ["restored", "failed over"])
async def test_one_confirmation_is_one_note_whatever_the_database_forgot(
    road: Road, sefin: SefinSimulator, owner_url: str, redis_url: str, forgotten: str
) -> None:
    """Its reference finds its number: the note is adopted, and another's confirmation gets the number after it."""
    if forgotten == "failed over":  # the sequence was known before; in the other case the copy has none
        await _confirmed(road)
    person, other = await _shown(road), await _shown(road)
    await road.settled()
    await copied(owner_url)
    await person.touch("Confirmar")
    first = await _one_note(road, sefin, (await road.reached(person, "aprovado"))["sessao_id"])
    await road.settled()
    await put_back(owner_url, redis_url)
    if forgotten == "failed over":
        await other.touch("Confirmar")
        await _told(other, "Ainda não emiti esta nota")
    late = sefin.notes.popitem()  # it left before the database forgot it, and is taken while the operator waits
    said = await _accepted(road, lambda: sefin.notes.update([late]))
    assert f"série 900: a autoridade tem 1 depois da cópia, até o número {int(first.id_dps[-15:])}." in said
    for other_channels in ("--rps", "gateway", "PlugNotas", "conferir", "Sequência"):
        assert other_channels not in said
    for each in (other, person):
        await _confirm_again(each)
        assert sum("esta nota pode já ter saído" in answer for answer in each.answers) == 1
        session = (await road.reached(each, "aprovado"))["sessao_id"]
        note = await _one_note(road, sefin, session)
        assert (note.id_dps == first.id_dps) is (each is person)
        assert (await _steps(road, session))[0] == (("find", "Found") if each is person else ("submit", "Issued"))
        assert len([n for n in sefin.notes.values() if n.c_int_contrib == note.c_int_contrib]) == 1


async def test_what_was_confirmed_before_a_correction_is_no_second_note(
    road: Road, sefin: SefinSimulator, owner_url: str, redis_url: str
) -> None:
    """The note of a forgotten revision is found by the next one's yes: its content is another's, so people look."""
    await _confirmed(road)
    person = await _shown(road)
    await road.settled()
    await copied(owner_url)
    await person.touch("Confirmar")
    session = (await road.reached(person, "aprovado"))["sessao_id"]
    first = await _one_note(road, sefin, session)
    await road.settled()
    await put_back(owner_url, redis_url)
    await _accepted(road)
    await person.say("muda o valor para 4.321,00")
    await _told(person, "4.321,00")
    await person.touch("Confirmar")
    status = "SELECT status, id_integracao FROM nfse_emissao WHERE sessao_id = $1"
    await until(lambda: road.database.pool.fetchval(f"{status} AND status = 'conflito'", session))
    [kept] = await road.database.pool.fetch(status, session)
    assert kept["id_integracao"] == f"{session}-r1-1"
    assert (await _steps(road, session))[0] == ("find", "Found")
    assert [note.id_dps for note in sefin.notes.values() if note.c_int_contrib == first.c_int_contrib] == [first.id_dps]
    await _told(person, "equipe")


async def test_a_company_that_nobody_can_ask_for_is_held_alone(
    road: Road, sefin: SefinSimulator, owner_url: str, redis_url: str
) -> None:
    """One without a certificate: the other's confirmation finds its note; its own waits, and finds its note later."""
    await _confirmed(road)
    await _confirmed(road, OTHER)
    people = [await _shown(road), await _shown(road, OTHER)]
    await road.settled()
    await copied(owner_url)
    first = []
    for each in people:
        await each.touch("Confirmar")
        first.append(await _one_note(road, sefin, (await road.reached(each, "aprovado"))["sessao_id"]))
    await road.settled()
    notes = len(sefin.notes)
    await put_back(owner_url, redis_url)
    await destroy_certificate(road.database, OTHER.cnpj)
    with pytest.raises(CommandRefusedError, match=r"Destas nada(.|\n)*JARDIM LTDA: a lista dela não veio"):
        await _accepted(road)
    await people[1].touch("Confirmar")
    await _told(people[1], "Ainda não emiti esta nota")
    await _confirm_again(people[0])
    await road.reached(people[0], "aprovado")
    await _certificate(road, OTHER)
    said = await _accepted(road)
    assert "JARDIM LTDA, série 900: a autoridade tem 1 depois da cópia" in said
    assert FORM.razao_social not in said
    await _confirm_again(people[1])
    for each, note in zip(people, first, strict=True):
        assert await _one_note(road, sefin, (await road.reached(each, "aprovado"))["sessao_id"]) is note
    assert len(sefin.notes) == notes


async def test_an_operators_word_counts_where_the_authority_does_not_tell(road: Road) -> None:
    """Without a certificate nobody can ask: the company is held, unless an operator takes it upon themselves."""
    await _confirmed(road)
    await road.settled()
    pool = road.database.pool
    await destroy_certificate(road.database, CNPJ)
    with pytest.raises(CommandRefusedError, match="a lista dela não veio"):
        await _accepted(road)
    held = "SELECT count(*) FROM empresa WHERE restauro_desde IS NOT NULL"
    assert await pool.fetchval(held) == 1
    known = await pool.fetch(
        "SELECT id, ultimo FROM numeracao WHERE empresa_id IN (SELECT id FROM empresa WHERE cnpj = $1)", CNPJ
    )
    await restore(road.database, [f"{row['id']}:{row['ultimo']}" for row in known])
    assert await pool.fetchval(held) == 0


async def test_what_waits_to_be_sent_goes_on_when_somebody_says_so(road: Road, sefin: SefinSimulator) -> None:
    """In doubt nothing leaves under a number of ours; then it is asked for first, and is one note."""
    await destroy_certificate(road.database, CNPJ)
    _, session = await _confirmed(road)
    pool = road.database.pool
    await until(lambda: pool.fetchval("SELECT envio_suspenso FROM empresa WHERE cnpj = $1", CNPJ))
    await pool.execute("UPDATE historia SET linha = linha + 1")
    await _certificate(road)
    held = "SELECT retida = 'historia' FROM nfse_emissao WHERE sessao_id = $1 AND lease_until IS NULL"
    await until(lambda: pool.fetchval(held, session))
    assert await pool.fetchval(DOUBT) == "another timeline"
    assert not await pool.fetchval(
        "SELECT count(*) FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id "
        "WHERE e.sessao_id = $1 AND operacao = 'submit' AND resultado <> 'Misconfigured'",
        session,
    )
    await _accepted(road)
    async with waits_passing(road):
        await _one_note(road, sefin, session)


async def _confirm_again(person: Person) -> None:
    """Confirm, and confirm once more what is shown with a warning then."""
    await person.touch("Confirmar")
    await _told(person, "esta nota pode já ter saído")
    await person.touch("Confirmar")
