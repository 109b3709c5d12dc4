"""A company that sells goods, and its products, by command."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from persistence.db.engine import Database

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bot.cli.conftest import Prosa

CNPJ = "99.000.003/0001-92"
ADD = (
    *(
        "empresa",
        "add",
        f"--cnpj={CNPJ}",
        "--razao-social=DOCES LTDA",
        "--inscricao-municipal=1",
        "--municipio=3550308",
    ),
    *("--canal=nfe", "--canal=nfce", "--usuario=+5511955550009"),
)
IE = "--inscricao-estadual=110042490114"
TOKEN = "ABCDEF0123456789ABCDEF0123456789"


def _ask(database_url: str, query: str) -> object:
    async def ask() -> object:
        database = await Database.open(database_url, size=1)
        try:
            return await database.pool.fetchval(query)
        finally:
            await database.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--regime=normal", IE), "regime normal"),
        (("--regime=simples",), "--inscricao-estadual"),
        (("--regime=simples", "--inscricao-estadual=ISENTO"), "--inscricao-estadual"),
        (("--regime=simples", IE, "--csc=semtoken"), "--csc"),
        (("--regime=simples", IE, "--serie-nfe=890"), "--serie-nfe"),
        (("--regime=simples", IE, "--primeiro-nfce=0"), "--primeiro-nfce"),
        (("--regime=simples", IE, "--canal=nfse_de_marte"), "--canal"),
        (("--regime=simples", IE, "--canal=nacional", "--canal=paulistana"), "um só para serviços"),
    ],
)
def test_a_seller_that_cannot_issue_is_refused(
    prosa: Prosa, database_url: str, words: tuple[str, ...], said: str
) -> None:
    """With a sentence, and nothing of the company is kept."""
    refused = prosa(*ADD, *words, PROSA_CNPJ_API_URL="http://127.0.0.1:9")
    assert refused.returncode != 0
    assert said in refused.stdout + refused.stderr
    assert _ask(database_url, "SELECT count(*) FROM empresa WHERE cnpj = '99000003000192'") == 0


def test_a_seller_and_its_products(prosa: Prosa, database_url: str, tmp_path: Path) -> None:
    """Both channels are chosen, the CSC is taken and not kept, a list is kept whole or not at all."""
    added = prosa(*ADD, "--regime=simples", IE, f"--csc=1:{TOKEN}", PROSA_CNPJ_API_URL="http://127.0.0.1:9")
    assert added.returncode == 0, added.stdout + added.stderr
    assert "endereço" in added.stdout
    chosen = "SELECT string_agg(canal, ' ' ORDER BY canal) FROM empresa_canal WHERE tipo <> 'servico'"
    assert _ask(database_url, chosen) == "nfce nfe"
    assert TOKEN not in str(_ask(database_url, "SELECT to_jsonb(c)::text FROM empresa_comercio c"))
    assert TOKEN not in str(_ask(database_url, "SELECT string_agg(to_jsonb(a)::text, '') FROM auditoria a"))
    assert TOKEN not in added.stdout + added.stderr

    file = tmp_path / "produtos.csv"
    header = "codigo;texto;ncm;cfop;csosn;unidade;preco"
    file.write_text(f"{header}\nB1;Bolo de pote;19059090;5102;102;UN;12,00\nB2;Brigadeiro;1;5102;102;UN;4,50\n")
    refused = prosa("produtos", "importar", CNPJ, str(file))
    assert refused.returncode != 0
    assert "linha 3, ncm" in refused.stdout + refused.stderr
    assert _ask(database_url, "SELECT count(*) FROM produtos") == 0
    file.write_text(f"{header}\nB1;Bolo de pote;19059090;5102;102;UN;12,00\n")
    assert prosa("produtos", "importar", CNPJ, str(file)).returncode == 0
    assert _ask(database_url, "SELECT preco::text FROM produtos") == "12.00"
    gone = prosa("produtos", "importar", CNPJ, str(tmp_path / "nada.csv"))
    assert gone.returncode != 0
    assert "nada.csv" in gone.stdout + gone.stderr
