"""The commands about service codes as a person runs them."""

from __future__ import annotations

from typer.testing import CliRunner

from bot.cli.__main__ import app


def test_everyday_words_list_codes_with_their_texts():
    """The likeliest first, each with the words that speak for it, and where the list comes from."""
    said = CliRunner().invoke(app, ["servico", "conserto", "de", "celular", "--quantos", "2"])
    assert said.exit_code == 0
    first, *_, table, advice = said.output.splitlines()
    assert first.startswith("14.01.01  Lubrificação, limpeza")
    assert first.endswith("[conserto, celular]")
    assert table == "Lista nacional de 337 códigos, Anexo I versão 1.01 de 2026-02-09."
    assert "contabilidade" in advice


def test_words_that_mean_no_code_say_so():
    """Nothing is guessed."""
    said = CliRunner().invoke(app, ["servico", "xyzw"])
    assert said.exit_code == 0
    assert "Nenhum código tem essas palavras" in said.output
