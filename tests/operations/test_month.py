"""The month for the accountant: which notes are in it, its sums, its three files, and the link to them."""

from __future__ import annotations

import csv
import io
import time
import zipfile
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from lxml import etree
from PIL import Image, ImageColor

from operations import month
from operations.month import LinkOfMonthError, MonthError, csv_of, kept_documents, link_opened, link_token, month_named
from operations.protocol import CommandRefusedError
from persistence.db.engine import Database
from state_machine.cancellation.machine import SituacaoNota
from state_machine.values.local_time import MesOuAno
from tests import stored_work
from tests.stored_work import change, clear

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NOVEMBER = MesOuAno(2026, 11)
CNPJ, OTHER = "11222333000181", "99000002000148"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


async def issued(database: Database, numero: str, company: int | None = None, **columns: Any) -> tuple[int, int]:
    """Store a note of the company, which is ours if none is given; returns its emission and the company."""
    emissao_id, stored = await stored_work.issued(database, numero, company, **columns)
    if company is None:
        await change(database, "empresa", stored, cnpj=CNPJ)
    return emissao_id, stored


async def of(database: Database, company: int, periodo: MesOuAno = NOVEMBER) -> month.Mes:
    async with database.alone() as connection:
        return await month.month_of(connection, company, CNPJ, periodo)


def written(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=";"))


async def test_the_competence_says_the_month(database: Database) -> None:
    """A note of November that was issued in December is November's."""
    _, mine = await issued(database, "7")
    await issued(database, "8", mine, competencia=date(2026, 10, 31))
    await issued(database, "9", mine, competencia=date(2026, 12, 1))
    await change(database, "empresa", mine, cnpj=OTHER)
    await issued(database, "10")
    assert [linha.numero for linha in (await of(database, mine)).notas] == ["7"]
    assert [linha.numero for linha in (await of(database, mine, NOVEMBER.anterior)).notas] == ["8"]


async def test_practice_is_left_out_once_the_company_issues_in_earnest(database: Database) -> None:
    """Of practice alone there is a month too, whose files say what it is."""
    _, mine = await issued(database, "1", ambiente="homologacao")
    assert (await of(database, mine)).nome.endswith("-sem-valor-fiscal")
    await issued(database, "1", mine, ambiente="producao")
    found = await of(database, mine)
    assert (len(found.notas), found.nome) == (1, f"fechamento-{CNPJ}-2026-11")


async def test_notes_of_several_kinds_have_names_and_gaps_of_their_own(database: Database) -> None:
    """One number of two kinds, or of two series of one, is two files, and no gap lies between kinds."""
    _, mine = await issued(database, "1")
    await issued(database, "1", mine, canal="nfce")
    await issued(database, "1", mine, canal="nacional")
    await issued(database, "50", mine, canal="nfe")
    found = await of(database, mine)
    assert found.faltam == ()
    with (await month.zip_of(found, kept_documents(database, ()))).arquivo as packed:
        names = [name.partition("/")[2] for name in zipfile.ZipFile(packed).namelist()]
    assert len({*names}) == len(names)
    assert {"NFSe-1.pdf", "NFCe-1.pdf", "NFe-50.xml"} <= {*names}


async def test_cancelled_and_replaced_notes_are_marked_and_not_summed(database: Database) -> None:
    """One whose cancellation is under way still stands."""
    _, mine = await issued(database, "1")
    await issued(database, "2", mine, status="cancelado", valor_servico=Decimal(7))
    replaced, _ = await issued(database, "3", mine, status="cancelado", valor_servico=Decimal(5))
    await issued(database, "4", mine, substitui_id=replaced, valor_servico=Decimal("10.50"))
    await issued(database, "5", mine, status="cancelamento_pendente", valor_servico=Decimal(1))
    found = await of(database, mine)
    told = {linha.numero: (linha.situacao, linha.substituida_por) for linha in found.notas}
    assert told == {
        "1": ("autorizada", None),
        "2": ("cancelada", None),
        "3": ("substituída", "4"),
        "4": ("autorizada", None),
        "5": ("cancelamento pedido", None),
    }
    assert found.total == Decimal("1511.50")
    pack = await month.zip_of(found, kept_documents(database, ()))
    with pack.arquivo, zipfile.ZipFile(pack.arquivo) as archive:
        names = {name.partition("/")[2] for name in archive.namelist()}
        assert archive.read(f"{found.nome}/NFSe-2-CANCELADA.xml") == b"xml2"
    assert {"NFSe-1.pdf", "NFSe-1.xml", "NFSe-2-CANCELADA.pdf", "NFSe-3-SUBSTITUIDA.xml", "NFSe-5.pdf"} <= names
    assert {f"{found.nome}.csv", f"{found.nome}.xlsx"} <= names
    assert "FALTA.txt" not in names


