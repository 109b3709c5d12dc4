from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from state_machine.catalogue.texts.address import EXEMPLO, faltam
from state_machine.values.address import LONGEST, OBRIGATORIAS, EnderecoDito, read_address

FLORES = EnderecoDito("Rua das Flores", "100", "Centro", "São Paulo", "SP", "01310100", "sala 2")
QUINZE = EnderecoDito("Rua 15 de Novembro", "200", "Centro", "Curitiba", "PR", "80020310")
BRASIL = EnderecoDito("Av. Brasil", "55", "Jardim", "Campinas", "SP", "13000000", "fundos")

SAID = {
    "in one line": ("Rua das Flores, 100, sala 2, Centro, São Paulo/SP, 01310-100", FLORES),
    "with dashes": ("Rua das Flores 100 sala 2 - Centro - São Paulo - SP cep 01310100", FLORES),
    "the CEP first": ("CEP: 01.310-100, Rua das Flores, nº 100, sala 2, Centro, São Paulo, SP", FLORES),
    "a street with a number in its name": ("Rua 15 de Novembro, 200 - Centro\nCuritiba/PR\n80020-310", QUINZE),
    "the same without a comma": ("Rua 15 de Novembro 200, Centro, Curitiba PR, 80020310", QUINZE),
    "by the parts' names": (
        "Logradouro: Av. Brasil\nNúmero: 55\nComplemento: fundos\nBairro: Jardim\nCidade: Campinas\nUF: sp\n13000000",
        BRASIL,
    ),
    "a street's kind as a label": (
        "Rua: das Flores\nNº: 100\nsala 2\nBairro: Centro\nCidade: São Paulo - SP\nCEP: 01310-100",
        FLORES,
    ),
    "a label before the whole": (
        "Endereço: Av. Brasil 55 fundos\nBairro: Jardim\nCidade: Campinas/SP\nCEP 13000-000",
        BRASIL,
    ),
    "no number": (
        "rua x s/n, zona rural, Goiânia (GO) 74000-000",
        EnderecoDito("rua x", "s/n", "zona rural", "Goiânia", "GO", "74000000"),
    ),
    "a block of Brasília": (
        "SQN 208 Bloco A apto 101, Asa Norte, Brasília - DF, 70853-010",
        EnderecoDito("SQN", "208", "Asa Norte", "Brasília", "DF", "70853010", "Bloco A apto 101"),
    ),
    "two things inside": (
        "Av. Brasil, 55, bloco B, ap. 12, Jardim, Campinas/SP, 13000-000",
        EnderecoDito("Av. Brasil", "55", "Jardim", "Campinas", "SP", "13000000", "bloco B, ap. 12"),
    ),
    "a street called after a house": (
        "Rua Casa Branca, 10, Setor 5, Palmas/TO, 77000-000",
        EnderecoDito("Rua Casa Branca", "10", "Setor 5", "Palmas", "TO", "77000000"),
    ),
}


@pytest.mark.parametrize(("texto", "endereco"), SAID.values(), ids=SAID.keys())
def test_an_address_is_read_as_people_write_it(texto: str, endereco: EnderecoDito) -> None:
    """On one line or on several, with commas, dashes or labels."""
    assert read_address(texto) == endereco
    assert not endereco.faltam
    assert faltam(endereco) == ""


PARTS = {
    "nothing of an address": ("meu telefone é 11 98765-4321", EnderecoDito()),
    "a no": ("não sei", EnderecoDito()),
    "two CEPs": ("CEP 01310-100 ou 04000-000", EnderecoDito()),
    "only CEP and number": ("01310-100, 100", EnderecoDito(numero="100", cep="01310100")),
    "a street alone": ("Rua das Flores", EnderecoDito(logradouro="Rua das Flores")),
    "no comma at all": ("Rua das Flores 100 Centro São Paulo SP 01310-100", EnderecoDito(estado="SP", cep="01310100")),
    "no state": (
        "Rua das Flores, 100, Centro, 01310-100",
        EnderecoDito("Rua das Flores", "100", "Centro", cep="01310100"),
    ),
}


@pytest.mark.parametrize(("texto", "endereco"), PARTS.values(), ids=PARTS.keys())
def test_what_cannot_be_told_apart_is_left_out(texto: str, endereco: EnderecoDito) -> None:
    """A part that may be another one, or is not there, is asked for again."""
    assert read_address(texto) == endereco
    assert endereco.faltam


def test_what_is_missing_is_said_in_the_order_of_an_envelope() -> None:
    """Whoever reads it knows what to add."""
    assert faltam(EnderecoDito("Rua das Flores", "100", cidade="São Paulo", estado="SP")) == "Não achei o CEP."
    assert faltam(EnderecoDito()) == "Não achei a rua, o número (ou s/n) e o CEP."
    assert faltam(EnderecoDito(cep="01310100", numero="1")).startswith("Não achei a rua, o bairro,")
    assert read_address(EXEMPLO.partition("_")[2].rstrip("_.")) == FLORES


words = st.from_regex(r"[A-ZÀ-Ú][a-zà-ú]{3,12}( (da|de|dos) [A-Z][a-z]{3,9})?", fullmatch=True)
addresses = st.builds(
    EnderecoDito,
    logradouro=st.builds("{} {}".format, st.sampled_from(["Rua", "Av.", "Travessa", "SQN"]), words),
    numero=st.one_of(st.integers(1, 99_999).map(str), st.sampled_from(["S/N", "s/n", "12A", "12-B"])),
    bairro=words.map("Bairro {}".format),
    cidade=words,
    estado=st.sampled_from(["SP", "RJ", "MG", "DF", "TO", "RS"]),
    cep=st.from_regex(r"[0-9]{8}", fullmatch=True).filter(str.isascii),
    complemento=st.sampled_from(["", "sala 2", "bloco B, ap. 12", "3º andar", "fundos"]),
)


@given(addresses)
def test_an_address_as_we_write_it_is_read_back(endereco: EnderecoDito) -> None:
    """What the summary shows is what the next turn, and the note, have."""
    assert read_address(str(endereco)) == endereco
    assert read_address(str(endereco).replace(", ", "\n")) == endereco


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["rua", "10", "sala", "SP", ",", "cep", "-", "01310100"])).map(" ".join)
)
@example("sala " * LONGEST)
def test_nothing_is_invented(texto: str) -> None:
    """Every part stands in the message, in the same letters; the state and the CEP in their usual form."""
    endereco = read_address(texto)
    said = re.sub(r"[\s:]", "", texto)
    for parte in ("logradouro", "numero", "bairro", "cidade"):
        assert re.sub(r"[\s:]", "", getattr(endereco, parte)) in said
    assert endereco.estado.lower() in said.lower()
    assert re.fullmatch(r"([0-9]{8})?", endereco.cep)
    assert set(endereco.faltam) == {parte for parte in OBRIGATORIAS if not getattr(endereco, parte)}
