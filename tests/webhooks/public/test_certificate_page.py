"""The page of the one-time link over real HTTP: what uses it up, what counts as a try, and what is told."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from aiohttp import FormData

from gateway.certificate.reading_process import ReadersBusyError, Turns
from operations import certificate as certificate_link
from tests.made_certificates import NOW, SENHA, company, pfx, rsa_key
from tests.webhooks.public.conftest import CHAT

if TYPE_CHECKING:
    from tests.webhooks.public.conftest import Visitor

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Strict-Transport-Security": "max-age=31536000",
}
NEVER_MADE = "A" * 43
FILE, OTHER_KEY = pfx(), rsa_key("renewed")


async def test_looking_never_uses_it_up(visitor: Visitor) -> None:
    """GET and HEAD, as previews of chat apps make them, change nothing; the page says for whom and until when."""
    token = await visitor.new_token()
    for method in ("GET", "HEAD", "GET", "HEAD"):
        status, text, headers = await visitor.ask(token, method)
        assert status == 200
        assert HEADERS.items() <= headers.items()
    status, text, _ = await visitor.ask(token)
    assert "ANA DESIGN ME" in text
    assert "11.•••.•••/0001-81" in text
    assert "11222333000181" not in text
    assert "horário de Brasília" in text
    assert 'lang="pt-BR"' in text
    assert "width=device-width" in text
    assert token not in text
    assert await visitor.tries() == 0
    assert (await visitor.send(token))[0] == 200


async def test_an_accepted_certificate_uses_it_up(visitor: Visitor) -> None:
    """It is kept sealed, its date known, the conversation told, all once; the link is over."""
    token = await visitor.new_token()
    status, text = await visitor.send(token, FILE)
    assert status == 200
    assert "Certificado guardado" in text
    assert "Volte à conversa" in text
    assert "11222333000181" not in text
    assert await visitor.kept() == await visitor.told() == 1
    row = await visitor.database.pool.fetchrow("SELECT lane, payload FROM inbox WHERE tipo = 'certificado'")
    assert row["lane"] == "1:5511987654321"
    assert "ANA DESIGN ME" in str(row["payload"])
    assert await visitor.database.pool.fetchval("SELECT certificado_vence IS NOT NULL FROM empresa")
    assert (await visitor.ask(token))[0] == (await visitor.send(token, FILE))[0] == 404
    assert await visitor.kept() == await visitor.told() == 1


async def test_who_issued_it_is_unknown_and_the_good_one_stays(visitor: Visitor) -> None:
    """Without roots nothing takes the place of what is good; what has ended protects nobody."""
    assert (await visitor.send(await visitor.new_token(), FILE))[0] == 200
    other = pfx(company(key=OTHER_KEY))
    status, said = await visitor.send(await visitor.new_token(), other)
    assert status == 422
    assert "não há como conferir quem emitiu este" in said
    assert "Nada mudou" in said
    assert await visitor.kept() == await visitor.told() == 1
    await visitor.database.pool.execute("UPDATE empresa_certificado SET valido_ate = now() - interval '1 s'")
    assert (await visitor.send(await visitor.new_token(), other))[0] == 200
    assert await visitor.kept() == 2


@pytest.mark.parametrize("visitor", [True], indirect=True)
async def test_a_replacement_is_told_to_everybody_of_the_company(visitor: Visitor) -> None:
    """Whose phone was stolen, or who has left, cannot replace it in silence; a first one is told where it was asked."""
    pool = visitor.database.pool
    await pool.execute(
        "INSERT INTO usuario (telefone, empresa_id) SELECT phone, id FROM empresa, unnest($1::text[]) AS phone",
        ["5511900000001", "5511900000002"],
    )
    for phone, since in (("5511987654321", "1 hour"), ("5511900000001", "1 hour"), ("5511900000002", "2 days")):
        await pool.execute(
            "INSERT INTO conversas (conversa, phone_number_id, endereco, usuario_id, ultima_entrada_em)"
            " SELECT '1:' || telefone, '1', telefone, id, now() - $2::text::interval FROM usuario WHERE telefone = $1",
            phone,
            since,
        )
    await visitor.send(await visitor.new_token(), FILE)
    assert await visitor.told() == 1
    assert (await visitor.send(await visitor.new_token(), pfx(company(key=OTHER_KEY))))[0] == 200
    rows = await pool.fetch("SELECT lane, payload->>'aviso' AS aviso FROM inbox ORDER BY id OFFSET 1")
    assert {(row["lane"], row["aviso"]) for row in rows} == {(CHAT, "guardado"), ("1:5511900000001", "trocado")}


async def test_of_two_at_the_same_time_one_is_accepted(visitor: Visitor) -> None:
    """Two different certificates of the company: one is kept, the other finds the link used."""
    token = await visitor.new_token()
    another = pfx(company(key=OTHER_KEY))
    answers = await asyncio.gather(visitor.send(token, FILE), visitor.send(token, another))
    assert sorted(status for status, _ in answers) == [200, 404]
    assert await visitor.kept() == await visitor.told() == 1


async def test_five_wrong_tries_end_it(visitor: Visitor) -> None:
    """Each says why and how many are left; the fifth, that the link is over; the right file comes too late then."""
    token = await visitor.new_token()
    for left in (4, 3, 2, 1):
        status, text = await visitor.send(token, FILE, "errada")
        assert status == 422
        assert "A senha não abre este arquivo." in text
        assert f"<dd>{left}</dd>" in text
    status, text = await visitor.send(token, FILE, "errada")
    assert status == 422
    assert "A senha não abre este arquivo." in text
    assert "Este link terminou" in text
    assert (await visitor.send(token, FILE))[0] == 404
    assert await visitor.kept() == await visitor.told() == 0


async def test_many_wrong_tries_at_once_are_five(visitor: Visitor) -> None:
    """A try is counted before its file is read."""
    token = await visitor.new_token()
    answers = await asyncio.gather(*(visitor.send(token, FILE, f"errada {n}") for n in range(9)))
    assert sorted(status for status, _ in answers) == [404] * 4 + [422] * 5


@pytest.mark.parametrize(
    ("arquivo", "said"),
    [
        (b"isto nem PKCS 12 parece ser", "O arquivo não é um certificado A1"),
        (pfx(company(cnpj="12345678000195")), "O certificado é de outra empresa, a de CNPJ 12.345.678/0001-95"),
        (pfx(company(ends=NOW - timedelta(hours=1))), "O certificado venceu em"),
        (pfx(company(oid=None)), "O certificado não é de empresa"),
    ],
    ids=["no file of the kind", "another company's", "past its day", "a person's"],
)
async def test_a_refused_file_counts_and_says_why(visitor: Visitor, arquivo: bytes, said: str) -> None:
    """Each refusal has its own sentence, says that nothing was kept, and leaves the form for the next try."""
    token = await visitor.new_token()
    status, text = await visitor.send(token, arquivo)
    assert status == 422
    assert said in text
    assert "não foram guardados" in text
    assert 'name="arquivo"' in text
    assert (await visitor.tries(), await visitor.kept(), await visitor.told()) == (1, 0, 0)


@pytest.mark.parametrize("visitor", [True], indirect=True)
async def test_the_one_that_is_kept_already_is_refused(visitor: Visitor) -> None:
    """The link stays open for the new one."""
    await visitor.send(await visitor.new_token(), FILE)
    token = await visitor.new_token()
    status, text = await visitor.send(token, FILE)
    assert status == 422
    assert "já está guardado" in text
    assert (await visitor.send(token, pfx(company(key=OTHER_KEY))))[0] == 200
    assert await visitor.told() == 2


async def test_a_company_has_so_many_files_read_in_an_hour(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """By however many links; what would wait behind too many is not counted either; an hour later it goes on."""
    monkeypatch.setattr(certificate_link, "HOURLY", 2)
    assert (await visitor.send(await visitor.new_token(), FILE, "errada"))[0] == 422
    await visitor.database.pool.execute("UPDATE certificado_link SET expira_em = now() - interval '59 minutes'")
    token = await visitor.new_token()
    status, text = await visitor.send(token, FILE, "errada")
    assert (status, "arquivos demais" in text, "não foi contada" in text) == (422, False, False)
    status, text = await visitor.send(token, FILE)
    assert (status, "arquivos demais" in text, "não foi contada" in text) == (429, True, True)
    assert (await visitor.tries(), await visitor.kept()) == (1, 0)
    await visitor.database.pool.execute(
        "UPDATE certificado_link SET expira_em = now() - interval '61 minutes' WHERE expira_em < now()"
    )
    monkeypatch.setattr(Turns, "check", _busy)
    assert (await visitor.send(token, FILE))[0] == 503
    monkeypatch.undo()
    assert (await visitor.tries(), await visitor.kept()) == (1, 0)
    assert (await visitor.send(token, FILE))[0] == 200


def _busy(_turns: Turns, _company: int) -> None:
    raise ReadersBusyError


async def test_what_was_not_read_does_not_count(visitor: Visitor) -> None:
    """A missing, second or foreign field, a file or body beyond bounds, another form: said, nothing stored."""
    token = await visitor.new_token()
    for arquivo, senha, said, expected in (
        (b"", SENHA, "Faltou escolher o arquivo", 422),
        (FILE, "", "Faltou escrever a senha", 422),
        (FILE, None, "Faltou escrever a senha", 422),
        (bytes(64 * 1024 + 1), SENHA, "passa de 64 KB", 413),
        (bytes(3 * 1024 * 1024), SENHA, "passa de 64 KB", 413),
    ):
        status, text = await visitor.send(token, arquivo, senha)
        assert (status, said in text, "não foi contada" in text) == (expected, True, True), said
    twice = FormData(default_to_multipart=True)
    for _ in range(2):
        twice.add_field("arquivo", FILE, filename="a.pfx")
    assert (await visitor.ask(token, "POST", data=twice))[0] == 400
    foreign = FormData(default_to_multipart=True)
    foreign.add_field("other", SENHA)
    foreign.add_field("arquivo", FILE, filename="a.pfx")
    foreign.add_field("senha", SENHA)
    assert (await visitor.ask(token, "POST", data=foreign))[0] == 400
    assert (await visitor.ask(token, "POST", data={"senha": SENHA}))[0] == 415
    wrong = {"Content-Type": "multipart/form-data; boundary=x"}
    assert (await visitor.ask(token, "POST", data=b"nada disso", headers=wrong))[0] == 400
    assert (await visitor.ask(token, "POST", data=b"x", headers={"Content-Type": "multipart/form-data"}))[0] == 400
    for part in (
        b"Content-Disposition: form-data; name=_charset_\r\n\r\n" + b"x" * 40,
        b"Content-Disposition: form-data; name=_charset_\r\n\r\nutf-8",
        b"X: y\r\n" * 5000 + b"\r\n",
        b'Content-Disposition: form-data; name="' + b'\\"' * 3500 + b'"\r\n\r\nx',
    ):
        body = b"--x\r\n" + part + b"\r\n--x--\r\n"
        assert (await visitor.ask(token, "POST", data=body, headers=wrong))[0] in (400, 422), part[:60]
    assert (await visitor.tries(), await visitor.kept(), await visitor.told()) == (0, 0, 0)
    assert (await visitor.send(token, FILE))[0] == 200


async def test_unknown_and_ended_links_are_told_alike(visitor: Visitor) -> None:
    """Never made, late, replaced, used and tried out: one page, one status, the same headers, whatever is asked."""
    replaced, used = await visitor.new_token(), await visitor.new_token()
    await visitor.send(used, FILE)
    tried_out = await visitor.new_token()
    for _ in range(5):
        await visitor.send(tried_out, FILE, "errada")
    late = await visitor.new_token()
    await visitor.database.pool.execute("UPDATE certificado_link SET expira_em = now() WHERE usado_em IS NULL")
    pages = set()
    for token in (NEVER_MADE, replaced, used, tried_out, late, "x", "%00", "%ff", "ü" * 500):
        status, text, headers = await visitor.ask(token)
        assert (await visitor.ask(token, "HEAD"))[0] == (await visitor.send(token, FILE))[0] == status
        assert HEADERS.items() <= headers.items()
        pages.add((status, text))
    assert len(pages) == 1
    [(status, text)] = pages
    assert status == 404
    assert "escreva “certificado”" in text
    assert await visitor.kept() == 1


async def test_nobody_without_an_open_link_has_a_body_read(visitor: Visitor) -> None:
    """The answer comes although the body never does, and the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(visitor.base.rsplit(":", 1)[1]))
    head = f"POST /certificado/{NEVER_MADE} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    writer.write(f"{head}Content-Length: 1000\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"Connection: close" in answer
    writer.close()


