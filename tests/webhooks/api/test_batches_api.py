"""Lists over the API: each made once, refused whole, said yes to by its revision, and never another company's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import FormData

from persistence.batches import records
from state_machine.mailing.reading import LARGEST
from tests.made_batches import mailed

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Answer, Erp

KNOWN = ("ana@test.com.br", "bia@test.com.br")
LIST = b"email;nome\nana@test.com.br;Ana\n\nana@TEST.com.br;Ana\nnobody;Bia\nbia@test.com.br;Bia\n"
WORDS = {"assunto": "Suas notas", "mensagem": "Bom dia, {nome}!"}
_FAILED = """
UPDATE lote_linhas l SET estado = 'FAILED' FROM lotes o JOIN empresa e ON e.id = o.empresa_id
WHERE o.id = l.lote_id AND e.cnpj = '99000002000148'
"""


async def _send(
    erp: Erp,
    content: bytes = LIST,
    nome: str = "lista.csv",
    key: str | None = "k-1",
    chave: str | None = None,
    **fields: str,
) -> Answer:
    form = FormData(default_to_multipart=True)
    form.add_field("arquivo", content, filename=nome)
    for name, value in ({"tipo": "envio"} | WORDS | fields).items():
        form.add_field(name, value)
    headers = {} if key is None else {"Idempotency-Key": key}
    return await erp.ask("POST", "/lotes", chave=chave, headers=headers, data=form)


async def _confirm(erp: Erp, lote: int, revisao: Any, key: str = "yes-1", **options: Any) -> Answer:
    return await erp.post(f"/lotes/{lote}/confirmar", {"revisao": revisao}, key, **options)


async def test_a_list_is_taken_in_and_shown(erp: Erp) -> None:
    """The answer has the names that tools rely on; rows are told in the order of the file, page by page."""
    made = await _send(erp)
    lote = made.body["id"]
    assert (made.status, made.headers["Location"]) == (201, f"/api/v1/lotes/{lote}")
    assert made.body == {
        "id": lote,
        "created": True,
        "nome_arquivo": "lista.csv",
        "tipo": "envio",
        "estado": "aguardando_confirmacao",
        "revisao": made.body["revisao"],
        "totais": {"linhas": 5, "prontas": 2, "problemas": 1, "ignoradas": 1, "iguais": 1},
        "primeiro": {
            "linha": 2,
            "email": "ana@test.com.br",
            "assunto": "Suas notas",
            "mensagem": "Bom dia, Ana!",
            "notas": [],
        },
        "espera": None,
        "aviso": None,
    }
    shown = await erp.ask("GET", f"/lotes/{lote}")
    assert (shown.status, shown.body) == (200, {**made.body, "created": False})
    first = await erp.ask("GET", f"/lotes/{lote}/linhas?limite=2")
    assert first.body["itens"][0] == {
        "linha": 2,
        "estado": "pendente",
        "email": "ana@test.com.br",
        "problemas": [],
        "avisos": [],
        "igual_a": None,
    }
    assert first.body["itens"][1]["estado"] == "invalida"
    assert first.body["itens"][1]["problemas"][0]["codigo"] == "email_invalido"
    rest = await erp.ask("GET", f"/lotes/{lote}/linhas?limite=2&cursor={first.body['proximo']}")
    assert [row["linha"] for row in rest.body["itens"]] == [6]
    assert rest.body["proximo"] is None


async def test_batches_are_listed_newest_first(erp: Erp) -> None:
    """Pages follow each other without a gap, and hold no other company's."""
    lotes = [(await _send(erp, LIST + b"x%d@test.com.br;X\n" % n, key=f"k-{n}")).body["id"] for n in range(3)]
    await _send(erp, key="k-9", chave=erp.theirs)
    first = await erp.ask("GET", "/lotes?limite=2")
    assert [each["id"] for each in first.body["itens"]] == [lotes[2], lotes[1]]
    assert first.body["itens"][0]["totais"]["prontas"] == 3
    rest = await erp.ask("GET", f"/lotes?limite=2&cursor={first.body['proximo']}")
    assert ([each["id"] for each in rest.body["itens"]], rest.body["proximo"]) == ([lotes[0]], None)


@pytest.mark.parametrize(
    "query", ["cursor=x", "cursor=-1", "limite=0", "limite=1001", "pagina=2", "cursor=" + "9" * 30]
)
async def test_a_page_that_is_none_is_refused(erp: Erp, query: str) -> None:
    """A cursor or limit that makes no sense is told, not guessed."""
    assert (await erp.ask("GET", f"/lotes?{query}")).codigo == "corpo_invalido"


