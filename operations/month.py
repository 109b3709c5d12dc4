"""The month of a company for its accountant: a ZIP with the PDF and the XML of each note, their list, and a picture.

The month is the note's competence. Cancelled and replaced notes are there and marked, and count in no total.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import calendar
import csv
import hashlib
import hmac
import io
import re
import shutil
import string
import time
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, Literal

from operations.protocol import CommandRefusedError
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import history, notes
from persistence.people import channels
from persistence.staff.search import export_rate
from state_machine.cancellation.machine import SituacaoNota, situacao_of
from state_machine.goods import nome_da_nota
from state_machine.invoice.session import file_name
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import Arquivo
from state_machine.values.documents import CNPJ, DocumentoInvalido, formata_documento
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO, MesOuAno
from state_machine.values.money import formata_brl

Formato = Literal["zip", "csv", "xlsx", "png"]
Fetch = Callable[[int, Literal["pdf", "xml"]], Awaitable[object]]
"""Returns a note's document (``Arquivo``) by its emission, or anything else where it can't be had now."""

MIME: Final[dict[Formato, str]] = {
    "zip": "application/zip",
    "csv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "png": "image/png",
}
PAGE_MIME: Final = "text/plain"  # of what stands in the place of a PDF; an XML is application/xml
LINKS: Final = "/fechamento"  # below the public address; masked in ``telemetry/logs.py``
MOST: Final = 5_000  # notes of a month; a ZIP of them has some hundred megabytes
_SPAN: Final = 2_000  # numbers among which gaps are looked for
_IN_MEMORY: Final = 8 * 1024 * 1024  # bytes of a ZIP; what is larger waits on disk
_LINK_DAYS: Final = 7
_MONTH: Final = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")
_FORMULA: Final = (*"=+-@\t\r\n", *"＝＋－＠")
_MONEY: Final = ("valor", "iss_percentual")
_MARK: Final = {SituacaoNota.CANCELADA: "-CANCELADA", SituacaoNota.SUBSTITUIDA: "-SUBSTITUIDA"}


class MonthError(CommandRefusedError):
    """There is no such month, or it has more notes than fit."""

    code = "mes_invalido"


class LinkOfMonthError(ProsaError, LookupError):
    """The link is none of ours, or its days are over."""

    code = "link_do_mes"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotaDoMes:
    """A note of the month. Amounts in BRL."""

    emissao_id: int
    numero: str
    situacao: SituacaoNota
    emitida_em: date
    competencia: date
    cliente: str
    documento: str
    servico: str
    valor: Decimal
    iss_percentual: Decimal | None
    iss_retido: bool
    cancelada_em: date | None
    substituida_por: str | None
    chave: str | None
    tipo: str = nome_da_nota(None)

    @property
    def vale(self) -> bool:
        """Whether it counts in the total."""
        return self.situacao.vale


@dataclass(frozen=True, slots=True)
class Mes:
    """A company's month. ``faltam``: numbers between the first and the last that no note here has."""

    cnpj: str
    periodo: MesOuAno
    notas: tuple[NotaDoMes, ...]
    faltam: tuple[str, ...] = ()
    practice: bool = False

    @property
    def total(self) -> Decimal:
        """The sum of what stands, in BRL."""
        return sum((linha.valor for linha in self.notas if linha.vale), Decimal("0.00"))

    @property
    def nome(self) -> str:
        """What its files are called, without an end."""
        return f"fechamento-{self.cnpj}-{self.periodo.prefixo[:-1]}" + ("-sem-valor-fiscal" * self.practice)


@dataclass(slots=True)
class MonthZip:
    """A ZIP, open at its beginning; the caller closes it. ``sem_arquivo``: names of what could not be had now."""

    arquivo: IO[bytes]
    sem_arquivo: list[str] = field(default_factory=list)


def month_named(texto: str) -> MesOuAno:
    """Read ``2026-11``. Raises ``MonthError``."""
    if (found := _MONTH.fullmatch(texto)) is None:
        raise MonthError(f"“{texto[:20]}” não é um mês: ele se escreve como 2026-11. Nada foi gravado.")
    return MesOuAno(int(found[1]), int(found[2]))


async def month_of(connection: Connection, empresa_id: int, cnpj: str, periodo: MesOuAno) -> Mes:
    """Return a company's month as it stands now. Raises ``MonthError`` for one of more notes than fit."""
    rows = await history.closing(connection, empresa_id, periodo, MOST + 1)
    if len(rows) > MOST:
        raise MonthError(f"{periodo} tem mais de {MOST} notas, e o fechamento para aí. Nada foi gravado.")
    open_ones = [
        numero for tipo in dict.fromkeys(nome_da_nota(row.canal) for row in rows) for numero in _between(rows, tipo)
    ]
    missing = await history.without_note(connection, empresa_id, open_ones) if open_ones else []
    practice = any(row.ambiente == Ambiente.HOMOLOGACAO for row in rows)
    return Mes(cnpj, periodo, tuple(map(_linha, rows)), tuple(missing), practice)


