"""Words that must not become an invoice's data: what is found, what is left as it was, what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from extractor.utterance import Instrucao, instruction, without
from tests.adversaries import cpu_ms


@pytest.mark.parametrize(
    ("texto", "kind"),
    [
        ("retém o ISS de 5%", Instrucao.ISS),
        ("RETER ISS", Instrucao.ISS),
        ("sim, mas com retenção de ISS", Instrucao.ISS),
        ("iss retido", Instrucao.ISS),
        ("descontar INSS 11%", Instrucao.RETENCAO),
        ("coloca na observação pedido 123", Instrucao.OBSERVACAO),
        ("põe nas observações que é referente ao contrato 12", Instrucao.OBSERVACAO),
        ("Obs: pedido 4471", Instrucao.OBSERVACAO),
        ("sem retenção de ISS", None),
        ("não reter ISS", None),
        ("nota de 1500 pra 12.345.678/0001-95, consultoria de marketing", None),
        ("serviço de observação de aves", None),
        ("retirada de entulho", None),
        ("consultoria em impostos", None),
    ],
)
def test_an_instruction_is_seen(texto: str, kind: Instrucao | None) -> None:
    """Withholding and remarks, in the ways people ask for them; services that sound alike are none."""
    assert instruction(texto) is kind
    assert (without(texto) == texto) == (kind is None)


PHRASES = [
    (line[2:], line[0] == "+")
    for line in Path(__file__).with_name("foreign_phrases.txt").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize(("texto", "abroad"), PHRASES)
def test_a_customer_abroad_is_seen(texto: str, abroad: bool) -> None:
    """Said with country, passport or a foreign number; a name or a service that sounds so is none.

    The phrases were written before the patterns, by the same hand: of the first 72 the patterns before found
    48 right, the first version of these all; the last two came afterwards.
    """
    assert (instruction(texto) is Instrucao.EXTERIOR) is abroad


@pytest.mark.parametrize(
    ("texto", "left"),
    [
        ("nota de 1500, consultoria. retém o ISS de 5%", "nota de 1500, consultoria. "),
        ("vai tomar banho", ""),
        ("seu burro", ""),
        ("banho e tosa", "banho e tosa"),
        ("vai tomar banho\nconsultoria", "\nconsultoria"),
    ],
)
def test_the_rest_stands_where_it_stood(texto: str, left: str) -> None:
    """Blanked, not cut out: a span that was read from the rest is one of the user's own text."""
    assert without(texto).strip(" ") == left.strip(" ")
    assert len(without(texto)) == len(texto)


@pytest.mark.parametrize("piece", ["fdp;", "seu burro "])
def test_the_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Sixteen times the finds cost about sixteen times as much, and not 256 times."""
    texto = f"{piece * (4096 // len(piece))}😀\n"
    for each in (texto, texto * 16):
        assert len(without(each)) == len(each)
        assert without(each).strip(" ;\n") != each.strip(" ;\n")
    assert cpu_ms(lambda: without(texto * 16), 0) < 32 * cpu_ms(lambda: without(texto), 0)
