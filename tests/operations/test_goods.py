"""What a list of products may be, and that of one that is not kept whole nothing is kept."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import openpyxl
import pytest

from gateway.registry import REGISTRY
from operations.company import add_company
from operations.goods import import_file, read_list
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from persistence.people.goods import MOST
from proofs.demo.world import COMPANY

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "codigo;texto;ncm;cfop;csosn;unidade;preco"
ROW = "B1;Bolo de pote;19059090;5102;102;UN;12,00"
GOOD = f"{HEADER}\n{ROW}"
CELLS: list[Any] = ["B1", "Bolo de pote", 19059090, 5102, 102, "UN", 12]


def _sheet(*rows: list[Any], merged: str | None = None) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (HEADER.split(";"), *rows):
        sheet.append(row)
    if merged:
        sheet.merge_cells(merged)
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        GOOD.encode(),
        f"\ufeff{GOOD}".encode(),
        GOOD.replace("Bolo", "Pão").encode("cp1252"),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("Bolo de", '"Bolo\nde').replace("pote", 'pote"').encode(),
        _sheet(CELLS),
    ],
    ids=["csv", "bom", "cp1252", "crlf", "quoted newline", "xlsx"],
)
def test_a_list_is_read_as_people_save_it(content: bytes) -> None:
    """Whatever program wrote it."""
    [made] = read_list("lista", content, "simples")
    assert (made.codigo, made.ncm, f"{made.preco}") == ("B1", "19059090", "12.00")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace(";", "\t").encode(), "pede as colunas"),
        (GOOD.encode("utf-16"), "pede as colunas"),
        (b"", "pede as colunas"),
        (HEADER.encode(), "nenhum produto"),
        (f"{HEADER};preco\n{ROW};99,00".encode(), "coluna preco vem mais de uma vez"),
        (f"{GOOD}\n{ROW}".encode(), "linha 3, codigo"),
        (GOOD.replace("12,00", "1.200").encode(), "linha 2, preco"),  # 1,20, or 1200,00
        (GOOD.replace("12,00", "12,005").encode(), "linha 2, preco"),
        (GOOD.replace("12,00", "NaN").encode(), "linha 2, preco"),
        (GOOD.replace("Bolo", "Bo\0lo").encode(), "linha 2, texto"),
        (GOOD.replace("19059090", "1,90591E+07").encode(), "linha 2, ncm"),
        (GOOD.replace("Bolo", '"Bolo').encode() + b"\nB2;x", "linha 2, ncm"),  # the quote never ends
        (GOOD.replace("Bolo", "B" * 200_000).encode(), "CSV"),
        (_sheet([*CELLS[:6], "=6*2"]), "linha 2, preco"),
        (_sheet(CELLS, ["B2", *CELLS[1:]], merged="G2:G3"), "linha 3, preco"),
        (b"PK\x03\x04nothing", "XLSX"),
        ("\n".join([HEADER, *(ROW.replace("B1", f"B{n}") for n in range(MOST + 1))]).encode(), f"mais de {MOST}"),
        (_sheet(*(["B" + str(n), *CELLS[1:]] for n in range(MOST + 1))), f"mais de {MOST}"),
    ],
)
def test_a_list_that_is_not_whole_is_refused_with_a_sentence(content: bytes, said: str) -> None:
    """It names the row and the field, where there is one."""
    with pytest.raises(CommandRefusedError, match=said) as refused:
        read_list("lista", content, "simples")
    assert "Nada mudou" in str(refused.value)


async def test_nothing_of_a_refused_list_is_kept(database_url: str, tmp_path: Path) -> None:
    """Not even its good rows; a whole one is kept."""
    form = replace(
        COMPANY,
        usuarios=(),
        cnpj="99.000.002/0001-48",
        regime="simples",
        mercado=("nfe",),
        inscricao_estadual="110042490114",
    )
    database = await Database.open(database_url, size=1)
    try:
        await add_company(database, form, None, REGISTRY)
        file = tmp_path / "lista.csv"
        file.write_text(f"{GOOD}\nB2;Brigadeiro;19059090;5102;102;UN;zero")
        with pytest.raises(CommandRefusedError, match="linha 3, preco"):
            await import_file(database, form.cnpj, file)
        count = "SELECT count(*) FROM produtos p JOIN empresa e ON e.id = p.empresa_id WHERE e.cnpj = '99000002000148'"
        assert await database.pool.fetchval(count) == 0
        file.write_text(GOOD)
        assert "1 produtos" in (await import_file(database, form.cnpj, file))[0]
        assert await database.pool.fetchval(count) == 1
        file.write_text(GOOD.replace("B1;", "B9;"))
        with pytest.raises(CommandRefusedError, match="Dois produtos teriam o nome"):
            await import_file(database, form.cnpj, file)
        assert await database.pool.fetchval(count) == 1
    finally:
        await database.close()
