"""Reads a list of addresses: a CSV of any Brazilian dialect becomes rows, or is refused whole.

E-mail addresses: how one is written so that two spellings of it compare equal.

The words of a mail: those of its row or else its batch, with the row's columns in their places.

The mail that carries a customer's notes of a month: which month, and the words.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from email_validator import EmailNotValidError, validate_email

from state_machine.values.errors import ProsaError
from state_machine.values.local_time import MesOuAno
from state_machine.values.money import formata_brl
from state_machine.values.text import single_line


class NotAnAddressError(ProsaError, ValueError):
    """What stands there is no address to which a mail may go."""

    code = "email_invalido"


LONGEST_ADDRESS: Final = 320  # characters as somebody writes one, with a name before it; an address has 254


def normalised(text: str) -> str:
    """Return the address in lower case, its domain as IDNA writes it. Raises ``NotAnAddressError``.

    What nobody sees, a name before it and ``mailto:`` are no part of it. Nobody is asked whether the domain exists.
    Letters outside ASCII before the @ are refused, as few servers take them, and what a mail reads as encoded.
    """
    written = single_line(text[: LONGEST_ADDRESS + 1])
    if written.endswith(">") and written.count("<") == 1:
        written = written.partition("<")[2][:-1].strip()
    if written[:7].lower() == "mailto:":
        written = written[7:]
    try:
        if len(text) > LONGEST_ADDRESS or "=?" in written:
            raise NotAnAddressError("não é um endereço de e-mail")
        found = validate_email(written, check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError as error:
        raise NotAnAddressError("não é um endereço de e-mail") from error
    return f"{found.local_part}@{found.ascii_domain}".lower()


ASSUNTO_MAX: Final = 200  # characters; programs show fewer than 80
MENSAGEM_MAX: Final = 20_000  # characters: pages of text, and bounds the memory of one mail
ASSUNTO, MENSAGEM = "assunto", "mensagem"  # columns that hold a row's own words
PLACE_MAX: Final = 60  # characters of a column's name that a text can call for
_PLACE: Final = re.compile(rf"\{{([^{{}}\n]{{1,{PLACE_MAX}}})\}}")


def templates_of(assunto: str | None, mensagem: str | None, dados: Mapping[str, str]) -> tuple[str, str]:
    """Return subject and text before columns stand in their places: the row's own, or else its batch's; or empty."""
    return (dados.get(ASSUNTO) or assunto or "").strip(), (dados.get(MENSAGEM) or mensagem or "").strip()


@lru_cache(maxsize=8)  # those of a batch are asked about for each of its rows
def places(template: str) -> Counter[str]:
    """Return how often a text calls for which column."""
    return Counter(name for place in _PLACE.finditer(template) if (name := _name(place)))


def length_of(template: str, dados: Mapping[str, str]) -> int:
    """Return a length that the filled text does not exceed, without building it: places times cells is a product."""
    return len(template) + sum(
        times * (len(dados[name]) - len(f"{{{name}}}")) for name, times in places(template).items()
    )


def text_of(assunto: str | None, mensagem: str | None, dados: Mapping[str, str]) -> tuple[str, str]:
    """Return subject and text; one that nobody gave is empty. ``{nome}`` stands for the row's column ``nome``.

    A row whose text calls for what it lacks is none that a mail goes to: the reading says so.
    """
    subject, text = (_filled(template, dados) for template in templates_of(assunto, mensagem, dados))
    return single_line(subject), text.strip()


def reason(empresa: str, *, contador: bool = False) -> str:
    """Return why a mail came (LGPD, art. 9); ``contador``: to who keeps the company's books."""
    return f"Você recebe este e-mail porque {'cuida da contabilidade' if contador else 'é cliente'} de {empresa}."


def _filled(template: str, dados: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: dados.get(_name(place), place[0]), template)


def _name(place: re.Match[str]) -> str:
    return " ".join(place[1].split()).casefold()


