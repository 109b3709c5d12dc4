"""What people mean by words about goods: corrections, more and less of them, edited messages, another document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateway.registry import REGISTRY
from operations.company import add_company
from tests.road.goods.test_goods_road import CPF, ENDERECO, FORM, PADARIA, _person, opened, road, sefaz
from tests.road.road_people import new_phone

if TYPE_CHECKING:
    from tests.road.road_people import Road

__all__ = ["opened", "road", "sefaz"]
TWO = f"nota de 3 bolos de pote e 2 brigadeiros pra padaria, cnpj {PADARIA}"


@pytest.mark.parametrize(
    ("words", "items", "total"),
    [
        ("mais 2 brigadeiros", ("3 Bolo de pote", "4 Brigadeiro"), "R$ 54,00"),
        ("sim, mas tira o brigadeiro", ("3 Bolo de pote",), "R$ 36,00"),
        ("na verdade 5 brigadeiros", ("3 Bolo de pote", "5 Brigadeiro"), "R$ 58,50"),
        ("tira 1 bolo de pote", ("2 Bolo de pote", "2 Brigadeiro"), "R$ 33,00"),
        ("vinte e cinco brigadeiros", ("3 Bolo de pote", "25 Brigadeiro"), "R$ 148,50"),
        ("brigadeiro a 5 reais", ("3 Bolo de pote", "2 Brigadeiro × R$ 5,00"), "R$ 46,00"),
    ],
)
async def test_a_correction_is_shown_as_meant(road: Road, words: str, items: tuple[str, ...], total: str) -> None:
    """The others stay."""
    person = await _person(road)
    await person.say(TWO)
    shown = await person.say(words)
    assert all(item in shown.text for item in items), shown.text
    assert f"*{total}*" in shown.text


@pytest.mark.parametrize(
    "words",
    ["não são 2 brigadeiros, são 4", "metade dos brigadeiros", "na verdade 4", "mais 2", "2 caixas de brigadeiro"],
)
async def test_a_correction_that_is_not_clear_is_asked_about(road: Road, words: str) -> None:
    """No button issues what may be wrong."""
    person = await _person(road)
    await person.say(TWO)
    shown = await person.say(words)
    assert not [b for b in shown.buttons if b.title == "Confirmar"]


async def test_an_amount_that_equals_a_quantity_is_asked_about(road: Road) -> None:
    """Ten for ten reais are no forty-five."""
    person = await _person(road)
    shown = await person.say(f"nota de 10 brigadeiros por 10 reais pra padaria, cnpj {PADARIA}")
    assert not [b for b in shown.buttons if b.title == "Confirmar"]


async def test_a_product_without_a_number_is_no_service(road: Road) -> None:
    """How many is asked."""
    person = await _person(road)
    shown = await person.say(f"nota de brigadeiros pra padaria, cnpj {PADARIA}")
    assert "quantos" in shown.text.lower(), shown.text


async def test_an_edited_order_says_its_items_anew(road: Road) -> None:
    """What it names no more goes, and it stays one for goods."""
    person = await _person(road)
    wamid = await person.tell(TWO)
    await person.expect()
    await road.world.meta.user_edit(person.who, wamid, TWO.replace(" e 2 brigadeiros", "").replace("3", "4", 1))
    shown = await person.expect()
    assert "4 Bolo de pote" in shown.text, shown.text
    assert "• 2 Brigadeiro" not in shown.text
    assert "*R$ 48,00*" in shown.text


async def test_an_edited_correction_keeps_the_others(road: Road) -> None:
    """And an edited "mais" is asked about."""
    person = await _person(road)
    await person.say(TWO)
    wamid = await person.tell("são 4 bolos de pote")
    await person.expect()
    await road.world.meta.user_edit(person.who, wamid, "são 5 bolos de pote")
    shown = await person.expect("5 Bolo de pote")
    assert "2 Brigadeiro" in shown.text
    wamid = await person.tell("mais 1 brigadeiro")
    await person.expect("3 Brigadeiro")
    await road.world.meta.user_edit(person.who, wamid, "mais 2 brigadeiros")
    asked = await person.expect()
    assert not [b for b in asked.buttons if b.title == "Confirmar"], asked.text


async def test_an_edited_typo_leaves_items_and_total(road: Road) -> None:
    """The same items make the same amount."""
    person = await _person(road)
    wamid = await person.tell(TWO)
    await person.expect()
    await road.world.meta.user_edit(person.who, wamid, f"{TWO} por favor")
    shown = await person.expect()
    assert "*R$ 45,00*" in shown.text, shown.text


async def test_a_person_then_a_company_gets_an_nfe(road: Road) -> None:
    """The model follows the customer."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}")
    shown = await person.say("sim")
    assert "NFC-e" in shown.text
    shown = await person.say(f"não, é pro cnpj {PADARIA}")
    assert "NF-e" in shown.text, shown.text
    assert "NFC-e para NF-e" in shown.text


