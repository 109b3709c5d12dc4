"""A list of addresses in any Brazilian dialect, and what is refused."""

from __future__ import annotations

import threading
import time
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.mailing.reading import LARGEST, LONGEST, MOST_ROWS, LinhaLida, ListRefusedError, read

NO_ADDRESS = (
    *("", "ana", "ana@", "@x.com.br", "a b@x.com.br", "ana@x..br", "joão@x.com.br", "a@x.com.br" * 100),
    *("=?utf-8?q?ana?=@x.com.br", "Ana <ana@x.com.br", "<a@x.com.br> <b@x.com.br>", "a@x.com.br, b@x.com.br"),
)
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


@pytest.mark.parametrize(
    "written",
    [
        *(" A@Ação.com.br ", "a@XN--AO-SIAP.com.br", "mailto:a@ação.com.br", "Ana Lima <a@ação.com.br>"),
        *("\u200ba@ação.com.br", "a@ação.com.br\u200b", "\xa0a@ação.com.br\xa0", "Ana <MAILTO:A@ação.com.br>"),
    ],
)
def test_an_address_has_one_spelling(written: str) -> None:
    """Capitals, the domain's letters, a name, ``mailto:`` and what nobody sees make no second person."""
    found = read("lista.csv", f"email\na@ação.com.br\n{written}\n".encode(), *TEXT)
    assert [linha.email for linha in found.linhas] == ["a@xn--ao-siap.com.br"]
    assert (found.iguais, found.total) == (1, 2)


@pytest.mark.parametrize(
    "written", ["", "ana", "ana@", "@x.com.br", "a b@x.com.br", "ana@x..br", "joão@x.com.br", *NO_ADDRESS]
)
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
        ("lista.csv", b"\xff\xfee\0m\0\xd8", 415, "conteudo_nao_e_csv"),
        ("lista.csv", "email\na@x.com.br\0".encode("utf-16"), 415, "conteudo_nao_e_csv"),
        ("lista.csv", b"email" + b";" * 60 + b"\na@x.com.br", 422, "colunas_demais"),
        ("lista.csv", b"email;nome\na@x.com.br;" + b";" * LONGEST, 422, "csv_invalido"),
        ("lista.csv", b"email;nome\n" + b'"\n";' * LONGEST, 422, "csv_invalido"),
        ("lista.csv", b"\n" * (MOST_ROWS + 10) + b"email\na@x.com.br", 422, "sem_coluna_email"),
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


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_marks_of_an_encoding_are_no_part_of_the_header(mark: str, encoding: str) -> None:
    """Programs write one, or one more than that; Excel writes its "Unicode text" as UTF-16."""
    [linha] = rows(f"{mark}email;nome\r\njose@x.com.br;José\r\n", encoding)
    assert (linha.linha, dict(linha.dados)) == (2, {"nome": "José"})


@pytest.mark.parametrize("second", ["Zé", "Íris", "ZÉ"])
def test_two_encodings_in_one_file_are_told_with_the_row(second: str) -> None:
    """Two exports in one file: neither reading is right for all, and a wrong one is a wrong name in a mail."""
    content = "email;nome\na@x.com.br;Ana\nb@x.com.br;José\n".encode("cp1252") + f"c@x.com.br;{second}\n".encode()
    with pytest.raises(ListRefusedError, match="linha 4 letras") as refused:
        read("lista.csv", content, *TEXT)
    assert refused.value.codigo == "conteudo_nao_e_csv"


