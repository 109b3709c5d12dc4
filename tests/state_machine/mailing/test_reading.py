"""A list of addresses in any Brazilian dialect, and what is refused."""

from __future__ import annotations

import pytest

from state_machine.mailing.reading import LARGEST, MOST_ROWS, LinhaLida, ListRefusedError, read

TEXT = ("Suas notas", "Bom dia!")


def rows(content: str, encoding: str = "utf-8") -> list[LinhaLida]:
    """Return what a file of this text holds."""
    return read("lista.csv", content.encode(encoding), *TEXT).linhas


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_dialect_says_the_same(encoding: str, separator: str, end: str) -> None:
    """Encoding, separator and ends of lines are found out; accents stay."""
    jose = "jose@exemplo.com.br"
    content = end.join((f"nome{separator}E-mail", f"José Antônio{separator}Jose@Exemplo.com.br", ""))
    assert rows(content, encoding) == [LinhaLida(2, jose, jose, {"nome": "José Antônio"})]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("email\na@x.com.br\n\nb@x.com.br", [2, 4]),
        ("\n\nemail\na@x.com.br", [4]),
        ('email;nome\n"a@x.com.br";"duas\nlinhas"\nb@x.com.br;uma', [2, 3]),
        ("sep=|\nemail|nome\na@x.com.br|Ana", [2]),
    ],
)
def test_lines_are_numbered_as_a_spreadsheet_shows_them(content: str, lines: list[int]) -> None:
    """The header is line 1, empty rows count, and a cell of two lines is in one row."""
    assert [linha.linha for linha in rows(content)] == lines


def test_addresses_are_normalised() -> None:
    """Spelling makes no second person: lower case, the domain as IDNA writes it."""
    found = read("lista.csv", "email\n A@Ação.com.br \na@XN--AO-SIAP.com.br\n".encode(), *TEXT)
    [only] = found.linhas
    assert only.email == "a@xn--ao-siap.com.br"
    assert (found.iguais, found.total) == (1, 2)


@pytest.mark.parametrize("written", ["", "ana", "ana@", "@x.com.br", "a b@x.com.br", "ana@x..br", "joão@x.com.br"])
def test_what_is_no_address_is_told(written: str) -> None:
    """A row whose address is none stays in the list with the reason."""
    [bad] = rows(f"nome;email\nAna;{written}")
    assert bad.problema is not None
    assert (bad.problema[0], bad.chave) == ("email_invalido", "linha:2")


def test_a_row_without_words_is_told() -> None:
    """A text without a subject is not sent; without a text the notes of a month go, which a column may name."""
    content = (
        b"email;assunto;mensagem;competencia\na@x.com.br;Oi;Bom dia;\nb@x.com.br;;Bom dia;\nc@x.com.br;;;\n"
        b"d@x.com.br;;;2026-13\ne@x.com.br;Oi;Bom dia;sempre"
    )
    found = read("lista.csv", content, None, None).linhas
    assert [linha.problema and linha.problema[0] for linha in found] == [
        *(None, "sem_assunto", None, "competencia_invalida", None)
    ]
    assert [linha.notas for linha in found] == [False, False, True, False, False]


def test_empty_rows_are_counted() -> None:
    """Nothing of the file goes silently: rows are sent, invalid, equal or empty."""
    found = read("lista.csv", b"email;nome\n;;\na@x.com.br;A\na@x.com.br;A\n;\n", *TEXT)
    assert (len(found.linhas), found.iguais, found.ignoradas, found.total) == (1, 1, 2, 4)


def test_a_revision_is_of_all_that_was_read() -> None:
    """Other rows, other columns or other words are another revision; the same are the same."""
    one = read("lista.csv", b"email\na@x.com.br", *TEXT).revisao
    assert read("outra.csv", b"email\r\nA@x.com.br\r\n", *TEXT).revisao == one
    others = [("email\nb@x.com.br", TEXT), ("email;nome\na@x.com.br;Ana", TEXT), ("email\na@x.com.br", ("Oi", "Oi"))]
    assert one not in {read("lista.csv", content.encode(), *text).revisao for content, text in others}


@pytest.mark.parametrize(
    ("nome", "content", "status", "codigo"),
    [
        ("lista.csv", b"x" * (LARGEST + 1), 413, "arquivo_grande"),
        ("lista.xlsx", b"email\na@x.com.br", 415, "tipo_de_arquivo"),
        ("lista.csv", b"PK\x03\x04rest", 415, "conteudo_nao_e_csv"),
        ("lista.csv", b"email\na@x.com.br\0", 415, "conteudo_nao_e_csv"),
        ("lista.csv", b"email\n\x81\xff", 415, "conteudo_nao_e_csv"),
        ("lista.csv", b"", 422, "sem_coluna_email"),
        ("lista.csv", b"nome\nAna", 422, "sem_coluna_email"),
        ("lista.csv", b"email", 422, "lista_vazia"),
        ("lista.csv", b"email;email\na@x.com.br;b@x.com.br", 422, "colunas_iguais"),
        ("lista.csv", b"email;nome\na@x.com.br;Ana;mais", 422, "colunas_demais"),
        ("lista.csv", b'email;nome\na@x.com.br;"' + b"x" * 200_000, 422, "csv_invalido"),
        ("lista.csv", b"email\n" + b"a@x.com.br\n" * (MOST_ROWS + 1), 422, "linhas_demais"),
        ("a" * 300 + ".csv", b"email\na@x.com.br", 422, "nome_de_arquivo"),
    ],
)
def test_a_bad_file_is_refused(nome: str, content: bytes, status: int, codigo: str) -> None:
    """Each kind of file that is no list has its own answer."""
    with pytest.raises(ListRefusedError) as refused:
        read(nome, content, *TEXT)
    assert (refused.value.status, refused.value.codigo) == (status, codigo)