async def test_the_same_request_makes_one_batch(erp: Erp) -> None:
    """Ten at once under one key, and one later, are one batch; one of them made it."""
    answers = await asyncio.gather(*(_send(erp) for _ in range(10)))
    again = await _send(erp)
    assert {answer.status for answer in (*answers, again)} == {201}
    assert len({answer.body["id"] for answer in (*answers, again)}) == 1
    assert sum(answer.body["created"] for answer in answers) == 1
    assert (again.body["created"], again.headers["Idempotency-Replayed"]) == (False, "true")
    assert await erp.count("lotes") == 1


async def test_the_same_file_under_another_key_is_the_first_batch(erp: Erp) -> None:
    """``created`` is false and the status 200, also when that key is repeated."""
    made = await _send(erp)
    for _ in range(2):
        again = await _send(erp, key="k-2")
        assert (again.status, again.body) == (200, {**made.body, "created": False})
    assert await erp.count("lotes") == 1


@pytest.mark.parametrize("other", [{"content": LIST + b"\n"}, {"nome": "b.csv"}, {"mensagem": "Oi"}, {"tipo": "notas"}])
async def test_a_key_with_another_body_is_refused(erp: Erp, other: Any) -> None:
    """File, name and fields are the body that a key is bound to."""
    await _send(erp)
    assert (await _send(erp, **other)).codigo == "chave_reutilizada"
    assert await erp.count("lotes") == 1


async def test_the_same_content_under_another_name_is_asked_about(erp: Erp) -> None:
    """Without ``repetir=true`` it is refused, and the key is not used up."""
    await _send(erp)
    refused = await _send(erp, nome="b.csv", key="k-2")
    assert (refused.status, refused.codigo) == (409, "conteudo_repetido")
    knowingly = await _send(erp, nome="b.csv", key="k-2", repetir="true")
    assert (knowingly.status, knowingly.body["created"]) == (201, True)


@pytest.mark.parametrize(
    ("sent", "status", "codigo"),
    [
        ({"content": b"nome\nAna\n"}, 422, "sem_coluna_email"),
        ({"content": b"PK\x03\x04rest"}, 415, "conteudo_nao_e_csv"),
        ({"nome": "lista.xlsx"}, 415, "tipo_de_arquivo"),
        ({"content": b"email\n" + b"a" * LARGEST}, 413, "arquivo_grande"),
        ({"tipo": "notas"}, 422, "ainda_nao"),
        ({"tipo": "outro"}, 422, "corpo_invalido"),
        ({"repetir": "sim"}, 422, "corpo_invalido"),
        ({"assunto": "a" * 201}, 422, "corpo_invalido"),
        ({"mensagem": "a\x00b"}, 422, "corpo_invalido"),
        ({"outro": "x"}, 400, "pedido_invalido"),
        ({"key": None}, 400, "chave_obrigatoria"),
    ],
)
async def test_what_is_refused_stores_nothing(erp: Erp, sent: Any, status: int, codigo: str) -> None:
    """Each refusal has its status and word, and the key serves for the mended request."""
    refused = await _send(erp, **sent)
    assert (refused.status, refused.codigo) == (status, codigo)
    assert await erp.count("lotes") == 0
    assert await erp.count("idempotencia_operacoes") == 0
    assert (await _send(erp)).status == 201


async def test_a_form_that_is_none_is_refused(erp: Erp) -> None:
    """JSON, a form without the file, and one that ends in the middle are told apart."""
    headers = {"Idempotency-Key": "k-1"}
    assert (await erp.post("/lotes", {})).codigo == "tipo_de_corpo"
    form = FormData(default_to_multipart=True)
    form.add_field("tipo", "envio")
    assert (await erp.ask("POST", "/lotes", headers=headers, data=form)).codigo == "corpo_invalido"
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    torn = await erp.ask("POST", "/lotes", headers=headers, data=b"--x\r\nContent-Disposition: form-data")
    assert torn.codigo == "pedido_invalido"


async def test_a_repetition_goes_on_where_a_reader_died(erp: Erp) -> None:
    """A list of which only the first rows are stored is whole after the same request again."""
    made = await _send(erp)
    await erp.database.pool.execute("UPDATE lotes SET estado = 'lendo'")
    await erp.database.pool.execute("DELETE FROM lote_linhas WHERE linha > 2")
    again = await _send(erp)
    assert again.body == {**made.body, "created": False}
    assert await erp.count("lote_linhas") == 3


