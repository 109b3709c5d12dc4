"""Reads a list of addresses: a CSV of any Brazilian dialect becomes rows, or is refused whole."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from state_machine.mailing.addresses import NotAnAddressError, normalised
from state_machine.mailing.notes import NotAMonthError, month_of
from state_machine.mailing.text import ASSUNTO_MAX, MENSAGEM_MAX, text_of
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST: Final = 10 * 1024 * 1024  # bytes of a file
MOST_ROWS: Final = 10_000
MOST_COLUMNS: Final = 50
NAME_MAX: Final = 255  # characters of a file's name
REVISAO: Final = 12  # hex digits: a person types it; it binds a yes, and keeps no secret
SEPARATORS: Final = (";", ",", "\t", "|")
ENCODINGS: Final = ("utf-8-sig", "cp1252")
_SUFFIXES: Final = (".csv", ".tsv", ".txt")
_OTHER_FILES: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF", b"\x1f\x8b")  # xlsx and ods, xls, pdf, gzip
_EMAIL: Final = frozenset({"email", "e-mail"})


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
    """What was read: the rows in their order, and how many had no cell or an address from above."""

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
    seen: set[str] = set()
    for number, cells in _records(content):
        if not any(cells.values()):
            found.ignoradas += 1
        else:
            linha = _row(number, cells, assunto, mensagem)
            if linha.chave in seen:
                found.iguais += 1
            else:
                seen.add(linha.chave)
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
    if content.startswith(_OTHER_FILES) or b"\0" in content:
        raise ListRefusedError("conteudo_nao_e_csv", 415, "tem nome de .csv, e conteúdo de outro tipo")


def _lines(content: bytes) -> Iterator[str]:
    """Decode piece by piece: one call on 10 MB would keep every other thread waiting."""
    return iter(io.TextIOWrapper(io.BytesIO(content), encoding=_encoding(content), newline=""))


def _encoding(content: bytes) -> str:
    for encoding in ENCODINGS:
        try:
            for _ in io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline=""):
                pass
        except UnicodeDecodeError:
            continue
        return encoding
    raise ListRefusedError("conteudo_nao_e_csv", 415, "não é texto em UTF-8 nem em Windows-1252")


def _records(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Return each record below the header with its number, its cells by the names of their columns."""
    lines = _lines(content)
    first = next(lines, "")
    told = first.strip().lower()
    separator = told[4:] if told.startswith("sep=") and told[4:] in SEPARATORS else None
    if separator is not None:  # a word to Excel, which shows and counts no such row
        first = next(lines, "")
    number = 1
    while not first.strip(' ;,\t|\r\n"') and first:  # empty rows above the header
        first = next(lines, "")
        number += 1
    columns, separator = _header(first, separator)
    try:
        for cells in csv.reader(lines, delimiter=separator):
            number += 1
            if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
                raise ListRefusedError("colunas_demais", 422, f"tem na linha {number} mais colunas que o cabeçalho")
            yield number, dict(zip(columns, (cell.strip() for cell in cells), strict=False))
    except csv.Error as error:
        raise ListRefusedError("csv_invalido", 422, f"tem na linha {number + 1} um texto que não termina") from error


def _header(line: str, told: str | None) -> tuple[list[str], str]:
    """Return the names of the columns and what separates them: that by which one of them is the address."""
    best: list[str] = []
    used = SEPARATORS[0]
    try:
        for separator in (told,) if told else SEPARATORS:
            cells = next(csv.reader([line], delimiter=separator), [])
            names = [" ".join(cell.split()).casefold() for cell in cells]
            if _EMAIL & set(names) and len(names) > len(best):
                best, used = names, separator
    except csv.Error as error:
        raise ListRefusedError("csv_invalido", 422, "tem um cabeçalho ilegível") from error
    if not best:
        raise ListRefusedError("sem_coluna_email", 422, "não tem no cabeçalho uma coluna email")
    named = [name for name in best if name]
    if len(set(named)) < len(named) or set(named) >= _EMAIL:
        raise ListRefusedError("colunas_iguais", 422, "tem no cabeçalho duas colunas com o mesmo nome")
    if len(best) > MOST_COLUMNS:
        raise ListRefusedError("colunas_demais", 422, f"tem mais de {MOST_COLUMNS} colunas")
    return best, used


def _row(number: int, cells: dict[str, str], assunto: str | None, mensagem: str | None) -> LinhaLida:
    written = cells.pop("email", None) or cells.pop("e-mail", None) or ""
    cells.pop("", None)
    dados = {name: cell for name, cell in cells.items() if cell}
    try:
        email = normalised(written)
    except NotAnAddressError as error:
        return _invalid(number, dados, error.code, str(error) if written else "não tem endereço", written[:255] or None)
    subject, text = text_of(assunto, mensagem, dados)
    if text and not subject:
        return _invalid(number, dados, "sem_assunto", "não tem assunto", email)
    if not text:
        try:
            month_of(dados)
        except NotAMonthError as error:
            return _invalid(number, dados, error.code, str(error), email)
    if len(subject) > ASSUNTO_MAX or len(text) > MENSAGEM_MAX:
        detalhe = f"tem mais de {ASSUNTO_MAX} caracteres de assunto ou {MENSAGEM_MAX} de mensagem"
        return _invalid(number, dados, "texto_longo", detalhe, email)
    return LinhaLida(number, email, email, dados, notas=not text)


def _invalid(number: int, dados: dict[str, str], codigo: str, detalhe: str, email: str | None = None) -> LinhaLida:
    return LinhaLida(number, f"linha:{number}", email, dados, (codigo, detalhe))


def problems(linha: LinhaLida) -> list[dict[str, Any]]:
    """Return why a row is not sent, as it is stored and shown."""
    return [] if linha.problema is None else [dict(zip(("codigo", "detalhe"), linha.problema, strict=True))]
