"""The parts of the specification (idempotencia-e-consistencia) about NFS-e of São Paulo, each under its number.

The contract corrects it: the city can be asked by ChaveRPS, and a second RPS cancels the first one's note.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from bot.operator.reconcile import channels_of
from gateway.keys import ChaveRPS
from gateway.paulistana.adapter import NATUREZA
from persistence.fiscal import numbering
from persistence.fiscal.numbering import Sequencia
from persistence.people.channels import chosen
from state_machine.protocol.emission import Absent, Found
from tests.road.city.test_city_road import (
    CCM,
    FORM,
    _confirmed,
    _offered,
    _one_note,
    _settled,
    city,
    opened,
    road,
    steps,
    told,
)

if TYPE_CHECKING:
    from proofs.sandbox.paulistana.lotenfe import PaulistanaSimulator
    from tests.road.road_people import Road

__all__ = ["city", "opened", "road"]


def _calls(city: PaulistanaSimulator) -> list[str]:
    return [record.data["operation"] for record in city.ledger.of("call")]


async def test_3_2_the_identifier_is_ccm_series_and_number(road: Road, city: PaulistanaSimulator) -> None:
    """Eight digits, the series, the number; the database gives each number once."""
    _, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    row = await _settled(road, session)
    key = ChaveRPS.parse(row["chave_natural"])
    assert (key.inscricao, key.serie, key.numero) == (CCM, "PROSA", int(row["numero_rps"]))
    assert str(note.numero) == await road.database.pool.fetchval(
        "SELECT numero FROM nfse_processada WHERE emissao_id = $1", row["id"]
    )
    with pytest.raises(asyncpg.UniqueViolationError):
        await road.database.pool.execute(
            "INSERT INTO numeracao_uso (numeracao_id, numero) SELECT numeracao_id, numero FROM numeracao_uso "
            "WHERE emissao_id = $1",
            row["id"],
        )


async def test_4_1_before_a_second_sending_key_and_period_are_asked(road: Road, city: PaulistanaSimulator) -> None:
    """Both questions, twice or oftener; only where neither shows a note of this RPS it goes again."""
    before = len(_calls(city))
    city.faults.set("cortar_antes", times=1, about="EnvioRPS")
    _, session = await _confirmed(road)
    await _one_note(road, city, session)
    assert [step for step, _ in await steps(road, session)].count("submit") == 2
    asked = _calls(city)[before:]
    assert min(asked.count("ConsultaNFe"), asked.count("ConsultaNFeEmitidas")) >= 2  # a wrong layout asks again
    assert asked.count("EnvioRPS") == 1  # the one that arrived


async def test_9_1_numbers_are_given_once_and_without_a_gap(road: Road) -> None:
    """Under load each asks for the next one."""
    empresa = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)
    faixa = Sequencia(empresa, "3550308", "OUTRA")

    async def next_one() -> int:
        async with road.database.transaction() as connection:
            return await numbering.allocate(connection, faixa)

    given = await asyncio.gather(*(next_one() for _ in range(20)))
    assert sorted(given) == list(range(1, 21))
    pool = road.database.pool
    await pool.execute(
        "DELETE FROM numeracao_uso u USING numeracao n WHERE n.id = u.numeracao_id AND n.serie = 'OUTRA'"
    )
    await pool.execute("DELETE FROM numeracao WHERE serie = 'OUTRA'")


def test_10_1_an_emission_is_not_idempotent_of_itself() -> None:
    """The channel says so, and is held to two absences."""
    assert NATUREZA.resend_is_destructive
    assert NATUREZA.absences == 2


async def test_10_1_a_question_changes_nothing(road: Road, city: PaulistanaSimulator) -> None:
    """Asked three times, the city tells the same note; of another number it tells none."""
    _, session = await _confirmed(road)
    await _one_note(road, city, session)
    key = (await _settled(road, session))["chave_natural"]
    book = len(city.notes)
    async with channels_of(road.house.settings, road.database) as channels:
        async with road.database.transaction() as connection:
            empresa = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)
            gateway: Any = channels.of(await chosen(connection, empresa))
        found = [await gateway.find(gateway.key(FORM.cnpj, key)) for _ in range(3)]
        other = ChaveRPS(CCM, "PROSA", ChaveRPS.parse(key).numero + 7000)
        assert await gateway.find(gateway.key(FORM.cnpj, str(other))) == Absent()
    assert all(isinstance(each, Found) for each in found)
    assert len({each.nota.numero for each in found}) == 1
    assert len(city.notes) == book


async def test_10_1_a_cancellation_is_done_once(road: Road, city: PaulistanaSimulator) -> None:
    """A second wish is answered from what is kept, and the city is not asked again."""
    person, session = await _confirmed(road)
    note = await _one_note(road, city, session)
    await told(person, f"NFS-e {note.numero} autorizada")
    await person.tell(f"cancela a nota {note.numero}")
    for title in ("Erro na emissão", "Cancelar a nota"):
        await _offered(person, title)
        await person.touch(title)
    await told(person, f"Nota {note.numero} cancelada")
    asked = _calls(city).count("CancelamentoNFe")
    await person.tell(f"cancela a nota {note.numero}")
    await told(person, "já está cancelada")
    assert _calls(city).count("CancelamentoNFe") == asked