COMPETENCIA: Final = "competencia"  # columns that say which month's notes go, and whose
DOCUMENTO: Final = "documento"
MOST_NOTES: Final = 20  # of one mail: their PDFs and XMLs are a few megabytes, and mail servers take some ten
_DOCUMENT_WRITTEN: Final = 20  # characters, with marks and spaces
_MONTH: Final = re.compile(
    r"(?P<ano>20\d\d)-(?P<mes>0[1-9]|1[0-2])|(?P<outro_mes>0?[1-9]|1[0-2])/(?P<outro_ano>20\d\d)"
)


class NotAMonthError(ProsaError, ValueError):
    """What stands in the column is no month."""

    code = "competencia_invalida"


class NotADocumentError(ProsaError, ValueError):
    """What stands in the column is no document."""

    code = "documento_longo"


@dataclass(frozen=True, slots=True)
class MailedNote:
    """A note that goes with a mail."""

    emissao_id: int
    numero: str
    valor: Decimal


def month_of(dados: Mapping[str, str]) -> MesOuAno | None:
    """Return the month that a row names, ``2026-11`` or ``11/2026``; ``None``: it names none.

    Raises ``NotAMonthError``.
    """
    written = dados.get(COMPETENCIA) or dados.get("competência")
    if not written:
        return None
    found = _MONTH.fullmatch(written)
    if found is None:
        raise NotAMonthError("tem uma competência que não é um mês como 2026-11")
    return MesOuAno(int(found[1] or found[4]), int(found[2] or found[3]))


def document_of(dados: Mapping[str, str]) -> str | None:
    """Return the document that a row names, without its marks; ``None``: it names none.

    Raises ``NotADocumentError`` for what is longer than one.
    """
    written = dados.get(DOCUMENTO, "")
    if len(written) > _DOCUMENT_WRITTEN:
        raise NotADocumentError("tem um documento que não é CPF nem CNPJ")
    return "".join(character for character in written if character.isalnum()).upper() or None


def words(mes: MesOuAno, notas: Sequence[MailedNote], assunto: str | None) -> dict[str, str]:
    """Return the columns that a row gets for these notes: the text, and the subject where it has none."""
    many = len(notas) > 1
    listed = "\n".join(f"Nota {nota.numero}: {formata_brl(nota.valor)}" for nota in notas)
    greeting = "Seguem as suas notas fiscais de serviço" if many else "Segue a sua nota fiscal de serviço"
    said = {MENSAGEM: f"Olá!\n\n{greeting} de {mes}, em PDF e XML.\n\n{listed}"}
    return said if assunto else {ASSUNTO: f"{'Suas notas fiscais' if many else 'Sua nota fiscal'} de {mes}", **said}


def problem(mes: MesOuAno, notas: Sequence[MailedNote]) -> dict[str, str] | None:
    """Return why these notes make no mail, as it is stored and shown; ``None``: they do."""
    if not notas:
        return {"codigo": "sem_notas", "detalhe": f"não tem texto, e não há notas de {mes} deste cliente"}
    if len(notas) > MOST_NOTES:
        return {"codigo": "notas_demais", "detalhe": f"tem {len(notas)} notas em {mes}; um e-mail leva {MOST_NOTES}"}
    return None


LARGEST: Final = 10 * 1024 * 1024  # bytes of a file
MOST_ROWS: Final = 10_000
MOST_COLUMNS: Final = 50
LONGEST: Final = 500_000  # characters of one row: what is split by one call, in ten milliseconds
CELL_MAX: Final = MENSAGEM_MAX  # characters of one cell: nothing longer has a place in a mail
NAME_MAX: Final = 255  # characters of a file's name
REVISAO: Final = 12  # hex digits: a person types it; it binds a yes, and keeps no secret
SEPARATORS: Final = (";", ",", "\t", "|")
_SUFFIXES: Final = (".csv", ".tsv", ".txt")
_OTHER_FILES: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF", b"\x1f\x8b")  # xlsx and ods, xls, pdf, gzip
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_PIECE: Final = 64 * 1024  # characters that are decoded at once
# Letters of UTF-8 that were read as Windows-1252, and bytes that this one does not know.
_HIGH: Final = bytes(range(0x80, 0xC0)).decode("cp1252", "ignore")
_OTHER_ENCODING: Final = re.compile(f"[ÂÃ][{re.escape(_HIGH)}]|â€|[\udc80-\udcff]")
_EMAIL: Final = frozenset({"email", "e-mail"})
# What a spreadsheet shows where a formula found nothing, or a column is narrow.
_SHEET_ERROR: Final = re.compile(r"#(?:N/[AD]|[A-ZÀ-Ý/0]+[!?]|#+)|Err:\d{3}")