def test_what_people_write_in_windows_1252_is_read() -> None:
    """Capitals with accents, quotation marks and dashes are no other encoding."""
    text = "ATENÇÃO: “JOSÉ” – PÃO, MAÇÃ E CAFÉ… não é à toa"
    assert rows(f"email;nome\na@x.com.br;{text}", "cp1252")[0].dados == {"nome": text}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('email;mensagem\na@x.com.br;"Bom dia\nb@x.com.br;Oi\nc@x.com.br;Oi\n', 2),
        ('email;mensagem\na@x.com.br;Oi\nb@x.com.br;"Oi, Bia\n', 3),
        ('email;nome\na@x.com.br;"Lojinha" da Ana\nb@x.com.br;Bia\n', 2),
        ('email;nome;mensagem\na@x.com.br;Ana;Oi\nb@x.com.br;"Bia;Oi\nc@x.com.br;Caio";Oi\n', 3),
        ('nome;email\n"Ana;a@x.com.br\nBia";b@x.com.br\n', 2),
        ('email\n"a@x.com.br\nb@x.com.br"\n', 2),
        ('email,nome\na@x.com.br,"Ana\nBia <b@x.com.br>,Bia\nc@x.com.br,Caio"\n', 2),
        ('email;mensagem\n"a@x.com.br;Oi\nb@x.com.br";Oi\n', 2),
    ],
)
def test_a_quotation_does_not_swallow_rows(content: str, line: int) -> None:
    """One customer would read the others' addresses, and they would get nothing."""
    with pytest.raises(ListRefusedError, match=f"na linha {line} ") as refused:
        rows(content)
    assert refused.value.codigo == "csv_invalido"


@pytest.mark.parametrize(
    "text", ["Olá, Ana\nEscreva para loja@x.com.br; até lá", 'a tela de 12" chegou', "Oi; tudo bem?\n\nAté, Ana"]
)
def test_a_text_of_several_lines_stays_one(text: str) -> None:
    """Separators, marks and an address among words are no row."""
    quoted = text.replace('"', '""')
    assert rows(f'email;mensagem\na@x.com.br;"{quoted}"')[0].dados == {"mensagem": text}


@pytest.mark.parametrize(
    ("nome", "detalhe"),
    [
        ("", "falta nome"),
        *((found, f"tem um erro da planilha em nome: {found}") for found in ("#N/D", "#REF!", "#NOME?", "#DIV/0!")),
        *((found, f"tem um erro da planilha em nome: {found}") for found in ("#VALOR!", "#####", "Err:502")),
    ],
)
@pytest.mark.parametrize("where", ["assunto", "mensagem", "own"])
def test_a_cell_that_the_text_names_holds_a_word(nome: str, detalhe: str, where: str) -> None:
    """Nobody is greeted as ``{nome}`` or ``#N/D``: the row is told before a yes."""
    words = {"assunto": ("Para {nome}", "Oi"), "mensagem": ("Oi", "Bom dia, { Nome }!"), "own": ("Oi", None)}[where]
    own = "Olá, {nome}" if where == "own" else ""
    content = f"email;nome;mensagem\na@x.com.br;{nome};{own}\nb@x.com.br;Bia;{own}\n"
    bad, good = read("lista.csv", content.encode(), *words).linhas
    assert (bad.problema, good.problema) == (("falta_dado", detalhe), None)


def test_a_text_that_calls_for_no_column_is_told() -> None:
    """A slip in the text would go out as it is written, to everybody."""
    [linha] = read("lista.csv", b"email;nome\na@x.com.br;Ana", "Oi", "Bom dia, {nme}!").linhas
    assert linha.problema == ("falta_dado", "o texto pede nme, e falta esta coluna")


def test_a_cell_that_no_text_names_may_be_empty() -> None:
    """An observation that is not there, or that is no word, keeps no mail back."""
    [linha] = read("lista.csv", b"email;nome;obs\na@x.com.br;Ana;#N/D", "Oi", "Bom dia, {nome}!").linhas
    assert linha.problema is None


def test_a_text_of_the_greatest_length_fits() -> None:
    """What is counted before the text is built is its length."""
    content = b"email;nome\na@x.com.br;Ana\nb@x.com.br;Bianca"
    fits, longer = read("lista.csv", content, "Oi", "x" * 19_997 + "{nome}").linhas
    assert (fits.problema, longer.problema and longer.problema[0]) == (None, "texto_longo")


