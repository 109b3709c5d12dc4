"""What staff read on every page: their own words, and none of the program's."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from persistence.access.accounts import Papel
from persistence.rows import TIPOS
from state_machine.invoice.session import SnapshotReason
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.actions.commands import POR_NOME
from webhooks.console.app import HERE, ROTAS
from webhooks.console.render import labels
from webhooks.console.render.labels import EMISSOES, LINHAS

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Desk

# Evidence is shown as it is: bodies of calls, stored JSON, and what is typed at a prompt.
_EVIDENCE = re.compile(
    r'<(script|style|pre|code)\b.*?</\1>|<section class="card tree".*?</section>|<input[^>]*>|<textarea.*?</textarea>',
    re.DOTALL,
)
_SNAKE = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")
_RAW = re.compile(  # names of the program that have no underline, and words of no language that staff speak
    r"\b(?:concluido|dispensado|codigo|Accepted|Issued|Cancelled|Found|Unknown|Rejected|NotSent|Absent"
    r"|manual|confirmed|expired|error|status|pending|null|None|submit)\b"
)
_JARGON = re.compile(  # what the program's makers say among themselves
    r"\b(?:snapshots?|disjuntor(?:es)?|quarentena|revis(?:ão|ões)|lease|inbox|outbox|payload|ttl|webhooks?|workers?"
    r"|wamid|tokens?|idempot\w+|lanes?|máquina de estados)\b",
    re.IGNORECASE,
)
_HEARD = re.compile(
    r'\b(?:aria-label|title|placeholder|alt|data-coluna)="([^"]*)"'
)  # read out, or written by the style
STREAM = "/eventos"


def visible(page: str) -> str:
    """The text of a page without evidence, tags and addresses."""
    return html.unescape(re.sub(r"<[^>]*>", " ", _EVIDENCE.sub(" ", page)))


def foul(page: str) -> set[str]:
    """What of the page's text is the program's own."""
    text = visible(page)
    heard = " ".join(_HEARD.findall(page))
    return set(_SNAKE.findall(text)) | set(_RAW.findall(text)) | set(_JARGON.findall(f"{text} {heard}"))


@pytest.fixture(scope="module")
async def filled(desk: Desk) -> dict[str, Any]:
    """A note that the gateway announced, one that it did not, refusals, and one in every state that a row may have."""
    pool, faults = desk.road.database.pool, desk.road.world.plugnotas.faults
    ana = await desk.road.person()
    await ana.issue()
    faults.set("sem_webhook")
    await ana.issue()
    await desk.road.settled()
    faults.clear()
    untold = (await desk.road.session(ana))["sessao_id"]
    one = await desk.refused("811")
    sessions = [one, *[await desk.refused(str(812 + n)) for n in range(len(StatusEmissao))]]
    for sessao_id, status in zip(sessions, StatusEmissao, strict=False):
        await pool.execute(
            "UPDATE nfse_emissao SET status = $2, erro_mensagem = 'absent twice: sending the stored bytes again', "
            "criado_em = now() - interval '1 hour' WHERE sessao_id = $1",
            sessao_id,
            status.value,
        )
    for sessao_id, reason in zip(sessions, SnapshotReason, strict=False):
        await pool.execute("UPDATE session_snapshot SET snapshot_reason = $2 WHERE sessao_id = $1", sessao_id, reason)
    lane = (await desk.road.session(ana))["conversa"]
    for tipo in TIPOS:
        await pool.execute(
            "INSERT INTO inbox (chave, lane, tipo, payload, correlacao, estado, tentativas, erro) "
            "VALUES ($1, $2, $3, '{}', 'x', 2, 5, 'KeyError: some_name')",
            f"visible-words-{tipo}", lane, tipo,
        )  # fmt: skip
    await pool.execute(
        "INSERT INTO idempotency_records (idempotency_key, process_instance_id, activity_id, operation_name, "
        "input_hash, status, lease_until, expires_at) "
        "VALUES ('visible-words', $1, 'emitir', 'emitir_nfse', 'x', 'PENDING', now(), now() + interval '1 day')",
        one,
    )
    return {
        "sessoes": [*sessions, untold],
        "untold": untold,
        "codigo": str(await pool.fetchval("SELECT codigo FROM conversas WHERE conversa = $1", lane)),
        "quarentena": [row["id"] for row in await pool.fetch("SELECT id FROM inbox WHERE estado = 2")],
    }


async def test_every_page_speaks_the_words_of_staff(desk: Desk, filled: dict[str, Any]) -> None:
    """With failures of all kinds no page shows a stored name: no snake_case, no raw state, no jargon."""
    acoes = ("anotar", "assumir", "encerrar", "consultar", "reprocessar", "cancelar")
    one = filled["sessoes"][0]
    places = {
        "": ["", "?ver=todas", "?ver=desconhecidas", "?ver=quarentena", "?ver=todas&estado=erro"],
        "/sessoes/{sessao_id}": [f"/sessoes/{each}" for each in filled["sessoes"]],
        "/sessoes/{sessao_id}/snapshot": [f"/sessoes/{one}/snapshot"],
        "/sessoes/{sessao_id}/acoes/{acao}": [f"/sessoes/{one}/acoes/{acao}" for acao in acoes],
        "/quarentena/{numero}": [f"/quarentena/{each}" for each in filled["quarentena"]],
        "/contatos/{codigo}": [f"/contatos/{filled['codigo']}"],
        "/contatos/{codigo}/remover-usuario": [f"/contatos/{filled['codigo']}/remover-usuario"],
        "/empresas/{numero}": ["/empresas/1"],
    }
    fouls: dict[str, set[str]] = {}
    async with desk.office.at_work(Papel.ADMIN) as eva:
        groups = re.findall(r'href="/console(/falhas/grupo[^"]*)"', (await eva.get("/console/falhas"))[1])
        places["/falhas/grupo"] = [html.unescape(each) for each in groups]
        assert len(groups) > 3
        for rota in (
            each for each in ROTAS if each.metodo == "GET" and each.caminho != STREAM and "{formato" not in each.caminho
        ):
            for path in places.get(rota.caminho, [rota.caminho]):
                status, page = await eva.get(f"/console{path}")
                assert status in {200, 409}, path  # 409: an action that does not fit says so in words
                if found := foul(page):
                    fouls[path] = found
    assert fouls == {}


def test_what_is_shown_only_sometimes_is_said_in_plain_words() -> None:
    """No branch of a template, no label and no title of an action holds a word of the program's makers."""
    said = [re.sub(r"{%.*?%}|{{.*?}}", " ", each.read_text()) for each in (HERE / "templates").glob("*.html")]
    tables = [each for name, each in vars(labels).items() if name != "__builtins__" and isinstance(each, Mapping)]
    said += [each[0] if isinstance(each, tuple) else each for table in tables for each in table.values()]
    said += [f"{acao.titulo} {acao.consequencia} {acao.feito}" for acao in POR_NOME.values()]
    assert [(each[:60], found) for each in said if (found := _JARGON.findall(visible(each)))] == []


def test_every_stored_word_has_one_for_staff() -> None:
    """No status of an emission and no kind of row is called by its stored name."""
    assert set(EMISSOES) == set(StatusEmissao)
    assert set(LINHAS) == TIPOS


async def test_a_note_of_which_no_webhook_told_says_so(desk: Desk, filled: dict[str, Any]) -> None:
    """A note that was found by asking says that the gateway told nothing; an announced one does not."""
    async with desk.office.at_work(Papel.LEITURA) as sara:
        page = (await sara.get(f"/console/sessoes/{filled['untold']}"))[1]
        assert "nenhum do gateway: a Prosa perguntou por si" in page
        assert 'data-testid="aviso"' not in (await sara.get(f"/console/sessoes/{filled['sessoes'][0]}"))[1]
