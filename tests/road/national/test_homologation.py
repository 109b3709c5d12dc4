"""A company that issues in homologation is told so in every message; another one never."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from bot.delivery.sender import AVISO, with_mark
from bot.master_key import vault_of
from bot.subjects.invoice import facts, subject
from gateway.registry import REGISTRY
from gateway.whatsapp import limits
from gateway.whatsapp.messages import (
    ComBotoes,
    DocumentoMidia,
    ListMessage,
    ListRow,
    ListSection,
    ReplyButton,
    Texto,
    to_json,
)
from operations.certificate import keep_certificate
from operations.channel import choose as choose_channel
from operations.company import add_company
from persistence.people.channels import choose
from proofs.demo.world import COMPANY
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.storm.judge.confirmations import buttons, text_of
from state_machine.protocol.channel import Ambiente, Canal, TipoDocumento
from tests.road.road_people import QUICK, Person, new_phone, open_road, unlike, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.whatsapp.messages import Mensagem
    from proofs.sandbox.world import World
    from tests.road.road_people import Road

SENHA = "senha-do-a1"
FORM = replace(COMPANY, regime="simples", canal="nacional", tributos_sn="6")
REAL = replace(COMPANY, cnpj="99000001000101", razao_social="OFICINA QUASE NOVA FICTÍCIA LTDA")


async def _led_there(world: World) -> dict[str, Any]:
    urls = world.urls
    return {
        "nacional_sefin_url": urls.nacional_sefin,
        "nacional_adn_url": urls.nacional_adn,
        "nacional_ca_file": Path(urls.nacional_ca_file or ""),
        "master_key": SecretStr(base64.b64encode(b"k" * 32).decode()),
        "fiscal_environment": "homologacao",
    }


@pytest.fixture
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    config = replace(QUICK, nacional=NacionalConfig())
    async with open_road(database_url, redis_url, config=config, between=_led_there) as road:
        await add_company(road.database, FORM, None, REGISTRY)
        pfx = road.world.authority.pfx_for(FORM.cnpj, SENHA, days=300)
        vault = vault_of(road.house.settings)
        await keep_certificate(road.database, vault, cnpj=FORM.cnpj, arquivo=pfx, senha=SENHA, unchecked=True)
        yield road


def _sent(road: Road, person: Person) -> list[dict[str, Any]]:
    facts = road.world.meta.ledger.of("outbound")
    return [fact.data["payload"] for fact in facts if fact.data["user"]["key"] == person.who]


def _all_words(payload: dict[str, Any]) -> str:
    footer = (payload.get("interactive") or {}).get("footer") or {}
    return f"{text_of(payload)} {footer.get('text', '')}"


async def test_every_message_about_a_note_of_homologation_says_so(road: Road) -> None:
    """Greeting, summary, word of the note, both files and list: what may be taken for a note; not so an explanation."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    await person.say("oi")
    await person.say(unlike())
    await person.touch("Confirmar")

    async def came() -> bool:
        names = [payload["document"]["filename"] for payload in _sent(road, person) if "document" in payload]
        return {name.rpartition(".")[2] for name in names} == {"pdf", "xml"}

    await until(came)
    await person.say("minhas notas")

    async def listed() -> bool:
        return "minhas notas" in str(road.world.meta.ledger.of("inbound")[-1].data) and len(_sent(road, person)) > 5

    await until(listed)
    sent = _sent(road, person)
    assert any(button.startswith("confirmar:") for payload in sent for button in buttons(payload))
    offered = [payload for payload in sent if any(each.startswith("mandar_cliente:") for each in buttons(payload))]
    assert len(offered) == 1  # behind the files, which say so
    assert [payload for payload in sent if AVISO not in _all_words(payload)] == offered
    await person.tell("o que é tomador?")

    async def explained() -> str | None:
        return next((words for each in _sent(road, person) if "omador" in (words := _all_words(each))), None)

    assert AVISO not in await until(explained)