_MANY: tuple[tuple[str, bytes, str], ...] = (
    ("many places, long cells", b"email;a\n" + (b"a@x.com.br;" + b"x" * 19_900 + b"\n") * 520, "{a}" * 6_600),
    (
        "a row's own places",
        b"email;a;mensagem\n" + (b"a@x.com.br;" + b"x" * 900 + b";" + b"{a}" * 6_000 + b"\n") * 540,
        "",
    ),
    ("cells beyond a text", b"email;a\n" + (b"a@x.com.br;" + b"x" * 131_000 + b"\n") * 79, "{a}" * 6_600),
    ("wide letters", b"email;a\n" + (b"a@x.com.br;" + b"x" * 19_900 + "😀".encode() + b"\n") * 520, "{a}" * 6_600),
    (
        "many cells",
        b"email;" + b";".join(b"c%d" % n for n in range(49)) + (b"\na@x.com.br" + b";xy" * 49) * 9_999,
        "{c1}",
    ),
    ("one header", b"email;a;" + b"b;" * 5_000_000, "{a}"),
    ("one row", b"email;a\n" + b";" * LARGEST, "{a}"),
    ("one record", b"email;a\n" + b'"\n";' * (LARGEST // 4), "{a}"),
    ("one address", b"email;a\n" + b"a@x.com.br" * 40_000 + b";b", "{a}"),
    ("empty rows", b"\n" * LARGEST, "{a}"),
)


@pytest.mark.parametrize(("content", "mensagem"), [each[1:] for each in _MANY], ids=[each[0] for each in _MANY])
def test_a_large_file_takes_little_memory_and_leaves_the_others_their_turns(content: bytes, mensagem: str) -> None:
    """Bounds are looked at before the work: nothing is a product of two lengths, no single call takes all of it."""
    content = content[:LARGEST]
    tracemalloc.start()
    try:
        _read_or_refused(content, mensagem)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * 1024 * 1024
    assert any(_longest_turn(content, mensagem) < 0.05 for _ in range(5))  # the machine may take some of them away


_CELLS = st.sampled_from(["email", "nome", "a@x.com.br", "Ana", "", '"', '""', "{nome}", "{", "#N/D", "\0", "\u200b"])
_FILES = st.lists(st.lists(_CELLS | st.text(max_size=20), max_size=6), max_size=8).flatmap(
    lambda rows: st.tuples(st.sampled_from(";,\t|"), st.sampled_from(["\n", "\r\n", "\r"])).map(
        lambda each: each[1].join(each[0].join(row) for row in [["email", "nome"], *rows])
    )
)
_ENCODED = st.tuples(_FILES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])).map(
    lambda each: each[0].encode(each[1], "replace")
)


@settings(max_examples=200, deadline=None)
@given(_ENCODED | st.binary(max_size=200), st.text(max_size=40) | st.just("Bom dia, {nome}!"))
def test_whatever_file_comes_is_read_or_refused(content: bytes, mensagem: str) -> None:
    """Two hundred files of any cells, in any encoding, and any bytes: every row has an address or a problem."""
    with suppress(ListRefusedError):
        found = read("lista.csv", content, "Oi", mensagem)
        assert all((linha.email is None) <= (linha.problema is not None) for linha in found.linhas)
        assert len(found.linhas) + found.ignoradas + found.iguais <= found.total


def _read_or_refused(content: bytes, mensagem: str) -> None:
    try:
        read("lista.csv", content, "Oi", mensagem)
    except ListRefusedError:
        return


def _longest_turn(content: bytes, mensagem: str) -> float:
    """Return the most seconds of work that the reading did between two turns of ours."""
    worker = threading.Thread(target=_read_or_refused, args=(content, mensagem))
    worker.start()
    longest = before = 0.0
    with suppress(OSError):  # it ended meanwhile
        clock = time.pthread_getcpuclockid(worker.ident or 0)
        while worker.is_alive():
            now = time.clock_gettime(clock)
            longest, before = max(longest, now - before), now
            worker.join(0.001)
    worker.join()
    return longest


def test_an_address_with_other_cells_is_no_repetition() -> None:
    """It is told with the row that goes, so that somebody sees which of both is meant."""
    content = b"email;nome\na@x.com.br;Ana\nA@x.com.br;Ana\na@x.com.br;Bia\n"
    found = read("lista.csv", content, "Oi", "Bom dia, {nome}!")
    assert found.iguais == 1
    assert [linha.problema for linha in found.linhas] == [
        *(None, ("endereco_repetido", "tem o endereço da linha 2, e outros dados")),
    ]