async def test_an_nfe_to_a_person_asks_for_the_address(road: Road) -> None:
    """And takes it."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}")
    asked = await person.say("não, mandei pelo correio")
    assert "endereço" in asked.text.lower(), asked.text
    shown = await person.say("Avenida Paulista, 100, Bela Vista, São Paulo SP, 01310-100")
    assert "NF-e" in shown.text, shown.text
    assert "Paulista" in shown.text, shown.text


async def test_what_was_handed_over_after_all_asks_no_address(road: Road) -> None:
    """However the address was that was said for a delivery."""
    person = await _person(road)
    await person.say(f"nota de 7 brigadeiros pra ana souza, cpf {CPF}")
    assert "endereço" in (await person.say("a loja entrega")).text
    doubt = await person.say("Rua das Acácias, 10, Centro, São Paulo SP, 99999-999")
    assert "99999-999" in doubt.text
    shown = await person.say("não, foi em mãos")
    assert "Tipo: NFC-e (consumidor, entregue em mãos)" in shown.text, shown.text


async def test_talk_of_a_sale_orders_it(road: Road) -> None:
    """Nobody said "nota": who sells products, names one and how it went wants an invoice of it."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.say("deixa pra lá")
    asked = await person.say("vendi 1 brigadeiro, sem cpf")
    assert "em mãos?" in asked.text
    shown = await person.say("sim")
    assert "1 Brigadeiro × R$ 4,50" in shown.text
    assert "consumidor sem nome" in shown.text


