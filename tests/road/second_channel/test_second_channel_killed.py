"""kill -9 of a process that knows the second channel, between any two steps: it goes on, and there is one note."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from operations.channel import choose
from operations.company import add_company
from proofs.demo.world import COMPANY
from tests.road.road_people import Person, new_phone, unlike
from tests.road.road_process import ROOT, Prosa
from tests.road.road_stage import open_stage, waits_passing
from tests.road.second_channel.adapter import NAME, NATUREZA
from tests.road.second_channel.city import CANCELLED, STANDS, City

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from proofs.sandbox.ledger import Record
    from tests.road.road_stage import Stage

LOJA = replace(COMPANY, cnpj="99.000.002/0001-48", razao_social="CAFÉ DA ESQUINA LTDA", serie_rps="7", primeiro_rps=501)
WHY = "valor errado, vou emitir outra"


@pytest.fixture(scope="module")
async def city() -> AsyncIterator[City]:
    async with City() as opened:
        yield opened


@pytest.fixture(scope="module")
async def opened(
    database_url: str, redis_url: str, city: City, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    home = tmp_path_factory.mktemp("prosa")
    async with open_stage(database_url, redis_url, home, CITY_URL=city.url, PYTHONPATH=str(ROOT)) as stage:
        yield stage


@pytest.fixture
async def stage(opened: Stage, city: City) -> AsyncIterator[Stage]:
    """No fault set, and no process left behind."""
    city.faults.clear()
    yield opened
    await opened.clear()


async def _start(stage: Stage) -> Prosa:
    prosa = Prosa((), stage.env, stage.cwd, module="tests.road.second_channel.serve")
    stage.started.append(prosa)
    stage.world.connect(await prosa.start())
    return prosa


@dataclass(frozen=True)
class Moment:
    """When to kill: as soon as the city's book has a fact that fits, before whoever caused it hears the answer."""

    name: str
    fits: Callable[[Record], bool]
    lost: bool = False  # the answer to the submission is lost before, so that the city is asked


MOMENTS = [
    Moment("the bytes are signed", lambda r: r.kind == "signed"),
    Moment("the submission arrives", lambda r: r.kind == "submission"),
    Moment("the note is made", lambda r: r.kind == "note.created"),
    Moment("the note is looked for", lambda r: r.kind == "looked", lost=True),
    Moment("the PDF is fetched", lambda r: r.kind == "document" and r.data["formato"] == "pdf"),
    Moment("the cancellation is asked", lambda r: r.kind == "cancel.asked"),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.name.replace(" ", "-"))
async def test_killed_between_two_steps(stage: Stage, city: City, moment: Moment) -> None:
    """Issued once, cancelled once, nothing voided, whenever the process dies."""
    prosa = await _start(stage)
    ana = Person(stage.world, new_phone())
    await add_company(stage.database, replace(LOJA, usuarios=(ana.who,)))
    await choose(
        stage.database, {NAME: NATUREZA}, cnpj=LOJA.cnpj, documento="servico", nome=NAME, ambiente="homologacao"
    )
    struck = asyncio.Event()

    def look(record: Record) -> None:
        if not struck.is_set() and moment.fits(record):
            prosa.strike()
            struck.set()

    async def revive() -> None:
        await struck.wait()
        await prosa.ended()
        await stage.leases_run_out()
        await _start(stage)

    async with waits_passing(stage, doubts=True):
        await ana.say(unlike())
        hush = city.ledger.listen(look)
        revived = asyncio.create_task(revive())
        try:
            if moment.lost:
                city.faults.set("perder_resposta", times=1)
            await ana.touch("Confirmar")
            await ana.files()
            session = await stage.reached(ana, "aprovado")
            await stage.settled()
            [note] = [note for note in city.book if note.pedido["referencia"].startswith(session["sessao_id"])]
            assert (note.situacao, len(city.under(note.chave))) == (STANDS, 1)

            await ana.say(f"cancela a nota {note.numero}")
            await ana.say(WHY)
            await ana.touch("Cancelar a nota")
            await revived
            await stage.world.meta.wait_for(ana.who, lambda bubble: f"Nota {note.numero} cancelada" in bubble.text)
        finally:
            hush()
            revived.cancel()
        await stage.settled()
    assert note.situacao == CANCELLED
    assert len([r for r in city.ledger.of("cancel.asked") if r.data["numero"] == note.numero]) == 1