async def test_numbers_that_no_note_has_are_listed(database: Database) -> None:
    """What stands in another month is not missing; a file that cannot be had is named, too."""
    _, mine = await issued(database, "1")
    await issued(database, "2", mine, competencia=date(2026, 10, 2))
    lost, _ = await issued(database, "5", mine)
    await database.pool.execute("DELETE FROM nfse_documento WHERE emissao_id = $1 AND formato = 'pdf'", lost)
    found = await of(database, mine)
    assert found.faltam == ("3", "4")
    assert [line["Situação"] for line in table(csv_of(found))][-2:] == ["não está na Prosa"] * 2
    pack = await month.zip_of(found, kept_documents(database, ()))
    with pack.arquivo, zipfile.ZipFile(pack.arquivo) as archive:
        missing = archive.read(f"{found.nome}/FALTA.txt").decode()
    assert pack.sem_arquivo == ["NFSe-5.pdf"]
    assert "NFSe-5.pdf" in missing
    assert "3, 4" in missing


async def test_a_drawn_pdf_of_a_cancelled_note_never_goes_without_its_mark(database: Database) -> None:
    """The kept one has none."""
    emissao_id, _ = await issued(database, "1", status="cancelado", canal="nacional", ambiente="producao")
    fetch = kept_documents(database, {"nacional"})
    assert await fetch(emissao_id, "pdf") is None
    assert await fetch(emissao_id, "xml") is not None


async def test_a_note_without_a_pdf_has_its_page_in_the_zip(database: Database) -> None:
    """A text with the address stands in the PDF's place, and nothing is missing."""
    emissao_id, mine = await issued(database, "8", canal="paulistana", ambiente="producao")
    await database.pool.execute("DELETE FROM nfse_documento WHERE emissao_id = $1 AND formato = 'pdf'", emissao_id)
    page = "UPDATE nfse_processada SET url_pdf = 'https://nota.example/8' WHERE emissao_id = $1"
    await database.pool.execute(page, emissao_id)
    found = await of(database, mine)
    pack = await month.zip_of(found, kept_documents(database, (), {"paulistana"}))
    with pack.arquivo, zipfile.ZipFile(pack.arquivo) as archive:
        assert archive.read(f"{found.nome}/NFSe-8.txt") == b"https://nota.example/8\r\n"
    assert pack.sem_arquivo == []


async def test_the_csv_is_a_brazilian_spreadsheets(database: Database) -> None:
    """Semicolons, decimal comma, days as written here, and no cell that is a formula."""
    _, mine = await issued(database, "1", descricao_servico="=1+1", valor_servico=Decimal("1234.50"))
    content = csv_of(await of(database, mine))
    assert content.startswith(b"\xef\xbb\xbf")
    note, total = table(content)
    assert (note["Valor"], note["Emissão"], note["Serviço"]) == ("1234,50", "23/11/2026", "'=1+1")
    assert (note["Competência"], note["ISS retido"]) == ("11/2026", "não")
    assert (total["Número"], total["Valor"]) == ("TOTAL", "1234,50")


async def test_the_workbook_holds_amounts_and_days(database: Database) -> None:
    """A word that looks like a formula, or a number with zeros before it, is a word."""
    _, mine = await issued(database, "0001", descricao_servico="=1+1", valor_servico=Decimal("1234.50"))
    await issued(database, "7", mine, valor_servico=Decimal("10.00"), status="cancelado")
    with zipfile.ZipFile(io.BytesIO(month.xlsx_of(await of(database, mine)))) as archive:
        page = etree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
        words = archive.read("xl/sharedStrings.xml").decode()
    cells = {cell.get("r"): cell for cell in page.iter("{*}c")}
    amount = next(cell for name, cell in cells.items() if name == "H2")
    assert (amount.get("t"), amount.findtext("{*}v")) == (None, "1234.5")
    assert [each.text for each in page.iter("{*}f")] == ['SUMIFS(H2:H3,B2:B3,"<>cancelada",B2:B3,"<>substituída")']
    assert cells["H4"].findtext("{*}v") == "1234.5"
    assert {cells[name].findtext("{*}v") for name in ("A2", "A3") if cells[name].get("t") is None} == {"7"}
    assert "=1+1" in words
    assert "0001" in words
    assert "Competência" in words
    assert "emitida_em" not in words