async def test_a_company_of_production_is_told_nothing_of_it(road: Road) -> None:
    """Beside the other one, in the same installation; and neither is somebody of no company."""
    person, stranger = Person(road.world, new_phone()), Person(road.world, new_phone())
    company = await add_company(road.database, replace(REAL, usuarios=(person.who,)))
    async with road.database.transaction() as connection:
        await choose(connection, company, Canal("nacional", Ambiente.PRODUCAO), TipoDocumento.SERVICO)
    for who in (person, stranger):
        await who.say("oi")

        async def answered(who: Person = who) -> bool:
            return bool(_sent(road, who))

        await until(answered)
        assert AVISO not in str(_sent(road, who))


async def _to(road: Road, ambiente: str | None) -> None:
    natures = {name: row.natureza for name, row in REGISTRY.items()}
    await choose_channel(
        road.database, natures, cnpj=FORM.cnpj, documento="servico", nome="nacional", ambiente=ambiente, rows=REGISTRY
    )


async def _emissions(road: Road, person: Person) -> int:
    count = "SELECT count(*) FROM nfse_emissao e JOIN session_snapshot s ON s.id = e.session_id WHERE s.conversa = $1"
    return int(await road.database.pool.fetchval(count, road.conversation(person)))


async def test_a_yes_to_a_summary_of_homologation_never_issues_in_production(road: Road) -> None:
    """The environment changed after the summary: a yes shows it again, at once without the mark, and issues nothing."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    shown = await person.say(unlike())
    await _to(road, "producao")
    again = await person.press("Confirmar", of=shown)
    assert "outro canal ou ambiente" in again.text
    marks = [AVISO in _all_words(payload) for payload in _sent(road, person)]
    assert (marks[0], marks[-1]) == (True, False)
    await _to(road, None)
    once_more = await person.press("Confirmar", of=again)
    assert AVISO in _all_words(_sent(road, person)[-1])
    assert await _emissions(road, person) == 0
    await person.touch("Confirmar", of=once_more)
    await road.reached(person, "aprovado")
    stored = "SELECT ambiente FROM nfse_emissao WHERE sessao_id = $1"
    session = (await road.session(person))["sessao_id"]
    assert await road.database.pool.fetchval(stored, session) == Ambiente.HOMOLOGACAO


async def test_an_environment_that_changes_while_the_yes_is_committed_counts(
    road: Road, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the records were compared and before the intent is stored: the turn looks again, and shows the summary."""
    person = Person(road.world, new_phone())
    await add_company(road.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY)
    shown = await person.say(unlike())
    seen = facts.as_seen
    moved: list[str] = []

    async def moved_meanwhile(*arguments: Any) -> Any:
        if not moved:
            moved.append("producao")
            await asyncio.create_task(_to(road, "producao"))
        return await seen(*arguments)

    monkeypatch.setattr(subject, "as_seen", moved_meanwhile)
    again = await person.press("Confirmar", of=shown)
    assert "outro canal ou ambiente" in again.text
    assert await _emissions(road, person) == 0


LONG = "a" * limits.INTERACTIVE_BODY


@pytest.mark.parametrize(
    "mensagem",
    [
        Texto("oi"),
        Texto("b" * limits.TEXT_BODY),
        ComBotoes(LONG, (ReplyButton("a", "A"),)),
        ListMessage(LONG, "Ver", (ListSection((ListRow("a", "A"),)),)),
        DocumentoMidia("1", "NFSe-1.pdf", "c" * limits.CAPTION),
        DocumentoMidia("1", "NFSe-1.xml"),
    ],
    ids=lambda mensagem: type(mensagem).__name__,
)
def test_the_mark_fits_into_each_kind_of_message(mensagem: Mensagem) -> None:
    """WhatsApp's limits hold with it."""
    payload = to_json(with_mark(mensagem), "5511987654321", "1")
    assert AVISO in _all_words(payload)
