from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from persistence.access.accounts import Papel
from tests.road.road_people import FULL
from webhooks.console.pages.conflict import conflict
from webhooks.console.render.format import Olhar

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk

NOTE = {
    "id_externo": "x1",
    "id_integracao": "ref-1",
    "situacao": "autorizada",
    "numero": "77",
    "prestador": "11222333000181",
    "tomador": "12345678000195",
    "valor": "1500.00",
    "codigo_servico": "17.01",
    "competencia": "2026-11",
    "descricao": "CONSULTORIA",
}


def _emission(**nota: Any) -> SimpleNamespace:
    return SimpleNamespace(
        status="conflito",
        id_integracao="ref-1",
        prestador_cnpj="11222333000181",
        tomador_documento="12345678000195",
        valor_servico=Decimal("1500.00"),
        codigo_servico="1701",
        competencia=date(2026, 11, 3),
        descricao_servico="consultoria",
        leitura_gateway={"resultado": "Found", "nota": {**NOTE, **nota}},
        resposta_gateway=[{"situacao": "CONCLUIDO", "numero": "77"}],  # whole, in the gateway's own shape
    )


def test_what_an_older_release_stored_is_read_too() -> None:
    """Before the whole answer was kept, its reading stood in its place."""
    emission = _emission()
    emission.leitura_gateway, emission.resposta_gateway = None, emission.leitura_gateway
    assert conflict(emission, Olhar()) == conflict(_emission(), Olhar())


def test_what_the_house_takes_as_equal_is_not_marked() -> None:
    """Case, dots of the code and the day of the competence are how authorities write, no other content."""
    found = conflict(_emission(), Olhar())
    assert found is not None
    assert found.diferentes == 0
    assert [campo.confirmado for campo in found.campos][4] == "11/2026"


@pytest.mark.parametrize(
    ("nome", "deles", "shown"),
    [
        ("prestador", "00000000000", "00000000000"),
        ("tomador", "11222333000181", "11.•••.•••/0001-81"),
        ("valor", "1500.01", "R$ 1.500,01"),
        ("codigo_servico", "0105", "0105"),
        ("competencia", "2026-10", "10/2026"),
        ("descricao", "outra coisa", "outra coisa"),
    ],
)
def test_each_difference_is_marked_beside_what_was_confirmed(nome: str, deles: str, shown: str) -> None:
    """Exactly the field that differs, with what the gateway shows there."""
    found = conflict(_emission(**{nome: deles}), Olhar())
    assert found is not None
    assert [campo.gateway for campo in found.campos if campo.difere] == [shown]


def test_a_cancelled_note_and_a_silent_gateway_have_advice_of_their_own() -> None:
    """Nobody is told to compare what is not there; an answer of any shape is read."""
    gone = conflict(_emission(situacao="cancelada"), Olhar())
    assert gone is not None
    assert "cancelou" in gone.seguro[0]
    for answer in (None, {}, {"nota": None}, {"nota": "x"}, {"nota": {"situacao": "?"}}):
        emission = _emission()
        emission.leitura_gateway = answer
        silent = conflict(emission, Olhar())
        assert silent is not None
        assert silent.campos == ()
    odd = conflict(_emission(valor="muito", numero=7, tomador=None), Olhar())
    assert odd is not None
    assert (odd.numero, odd.campos[1].gateway, odd.campos[2].gateway) == ("7", None, None)
    emission = _emission()
    emission.status = "erro"
    assert conflict(emission, Olhar()) is None
    assert conflict(None, Olhar()) is None


async def test_the_page_of_a_conflict_shows_both_sides_and_says_what_is_safe(desk: Desk) -> None:
    """The confirmed value stands beside the gateway's, the difference is marked, and one sentence tells of it."""
    ana = await desk.road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    await ana.files()
    await desk.road.settled()
    sessao_id, pool = (await desk.road.session(ana))["sessao_id"], desk.office.database.pool
    await pool.execute(
        "UPDATE session_snapshot SET estado = 'erro', versao = versao + 1 WHERE sessao_id = $1", sessao_id
    )
    nota = {**NOTE, "valor": "1800.00", "numero": "9042"}
    await pool.execute(
        "UPDATE nfse_emissao SET status = 'conflito', leitura_gateway = $2::text::jsonb, "
        "erro_mensagem = 'the gateway''s note under our key differs in valor' WHERE sessao_id = $1",
        sessao_id,
        orjson.dumps({"resultado": "Found", "nota": nota}).decode(),
    )
    async with desk.office.at_work(Papel.LEITURA) as leo:
        page = (await leo.get(f"/console/sessoes/{sessao_id}"))[1]
    assert "O gateway e o confirmado não batem: a nota no gateway tem outro valor." in page
    assert '<td data-coluna="Confirmado">R$ 1.500,00</td><td data-coluna="No gateway"><b>R$ 1.800,00</b></td>' in page
    assert "número 9042" in page
    assert "Não é seguro" in page
