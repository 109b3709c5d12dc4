from __future__ import annotations

import pytest

from bot.subjects.cancellation import asks_aside
from extractor.requests.cancellation import too_vague


@pytest.mark.parametrize(
    "words",
    [
        *("falar com uma pessoa", "atendente", "você é gente?", "quem é você", "minhas notas", "quanto eu já emiti?"),
        *(
            "manda a nota 3 de novo",
            "me manda o pdf",
            "ajuda",
            "qual o prazo para cancelar?",
            "qual meu cnpj?",
            "status",
        ),
    ],
)
def test_a_request_is_no_reason(words: str) -> None:
    """While a cancellation waits, requests and questions are asides."""
    assert asks_aside(words)


@pytest.mark.parametrize(
    "words",
    [
        *("valor errado, vou emitir outra", "porque o cliente desistiu", "nota repetida", "é a mesma nota", "pq errei"),
        *("a nota foi emitida errada", "a nota já foi emitida antes", "segunda via errada", "errei a última"),
        *("o valor era 1500", "era pra ser mil e quinhentos", "emiti duas vezes a mesma nota", "o imposto saiu errado"),
    ],
)
def test_what_tells_why_is_a_reason(words: str) -> None:
    """Words of a request inside a reason make it none, and an amount is part of it."""
    assert not asks_aside(words)
    assert not too_vague(words)
