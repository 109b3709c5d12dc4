"""kill -9 all along an NF-e and its cancellation: one note under one number, one event, each told once."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateway.registry import REGISTRY
from operations.certificate import keep_certificate
from operations.company import add_company
from operations.goods import add
from persistence.crypto import Vault, parse_keys
from proofs.sandbox.sefaz.rules import SefazConfig
from tests.patience import PATIENCE
from tests.road.goods.test_goods_road import ENDERECO, FORM, PADARIA, SENHA
from tests.road.road_people import QUICK, Person, new_phone
from tests.road.road_stage import Stage, killed_at_each, open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MASTER_KEY = base64.b64encode(b"k" * 32).decode()
SUMMARY, DONE = "*Confere?*", "cancelada*"
# When to kill: as soon as a book has this fact, with these words, before whoever caused it hears the answer.
MOMENTS = (
    ("outbound", SUMMARY),  # the summary is shown
    ("nfe.authorised", ""),  # the note is accepted
    ("call", "NFeConsultaProtocolo4"),  # that is found
    ("outbound", ".pdf"),  # that is told
    ("nfe.event", ""),  # the cancellation is accepted
    ("call", "NFeConsultaProtocolo4"),  # that is found
    ("outbound", DONE),  # that is told
)


@pytest.fixture
async def stage(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    config = replace(QUICK, sefaz=SefazConfig())
    async with open_stage(database_url, redis_url, tmp_path_factory.mktemp("prosa"), config=config) as opened:
        opened.env.update(
            PROSA_SEFAZ_URL=opened.world.urls.sefaz_url or "",
            PROSA_SEFAZ_CA_FILE=str(opened.world.authority.ca_file),
            PROSA_SEFAZ_ABSENCE_SECONDS="0.5,0.3",
            PROSA_SEFAZ_LADDER="0.3,0.3,0.5",
            PROSA_MASTER_KEY=MASTER_KEY,
        )
        yield opened
        await opened.settled()  # whoever has the database next counts what was tried in vain
        await opened.database.pool.execute("UPDATE inbox SET tentativas = 0, erro = NULL WHERE tentativas > 0")


async def _person(stage: Stage) -> Person:
    """Return somebody of a shop that has one product and its certificate."""
    person = Person(stage.world, new_phone())
    await add_company(stage.database, replace(FORM, usuarios=(person.who,)), None, REGISTRY, ENDERECO)
    pfx = stage.world.authority.pfx_for(FORM.cnpj, SENHA, days=300)
    cofre = Vault(parse_keys(MASTER_KEY))
    await keep_certificate(stage.database, cofre, cnpj=FORM.cnpj, arquivo=pfx, senha=SENHA, unchecked=True)
    told = {"codigo": "B2", "texto": "Brigadeiro", "ncm": "19059090", "cfop": "5102", "csosn": "102"}
    await add(stage.database, FORM.cnpj, {**told, "unidade": "UN", "preco": "4,50"})
    return person


async def _pressed(person: Person, title: str) -> None:
    """Press a button once it is shown."""
    bubble = await person.world.meta.wait_for(
        person.who, lambda b: any(button.title == title for button in b.buttons), PATIENCE
    )
    await person.touch(title, bubble)


async def test_goods_through_kills(stage: Stage) -> None:
    """Sent, asked for, told and cancelled, whenever the process dies."""
    person = await _person(stage)
    await stage.start()
    left = list(MOMENTS)
    async with killed_at_each(stage, left):
        await person.tell(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
        await _pressed(person, "Confirmar")
        await stage.world.meta.wait_for(
            person.who, lambda b: b.attachment is not None and b.attachment.filename.endswith(".xml"), PATIENCE
        )
        await stage.settled()
        [note] = stage.world.sefaz.authorised()
        await person.tell(f"cancela a nota {int(note.chave.numero)}")
        await _pressed(person, "Erro na emissão")
        await _pressed(person, "Cancelar a nota")
        await stage.world.meta.wait_for(person.who, lambda b: DONE in b.text, PATIENCE)
        await stage.settled()
    assert left == []
    [note] = stage.world.sefaz.authorised()
    assert [event.tipo for event in note.events] == ["110111"]
    assert not stage.world.sefaz.duplicates()
    kept = (
        "SELECT n.status, e.bytes FROM nfse_processada n JOIN nfse_emissao e ON e.id = n.emissao_id WHERE n.chave = $1"
    )
    [row] = await stage.database.pool.fetch(kept, str(note.chave))
    assert (row["status"], bytes(row["bytes"])) == ("cancelado", note.xml)
    for words in (SUMMARY, f"NF-e {int(note.chave.numero)} autorizada", DONE):
        assert sum(words in answer for answer in person.answers) == 1, words
