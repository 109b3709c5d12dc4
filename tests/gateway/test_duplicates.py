"""The words in which a refusal says that there is a note already."""

from __future__ import annotations

import pytest

from gateway.plugnotas.note import says_duplicate


@pytest.mark.parametrize(
    "words",
    [
        "Já existe um(a) NFSe com os parâmetros informados",
        "JA EXISTE NFS-E PARA ESTA DPS",
        "Conjunto de Série, Número, Código do Município Emissor e CNPJ/CPF informado nesta DPS já existe em uma NFS-e",
        "RPS já informado.",
        "O RPS 12 já foi convertido em NFS-e",
        "Nota fiscal duplicada",
        "Número de RPS já utilizado",
        "Lote já processado",
        "duplicidade de NFS-e",
        "Document already exists: NFSe",
        "nota emitida anteriormente.\nJá consta nota para este RPS",
    ],
)
def test_every_wording_of_a_duplicate_is_one(words: str) -> None:
    """Whatever city or gateway says it, with or without accents and capitals."""
    assert says_duplicate(words)


@pytest.mark.parametrize(
    "words",
    [
        "Falha na validação do JSON de NFSe",
        "O certificado já está vencido. Renove antes de emitir a nota",
        "O prestador já excedeu o limite",
        "CNPJ do tomador inválido na nota",
        "A competência já passou",
        "",
    ],
)
def test_an_ordinary_refusal_is_none(words: str) -> None:
    """The word for "already" alone, or in a sentence about something else, asks for nothing."""
    assert not says_duplicate(words)


def test_the_code_of_the_national_layout_says_it_without_words() -> None:
    """E0014 in a message that explains nothing."""
    assert says_duplicate("recusada", ("E0188", "E0014"))
