"""Words choose one of a company's own service codes, or none."""

from __future__ import annotations

import pytest

from extractor.requests.yes_no import numbered_answer, worded_answer
from state_machine.services.codes import Servico

OWN = (Servico("010701"), Servico("170101"), Servico("080201", "aulas do estúdio"))


@pytest.mark.parametrize(
    ("texto", "asked", "codigo"),
    [
        ("2", True, "170101"),
        ("o 2", True, "170101"),
        ("2", False, None),
        ("o serviço é o 2", False, "170101"),
        ("Não, o serviço certo é o 3.", False, "080201"),
        ("opção 3", False, "080201"),
        ("o serviço é o 4", False, None),
        ("o serviço é o 0", False, None),
        ("01.07.01", False, "010701"),
        ("código 010701", False, "010701"),
        ("010701", True, "010701"),
        ("010701", False, None),
        ("código 17.14.01", True, None),
        ("é consultoria", False, "170101"),
        ("consultoria", True, "170101"),
        ("consultoria", False, None),
        ("aulas do estúdio", True, "080201"),
        ("é outra coisa", True, None),
        ("sei lá", True, None),
        ("2" * 200, True, None),
    ],
)
def test_words_choose_a_code_of_the_company_or_none(texto, asked, codigo):
    """A bare number answers the list only; a code that is not the company's chooses nothing."""
    said = numbered_answer(texto, OWN, asked=asked) or worded_answer(texto, OWN, asked=asked)
    assert said == codigo
