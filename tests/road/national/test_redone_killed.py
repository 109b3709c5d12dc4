"""kill -9 all along *Cancelar e refazer* and a substitution: one note ends, one new one is valid, both are told."""

from __future__ import annotations

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
from tests.road.road_stage import Stage, killed_at_each, open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.sandbox.meta.model import Bubble
    from proofs.sandbox.nacional.model import Note
    from proofs.storm.crowd import Issuer

SHOWN, DONE = "para R$ 1.800,00.*", "cancelada*\n"
# When to kill: as soon as a book has this fact, with these words, before whoever caused it hears the answer.
MOMENTS = (
    ("nfse.event", ""),  # the cancellation is accepted
    ("outbound", "cancelada*"),  # that is told, with the button that makes it anew
    ("outbound", SHOWN),  # the summary of the new one is shown
    ("nfse.issued", "1800.00"),  # the new one is accepted
    ("outbound", ".pdf"),  # that is told
)


# The same of a note that takes the place of another one: there is one act at the authority.
ONE_ACT = (("outbound", SHOWN), ("nfse.issued", "1800.00"), ("outbound", ".pdf"))
SIMPLES, _, NORMAL = NACIONAL.issuers  # a company each: both tests share a database, and each a book of its own


@pytest.fixture
async def stage(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    config = replace(QUICK, nacional=NacionalConfig())
    async with open_stage(database_url, redis_url, tmp_path_factory.mktemp("prosa"), config=config) as opened:
        opened.env.update(NACIONAL.settings(opened.world))
        yield opened
        await opened.settled()  # whoever has the database next counts what was tried in vain
        await opened.database.pool.execute("UPDATE inbox SET tentativas = 0, erro = NULL WHERE tentativas > 0")


async def _hears(person: Person, words: str, after: Bubble | None = None) -> Bubble:
    """Wait until the bot said these words."""
    return await person.world.meta.wait_for(
        person.who, lambda b: b.side == "bot" and words in b.text, PATIENCE, after=after.id if after else None
    )


async def _issued(stage: Stage, issuer: Issuer) -> tuple[Person, Note]:
    """Return somebody of the company, and their note."""
    person = Person(stage.world, new_phone())
    said = {**asdict(issuer), "usuarios": (person.who,)}
    said.pop("endereco")  # that of a shop
    form = CompanyForm(**said)
    await add_company(stage.database, form, rows=REGISTRY)
    assert NACIONAL.certify is not None
    await NACIONAL.certify(stage.database, stage.world, issuer, YEAR)
    await stage.start()
    await person.issue(FULL)
    await stage.settled()
    [old] = stage.world.sefin.notes.values()
    return person, old


async def _issued_instead(stage: Stage, person: Person, after: Bubble) -> None:
    """Say yes to the summary of the new note, and wait until it is told."""
    await person.touch("Confirmar", await _hears(person, SHOWN))
    await person.world.meta.wait_for(
        person.who, lambda b: "1.800,00" in b.text and b.attachment is not None, PATIENCE, after=after.id
    )
    await stage.settled()


async def _judge(stage: Stage, person: Person, event: str, *told: str) -> None:
    """One note that stands, for the same customer; the other one ended by one such event; each said once."""
    old, new = stage.world.sefin.notes.values()
    assert [each.tipo for each in old.events] == [event]
    assert (new.valor, new.cancelled, new.tomador) == (Decimal(1800), False, old.tomador)
    standing = "SELECT status FROM nfse_processada WHERE chave = $1"
    stand = [await stage.database.pool.fetchval(standing, note.chave) for note in (old, new)]
    assert stand == ["cancelado", "autorizado"]
    for words in (*told, SHOWN, f"NFS-e {new.numero} autorizada"):
        assert sum(words in answer for answer in person.answers) == 1, words


async def test_redone_through_kills(stage: Stage) -> None:
    """Between the cancellation and the new summary, and between its yes and the answer, whenever the process dies."""
    person, old = await _issued(stage, SIMPLES)
    left = list(MOMENTS)
    async with killed_at_each(stage, left):
        offered = await person.say(f"corrige a nota {old.numero}, o valor era 1.800")
        await person.press("Cancelar e refazer", offered)
        await person.touch("Cancelar a nota")
        cancelled = await _hears(person, DONE)
        await person.touch("Refazer", cancelled)
        await _issued_instead(stage, person, cancelled)
    await _judge(stage, person, "101101", DONE)
    assert left == []


async def test_substituted_through_kills(stage: Stage) -> None:
    """A company of the normal regime says yes once; the authority ends the old note by making the new one."""
    person, old = await _issued(stage, NORMAL)
    left = list(ONE_ACT)
    async with killed_at_each(stage, left):
        offered = await person.say(f"corrige a nota {old.numero}, o valor era 1.800")
        assert [button.title for button in offered.buttons][:2] == ["Substituir a nota", "Cancelar e refazer"]
        await person.touch("Substituir a nota", offered)
        await _issued_instead(stage, person, offered)
    await _judge(stage, person, "105102", f"Substitui a nota {old.numero}", f"A nota {old.numero} foi substituída")
    assert left == []
    await person.touch("Substituir a nota", offered)
    _, new = stage.world.sefin.notes.values()
    over = f"substituída pela nota {new.numero}"
    await _hears(person, f"já foi {over}, então não há o que substituir")
    for asked, told in (
        ("minhas notas", f"*{over}*"),
        (f"cancela a nota {old.numero}", f"está {over}"),
        (f"segunda via da nota {old.numero}", f"({over})"),
    ):
        await person.tell(asked)
        await _hears(person, told)
