from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import aiohttp
import pytest

from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.nacional.sefin import SefinSimulator
from proofs.sandbox.phone.switches import GatewaySwitches
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator
from proofs.sandbox.sefaz.sefaz import SefazSimulator

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ALL = ("lento", "rejeitar", "culpa_nossa", "perder_resposta", "sem_webhook")


@pytest.fixture
async def gateway() -> AsyncIterator[PlugNotasSimulator]:
    async with PlugNotasSimulator(PlugNotasConfig(processing=0.01)) as simulator:
        yield simulator


async def issue(gateway: PlugNotasSimulator, key: str) -> None:
    note = {
        "idIntegracao": key,
        "prestador": {"cpfCnpj": "11222333000181"},
        "tomador": {"cpfCnpj": "12345678000195", "razaoSocial": "PADARIA DO ZÉ LTDA"},
        "servico": [{"codigo": "14.10", "discriminacao": "consultoria", "valor": {"servico": 1500.5}}],
    }
    headers = {"x-api-key": gateway.config.api_key}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.url}/nfse", json=[note], headers=headers) as answer,
    ):
        assert answer.status == 200, await answer.text()
        note_id = (await answer.json())["documents"][0]["id"]
    await gateway.ledger.wait_for(lambda record: record.kind == "note.settled" and record.data["id"] == note_id)


async def test_every_switch_turns_on_and_off(gateway: PlugNotasSimulator) -> None:
    """The faults start off, and each follows its own switch only."""
    switches = GatewaySwitches(gateway)
    assert switches.read() == dict.fromkeys(ALL, False)
    for name in ALL:
        await switches.set(name, on=True)
        assert [other for other, on in switches.read().items() if on] == [name]
        await switches.set(name, on=False)
    assert not any(switches.read().values())


async def test_a_fault_that_the_page_does_not_offer_cannot_be_turned_on(gateway: PlugNotasSimulator) -> None:
    """The page's names are the only ones."""
    for name in ("sem_unicidade", "nada"):
        with pytest.raises(KeyError):
            await GatewaySwitches(gateway).set(name, on=True)


async def test_of_two_switches_that_refuse_the_last_counts(gateway: PlugNotasSimulator) -> None:
    """They refuse the same next note; to turn the other one off changes nothing."""
    switches = GatewaySwitches(gateway)
    await switches.set("rejeitar", on=True)
    await switches.set("culpa_nossa", on=True)
    await switches.set("rejeitar", on=False)
    assert [name for name, on in switches.read().items() if on] == ["culpa_nossa"]
    await issue(gateway, "k-1")
    assert not any(switches.read().values())
    [refused] = gateway.notes.values()
    assert "E0314" in str(refused.mensagem)


async def test_rejecting_the_next_note_is_for_that_one_only(gateway: PlugNotasSimulator) -> None:
    """The switch turns itself off, and the book tells both notes apart."""
    switches = GatewaySwitches(gateway)
    await switches.set("rejeitar", on=True)
    await issue(gateway, "k-1")
    assert switches.read()["rejeitar"] is False
    await issue(gateway, "k-2")
    refused, issued = switches.ledger()
    assert (refused["id_integracao"], refused["situacao"], refused["numero"]) == ("k-1", "REJEITADO", None)
    assert (issued["id_integracao"], issued["situacao"], issued["numero"]) == ("k-2", "CONCLUIDO", "1")
    assert (issued["valor"], issued["tomador"], issued["canal"]) == ("1500.50", "PADARIA DO ZÉ LTDA", "PlugNotas")


async def test_one_switch_is_for_both_authorities(gateway: PlugNotasSimulator, tmp_path: Path) -> None:
    """A fault is set at both; a rejection at one is the next one's everywhere, and both books are shown in order."""
    async with SefinSimulator(Authority(tmp_path)) as sefin:
        switches = GatewaySwitches(gateway, sefin)
        await switches.set("perder_resposta", on=True)
        assert sefin.faults.is_on("perder_resposta")
        await switches.set("perder_resposta", on=False)
        await switches.set("rejeitar", on=True)
        await issue(gateway, "k-1")
        assert not sefin.faults.is_on("rejeitar")
        note = sefin.issue_elsewhere("11222333000181", tomador="12345678000195", valor=Decimal(7))
        sefin.cancel_elsewhere(note.chave)
        first, second = switches.ledger()
    assert (first["id_integracao"], second["id_integracao"]) == ("k-1", note.id_dps)
    assert (second["numero"], second["situacao"], second["valor"]) == ("1", "CANCELADO", "7.00")
    assert (second["tomador"], second["emitente"]) == ("PADARIA DO ZÉ LTDA", "ANA DESIGN ME")
    assert [row["canal"] for row in (first, second)] == ["PlugNotas", "SEFIN Nacional"]


async def test_the_book_of_goods_is_shown_and_its_answers_are_lost_too(
    gateway: PlugNotasSimulator, tmp_path: Path
) -> None:
    """Under our reference, by which the page finds it; a refusal in words of another authority is none of SEFAZ."""
    async with SefazSimulator(Authority(tmp_path)) as sefaz:
        switches = GatewaySwitches(gateway, None, sefaz)
        await switches.set("perder_resposta", on=True)
        await switches.set("rejeitar", on=True)
        assert sefaz.faults.is_on("perder_resposta")
        assert not sefaz.faults.is_on("rejeitar")
        sefaz.issue_elsewhere("35261111222333000181550770000000421407135825", reference="OURS")
        [row] = switches.ledger()
    assert (row["id_integracao"], row["numero"], row["situacao"]) == ("OURS", "42", "CONCLUIDO")
    assert (row["emitente"], row["canal"]) == ("ANA DESIGN ME", "SEFAZ")
