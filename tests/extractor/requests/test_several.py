"""A message that orders several invoices is cut where it is plain which words are whose."""

from __future__ import annotations

import pytest

from extractor.contract import Ato, Extraction
from extractor.requests.several import another, behind_yes, may_be_another, split

RUI = "111.444.777-35"
JOAO = "200 pro joão cpf 529.982.247-25, aula"


@pytest.mark.parametrize(
    ("texto", "pieces"),
    [
        (f"faz duas notas: 300 pra padaria do zé e {JOAO}", ("300 pra padaria do zé", JOAO)),
        (f"uma nota de 300 pra padaria do zé e outra de {JOAO}", ("uma nota de 300 pra padaria do zé", JOAO)),
        ("R$ 500 pra ana, 200 pra bia", ("R$ 500 pra ana", "200 pra bia")),
        (
            "500 pra 12.345.678/0001-95 e 700 pra 99.000.002/0001-48",
            ("500 pra 12.345.678/0001-95", "700 pra 99.000.002/0001-48"),
        ),
        (
            "duas notas: 300 pra padaria X e 200 pro mercado Y, aula",
            ("300 pra padaria X, aula", "200 pro mercado Y, aula"),
        ),
        (
            "Sol 12.345.678/0001-95 500 e Lua 99.000.002/0001-48 700, as duas de comissão",
            ("Sol 12.345.678/0001-95 500, comissão", "Lua 99.000.002/0001-48 700, comissão"),
        ),
        ("300 pra ana, faxina e 200 pra bia, aula", ("300 pra ana, faxina", "200 pra bia, aula")),
        ("300 pra ana e 200 pra bia, da padaria", ("300 pra ana", "200 pra bia, da padaria")),
        (
            "12345678000195;aula e curso;500,00\n99000002000148;folha;700,00",
            ("12345678000195;aula e curso;500,00", "99000002000148;folha;700,00"),
        ),
        (
            "900 pra D1.BL8.9BB/0001-09\n1.250 pra WX.AKE.QEC/0001-14\nas duas de vídeo",
            ("900 pra D1.BL8.9BB/0001-09, vídeo", "1.250 pra WX.AKE.QEC/0001-14, vídeo"),
        ),
        (
            f"são duas: Sol 12.345.678/0001-95 oitocentos da poda e a Ana {RUI} duzentos da calha",
            ("Sol 12.345.678/0001-95 oitocentos da poda", f"Ana {RUI} duzentos da calha"),
        ),
        (
            f"Sol 12.345.678/0001-95 oitocentos e dez da poda; Ana {RUI} duzentos da calha",
            ("Sol 12.345.678/0001-95 oitocentos e dez da poda", f"Ana {RUI} duzentos da calha"),
        ),
        ("nota de 1.500 pra padaria e mais nada", ()),
        ("aula de 2 horas e 300 pra padaria", ()),
        ("nota de 500 pra loja 12 e 3 caixas", ()),
        ("300 pra padaria e 200 pro joão 12 vezes", ()),
    ],
)
def test_two_amounts_with_two_customers_are_two_invoices(texto: str, pieces: tuple[str, ...]) -> None:
    """Each piece has one amount and whom it is for; a message that cannot be cut so is left whole."""
    assert split(texto) == pieces


@pytest.mark.parametrize(
    ("texto", "orders"),
    [
        ("e mais uma de 200 pro joão", True),
        ("faz outra pra maria de 200", True),
        ("Outra nota de R$ 200 pra maria", True),
        ("agora mais uma nota fiscal pro joão cpf 529.982.247-25, aula", True),
        ("outra coisa: o valor é 200", False),
        ("não, é pra outra padaria", False),
        ("mais uma dúvida", False),
        ("nota de 200 pra maria", False),
    ],
)
def test_one_more_invoice_is_told_from_a_correction(texto: str, orders: bool) -> None:
    """It begins with "mais uma" or "outra", and an amount or a customer follows."""
    assert bool(another(texto)) == orders


@pytest.mark.parametrize(
    ("texto", "other"),
    [
        (f"{opening} {RUI}{rest}", True)
        for opening, rest in (
            ("e mais uma de 800 pra", " aula"),
            ("ok, e outra de 800 pra", ""),
            ("sim! e mais uma de 800 pra", ""),
            ("certo, outra de 800 pra", ""),
            ("pode confirmar e faz uma de 800 pra", ""),
            ("isso. também preciso de uma nota de 800 pra", ", aula"),
            ("manda essa e depois a do Rui", ", 800 reais"),
            ("falta a do Rui, cpf", ", 800, aula"),
            ("nota 2: cpf", " valor 800 serviço aula"),
            ("outra nota\ncpf", "\n800\naula"),
            ("sim\nagora a do Rui:", " 800 aula"),
            ("sim, agora a do", ""),
            ("tem outra também: zíper de jaqueta 45 cpf", ""),
            ("troca de óleo 100 cpf", ""),
        )
    ]
    + [
        (f"o cpf certo é {RUI}", False),
        (f"o cpf certo é {RUI} e o valor 800", False),
        (f"corrige: cpf {RUI}, 800", False),
        (f"não, é {RUI}, valor 800", False),
        (f"muda o cpf pra {RUI} e o valor pra 800", False),
        (f"cpf {RUI}", False),
        ("cpf 529.982.247-25, valor 800", False),
    ],
)
def test_an_order_over_a_complete_invoice_is_told_from_its_correction(texto: str, other: bool) -> None:
    """Another customer's document beside an amount or a yes is another order, unless the words correct."""
    assert may_be_another(texto, Extraction(Ato.DADOS), "52998224725") == other


@pytest.mark.parametrize(
    ("texto", "rest"),
    [
        (f"pode emitir. e depois uma de 800 reais pro cpf {RUI}", f"e depois uma de 800 reais pro cpf {RUI}"),
        (f"confirmo. próxima: {RUI}, 800, aula", f"próxima: {RUI}, 800, aula"),
        (f"sim, mas é pro {RUI}, depois 800", None),
        (f"sim, o cpf é {RUI}, 800", None),
        (f"sim, outra coisa: é pro {RUI}, 800", None),
        (f"sim, depois uma de 800 pro {RUI}?", None),
        (f"bom dia, depois outra de 800 pro {RUI}", None),
    ],
)
def test_a_clear_yes_stands_before_an_order_that_is_clearly_another(texto: str, rest: str | None) -> None:
    """Only a plain yes, and behind it words that neither deny nor ask and say that it is another one."""
    assert behind_yes(texto) == rest
