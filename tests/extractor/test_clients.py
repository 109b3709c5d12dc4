"""Which client a name means: a clear one, one to ask about, or none."""

from __future__ import annotations

from typing import Any

import pytest
from rapidfuzz import process

from extractor.fields.clients import NAMES, find_client, mentioned, nickname, recipients, until_number
from state_machine.invoice.choices import MOST, Cliente

ZE = "PADARIA DO ZÉ LTDA"
CENTRAL = "PADARIA CENTRAL EIRELI"
JORGE = "MERCADO SÃO JORGE LTDA"
ACME = "ACME COMERCIO DE ALIMENTOS S/A"
MARIA = "MARIA APARECIDA SOUZA"
COUTO = "JOAO COUTO 12345678901"
DANIELA = "DANIELA LIMA ME"
TINTAS = "SUPER TINTAS E FERRAGENS"
ABC = "A B C SERVICOS"
MARCIO = "Márcio Lima"
LUIZ = "LUIZ THIAGO MATTOS"
CLIENTES = [
    *(Cliente(str(n) * 14, nome) for n, nome in enumerate((ZE, CENTRAL, JORGE, ACME, COUTO, DANIELA, TINTAS))),
    Cliente("7" * 14, ABC, ("Studio Flor", "as meninas do estudio")),
    *(Cliente(str(n) * 11, nome) for n, nome in enumerate((MARIA, MARCIO, LUIZ))),
]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("padaria do zé", ZE),
        ("Padaria do Ze Ltda.", ZE),
        ("PADARIA ZÉ", ZE),
        ("padarias central", CENTRAL),
        ("mercado são jorge", JORGE),
        ("mercadinho são jorge", JORGE),
        ("Mercado S. Jorge", JORGE),
        ("acme", ACME),
        ("acme alimentos", ACME),
        ("dona maria aparecida souza", MARIA),
        ("Maria Aparecida Sousa", MARIA),
        ("joão couto", COUTO),
        ("super tinta", TINTAS),
        ("studio flor", ABC),
        ("as meninas do estúdio", ABC),
        ("marcio lima", MARCIO),
        ("luis tiago matos", LUIZ),
        # near misses, and what may be somebody else
        ("padria do ze", None),
        ("padaria do joão", None),
        ("padaria do zé da esquina", None),
        ("padaria", None),
        ("zé", None),
        ("maria", None),
        ("maria souza", None),
        ("flor", None),
        ("lima", None),
        ("maria silva", None),
        ("marcos lima", None),
        ("daniel lima", None),
        ("joão coutinho", None),
        ("mercado são josé", None),
        ("tintas super nova", None),
        ("estudio flor", None),
        ("cliente", None),
        ("a", None),
        ("", None),
        ("ltda", None),
        ("🥖", None),
    ],
)
def test_only_a_clear_name_is_taken(said: str, meant: str | None) -> None:
    """Accents, plural, spelling, legal form and a firm's diminutive do not matter; any other difference does."""
    found = find_client(said, CLIENTES)
    assert (found.possiveis[0].nome if found.certo else None) == meant


@pytest.mark.parametrize(
    ("said", "offered"),
    [
        ("padaria", {ZE, CENTRAL}),
        ("lima", {DANIELA, MARCIO}),
        ("padria do ze", {ZE}),
        ("daniel lima", {DANIELA}),
        ("maria", {MARIA}),
        ("dona maria aparecida", {MARIA}),
        ("maria souza", {MARIA}),
        ("padaria do joão", set()),
        ("oficina", set()),
    ],
)
def test_a_near_miss_is_only_offered(said: str, offered: set[str]) -> None:
    """What is like a name, or a part of several, is asked about; what shares a word with one is not."""
    found = find_client(said, CLIENTES)
    assert not found.certo
    assert {cliente.nome for cliente in found.possiveis} == offered


def test_two_clients_of_one_name_are_both_meant() -> None:
    """A branch of the same name, whole or longer, is never chosen in the other's place."""
    branch = Cliente("9" * 14, "PADARIA DO ZÉ FILIAL CENTRO LTDA")
    found = find_client("padaria do zé", [*CLIENTES, branch])
    assert not found.certo
    assert {cliente.nome for cliente in found.possiveis} == {ZE, branch.nome}


def test_where_not_all_clients_were_looked_at_none_is_clear() -> None:
    """Another one may fit better: the name is asked about."""
    many = [Cliente(str(n).zfill(14), None) for n in range(MOST)]
    found = find_client("acme", [*CLIENTES[:5], *many])
    assert [cliente.nome for cliente in found.possiveis] == [ACME]
    assert not found.certo


def test_a_nickname_is_compared_as_it_is_remembered() -> None:
    """It holds no digit, no legal form and no accent."""
    assert nickname("Padaria do Zé LTDA 12345678901") == nickname("padaria ZE")
    assert nickname("o meu cliente") == ""
    assert nickname(" ".join("bcdfghijk")) == ""  # too long for a name
    assert until_number("Maria 150 faxina") == "Maria"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("emite pro Carlos Lima 400 de frete", ["Carlos Lima"]),
        ("faz um recibo pro joão da silva de 300 reais pintura", ["joão da silva"]),
        ("nota de 200 para a Padaria do Zé, panfleto", ["Padaria do Zé"]),
        ("consultoria 1500", []),
    ],
)
def test_whom_an_order_is_for_is_read_as_it_was_written(words: str, named: list[str]) -> None:
    """The name ends where an amount or another clause begins."""
    assert recipients(words) == named


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("a mesma da padaria, só que 430", ["padaria"]),
        ("segunda via da padaria do zé", ["padaria do zé"]),
        ("faz a de sempre pra padaria", ["padaria"]),
        ("faz outra igual pra ela, agora do mais velho, 95", []),
        ("a mesma coisa só que pra irmã, no mesmo CPF, 360", []),
    ],
)
def test_whose_earlier_invoice_is_meant(words: str, named: list[str]) -> None:
    """The first name after "da", "do" or "pra" is the client's."""
    assert list(mentioned(words)[:1]) == named


WORDS = [letters * 2 for letters in ("abcde", "fghij", "klmno", "pqrst", "uvbcd", "mnpqr", "lmtuv", "bdfhj")]


@pytest.mark.parametrize("others", [0, 5, 50])
def test_however_many_names_the_work_is_bounded(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand clients whose many names nearly fit: each different word is compared once with each that was said."""
    compared: list[int] = []
    extract = process.extract

    def counted(word: str, choices: Any, **options: Any) -> Any:
        compared.append(len(choices))
        return extract(word, choices, **options)

    monkeypatch.setattr(process, "extract", counted)
    known = [
        Cliente(f"{n:014}", " ".join(WORDS), tuple(f"{' '.join(WORDS)} y{n}x{k}" for k in range(others)))
        for n in range(MOST)
    ]
    found = find_client(" ".join(f"{word[:-1]}q" for word in WORDS), known)
    assert found.possiveis
    assert not found.certo
    assert len(compared) == len(WORDS)
    assert max(compared) <= len(WORDS) + NAMES


def test_where_not_all_names_were_looked_at_none_is_clear() -> None:
    """Another one may fit better: the name is asked about."""
    many = Cliente("9" * 14, "OUTRO", tuple(f"nome {'x' * 5}{n}" for n in range(NAMES)))
    assert find_client("acme", CLIENTES[:5]).certo
    assert not find_client("acme", [*CLIENTES[:5], many]).certo
