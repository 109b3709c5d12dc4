"""The demo's other system: it proposes invoices to Ana by the API, as any ERP would, and follows them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import httpx

from webhooks.api.submission import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CUSTOMER: Final = {"nome": "PADARIA DO ZÉ LTDA", "email": "ze@example.com", "documento": "12345678000195"}
FOLLOWED: Final = 5  # proposals that the page shows


class DemoErp:
    """A caller with one key; it remembers its proposals until the demo ends."""

    def __init__(self, address: str, chave: str) -> None:
        self._api = httpx.AsyncClient(base_url=address + PREFIX, headers={"Authorization": f"Bearer {chave}"})
        self._ids: list[int] = []

    async def propose(self, valor: str, descricao: str) -> str | None:
        """Make a proposal and submit it; returns why that was refused, in the API's own words."""
        answer = await self._post("/clientes", CUSTOMER, "demo-cliente")
        if answer.is_success:
            valor = valor.replace(".", "").replace(",", ".") if "," in valor else valor  # as people write it
            wanted = {"cliente_id": answer.json()["id"], "valor": valor, "descricao": descricao}
            answer = await self._post("/propostas", wanted, str(uuid.uuid4()))
        if answer.is_success:
            made = answer.json()
            self._ids.append(made["id"])
            path = f"/propostas/{made['id']}/submeter"
            answer = await self._post(path, {"versao": made["versao"]}, str(uuid.uuid4()))
        if answer.is_success:
            return None
        told = answer.json()
        return "; ".join(error["mensagem"] for error in told.get("erros", ())) or str(told["detail"])

    async def read(self) -> Sequence[Mapping[str, Any]]:
        """Return the newest proposals as the API does; none while it is away, as at the demo's end."""
        try:
            answers = [await self._api.get(f"/propostas/{number}") for number in self._ids[: -FOLLOWED - 1 : -1]]
        except httpx.HTTPError:
            return ()
        return [answer.json() for answer in answers if answer.is_success]

    async def close(self) -> None:
        """End its connections."""
        await self._api.aclose()

    async def _post(self, path: str, body: Mapping[str, Any], key: str) -> httpx.Response:
        return await self._api.post(path, json=body, headers={"Idempotency-Key": key})
