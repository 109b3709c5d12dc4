"""Who wants a list to stop, and who only speaks of a lot."""

from __future__ import annotations

import pytest

from extractor.requests.yes_no import BatchStop, read_batch_stop

WISHES = (
    ("para o lote", None), ("Para o lote!", None), ("pare o lote", None), ("parar lote", None), ("pára o lote 12", 12),
    ("por favor, para o lote 3", 3), ("cancela o lote nº 7", 7), ("interrompe o envio do lote 4 agora", 4),
    ("pode parar os e-mails", None), ("suspende o envio de emails", None), ("para o lote 5, por favor", 5),
)  # fmt: skip
OTHERS = (
    "", "para", "lote", "lote 12", "não para o lote", "terraplanagem para o lote 12", "para o lote 12 da quadra 3",
    "nota de 1500 para o lote 12", "cancela a nota 12", "cancela", "para a padaria", "para o lote " + "x" * 80,
    "manda por e-mail", "para o e-mail ana@exemplo.com.br", "para o lote 12, 300 reais",
)  # fmt: skip


@pytest.mark.parametrize(("texto", "numero"), WISHES)
def test_a_stop_is_understood(texto: str, numero: int | None) -> None:
    """With the list's number, where one is said."""
    assert read_batch_stop(texto) == BatchStop(numero)


@pytest.mark.parametrize("texto", OTHERS)
def test_what_only_sounds_like_it_stops_nothing(texto: str) -> None:
    """A piece of land, an invoice for it, a no, and anything longer."""
    assert read_batch_stop(texto) is None