def _between(rows: Sequence[Any], tipo: str) -> list[str]:
    """Return the numbers between a kind's first and last that none of these notes has."""
    told = [row.numero for row in rows if nome_da_nota(row.canal) == tipo]
    numbers = sorted(int(numero) for numero in told if numero.isascii() and numero.isdecimal())
    between = range(numbers[0], numbers[-1]) if numbers and numbers[-1] - numbers[0] <= _SPAN else range(0)
    return [str(number) for number in between if number not in set(numbers)]


def _linha(row: Any) -> NotaDoMes:
    return NotaDoMes(
        emissao_id=row.id,
        numero=row.numero,
        situacao=situacao_of(row.status, row.substituida_por),
        emitida_em=date.fromisoformat(row.dia),
        competencia=row.competencia,
        cliente=row.razao_social or "",
        documento=formata_documento(row.tomador_documento),
        servico=row.descricao_servico,
        valor=row.valor_servico,
        iss_percentual=export_rate(row.bytes),
        iss_retido=bool(row.iss_retido),
        cancelada_em=row.cancelado_em and row.cancelado_em.astimezone(SAO_PAULO).date(),
        substituida_por=row.substituida_por,
        chave=row.chave,
        tipo=nome_da_nota(row.canal),
    )


def sheet(rows: Sequence[dict[str, str]], columns: Sequence[str] | None = None) -> bytes:
    """Return CSV that opens well in Brazilian spreadsheets, and in which no cell is a formula."""
    out = io.StringIO()
    names = list(columns or (rows[0] if rows else ["numero"]))
    writer = csv.DictWriter(out, names, delimiter=";", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"'{value}" if value.startswith(_FORMULA) else value for name, value in row.items()})
    return out.getvalue().encode("utf-8-sig")


def decimal_comma(value: Decimal | None) -> str:
    """Write an amount as a Brazilian spreadsheet reads one: decimal comma, no dots for thousands."""
    return "" if value is None else f"{value:f}".replace(".", ",")


_COLUMNS: Final = {
    "numero": "Número",
    "situacao": "Situação",
    "emitida_em": "Emissão",
    "competencia": "Competência",
    "cliente": "Cliente",
    "documento": "CPF/CNPJ",
    "servico": "Serviço",
    "valor": "Valor",
    "iss_percentual": "ISS %",
    "iss_retido": "ISS retido",
    "cancelada_em": "Cancelada em",
    "substituida_por": "Substituída por",
    "chave": "Chave",
    "tipo": "Documento",
}
_COUNTED: Final = re.compile(r"[1-9][0-9]{0,14}")  # a spreadsheet's number keeps fifteen digits


def _cells(linha: NotaDoMes) -> dict[str, str]:
    told: dict[str, str] = {}
    for name in _COLUMNS:
        value = getattr(linha, name)
        match value:
            case bool():
                told[name] = "sim" if value else "não"
            case date() if name == "competencia":
                told[name] = f"{value:%m/%Y}"
            case date():
                told[name] = f"{value:%d/%m/%Y}"
            case Decimal() | None if name in _MONEY:
                told[name] = decimal_comma(value)
            case _:
                told[name] = value or ""
    return told


def _headed(cells: dict[str, str]) -> dict[str, str]:
    return {_COLUMNS[name]: value for name, value in cells.items()}


def csv_of(mes: Mes) -> bytes:
    """Return the list as CSV: a row a note, the total without cancelled ones, and a row a missing number."""
    rows = [_cells(linha) for linha in mes.notas]
    rows.append({"numero": "TOTAL", "situacao": "sem canceladas", "valor": decimal_comma(mes.total)})
    rows += [{"numero": numero, "situacao": "não está na Prosa"} for numero in mes.faltam]
    return sheet([_headed(row) for row in rows], [*_COLUMNS.values()])


