"""A company that issues in homologation is told so in every message; another one never."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from bot.delivery.homologation import AVISO, with_mark
from bot.demo.world import COMPANY
from bot.master_key import vault_of
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
from operations.company import add_company
from persistence.people.channels import choose
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
        await keep_certificate(road.database, vault_of(road.house.settings), FORM.cnpj, pfx, SENHA)
        yield road


def _sent(road: Road, person: Person) -> list[dict[str, Any]]:
    facts = road.world.meta.ledger.of("outbound")
    return [fact.data["payload"] for fact in facts if fact.data["user"]["key"] == person.who]


def _all_words(payload: dict[str, Any]) -> str:
    footer = (payload.get("interactive") or {}).get("footer") or {}
    return f"{text_of(payload)} {footer.get('text', '')}"


async def test_every_message_about_a_note_of_homologation_says_so(road: Road) -> None:
    """Summary, word of the note, both files, list and cancellation: whatever is sent, from "oi" to the last."""
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
        return "minhas notas" in str(road.world.meta.ledger.of("inbound")[-1].data) and len(_sent(road, person)) > 4

    await until(listed)
    sent = _sent(road, person)
    assert any(button.startswith("confirmar:") for payload in sent for button in buttons(payload))
    assert [payload for payload in sent if AVISO not in _all_words(payload)] == []


async def test_a_company_of_production_is_told_nothing_of_it(road: Road) -> None:
    """Beside the other one, in the same installation; and neither is somebody of no company."""
    person, stranger = Person(road.world, new_phone()), Person(road.world, new_phone())
    company = await add_company(road.database, replace(REAL, usuarios=(person.who,)))
    async with road.database.transaction() as connection:
        await choose(connection, company, Canal("plugnotas", Ambiente.PRODUCAO), TipoDocumento.SERVICO)
    for who in (person, stranger):
        await who.say("oi")

        async def answered(who: Person = who) -> bool:
            return bool(_sent(road, who))

        await until(answered)
        assert AVISO not in str(_sent(road, who))


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
