"""A database that was put back, on a channel whose notes carry no reference of ours: other revisions are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.national.test_history_road import copied, put_back
from tests.road.road_people import unlike, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

pytestmark = pytest.mark.timeout(500)  # whole conversations before and after a database is put back

CALLS = """
SELECT t.operacao, t.resultado FROM gateway_tentativas t JOIN nfse_emissao e ON e.id = t.emissao_id
WHERE e.sessao_id = $1 ORDER BY t.id
"""
RESTORED = "UPDATE historia SET suspeita = NULL, suspeita_em = NULL, restaurado_em = now()"


async def _corrected(person: Person, amount: str) -> None:
    """Correct the amount over the summary, and confirm."""
    await person.say(f"muda o valor para {amount}")
    await until(lambda: _shows(person, amount))
    await person.touch("Confirmar")


async def _shows(person: Person, words: str) -> bool:
    return any(words in answer for answer in person.answers)


async def test_what_was_confirmed_before_a_correction_is_no_second_note(
    road: Road, owner_url: str, redis_url: str
) -> None:
    """The note of a forgotten revision is found before the next one leaves; where there is none, it leaves."""
    person, other = await road.person(), await road.person()
    for each in (person, other):
        await each.say(unlike())
    await road.settled()
    await copied(owner_url)
    await person.touch("Confirmar")
    session = (await road.reached(person, "aprovado"))["sessao_id"]
    await road.settled()
    await put_back(owner_url, redis_url)
    await road.database.pool.execute(RESTORED)
    await _corrected(person, "4.321,00")
    conflict = "SELECT count(*) FROM nfse_emissao WHERE sessao_id = $1 AND revisao > 1 AND status = 'conflito'"
    await until(lambda: road.database.pool.fetchval(conflict, session))
    assert [note.id_integracao for note in await road.notes(person)] == [f"{session}-r1-1"]
    assert not [row for row in await road.database.pool.fetch(CALLS, session) if row["operacao"] == "submit"]
    await until(lambda: _shows(person, "equipe"))
    await _corrected(other, "5.432,10")
    theirs = (await road.reached(other, "aprovado"))["sessao_id"]
    assert len(await road.notes(other)) == 1
    assert tuple((await road.database.pool.fetch(CALLS, theirs))[0]) == ("submit", "Accepted")