async def test_other_words_want_another_yes(erp: Erp) -> None:
    """They take the place of those that nobody confirmed; after the yes they are refused, and nothing changes."""
    await mailed(erp.database, *KNOWN)
    made = await _send(erp)
    lote = made.body["id"]
    changed = await _send(erp, key="k-2", mensagem="Boa tarde, {nome}!")
    assert (changed.status, changed.body["id"], changed.body["created"]) == (200, lote, False)
    assert changed.body["primeiro"]["mensagem"] == "Boa tarde, Ana!"
    assert (await _confirm(erp, lote, made.body["revisao"])).codigo == "revisao_diferente"
    assert (await _confirm(erp, lote, changed.body["revisao"])).status == 200
    late = await _send(erp, key="k-3")
    assert (late.status, late.codigo) == (409, "texto_diferente")
    assert (await erp.ask("GET", f"/lotes/{lote}")).body["primeiro"] is None
    again = await _send(erp, key="k-4", mensagem="Boa tarde, {nome}!", repetir="true")
    assert (again.body["created"], "outro nome" in again.body["aviso"]) == (False, True)


async def test_a_yes_sends_once(erp: Erp) -> None:
    """The revision that was shown is needed; the same yes again changes nothing, and is audited once."""
    await mailed(erp.database, *KNOWN)
    made = await _send(erp)
    lote, revisao = made.body["id"], made.body["revisao"]
    wrong = await _confirm(erp, lote, "0" * 12)
    assert (wrong.status, wrong.codigo) == (409, "revisao_diferente")
    assert await erp.count("lote_fila") == 0
    answers = await asyncio.gather(*(_confirm(erp, lote, revisao) for _ in range(5)))
    assert {(answer.status, answer.body["estado"]) for answer in answers} == {(200, "processando")}
    assert (await _confirm(erp, lote, revisao, "yes-2")).status == 200
    assert (await _confirm(erp, lote, "0" * 12)).codigo == "chave_reutilizada"
    assert await erp.count("lote_fila") == 1
    audited = "SELECT count(*) FROM auditoria WHERE acao = 'confirmou lote' AND alvo = $1"
    assert await erp.database.pool.fetchval(audited, f"lote {lote}") == 1


async def test_a_yes_to_new_addresses_waits_for_a_person(erp: Erp) -> None:
    """Nothing is sent by it, however often and under how many keys; known are only those whom the company mailed."""
    await mailed(erp.database, KNOWN[0])
    await erp.database.pool.execute(_FAILED)
    made = await _send(erp)
    lote, revisao = made.body["id"], made.body["revisao"]
    for key in ("yes-1", "yes-1", "yes-2"):
        waits = await _confirm(erp, lote, revisao, key)
        assert (waits.status, waits.body["estado"]) == (200, "aguardando_confirmacao")
        assert waits.body["espera"] == {"enderecos_novos": 2, "pessoas": 0}
        assert "Nada foi enviado" in waits.body["aviso"]
        assert "mande um oi" in waits.body["aviso"]
    assert await erp.count("lote_fila") == 0
    assert (await erp.ask("GET", "/lotes")).body["itens"][0]["espera"] == waits.body["espera"]
    assert (await _confirm(erp, lote, "0" * 12, "yes-3")).codigo == "revisao_diferente"
    changed = await _send(erp, key="k-2", mensagem="Boa tarde, {nome}!")
    assert (changed.body["espera"], changed.body["aviso"]) == (None, None)
    await mailed(erp.database, *KNOWN)
    assert (await _confirm(erp, lote, changed.body["revisao"], "yes-4")).body["estado"] == "processando"


async def test_another_companys_batch_does_not_exist(erp: Erp) -> None:
    """Its number answers 404 wherever it is used, and nothing is sent of it."""
    made = await _send(erp)
    lote = made.body["id"]
    for path in (f"/lotes/{lote}", f"/lotes/{lote}/linhas", f"/lotes/{2**63}", "/lotes/0"):
        assert (await erp.ask("GET", path, chave=erp.theirs)).codigo == "nao_encontrado"
    assert (await _confirm(erp, lote, made.body["revisao"], chave=erp.theirs)).codigo == "nao_encontrado"
    async with erp.database.transaction() as connection:
        found = await records.by_id(connection, lote)
    assert found is not None
    assert found.estado == "aguardando_confirmacao"
