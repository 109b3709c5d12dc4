"""The commands about keys of the API as an operator or a script runs them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bot.cli.conftest import Prosa

CNPJ = "12.345.678/0001-95"
ADD = ("empresa", "add", "--cnpj", CNPJ, "--razao-social", "Padaria", "--inscricao-municipal", "1")


def test_a_key_is_alone_on_standard_output(prosa: Prosa) -> None:
    """A script takes what is printed as it is; later the key is listed and revoked by its beginning."""
    assert prosa(*ADD, "--municipio", "3550308", "--usuario", "+5511987654321").returncode == 0
    made = prosa("api", "chave", "criar", "--empresa", CNPJ, "--escopo", "propostas:escrever")
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"prosa_live_[A-Za-z0-9_-]{43}\n", made.stdout)
    listed = prosa("api", "chave", "listar", "--empresa", CNPJ)
    assert listed.stdout.startswith(made.stdout[:19])
    assert made.stdout.strip() not in listed.stdout
    assert prosa("api", "chave", "revogar", made.stdout[:19]).returncode == 0
    refused = prosa("api", "chave", "revogar", made.stdout[:19])
    assert (refused.returncode, refused.stdout) == (1, "")


def test_the_approver_is_chosen_among_the_company_s_people(prosa: Prosa) -> None:
    """Without a phone it is only said who approves."""
    assert prosa(*ADD, "--municipio", "3550308", "--usuario", "+5511987654321").returncode == 0
    shown = prosa("api", "aprovador", "--empresa", CNPJ)
    assert "+5511987654321, como primeira pessoa" in shown.stdout
    chosen = prosa("api", "aprovador", "--empresa", CNPJ, "--telefone", "+5511987654321")
    assert (chosen.returncode, "primeira pessoa" in chosen.stdout) == (0, False)
    assert prosa("api", "aprovador", "--empresa", CNPJ, "--telefone", "+5511900000000").returncode == 1