@pytest.mark.parametrize("words", ["vendi 1 camiseta, sem cpf", "posso vender 1 brigadeiro sem cpf?"])
async def test_talk_of_what_is_no_product_or_no_sale_orders_nothing(road: Road, words: str) -> None:
    """Nothing is taken of it."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.say("deixa pra lá")
    answer = await person.say(words)
    assert "Brigadeiro" not in answer.text
    assert not [b for b in answer.buttons if b.title == "Confirmar"]


async def test_a_product_that_is_none_yet_is_kept_and_its_order_goes_on(road: Road) -> None:
    """At the price that was said, by a button and its NCM in a turn of its own; nothing of the order is lost."""
    person = await _person(road)
    asked = await person.say("vendi 2 canetas a 3,50 pra Bia em mãos")
    assert "“2 canetas a 3,50”" in asked.text, asked.text
    assert [button.title for button in asked.buttons] == ["Cadastrar Caneta"]
    assert "qual é o NCM?" in (await person.press("Cadastrar Caneta", asked)).text
    await person.tell("ncm 96081000")
    await person.expect("cadastrado")
    shown = await person.expect("2 Caneta × R$ 3,50 = R$ 7,00")
    assert "Bia fica fora" in shown.text, shown.text
    assert "NFC-e" in shown.text


async def test_the_price_of_what_is_none_yet_is_asked_and_taken(road: Road) -> None:
    """The number alone answers, and a yes keeps it."""
    person = await _person(road)
    asked = await person.say("nota de 3 apontadores em mãos e 2 brigadeiros")
    assert "3 apontadores" in asked.text, asked.text
    assert "Quanto custa" in asked.text
    asked = await person.say("2,50")
    assert "R$ 2,50" in asked.text, asked.text
    assert "qual é o NCM?" in (await person.say("sim")).text
    await person.tell("82141000")
    await person.expect("cadastrado")
    shown = await person.expect("3 Apontador × R$ 2,50 = R$ 7,50")
    assert "2 Brigadeiro" in shown.text


async def test_the_catalogue_is_listed_and_its_prices_change(road: Road) -> None:
    """With an order open it is asked whether only this note has the price."""
    person = await _person(road)
    await person.tell("cadastra régua 8 reais ncm 90172000")
    await person.expect("cadastrado")
    assert "Régua: R$ 8,00" in (await person.say("quais produtos eu tenho?")).text
    assert "de R$ 8,00 para R$ 9,00" in (await person.say("muda o preço da régua pra 9")).text
    await person.say("nota de 2 réguas, sem cpf, em mãos")
    asked = await person.say("o preço da régua agora é 10")
    shown = await person.press("Só nesta nota", asked)
    assert "2 Régua × R$ 10,00" in shown.text, shown.text
    assert "Régua: R$ 9,00" in (await person.say("meus produtos")).text
    asked = await person.say("muda o preço da régua pra 11")
    await person.touch("No cadastro também", asked)
    await person.expect("de R$ 9,00 para R$ 11,00")
    shown = await person.expect("2 Régua × R$ 11,00")
    assert "*R$ 22,00*" in shown.text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("o brigadeiro saiu a 5", "2 Brigadeiro × R$ 5,00"),
        ("troca o brigadeiro por 3", "3 Brigadeiro × R$ 4,50"),
        ("não, é 3", "3 Brigadeiro × R$ 4,50"),
        ("são 5 na verdade", "5 Brigadeiro × R$ 4,50"),
    ],
)
async def test_one_item_is_corrected_by_its_price_or_its_number_alone(road: Road, words: str, line: str) -> None:
    """The other one stays as it is."""
    person = await _person(road)
    await person.say("nota de 2 brigadeiros, sem cpf, em mãos")
    shown = await person.say(words)
    assert line in shown.text, shown.text


async def test_who_sells_is_greeted_with_a_sale(road: Road) -> None:
    """And helped with one."""
    person = await _person(road)
    assert "2 canecas em mãos" in (await person.say("oi")).text
    assert "meus produtos" in (await person.say("ajuda")).text


async def test_whom_an_nfce_does_not_name_is_said(road: Road) -> None:
    """Without a CPF."""
    person = await _person(road)
    shown = await person.say("nota de 1 brigadeiro e 2 bolos de pote pra Bia em mãos")
    assert "Bia fica fora" in shown.text, shown.text


async def test_an_address_in_the_order_is_read(road: Road) -> None:
    """And is not asked again."""
    person = await _person(road)
    sent = "mandei pelo correio, avenida paulista 1000, bela vista, são paulo SP, 01310-100"
    shown = await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}, {sent}")
    assert "Tipo: NF-e" in shown.text, shown.text
    assert "paulista" in shown.text.lower()


async def test_another_state_is_refused_with_a_way_out(road: Road) -> None:
    """At once, in the order or as the answer to where the goods went."""
    person = await _person(road)
    sent = "mandei pelo correio, praça tiradentes 10, centro, curitiba PR, 80020-310"
    asked = await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}, {sent}")
    assert "Produto para PR eu ainda não emito" in asked.text, asked.text
    assert [button.title for button in asked.buttons] == ["Cancelar"]


async def test_an_open_order_of_another_company_has_none_of_this_ones_prices(road: Road) -> None:
    """Two products of two catalogues have one code: the order that was begun for the first keeps its price."""
    person = await _person(road)
    await person.tell("cadastra esquadro 8 reais ncm 90172000")
    await person.expect("cadastrado")
    await person.say("nota de 2 esquadros, sem cpf, em mãos")
    other = replace(FORM, cnpj="44555666000181", razao_social="OUTRA LOJA ME", usuarios=(new_phone(),))
    await add_company(road.database, other, None, REGISTRY, ENDERECO)
    moved = "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = $2) WHERE telefone = $1"
    await road.database.pool.execute(moved, person.who, other.cnpj)
    known = "SELECT produtos.codigo FROM produtos JOIN empresa e ON e.id = empresa_id WHERE e.cnpj = $1 AND texto = $2"
    code = await road.database.pool.fetchval(known, FORM.cnpj, "Esquadro")
    await road.database.pool.execute(
        "INSERT INTO produtos (empresa_id, codigo, texto, ncm, cfop, csosn, unidade, preco) "
        "SELECT id, $2, 'Trufa', '18069000', '5102', '102', 'UN', 5 FROM empresa WHERE cnpj = $1",
        other.cnpj,
        code,
    )
    changed = await person.say("muda o preço da trufa pra 11")
    assert "de R$ 5,00 para R$ 11,00" in changed.text, changed.text
    stands = (await road.session(person))["rascunho"]["itens"]["valor"]
    assert "8.00" in stands
    assert "11.00" not in stands
