"""A proposal is its customer: what its approver orders for another one is an invoice of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.proposals.erp import PADARIA, approver, erp_of
from tests.road.road_people import until

if TYPE_CHECKING:
    from tests.road.proposals.erp import Erp
    from tests.road.road_people import Person, Road

OTHER = "45.723.174/0001-10"
ISSUED = "SELECT tomador_documento, valor_servico, descricao_servico FROM nfse_emissao ORDER BY id"


@pytest.fixture
async def ana(road: Road) -> Person:
    return await approver(road)


@pytest.fixture
async def erp(road: Road, ana: Person) -> Erp:
    return await erp_of(road)


async def _shown_again(road: Road, erp: Erp, ana: Person, proposta: int) -> None:
    """The proposal waits as it was sent, is shown when the approver is free, and is issued to its client."""

    async def again() -> str | None:
        shown = [text for text in ana.answers if "propôs esta nota" in text]
        return shown[1] if len(shown) > 1 else None

    text = await until(again)
    waiting = await erp.get(proposta)
    assert (waiting["estado"], waiting["valor"], waiting["alterada_por"]) == ("enviada", "1500.00", "aprovador")
    assert "R$ 1.500,00" in text
    assert PADARIA in text
    await ana.touch("Confirmar")
    await erp.becomes(proposta, "emitida")
    await road.settled()


@pytest.mark.parametrize(
    "rest", ["300 reais, serviço: aula de violão", "nome Outra Ltda, 300 reais, serviço: aula de violão, email b@o.com"]
)
async def test_an_order_of_ones_own_is_another_invoice(road: Road, erp: Erp, ana: Person, rest: str) -> None:
    """It has nothing of the proposal's, is issued beside it, and its answer says that the proposal waits."""
    proposta = await erp.proposes()
    old = await ana.expect("propôs esta nota")
    answer = await ana.say(f"nota para o CNPJ {OTHER}, {rest}")
    assert f"(proposta {proposta}) espera" in answer.text
    assert "Pedida por" not in answer.text
    assert "padaria" not in answer.text
    stale = await ana.press("Confirmar", of=old)
    assert "nada novo foi emitido" in stale.text
    await ana.touch("Confirmar", of=answer)
    await _shown_again(road, erp, ana, proposta)
    issued = [tuple(row) for row in await road.database.pool.fetch(ISSUED)]
    assert [(who, int(valor)) for who, valor, _ in issued[-2:]] == [("45723174000110", 300), ("12345678000195", 1500)]


async def test_a_correction_of_the_customer_is_another_invoice(road: Road, erp: Erp, ana: Person) -> None:
    """What else the proposal told is its own: it is asked for."""
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    answer = await ana.say(f"o CNPJ certo é {OTHER}")
    assert "espera" in answer.text
    assert "R$" not in answer.text.partition("espera")[2]
    await ana.say("cancelar")
    await _shown_again(road, erp, ana, proposta)


async def test_a_customer_said_after_the_proposals_was_cleared_is_not_its_own(
    road: Road, erp: Erp, ana: Person
) -> None:
    """By whatever way another customer comes into its draft, the proposal is not told to be issued."""
    proposta = await erp.proposes()
    await ana.expect("propôs esta nota")
    await ana.say("o cliente está errado")
    answer = await ana.say(OTHER)
    assert [button.title for button in answer.buttons][:1] == ["Confirmar"]
    assert (await erp.get(proposta))["estado"] == "enviada"
    await ana.touch("Confirmar", of=answer)
    await _shown_again(road, erp, ana, proposta)
