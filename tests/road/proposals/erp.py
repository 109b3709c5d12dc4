"""Another system of the demo's company, and the person whom it asks, on an open road."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from operations.api import make_key
from proofs.demo.world import COMPANY
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ
from tests.road.road_people import until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

PADARIA = "12.345.678/0001-95"
_numbers = itertools.count(1)

_APPROVER = """
INSERT INTO empresa_aprovador (empresa_id, usuario_id)
SELECT empresa_id, id FROM usuario WHERE telefone = $1
ON CONFLICT (empresa_id) DO UPDATE SET usuario_id = excluded.usuario_id
"""


@dataclass
class Erp:
    """It sends with a key of the demo's company."""

    road: Road
    headers: dict[str, str]

    async def post(self, path: str, body: dict[str, Any], key: str | None = None) -> Any:
        """Send a body under a key, a new one if none is given, and return what was answered."""
        headers = {**self.headers, "Idempotency-Key": key or f"erp-{next(_numbers)}"}
        async with httpx.AsyncClient(base_url=f"{self.road.address}/api/v1", headers=headers) as client:
            answer = await client.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    async def get(self, proposta: int) -> Any:
        """Return a proposal as it is now."""
        async with httpx.AsyncClient(base_url=f"{self.road.address}/api/v1", headers=self.headers) as client:
            answer = await client.get(f"/propostas/{proposta}")
        assert answer.is_success, answer.text
        return answer.json()

    async def file(self, path: str) -> bytes:
        """Return what is at a path that an answer names."""
        async with httpx.AsyncClient(base_url=self.road.address, headers=self.headers) as client:
            answer = await client.get(path)
        assert answer.is_success, answer.text
        return answer.content

    async def becomes(self, proposta: int, estado: str) -> Any:
        """Wait until a proposal is in ``estado`` and return it."""

        async def there() -> Any:
            found = await self.get(proposta)
            return found if found["estado"] == estado else None

        return await until(there)

    async def proposes(self, documento: str | None = PADARIA, **fields: Any) -> int:
        """Make a client and a proposal for it, and send it to the approver; return its number."""
        number = next(_numbers)
        client = {"nome": "Padaria do João", "email": f"padaria{number}@exemplo.com.br"}
        cliente = await self.post("/clientes", client | ({"documento": documento} if documento else {}))
        body = {"cliente_id": cliente["id"], "valor": "1500.00", "descricao": f"Consultoria {number}", **fields}
        made = await self.post("/propostas", {name: value for name, value in body.items() if value is not None})
        sent = await self.post(f"/propostas/{made['id']}/submeter", {"versao": 1})
        assert (sent["estado"], sent["versao"]) == ("enviada", 2)
        return int(made["id"])


async def erp_of(road: Road) -> Erp:
    """Return another system of the demo's company."""
    (chave,) = await make_key(road.database, [CNPJ(COMPANY.cnpj).numero], [], Ambiente.PRODUCAO, tudo=True)
    return Erp(road, {"Authorization": f"Bearer {chave}"})


async def approver(road: Road) -> Person:
    """Return somebody who wrote once, and whom the company's proposals are sent to from now on."""
    ana = await road.person()
    await ana.say("oi")
    assert await road.database.pool.execute(_APPROVER, ana.who) == "INSERT 0 1"
    await nothing_open(road, ana)
    return ana


async def nothing_open(road: Road, person: Person) -> None:
    """Give up what a person has open."""
    await person.say("cancelar")
    assert {row["estado"] for row in await road.sessions(person)} <= {"cancelado_usuario", "expirado"}
