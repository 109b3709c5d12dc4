"""The authority takes another layout from one moment on, without a word: nothing is lost, doubled or refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from bot.operator.reconcile import channels_of
from gateway.nacional import layouts
from gateway.nacional.layouts import LayoutChoice
from gateway.nacional.signature import unpack
from operations.national.verify import verify
from persistence.fiscal import suspension
from proofs.demo.world import COMPANY
from proofs.sandbox.nacional.sefin import NacionalConfig
from state_machine.protocol.channel import Ambiente, Canal
from state_machine.values.local_time import SAO_PAULO
from tests.road.national.test_national_road import _certificate, _confirmed, _led_there, _one_note, _status
from tests.road.road_people import QUICK, open_road, until
from tests.road.road_stage import waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.road.road_people import Person, Road

BEFORE = date(2026, 1, 1)
HOM = Ambiente.HOMOLOGACAO
_WAITS = "SELECT count(*) FROM nfse_emissao WHERE retida = 'leiaute' AND proxima_acao_em IS NOT NULL"
_UNDER_WAY = "SELECT count(*) FROM nfse_emissao WHERE status = 'enviando'"
_HELD = "SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1 AND tentativa = 2 AND retida = 'historia'"
_SENT = "SELECT tentativa, status, numero_rps FROM nfse_emissao WHERE sessao_id = $1 ORDER BY tentativa"


@pytest.fixture(scope="module")
async def opened(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    config = replace(QUICK, nacional=NacionalConfig())
    async with open_road(database_url, redis_url, config=config, between=_led_there) as road:
        await _certificate(road)
        yield road


@pytest.fixture
async def road(opened: Road) -> Road:
    """The module's road: the calendar knows no change, and the authority has made none."""
    await opened.database.pool.execute("DELETE FROM nacional_leiaute")
    _takes_nt009(opened, since=None)
    _choice(opened).sozinho = False
    return opened


def _takes_nt009(road: Road, since: date | None) -> None:
    road.world.sefin.config = replace(road.world.sefin.config, nt009=since)


def _choice(road: Road) -> LayoutChoice:
    leiaute: Any = road.house.door._channels.of(Canal("nacional", HOM)).leiaute
    assert isinstance(leiaute, LayoutChoice)
    return leiaute


async def _choose(road: Road, escolha: str) -> None:
    async with road.database.transaction() as connection:
        await suspension.choose_layout(connection, HOM, escolha, "ana")
    road.house.pumps.ring()


def _refused(road: Road) -> list[list[str]]:
    return [record.data["codes"] for record in road.world.sefin.ledger.of("refused")]


def _silent(person: Person) -> bool:
    return not [answer for answer in person.answers if "não foi aceita" in answer or "equipe" in answer]


async def test_a_change_without_a_word_stops_and_loses_nothing(road: Road) -> None:
    """The first refusal stops the environment; who chooses lets the same number leave in the other shape."""
    before = len(_refused(road))
    _takes_nt009(road, BEFORE)
    ana, first = await _confirmed(road)
    await until(lambda: road.database.pool.fetchval(_WAITS))
    bia, second = await _confirmed(road)
    await until(lambda: road.database.pool.fetchval(f"SELECT ({_WAITS}) = 2"))
    assert _refused(road)[before:] == [["E1235"]]
    (stopped,) = await road.database.pool.fetch("SELECT * FROM nacional_leiaute")
    assert (stopped["escolha"], "E1235" in stopped["detalhe"], stopped["parado_em"] is not None) == (None, True, True)
    await _choose(road, "nt009")
    notes = [await _one_note(road, road.world.sefin, session) for session in (first, second)]
    assert _refused(road)[before:] == [["E1235"]]
    sent = await road.database.pool.fetch(_SENT, first)
    assert [(row["tentativa"], row["status"]) for row in sent] == [(1, "rejeitado"), (2, "concluido")]
    assert sent[0]["numero_rps"] == sent[1]["numero_rps"]
    assert all(b"<finNFSe>" in unpack(note.packed) for note in notes)
    for person in (ana, bia):
        await person.files()
        assert _silent(person)


async def test_where_a_setting_says_so_the_other_layout_is_tried_once_by_itself(road: Road) -> None:
    """And only once: a second refusal, now of the other one, waits for a person who says which it is."""
    _choice(road).sozinho = True
    _takes_nt009(road, BEFORE)
    ana, session = await _confirmed(road)
    note = await _one_note(road, road.world.sefin, session)
    assert b"<finNFSe>" in unpack(note.packed)
    await ana.files()
    assert _silent(ana)
    (chosen,) = await road.database.pool.fetch("SELECT escolha, parado_em, quem FROM nacional_leiaute")
    assert tuple(chosen) == ("nt009", None, "Prosa")
    _takes_nt009(road, None)
    bia, later = await _confirmed(road)
    await until(lambda: road.database.pool.fetchval(_WAITS))
    assert await road.database.pool.fetchval("SELECT parado_em IS NOT NULL FROM nacional_leiaute")
    await _choose(road, "1.01")
    assert b"<finNFSe>" not in unpack((await _one_note(road, road.world.sefin, later)).packed)
    await bia.files()
    assert _silent(bia)


