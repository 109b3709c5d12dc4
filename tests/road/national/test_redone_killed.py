"""kill -9 all along *Cancelar e refazer*: the old note is cancelled once, one new one is valid, both are told."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from gateway.registry import REGISTRY
from operations.company import CompanyForm, add_company
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.storm.channels.nacional import NACIONAL, YEAR
from tests.patience import PATIENCE
from tests.road.road_people import FULL, QUICK, Person, new_phone
from tests.road.road_stage import Stage, open_stage, waits_passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.ledger import Record
    from proofs.sandbox.meta.model import Bubble

SHOWN, DONE = "para R$ 1.800,00.*", "cancelada*\n"
# When to kill: as soon as a book has this fact, with these words, before whoever caused it hears the answer.
MOMENTS = (
    ("nfse.event", ""),  # the cancellation is accepted
    ("outbound", "cancelada*"),  # that is told, with the button that makes it anew
    ("outbound", SHOWN),  # the summary of the new one is shown
    ("nfse.issued", "1800.00"),  # the new one is accepted
    ("outbound", ".pdf"),  # that is told
)


@pytest.fixture
async def stage(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    config = replace(QUICK, nacional=NacionalConfig())
    async with open_stage(database_url, redis_url, tmp_path_factory.mktemp("prosa"), config=config) as opened:
        opened.env.update(NACIONAL.settings(opened.world))
        yield opened


@asynccontextmanager
async def _killed_at_each(stage: Stage, left: list[tuple[str, str]]) -> AsyncIterator[None]:
    """Inside, the process is killed at each of these moments in turn, and another one goes on; ``left`` empties."""
    struck: asyncio.Queue[None] = asyncio.Queue()

    def look(record: Record) -> None:
        prosa = stage.started[-1]
        if left and prosa.running and record.kind == left[0][0] and left[0][1] in _words(record):
            prosa.strike()
            left.pop(0)
            struck.put_nowait(None)

    async def revive() -> None:
        while True:
            await struck.get()
            await stage.started[-1].ended()
            await stage.leases_run_out()
            await stage.start()

    hushes = [ledger.listen(look) for ledger in (stage.world.meta.ledger, stage.world.sefin.ledger)]
    reviving = asyncio.create_task(revive())
    try:
        async with waits_passing(stage, doubts=True):
            yield
    finally:
        reviving.cancel()
        for hush in hushes:
            hush()


def _words(record: Record) -> str:
    payload = record.data.get("payload", {})
    shown = payload.get("interactive", {}).get("body", {}).get("text", "")
    return "\n".join((str(record.data.get("valor", "")), shown, str(payload.get("document", ""))))


async def _hears(person: Person, words: str, after: Bubble | None = None) -> Bubble:
    """Wait until the bot said these words."""
    return await person.world.meta.wait_for(
        person.who, lambda b: b.side == "bot" and words in b.text, PATIENCE, after=after.id if after else None
    )


async def test_redone_through_kills(stage: Stage) -> None:
    """Between the cancellation and the new summary, and between its yes and the answer, whenever the process dies."""
    pool, sefin = stage.database.pool, stage.world.sefin
    person = Person(stage.world, new_phone())
    form = CompanyForm(**asdict(NACIONAL.issuers[0]), usuarios=(person.who,))
    await add_company(stage.database, form, rows=REGISTRY)
    assert NACIONAL.certify is not None
    await NACIONAL.certify(stage.database, stage.world, NACIONAL.issuers[0], YEAR)
    await stage.start()
    await person.issue(FULL)
    await stage.settled()
    [old] = sefin.notes.values()
    left = list(MOMENTS)
    async with _killed_at_each(stage, left):
        offered = await person.say(f"corrige a nota {old.numero}, o valor era 1.800")
        await person.press("Cancelar e refazer", offered)
        await person.touch("Cancelar a nota")
        cancelled = await _hears(person, DONE)
        await person.touch("Refazer", cancelled)
        await person.touch("Confirmar", await _hears(person, SHOWN))
        await person.world.meta.wait_for(
            person.who, lambda b: "1.800,00" in b.text and b.attachment is not None, PATIENCE, after=cancelled.id
        )
        await sefin.ledger.wait_for(lambda _: not left, PATIENCE)
        await stage.settled()
    old, new = sefin.notes.values()
    assert [event.tipo for event in old.events] == ["101101"]
    assert (new.valor, new.cancelled, new.tomador) == (Decimal(1800), False, old.tomador)
    stand = await pool.fetch("SELECT chave, status FROM nfse_processada ORDER BY emissao_id")
    assert [tuple(row) for row in stand] == [(old.chave, "cancelado"), (new.chave, "autorizado")]
    for told in (DONE, SHOWN, f"NFS-e {new.numero} autorizada"):
        assert sum(told in answer for answer in person.answers) == 1
    assert left == []
