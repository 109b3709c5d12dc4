"""The specification's table of retriable and definite errors (idempotencia-e-consistencia, 5.2), row by row.

Each row goes over real HTTP through the adapter and then through the decision. "Verificar + retry" is a question to the
gateway before anything is sent again; "não" is a refusal that ends the emission when no earlier call is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from gateway.plugnotas.adapter import PlugNotas
from state_machine.documents import ConteudoServico
from state_machine.protocol.emission import StatusEmissao
from state_machine.protocol.reconciliation import after_send, may_send
from state_machine.protocol.retry import Politica
from state_machine.protocol.standing import Andamento

if TYPE_CHECKING:
    from state_machine.documents import DocumentoServico
    from state_machine.protocol.emission import Outcome
    from tests.gateway.conftest import Scripted

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
REFUSED = {"error": {"message": "Falha na validação do JSON de NFSe", "data": {"fields": {"servico": "inválido"}}}}
NOT_FOUND = {"error": {"message": "Não localizamos a empresa informada"}}
TAKEN = {"error": {"message": "Já existe um(a) NFSe com os parâmetros informados"}}
BUSY = {"error": {"message": "Limite de requisições excedido"}}
PAGE = "<html><body>404 Not Found</body></html>"
S = StatusEmissao


@dataclass(frozen=True)
class Row:
    """One answer: the status that follows on a first call, and the one while an earlier call is undecided."""

    name: str
    answer: tuple[int, Any, dict[str, str]]
    first: StatusEmissao
    doubted: StatusEmissao
    wait: float = 0.0  # seconds that are waited at least


ROWS = [
    Row("5xx: 500", (500, {"error": {"message": "Erro interno"}}, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("5xx: 502", (502, PAGE, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("5xx: 503, before acceptance", (503, BUSY, {"Retry_After": "7"}), S.PENDENTE, S.PENDENTE, 7.0),
    Row("5xx: 503 of a proxy", (503, PAGE, {"Retry_After": "7"}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("5xx: 504", (504, b"", {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("5xx: 599", (599, REFUSED, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("429: Retry-After", (429, BUSY, {"Retry_After": "77"}), S.PENDENTE, S.PENDENTE, 77.0),
    Row("4xx validação: 400", (400, REFUSED, {}), S.REJEITADO, S.DESCONHECIDO),
    Row("4xx validação: 422", (422, REFUSED, {}), S.REJEITADO, S.DESCONHECIDO),
    Row("4xx validação: 400 of a proxy", (400, PAGE, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("4xx validação: 422 of a proxy", (422, PAGE, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("4xx auth: 401", (401, b"", {}), S.PENDENTE, S.PENDENTE),
    Row("4xx auth: 403", (403, PAGE, {}), S.PENDENTE, S.PENDENTE),
    Row("404: the gateway's own", (404, NOT_FOUND, {}), S.REJEITADO, S.DESCONHECIDO),
    Row("404: a proxy's page", (404, PAGE, {}), S.DESCONHECIDO, S.DESCONHECIDO),
    Row("409: already processed", (409, TAKEN, {}), S.DESCONHECIDO, S.DESCONHECIDO),
]


def _after(outcome: Outcome, *, undecided: bool) -> tuple[Andamento, float | None]:
    conteudo = ConteudoServico(
        "11222333000181", "12345678000195", "17.01", Decimal(1500), date(2026, 11, 23), "Consultoria"
    )
    before = Andamento("zap-0001-1", conteudo, conteudo.impressao, S.PENDENTE, NOW, duvida=undecided)
    passo = after_send(before, outcome, NOW, replace(Politica(), escada=(2, 10)))
    return passo.andamento, passo.daqui


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_row(server: Scripted, free: Any, intent: DocumentoServico, row: Row) -> None:
    """Definite only where the gateway's own JSON says so and no earlier call is undecided; else asked or postponed."""
    status, body, headers = row.answer
    server.says(status, body, **headers)
    async with PlugNotas(server.url, "key", guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    for undecided, expected in ((False, row.first), (True, row.doubted)):
        andamento, wait = _after(outcome, undecided=undecided)
        assert andamento.status is expected
        assert (wait is None) == (expected is S.REJEITADO)
        assert (wait or 0.0) >= row.wait
        assert may_send(andamento) == (expected is S.PENDENTE)  # never again what may have been accepted


async def test_timeout(faulty: Any, free: Any, intent: DocumentoServico) -> None:
    """Timeout: "verificar + retry": unknown, asked about, not sent again blind."""
    async with PlugNotas(await faulty("hang"), "key", guard=free, submit_timeout=0.3) as gateway:
        outcome = await gateway.submit(gateway.payload(intent))
    andamento, wait = _after(outcome, undecided=False)
    assert (andamento.status, wait) == (S.DESCONHECIDO, 2)


async def test_network(faulty: Any, closed_url: str, free: Any, intent: DocumentoServico) -> None:
    """Rede: back-off and again where nothing was sent; a line that breaks after the bytes left is asked about."""
    async with PlugNotas(closed_url, "key", guard=free) as gateway:
        andamento, wait = _after(await gateway.submit(gateway.payload(intent)), undecided=False)
    assert (andamento.status, bool(wait)) == (S.PENDENTE, True)
    async with PlugNotas(await faulty("reset"), "key", guard=free, submit_timeout=2.0) as gateway:
        andamento, _ = _after(await gateway.submit(gateway.payload(intent)), undecided=False)
    assert andamento.status is S.DESCONHECIDO