async def test_what_was_made_before_the_change_stops_nothing(road: Road) -> None:
    """A document of the former layout, whose first call was lost, is refused alone and made again."""
    road.world.sefin.faults.set("erro_500", times=1, method="POST")
    ana, session = await _confirmed(road)
    await until(lambda: road.database.pool.fetchval("SELECT envios FROM nfse_emissao WHERE sessao_id = $1", session))
    _takes_nt009(road, BEFORE)
    await _choose(road, "nt009")
    async with waits_passing(road):
        note = await _one_note(road, road.world.sefin, session)
    assert b"<finNFSe>" in unpack(note.packed)
    assert await road.database.pool.fetchval("SELECT parado_em FROM nacional_leiaute") is None
    await ana.files()
    assert _silent(ana)


@pytest.mark.parametrize(
    ("since", "said"),
    [(None, "aceita o 1.01, e recusa o da NT 009"), (BEFORE, "aceita o da NT 009, e recusa o 1.01")],
)
async def test_the_authority_is_asked_which_layout_it_takes_and_makes_no_note(
    road: Road, since: date | None, said: str
) -> None:
    """One sentence; what is sent breaks two rules, whatever its shape."""
    _takes_nt009(road, since)
    notes, refused = len(road.world.sefin.notes), len(_refused(road))
    async with channels_of(road.house.settings, road.database) as channels:
        told = await verify(road.database, channels, COMPANY.cnpj, canario=True)
    (line,) = [each for each in told if each.dito.startswith("Leiaute:")]
    assert (said in line.dito, line.serve) == (True, True)
    assert len(road.world.sefin.notes) == notes
    codes = sorted(_refused(road)[refused:])
    assert codes[1] == ["E1235"]
    assert {"E0006", "E0015"} <= set(codes[0])


async def test_a_choice_is_not_undone_by_a_call_that_was_under_way(road: Road) -> None:
    """The refusal of what left before the choice comes after it: nothing stops again, and the note leaves."""
    _takes_nt009(road, BEFORE)
    road.world.sefin.config = replace(road.world.sefin.config, processing=2.0)
    ana, session = await _confirmed(road)
    await until(lambda: road.database.pool.fetchval(f"SELECT ({_UNDER_WAY}) > 0"))
    await _choose(road, "nt009")
    road.world.sefin.config = replace(road.world.sefin.config, processing=0.0)
    await _one_note(road, road.world.sefin, session)
    assert await road.database.pool.fetchval("SELECT parado_em FROM nacional_leiaute") is None
    await ana.files()
    assert _silent(ana)


async def test_a_refusal_amid_a_doubted_history_waits_for_its_end(road: Road) -> None:
    """A database that was put back while the call was under way: no word to the person, and one note once all know."""
    pool = road.database.pool
    _takes_nt009(road, BEFORE)
    road.world.sefin.config = replace(road.world.sefin.config, processing=2.0)
    ana, session = await _confirmed(road)
    await until(lambda: pool.fetchval(f"SELECT ({_UNDER_WAY}) > 0"))
    await pool.execute("UPDATE empresa SET restauro_desde = now()")
    try:
        await _choose(road, "nt009")
        road.world.sefin.config = replace(road.world.sefin.config, processing=0.0)
        await until(lambda: pool.fetchval(_HELD, session))
    finally:
        await pool.execute("UPDATE empresa SET restauro_desde = NULL")
    async with waits_passing(road):
        await _one_note(road, road.world.sefin, session)
    assert [row["tentativa"] for row in await pool.fetch(_SENT, session)] == [1, 2]
    await ana.files(late=True)
    assert _silent(ana)


CALENDAR = date(2027, 1, 1)  # of the product, where no setting says otherwise
DAYS = [date(2026, 11, 27), date(2026, 12, 1), date(2026, 12, 31), date(2027, 1, 1), date(2027, 1, 2)]


@pytest.mark.parametrize(
    ("switch", "sozinho"),
    [
        (date(2026, 12, 1), False),
        (date(2027, 1, 2), True),  # by itself back to the former one, and then an operator
    ],
)
async def test_the_turn_of_the_year(road: Road, monkeypatch: pytest.MonkeyPatch, switch: date, sozinho: bool) -> None:
    """Over all days that sources name, whenever the authority changes: one note each, and nobody hears of it.

    A day is played by moving what is compared with it; on each, one person's first call is lost.
    """
    hoje = datetime.now(SAO_PAULO).date()
    leiaute = _choice(road)
    leiaute.sozinho = sozinho
    made: list[tuple[str, Person]] = []
    for day in DAYS:
        moved = {HOM: hoje + (date(2026, 12, 1) - day)}
        monkeypatch.setattr(layouts, "FIRST_NAMED", moved)
        leiaute.calendario = hoje + (CALENDAR - day)
        _takes_nt009(road, hoje + (switch - day))
        road.world.sefin.faults.set("erro_500", times=1, method="POST")
        async with waits_passing(road):
            person, session = await _confirmed(road)
            await until(partial(_settled_or_stopped, road, session))
            if await road.database.pool.fetchval("SELECT parado_em FROM nacional_leiaute"):
                await _choose(road, "nt009" if switch <= day else "1.01")
            note = await _one_note(road, road.world.sefin, session)
            assert (b"<finNFSe>" in unpack(note.packed)) is (switch <= day)
            await person.files()
            made.append((session, person))
    leiaute.calendario = None
    assert len({session for session, _ in made}) == len(DAYS)
    assert all(_silent(person) for _, person in made)


async def _settled_or_stopped(road: Road, session: str) -> bool:
    stopped = await road.database.pool.fetchval("SELECT parado_em FROM nacional_leiaute")
    return stopped is not None or await _status(road, session) == "concluido"