class ListRefusedError(ProsaError, ValueError):
    """A file that is no list: nothing of it is stored. ``codigo`` names the problem, ``status`` is that of HTTP."""

    code = "list_refused"

    def __init__(self, codigo: str, status: int, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.status = status


@dataclass(frozen=True, slots=True)
class LinhaLida:
    """One row: ``linha`` as a spreadsheet program numbers it, ``dados`` the columns besides the address.

    ``email`` is normalised; where it is no address, as it was written. ``chave`` is what makes it one row of its batch;
    ``problema`` (codigo, detalhe) says why no mail goes to it. ``notas``: it has no text, so its customer's notes go.
    """

    linha: int
    chave: str
    email: str | None
    dados: Mapping[str, str]
    problema: tuple[str, str] | None = None
    notas: bool = False


@dataclass(slots=True)
class ListaLida:
    """What was read: the rows in their order, and how many had no cell, or the cells of one above."""

    sha256: str
    revisao: str = ""
    linhas: list[LinhaLida] = field(default_factory=list)
    ignoradas: int = 0
    iguais: int = 0

    @property
    def total(self) -> int:
        """Rows below the header."""
        return len(self.linhas) + self.ignoradas + self.iguais

    @property
    def has_notes(self) -> bool:
        """Whether some of the mails carry notes."""
        return any(linha.notas for linha in self.linhas)


def read(nome: str, content: bytes, assunto: str | None, mensagem: str | None) -> ListaLida:
    """Read a whole file. Raises ``ListRefusedError``.

    Takes seconds of a large one and leaves the interpreter to others between cells: call it in a thread.
    """
    _check_file(nome, content)
    found = ListaLida(hashlib.sha256(content).hexdigest())
    digest = hashlib.sha256(repr((assunto, mensagem)).encode())
    seen: dict[str, LinhaLida] = {}
    for number, cells in _records(content):
        if not any(cells.values()):
            found.ignoradas += 1
        else:
            linha = _row(number, cells, assunto, mensagem)
            same = seen.setdefault(linha.chave, linha)
            if same is not linha and same.dados == linha.dados:
                found.iguais += 1
            else:
                if same is not linha:
                    said = f"tem o endereço da linha {same.linha}, e outros dados"
                    linha = _invalid(number, dict(linha.dados), "endereco_repetido", said, linha.email)
                found.linhas.append(linha)
                digest.update(repr((linha.linha, linha.chave, sorted(linha.dados.items()))).encode())
        if found.total > MOST_ROWS:
            raise ListRefusedError("linhas_demais", 422, f"tem mais de {MOST_ROWS} linhas")
    if not found.linhas:
        raise ListRefusedError("lista_vazia", 422, "não tem nenhuma linha além do cabeçalho")
    found.revisao = digest.hexdigest()[:REVISAO]
    return found


def _check_file(nome: str, content: bytes) -> None:
    if len(content) > LARGEST:
        raise ListRefusedError("arquivo_grande", 413, "tem mais de 10 MB")
    if not nome.lower().endswith(_SUFFIXES):
        raise ListRefusedError("tipo_de_arquivo", 415, "não é um arquivo .csv")
    if len(nome) > NAME_MAX or not nome.isprintable():
        raise ListRefusedError("nome_de_arquivo", 422, f"tem um nome de mais de {NAME_MAX} caracteres, ou ilegível")
    if content.startswith(_OTHER_FILES) or (b"\0" in content and not content.startswith(_UTF16)):
        raise ListRefusedError("conteudo_nao_e_csv", 415, "tem nome de .csv, e conteúdo de outro tipo")


class _Lines:
    """The lines of a file, decoded piece by piece: one call on 10 MB would keep every other thread waiting.

    ``row`` is the row that they belong to, and ``taken`` how many of its characters were given.
    """

    def __init__(self, content: bytes) -> None:
        self._text = _decoded(content, _encoding(content))
        self.row = 1
        self.taken = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST + 1)
        self.taken += len(line)
        if not line:
            raise StopIteration
        if self.taken > LONGEST:
            raise ListRefusedError("csv_invalido", 422, f"tem na linha {self.row} mais de {LONGEST} caracteres")
        if "\0" in line:
            raise ListRefusedError("conteudo_nao_e_csv", 415, f"tem na linha {self.row} o que não é texto")
        if self._text.encoding == "cp1252" and _OTHER_ENCODING.search(line):
            said = f"tem na linha {self.row} letras que não são do Windows-1252 das outras: salve tudo em UTF-8"
            raise ListRefusedError("conteudo_nao_e_csv", 415, said)
        return line

    def begin(self, row: int) -> None:
        """Say that the next line is the first one of this row."""
        self.row, self.taken = row, 0