def xlsx_of(mes: Mes) -> bytes:
    """Return the list as a workbook whose numbers, amounts and days are such; so is its total."""
    import xlsxwriter  # noqa: PLC0415 - few processes need it

    out = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(out, options) as book:
        bold, day = book.add_format({"bold": True}), book.add_format({"num_format": "dd/mm/yyyy"})
        month, number = book.add_format({"num_format": "mm/yyyy"}), book.add_format({"num_format": "0"})
        money = book.add_format({"num_format": "#,##0.00"})
        page = book.add_worksheet(mes.periodo.prefixo[:-1])
        page.write_row(0, 0, _COLUMNS.values(), bold)
        for line, linha in enumerate(mes.notas, 1):
            told = _cells(linha)
            for column, name in enumerate(_COLUMNS):
                value = getattr(linha, name)
                if isinstance(value, Decimal):
                    page.write_number(line, column, float(value), money)
                elif isinstance(value, date):
                    page.write_datetime(line, column, value, month if name == "competencia" else day)
                elif name == "numero" and _COUNTED.fullmatch(value):
                    page.write_number(line, column, int(value), number)
                else:
                    page.write_string(line, column, told[name])
        end, amount = len(mes.notas) + 1, [*_COLUMNS].index("valor")
        page.write_string(end, 0, "TOTAL", bold)
        page.write_string(end, 1, "sem canceladas", bold)
        letter, sums = string.ascii_uppercase[amount], book.add_format({"bold": True, "num_format": "#,##0.00"})
        stands = "".join(f',B2:B{end},"<>{each}"' for each in _MARK)
        total = f"=SUMIFS({letter}2:{letter}{end}{stands})" if mes.notas else "=0"
        page.write_formula(end, amount, total, sums, float(mes.total))
        for line, numero in enumerate(mes.faltam, end + 1):
            page.write_row(line, 0, (numero, "não está na Prosa"))
        page.freeze_panes(1, 0)
        page.autofilter(0, 0, max(1, len(mes.notas)), len(_COLUMNS) - 1)
        page.autofit(300)
    return out.getvalue()


_WIDTH: Final = 1080  # pixels; a phone shows a picture of the chat at about a third of it
_EDGE, _DAYS_HIGH, _ROW_HIGH = 60, 260, 62  # pixels: around everything, of the longest bar of a day, of a customer
_CUSTOMERS: Final = 8  # bars; the rest is one line
_NAME_LONG: Final = 38  # characters of a customer's name
_PAPER, _INK, _SOFT, _BAR, _ALERT = "#ffffff", "#1c2624", "#5d6b68", "#0b6b62", "#b3261e"