async def test_the_page_runs_nothing_and_loads_nothing(visitor: Visitor) -> None:
    """Its policy admits its own style alone; no address of anybody else stands in it."""
    _, text, headers = await visitor.ask(await visitor.new_token())
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    for directive in ("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert directive in policy
    for forbidden in ("unsafe", "http:", "https:", "script"):
        assert forbidden not in policy
        assert forbidden not in text


@pytest.mark.parametrize("visitor", [True], indirect=True)
async def test_a_company_of_the_simples_is_asked_for_what_2027_needs(visitor: Visitor) -> None:
    """Only one of the national channel that has not said it; a wrong code keeps nothing, none keeps the certificate."""
    pool = visitor.database.pool
    assert "2027" not in (await visitor.ask(await visitor.new_token()))[1]
    await pool.execute("UPDATE empresa SET regime = 'simples', codigo_servico = '170101'")
    await pool.execute("DELETE FROM empresa_canal")
    await pool.execute("INSERT INTO empresa_canal SELECT id, 'servico', 'nacional' FROM empresa")
    token = await visitor.new_token()
    text = (await visitor.ask(token))[1]
    assert "Como a empresa paga IBS e CBS" in text
    assert (await visitor.send(token, FILE, apuracao_ibscbs="4"))[0] == 422
    assert await visitor.kept() == 0
    assert (await visitor.send(token, FILE, apuracao_ibscbs="2", atividade_sn=""))[0] == 200
    said = "SELECT e.apuracao_ibscbs, s.atividade_sn FROM empresa e LEFT JOIN empresa_servico s ON s.empresa_id = e.id"
    assert tuple(await pool.fetchrow(said)) == ("2", None)
    assert (await visitor.send(await visitor.new_token(), pfx(), atividade_sn="07"))[0] == 200
    assert tuple(await pool.fetchrow(said)) == ("2", "07")
    acoes = await pool.fetch("SELECT acao FROM auditoria WHERE quem = 'link do WhatsApp' ORDER BY id")
    assert {"mudou o cadastro", "deu código de serviço"} <= {row["acao"] for row in acoes}
    assert "2027" not in (await visitor.ask(await visitor.new_token()))[1]
