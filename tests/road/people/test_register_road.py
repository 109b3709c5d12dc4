from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road

UNKNOWN = "11.444.777/0001-61"  # sound check digits, and nobody's in the simulated register


@pytest.fixture(autouse=True)
async def forgetful(road: Road) -> None:
    """The house has not asked the register about anybody yet."""
    await road.database.pool.execute("DELETE FROM cnpj_cache")


@pytest.mark.parametrize("fault", ["erro_500", "cortar_antes", "html_200", "limite_429"])
async def test_a_broken_register_blocks_nothing(road: Road, fault: str) -> None:
    """Without the register the summary says that the name was not found, and the invoice goes its way."""
    road.world.cnpj.faults.set(fault)
    ana = await road.person()
    summary = await ana.say(FULL)
    assert "sem nome" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await road.notes(ana)) == 1
    assert await road.database.pool.fetchval("SELECT count(*) FROM cnpj_cache") == 0  # a failure is not remembered


async def test_a_slow_register_delays_little(road: Road) -> None:
    """A register that hangs costs a few seconds at most; the answer comes without its name."""
    road.world.cnpj.faults.set("lento", seconds=60.0)
    ana = await road.person()
    await ana.tell(FULL)
    summary = await ana.expect("sem nome", timeout=6)
    assert summary.buttons[0].title == "Confirmar"


async def test_an_unknown_company_blocks_nothing(road: Road) -> None:
    """A CNPJ that the register does not know can be issued to; the register is not asked about it twice."""
    ana = await road.person()
    await ana.say(f"nota de 1500 pra {UNKNOWN}, consultoria")
    await ana.touch("Confirmar")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["tomador"]["cpfCnpj"] == "11444777000161"
    before = len(road.world.cnpj.ledger.of("lookup"))
    bia = await road.person()
    await bia.say(f"nota de 10 pra {UNKNOWN}, aula")
    assert len(road.world.cnpj.ledger.of("lookup")) == before


async def test_a_known_company_is_asked_for_once(road: Road) -> None:
    """The register's answer is remembered for the next invoice, whoever writes it."""
    before = len(road.world.cnpj.ledger.of("lookup"))
    for _ in range(2):
        assert "PADARIA DO ZÉ LTDA" in (await (await road.person()).say(FULL)).text
    assert len(road.world.cnpj.ledger.of("lookup")) == before + 1


async def test_what_the_register_says_of_a_customer_is_kept_with_the_invoice(road: Road) -> None:
    """Each column of the address as it stands in the register, and its whole answer."""
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    session = await road.reached(ana, "aprovado")
    kept = await road.database.pool.fetchrow(
        "SELECT t.* FROM cliente_tomador t JOIN nfse_emissao e ON e.tomador_id = t.id WHERE e.sessao_id = $1",
        session["sessao_id"],
    )
    entry = kept["dados_receita_raw"]
    assert entry["razao_social"] == kept["razao_social"] == "PADARIA DO ZÉ LTDA"
    assert entry["descricao_tipo_de_logradouro"] + " " + entry["logradouro"] == kept["logradouro"]
    for column, name in (
        ("cep", "cep"),
        ("numero", "numero"),
        ("bairro", "bairro"),
        ("cidade", "municipio"),
        ("estado", "uf"),
    ):
        assert kept[column] == str(entry[name])
    assert kept["codigo_cidade"] == str(entry["codigo_municipio_ibge"])


async def test_a_company_that_closed_is_pointed_out(road: Road) -> None:
    """A customer whose CNPJ is BAIXADA is shown as such before anything is confirmed."""
    ana = await road.person()
    assert "BAIXADA" in (await ana.say("nota de 700 pra 99.000.031/0001-00, consultoria em cardápio")).text