@pytest.mark.parametrize("many", [0, 1, 400])
async def test_the_picture_has_a_bar_for_each_day_and_customer_that_stands(database: Database, many: int) -> None:
    """A cancelled note has none; the customers beyond eight are one line."""
    _, company = await issued(database, "1", competencia=date(2026, 11, 3))
    [one] = (await of(database, company)).notas
    stand = tuple(
        replace(one, competencia=date(2026, 11, 1 + number % 28), documento=str(number)) for number in range(many)
    )
    off = replace(one, competencia=date(2026, 11, 30), situacao=SituacaoNota.CANCELADA)
    picture = Image.open(io.BytesIO(month.image_of(month.Mes(CNPJ, NOVEMBER, (*stand, off))))).convert("RGB")
    assert picture.width == 1080
    bar = ImageColor.getrgb("#0b6b62")
    columns, rows = range(60, 1020), range(picture.height)
    tall = [x for x in columns if sum(picture.getpixel((x, y)) == bar for y in rows[250:560]) > 200]
    runs = sum(x - 1 not in tall for x in tall)
    assert runs == min(many, 28)
    long = [y for y in rows[600:] if sum(picture.getpixel((x, y)) == bar for x in columns) > 900]
    assert sum(y - 1 not in long for y in long) == min(many, 8)


async def test_the_command_writes_three_files(database: Database, tmp_path: Path) -> None:
    """And says which; what is missing comes after."""
    await issued(database, "1")
    await database.pool.execute("DELETE FROM nfse_documento WHERE formato = 'pdf'")
    fetch = kept_documents(database, ())
    told = await month.close_month(database, fetch, cnpj="11.222.333/0001-81", mes="2026-11", para=tmp_path / "novo")
    assert told[3:] == ["FALTA: NFSe-1.pdf"]
    assert written(tmp_path / "novo") == [f"fechamento-{CNPJ}-2026-11.{end}" for end in ("csv", "xlsx", "zip")]
    empty = await month.close_month(database, fetch, cnpj=CNPJ, mes="2026-01", para=tmp_path)
    assert [name.rpartition(".")[2] for name in empty] == ["zip", "csv", "xlsx"]


@pytest.mark.parametrize(
    ("cnpj", "mes", "why"),
    [
        ("11222333000180", "2026-11", "não é um CNPJ"),
        ("99000001000101", "2026-11", "Nenhuma empresa"),
        (CNPJ, "2026-13", "se escreve como 2026-11"),
        (CNPJ, "novembro", "se escreve como 2026-11"),
    ],
)
async def test_what_names_no_month_of_a_company_writes_nothing(
    database: Database, tmp_path: Path, cnpj: str, mes: str, why: str
) -> None:
    """A sentence says why."""
    await issued(database, "1")
    with pytest.raises(CommandRefusedError, match=why):
        await month.close_month(database, kept_documents(database, ()), cnpj=cnpj, mes=mes, para=tmp_path)
    assert written(tmp_path) == []


async def test_a_place_that_takes_no_file_is_told(database: Database, tmp_path: Path) -> None:
    """Not a directory, for one."""
    await issued(database, "1")
    (tmp_path / "arquivo").write_bytes(b"")
    with pytest.raises(CommandRefusedError, match="Não foi possível gravar"):
        await month.close_month(
            database, kept_documents(database, ()), cnpj=CNPJ, mes="2026-11", para=tmp_path / "arquivo"
        )


async def test_more_notes_than_fit_are_no_month(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a month would mislead."""
    monkeypatch.setattr(month, "MOST", 1)
    _, mine = await issued(database, "1")
    await of(database, mine)
    await issued(database, "2", mine)
    with pytest.raises(MonthError, match="mais de 1 notas"):
        await of(database, mine)


def test_a_link_opens_one_month_of_one_company_for_a_week(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes it holds nothing; while secrets rotate, the former one opens what it sealed."""
    token = link_token(b"old", 7, NOVEMBER)
    assert link_opened([b"new", b"old"], token) == (7, NOVEMBER)
    for wrong in (token[:-2], token + "AA", token.swapcase(), "", "é", "a" * 500):
        with pytest.raises(LinkOfMonthError):
            link_opened([b"old"], wrong)
    with pytest.raises(LinkOfMonthError):
        link_opened([b"new"], token)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 8 * 86_400)
    with pytest.raises(LinkOfMonthError):
        link_opened([b"old"], token)


def test_a_month_is_written_as_year_and_month() -> None:
    """And nothing else."""
    assert month_named("2026-01").anterior == MesOuAno(2025, 12)
    for wrong in ("2026", "2026-1", "2026-00", "1999-01", "2026-11-01"):
        with pytest.raises(MonthError):
            month_named(wrong)
