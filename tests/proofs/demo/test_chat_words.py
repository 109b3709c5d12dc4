"""How ``prosa chat`` shows what WhatsApp emphasises."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from proofs.demo.chat import emphasised


def shown(text: str, *, terminal: bool) -> str:
    """What is written to a terminal, or to a file."""
    out = io.StringIO()
    Console(
        file=out, force_terminal=terminal, color_system="standard" if terminal else "auto", width=200, highlight=False
    ).print(emphasised(text))
    return out.getvalue().rstrip("\n")


@pytest.mark.parametrize(
    ("text", "plain", "bold"),
    [
        ("*Confere?*\nValor: *R$ 1.500,00*", "Confere?\nValor: R$ 1.500,00", True),
        ("escreve _cancela_.", "escreve cancela.", False),
        ("2 * 3 * 4", "2 * 3 * 4", False),
        ("nota_de_1500", "nota_de_1500", False),
        ("[bold]não é nosso[/bold] *é*", "[bold]não é nosso[/bold] é", True),
    ],
)
def test_marks_are_not_printed(text: str, plain: str, bold: bool) -> None:
    """Bold on a terminal, nothing in a file; what only looks like a mark stays, and so do a user's brackets."""
    assert shown(text, terminal=False) == plain
    assert ("\x1b[1m" in shown(text, terminal=True)) is bold