def image_of(mes: Mes) -> bytes:
    """Return a picture of what stands: bars by day of the competence, and by customer, who paid most first."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - few processes need it

    days, ranked = _by_day_and_customer(mes)
    shown, rest = ranked[:_CUSTOMERS], ranked[_CUSTOMERS:]
    top = _EDGE + 150 + 50 * mes.practice
    below = top + 60 + _DAYS_HIGH + 110
    high = below + 60 + _ROW_HIGH * len(shown) + 50 * bool(rest) if shown else top + 40
    image = Image.new("RGB", (_WIDTH, high + _EDGE), _PAPER)
    draw = ImageDraw.Draw(image)
    face = resources.files("barcode") / "fonts" / "DejaVuSansMono.ttf"  # Pillow's own face lacks accents

    def write(x: int, y: int, said: str, *, size: int = 26, fill: str = _INK, anchor: str = "la") -> None:
        draw.text((x, y), said, fill, _face(size), anchor)

    @cache
    def _face(size: int) -> ImageFont.FreeTypeFont:
        return ImageFont.truetype(io.BytesIO(face.read_bytes()), size)

    right, standing = _WIDTH - _EDGE, sum(nota.vale for nota in mes.notas)
    write(_EDGE, _EDGE, str(mes.periodo).capitalize(), size=44)
    said = f"{standing} {'nota' if standing == 1 else 'notas'} · {formata_brl(mes.total)}" if shown else "Nenhuma nota"
    off = len(mes.notas) - standing
    write(_EDGE, _EDGE + 72, said + (f" · sem {off} cancelada{'s' * (off > 1)}" if off else ""), size=28)
    if mes.practice:
        write(_EDGE, _EDGE + 124, "Homologação: notas sem valor fiscal", size=26, fill=_ALERT)
    if shown:
        _draw_days(draw, write, mes.periodo, days, top)
        write(_EDGE, below, "Por cliente", fill=_SOFT)
    for line, (nome, valor) in enumerate(shown):
        y = below + 50 + line * _ROW_HIGH
        write(_EDGE, y, nome if len(nome) <= _NAME_LONG else nome[: _NAME_LONG - 1] + "…", size=24)
        write(right, y, formata_brl(valor), size=24, anchor="ra")
        draw.rectangle((_EDGE, y + 34, _EDGE + max(4, int((right - _EDGE) * valor / shown[0][1])), y + 44), _BAR)
    if rest:
        more = f"mais {len(rest)} {'cliente' if len(rest) == 1 else 'clientes'}"
        write(_EDGE, high - 40, more, size=24, fill=_SOFT)
        write(
            right,
            high - 40,
            formata_brl(sum((valor for _, valor in rest), Decimal())),
            size=24,
            fill=_SOFT,
            anchor="ra",
        )
    out = io.BytesIO()
    image.quantize(32).save(out, "PNG", optimize=True)
    return out.getvalue()


def _by_day_and_customer(mes: Mes) -> tuple[Counter[int], list[tuple[str, Decimal]]]:
    """Sum what stands by day of the month, in centavos, and by customer in BRL, the largest first."""
    days, customers, names = Counter[int](), dict[str, Decimal](), dict[str, str]()
    for nota in (each for each in mes.notas if each.vale):
        days[nota.competencia.day] += int(nota.valor * 100)
        customers[nota.documento] = customers.get(nota.documento, Decimal()) + nota.valor
        names[nota.documento] = " ".join(nota.cliente.split()) or nota.documento
    return days, sorted(((names[each], soma) for each, soma in customers.items()), key=lambda each: -each[1])


def _draw_days(draw: Any, write: Callable[..., None], periodo: MesOuAno, days: Counter[int], top: int) -> None:
    """Draw a bar for each day, and the largest sum over its own."""
    write(_EDGE, top, "Por dia", fill=_SOFT)
    last = calendar.monthrange(periodo.ano, periodo.mes or 1)[1]
    floor, slot, most = top + 100 + _DAYS_HIGH, (_WIDTH - 2 * _EDGE) / last, max(days.values())
    for day in range(1, last + 1):
        left = int(_EDGE + (day - 1) * slot)
        if days[day]:
            tall = max(4, _DAYS_HIGH * days[day] // most)
            draw.rectangle((left + 3, floor - tall, int(left + slot) - 3, floor), _BAR)
        if day == 1 or day % 5 == 0:
            write(int(left + slot / 2), floor + 12, str(day), size=22, fill=_SOFT, anchor="ma")
    draw.line((_EDGE, floor, _WIDTH - _EDGE, floor), _SOFT, 2)
    best = _EDGE + (max(days, key=days.__getitem__) - 0.5) * slot
    anchor = "lb" if best < _WIDTH / 4 else "rb" if best > _WIDTH * 3 / 4 else "mb"
    beside = {"l": -slot / 2, "m": 0, "r": slot / 2}[anchor[0]]
    write(int(best + beside), floor - _DAYS_HIGH - 10, formata_brl(Decimal(most) / 100), size=22, anchor=anchor)


async def zip_of(mes: Mes, fetch: Fetch) -> MonthZip:
    """Return the ZIP: the list in both forms, each note's PDF and XML, and what is missing in a text of its own."""
    pack = MonthZip(SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - the caller closes it
    try:
        with zipfile.ZipFile(pack.arquivo, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{mes.nome}/{mes.nome}.csv", csv_of(mes))
            archive.writestr(f"{mes.nome}/{mes.nome}.xlsx", xlsx_of(mes))
            for linha in mes.notas:
                for formato in ("pdf", "xml"):
                    name = marked_name(linha.numero, linha.situacao, formato, linha.tipo)
                    found = await fetch(linha.emissao_id, formato)
                    if isinstance(found, Arquivo):
                        path = f"{mes.nome}/{named(name, found)}"
                        if path in archive.NameToInfo:  # numbers of another series or channel
                            path = f"{mes.nome}/{linha.emissao_id}-{named(name, found)}"
                        archive.writestr(path, found.conteudo)
                    else:
                        pack.sem_arquivo.append(name)
            if missing := _missing(mes, pack):
                archive.writestr(f"{mes.nome}/FALTA.txt", missing)
    except BaseException:
        pack.arquivo.close()
        raise
    pack.arquivo.seek(0)
    return pack


def marked_name(numero: str, situacao: SituacaoNota, formato: Literal["pdf", "xml"], tipo: str) -> str:
    """Return what a note's file is called; that it does not stand is in its name."""
    stem, _, end = file_name(numero, formato, tipo).rpartition(".")
    return f"{stem}{_MARK.get(situacao, '')}.{end}"


def _missing(mes: Mes, pack: MonthZip) -> str:
    lines = []
    if pack.sem_arquivo:
        lines += ["Arquivos que o emissor não entregou agora; peça de novo mais tarde:", *pack.sem_arquivo, ""]
    if mes.faltam:
        lines += ["Números sem nota na Prosa, entre o primeiro e o último do mês:", ", ".join(mes.faltam), ""]
    return "\r\n".join(lines)


def page_file(endereco: str) -> Arquivo:
    """Return a text with the address where a note is shown, in the place of a PDF that its channel does not give."""
    return Arquivo(f"{endereco}\r\n".encode(), PAGE_MIME)


def named(name: str, arquivo: Arquivo) -> str:
    """Return a file's name, with the end that a text in the place of a PDF has."""
    return f"{name.rpartition('.')[0]}.txt" if arquivo.mime == PAGE_MIME else name


def kept_documents(database: Database, drawn: Collection[str], shown: Collection[str] = ()) -> Fetch:
    """Return what fetches documents that we hold already; ``drawn``: channels whose PDF we draw, from their XML.

    A drawn PDF of a cancelled note is not among them: the kept one lacks its mark. ``shown``: channels without PDFs,
    whose notes have a page.
    """

    async def fetch(emissao_id: int, formato: Literal["pdf", "xml"]) -> Arquivo | None:
        async with database.alone() as connection:
            kept = await notes.document(connection, emissao_id, formato)
        if formato == "pdf" and kept.canal.nome in shown and kept.endereco:
            return page_file(kept.endereco)
        return None if formato == "pdf" and kept.cancelada and kept.canal.nome in drawn else kept.documento

    return fetch


async def file_of(mes: Mes, formato: Formato, fetch: Fetch) -> IO[bytes]:
    """Return one of the month's files, open at its beginning; the caller closes it."""
    if formato == "zip":
        return (await zip_of(mes, fetch)).arquivo
    made = {"csv": csv_of, "xlsx": xlsx_of, "png": image_of}[formato]
    return io.BytesIO(await asyncio.to_thread(made, mes))


async def close_month(database: Database, fetch: Fetch, *, cnpj: str, mes: str, para: Path) -> list[str]:
    """Write the month's ZIP, CSV and XLSX into a directory and return their names, then what is missing.

    Raises ``CommandRefusedError``.
    """
    periodo = month_named(mes)
    try:
        numero = CNPJ(cnpj).numero
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{cnpj} não é um CNPJ válido. Nada foi gravado.") from error
    async with database.alone() as connection:
        empresa = await channels.company(connection, numero)
        if empresa is None:
            raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}. Nada foi gravado.")
        found = await month_of(connection, empresa.id, numero, periodo)
    pack = await zip_of(found, fetch)
    try:
        paths = await asyncio.to_thread(_written, found, pack, para)
    except OSError as error:
        raise CommandRefusedError(f"Não foi possível gravar em {para}: {error.strerror}.") from error
    missing = [f"FALTA: {name}" for name in pack.sem_arquivo]
    if found.faltam:
        missing.append(f"FALTA: números sem nota na Prosa: {', '.join(found.faltam)}")
    return [*map(str, paths), *missing]


def _written(mes: Mes, pack: MonthZip, para: Path) -> list[Path]:
    para.mkdir(parents=True, exist_ok=True)
    paths = [para / f"{mes.nome}.{end}" for end in ("zip", "csv", "xlsx")]
    with pack.arquivo, paths[0].open("wb") as out:
        shutil.copyfileobj(pack.arquivo, out)
    paths[1].write_bytes(csv_of(mes))
    paths[2].write_bytes(xlsx_of(mes))
    return paths


def link_token(secret: bytes, empresa_id: int, periodo: MesOuAno) -> str:
    """Return a token that opens this company's month for a week, whoever holds it."""
    said = f"{empresa_id}|{periodo.prefixo[:-1]}|{int(time.time()) + _LINK_DAYS * 86_400}".encode()
    return base64.urlsafe_b64encode(said + b"|" + _sealed(secret, said)).decode().rstrip("=")


def link_opened(secrets: Sequence[bytes], token: str) -> tuple[int, MesOuAno]:
    """Return the company's id and the month of a token. Raises ``LinkOfMonthError``."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        said, seal = raw[: -_SEAL - 1], raw[-_SEAL:]
        if not any(hmac.compare_digest(_sealed(secret, said), seal) for secret in secrets):
            raise LinkOfMonthError
        empresa_id, month, until = said.decode("ascii").split("|")
        if int(until) < time.time():
            raise LinkOfMonthError
        return int(empresa_id), month_named(month)
    except (binascii.Error, ValueError) as error:
        raise LinkOfMonthError from error


_SEAL: Final = 32  # bytes


def _sealed(secret: bytes, said: bytes) -> bytes:
    return hmac.digest(secret, b"fechamento|" + said, hashlib.sha256)