def _decoded(content: bytes, encoding: str) -> io.TextIOWrapper:
    errors = "surrogateescape" if encoding == "cp1252" else "strict"
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors=errors, newline="")


def _encoding(content: bytes) -> str:
    """Return what the whole file can be read in; the last one tells of each byte that is none of its letters."""
    encoding = "utf-16" if content.startswith(_UTF16) else "utf-8"
    text = _decoded(content, encoding)
    try:
        while text.read(_PIECE):
            pass
    except UnicodeDecodeError:
        if encoding == "utf-16":
            raise ListRefusedError("conteudo_nao_e_csv", 415, "não é texto em UTF-16, como começa") from None
        return "cp1252"
    return encoding


def _records(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Return each record below the header with its number, its cells by the names of their columns."""
    lines = _Lines(content)
    first = next(lines, "").lstrip("\ufeff")  # marks of the encoding; some programs write one more
    told = first.strip().lower()
    separator = told[4:] if told.startswith("sep=") and told[4:] in SEPARATORS else None
    if separator is not None:  # a word to Excel, which shows and counts no such row
        first = next(lines, "")
    while not first.strip(' ;,\t|\r\n"') and first:  # empty rows above the header
        if lines.row > MOST_ROWS:
            break
        lines.begin(lines.row + 1)
        first = next(lines, "")
    columns, separator = _header(first, separator)
    records = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        lines.begin(lines.row + 1)
        try:
            cells = next(records, None)
        except csv.Error as error:
            said = f"tem na linha {lines.row} aspas que não fecham, ou texto depois das que fecham"
            raise ListRefusedError("csv_invalido", 422, said) from error
        if cells is None:
            return
        if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
            raise ListRefusedError("colunas_demais", 422, f"tem na linha {lines.row} mais colunas que o cabeçalho")
        if any(_swallows(cell, separator) for cell in cells):
            said = f"tem na linha {lines.row} um texto com quebra de linha e um endereço: as aspas não fecham?"
            raise ListRefusedError("csv_invalido", 422, said)
        yield lines.row, dict(zip(columns, (cell.strip() for cell in cells), strict=False))


def _swallows(cell: str, separator: str) -> bool:
    """Say whether a cell of several lines holds an address where a row would have it: it is made of other rows."""
    if "@" not in cell or ("\n" not in cell and "\r" not in cell):
        return False
    pieces = (piece.strip(' "') for line in cell.splitlines() for piece in line.split(separator))
    return any("@" in piece and _is_address(piece) for piece in pieces)


def _is_address(text: str) -> bool:
    try:
        return bool(normalised(text))
    except NotAnAddressError:
        return False


def _header(line: str, told: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them: that by which one of them is the address.

    A name that no text can call for is empty.
    """
    best: list[str] = []
    used, too_many = SEPARATORS[0], False
    try:
        for separator in (told,) if told else SEPARATORS:
            if line.count(separator) >= MOST_COLUMNS:  # counted before it is split
                too_many = True
                continue
            cells = next(csv.reader([line], delimiter=separator, strict=True), [])
            names = [" ".join(cell.split()).casefold() for cell in cells]
            if _EMAIL & set(names) and len(names) > len(best):
                best, used = names, separator
    except csv.Error as error:
        raise ListRefusedError("csv_invalido", 422, "tem um cabeçalho ilegível") from error
    if not best and too_many:
        raise ListRefusedError("colunas_demais", 422, f"tem mais de {MOST_COLUMNS} colunas")
    if not best:
        raise ListRefusedError("sem_coluna_email", 422, "não tem no cabeçalho uma coluna email")
    named = [name for name in best if name]
    if len(set(named)) < len(named) or set(named) >= _EMAIL:
        raise ListRefusedError("colunas_iguais", 422, "tem no cabeçalho duas colunas com o mesmo nome")
    return [name if len(name) <= PLACE_MAX else "" for name in best], used


def _row(number: int, cells: dict[str, str], assunto: str | None, mensagem: str | None) -> LinhaLida:
    written = cells.pop("email", None) or cells.pop("e-mail", None) or ""
    cells.pop("", None)
    dados = {name: cell for name, cell in cells.items() if cell and len(cell) <= CELL_MAX}
    try:
        email = normalised(written)
    except NotAnAddressError as error:
        return _invalid(number, dados, error.code, str(error) if written else "não tem endereço", written[:255] or None)
    long = next((name for name, cell in cells.items() if len(cell) > CELL_MAX), None)
    if long is not None:
        return _invalid(number, dados, "texto_longo", f"tem mais de {CELL_MAX} caracteres em {long}", email)
    subject, text = templates_of(assunto, mensagem, dados)
    if text and not subject:
        return _invalid(number, dados, "sem_assunto", "não tem assunto", email)
    asked = places(subject).keys() | places(text).keys()
    if lacking := asked - dados.keys():
        said = ", ".join(sorted(lacking)[:3])
        detalhe = f"falta {said}" if lacking <= cells.keys() else f"o texto pede {said}, e falta esta coluna"
        return _invalid(number, dados, "falta_dado", detalhe, email)
    wrong = next(
        (name for name in sorted(asked | {ASSUNTO, MENSAGEM}) if _SHEET_ERROR.fullmatch(dados.get(name, ""))), ""
    )
    if wrong:
        return _invalid(number, dados, "falta_dado", f"tem um erro da planilha em {wrong}: {dados[wrong][:20]}", email)
    chave = email
    if not text:  # an accountant gets the notes of several customers, or of several months
        try:
            chave = f"{email} {document_of(dados) or ''} {month_of(dados) or ''}"
        except (NotADocumentError, NotAMonthError) as error:
            return _invalid(number, dados, error.code, str(error), email)
    if length_of(subject, dados) > ASSUNTO_MAX or length_of(text, dados) > MENSAGEM_MAX:
        detalhe = f"tem mais de {ASSUNTO_MAX} caracteres de assunto ou {MENSAGEM_MAX} de mensagem"
        return _invalid(number, dados, "texto_longo", detalhe, email)
    return LinhaLida(number, chave, email, dados, notas=not text)


def _invalid(number: int, dados: dict[str, str], codigo: str, detalhe: str, email: str | None = None) -> LinhaLida:
    return LinhaLida(number, f"linha:{number}", email, dados, (codigo, detalhe))


def problems(linha: LinhaLida) -> list[dict[str, Any]]:
    """Return why a row is not sent, as it is stored and shown."""
    return [] if linha.problema is None else [dict(zip(("codigo", "detalhe"), linha.problema, strict=True))]
