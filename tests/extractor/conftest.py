from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from extractor.contract import Context
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from collections.abc import Callable

HOJE = date(2026, 11, 21)
COMPLETE = {Campo.DOCUMENTO: "05804473000165", Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"}


@pytest.fixture
def fresh() -> Context:
    """A conversation in which nothing is known and nothing was asked."""
    return Context(hoje=HOJE)


@pytest.fixture
def summary() -> Context:
    """A conversation whose complete summary awaits a yes."""
    return Context(hoje=HOJE, resumo_mostrado=True, conhecidos=COMPLETE)


@pytest.fixture
def asking() -> Callable[[Campo], Context]:
    """Make a conversation in which one field was just asked for."""
    return lambda campo: Context(hoje=HOJE, pendente=campo)
