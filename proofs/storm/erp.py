"""Other systems of the storm's companies: each proposes invoices by the API, whatever becomes of its requests."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Final

import asyncpg
import httpx

from operations.api import make_key
from proofs.sandbox.cnpj_register import companies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.db.engine import Database
    from proofs.storm.crowd import Issuer, Wish
    from proofs.storm.machines.process import Process
    from state_machine.protocol.channel import Ambiente

TRIES: Final = 1200  # of one request: its process may be dead or frozen, the database away or put back
PAUSE: Final = 0.5  # seconds between them
AGAIN: Final = frozenset({408, 409, 429, 500, 502, 503, 504})  # not now: the same key again
# What httpx raises of a process that is dead or dies; AttributeError where it dies between connection and request.
AWAY: Final = (httpx.HTTPError, httpx.InvalidURL, AttributeError)
APPROVER: Final = """
INSERT INTO empresa_aprovador (empresa_id, usuario_id) SELECT empresa_id, id FROM usuario WHERE telefone = $1
ON CONFLICT (empresa_id) DO UPDATE SET usuario_id = excluded.usuario_id
"""
# The company has mailed these addresses before: a system's yes to a list of others only asks its people.
MAILED: Final = """
WITH lote AS (INSERT INTO lotes (empresa_id, tipo, nome_arquivo, sha256, revisao, estado)
    SELECT id, 'envio', 'antes.csv', '', '', 'concluido' FROM empresa WHERE cnpj = $1
    ON CONFLICT DO NOTHING RETURNING id)
INSERT INTO lote_linhas (lote_id, chave, linha, estado, email, token)
SELECT lote.id, email, 0, 'DONE', email, md5('antes' || email) FROM lote, unnest($2::text[]) AS email
"""


class Erp:
    """Each request goes under its own key until it is answered; its approver is the person whose invoice it is."""

    def __init__(self, database_url: str, webs: Sequence[Process], listed: int) -> None:
        self.listed = [f"lista.{number}@cliente.example" for number in range(listed)]  # of the one list
        self._database_url = database_url
        self._webs = webs
        self._keys: dict[str, str] = {}
        self._approving: dict[str, asyncio.Lock] = {}  # a company has one approver at a time

    async def enter(self, database: Database, issuers: Sequence[Issuer], ambiente: Ambiente) -> None:
        """Get a key of each company."""
        for issuer in issuers:
            (self._keys[issuer.cnpj],) = await make_key(database, [issuer.cnpj], [], ambiente, tudo=True)
            self._approving[issuer.cnpj] = asyncio.Lock()

    async def propose(self, wish: Wish) -> None:
        """Make client and proposal, and send it to its approver. Raises ``TimeoutError``."""
        client = {
            "nome": companies()[wish.tomador]["razao_social"],
            "email": wish.email,
            "documento": wish.tomador,
        }
        for _ in range(TRIES):
            made = await self._post(wish, "cliente", "/clientes", client)
            body = {"cliente_id": made["id"], "valor": f"{wish.valor:.2f}", "descricao": wish.servico}
            if wish.competencia:
                month, _, year = wish.competencia.partition("/")
                body["competencia"] = f"{year}-{month}"
            proposta = await self._post(wish, "proposta", "/propostas", body)
            if proposta is None:  # a database that was put back knows no such client
                continue
            async with self._approving[wish.emitente.cnpj]:
                await self._write(APPROVER, wish.who)
                if await self._post(wish, "submeter", f"/propostas/{proposta['id']}/submeter", {"versao": 1}):
                    return
        raise TimeoutError

    async def send_list(self, issuer: Issuer) -> None:
        """Hand the list in, and say yes to it as often as it is asked for, until every mail of it went out."""
        if not self.listed:
            return
        rows = "".join(f"{each};Cliente {number}\n" for number, each in enumerate(self.listed))
        headers = {"Authorization": f"Bearer {self._keys[issuer.cnpj]}"}
        files = {"arquivo": ("clientes.csv", f"email;nome\n{rows}".encode(), "text/csv")}
        fields = {"tipo": "envio", "assunto": "Aviso", "mensagem": "Bom dia, {nome}!"}
        for number in itertools.count():  # as long as the rate of mails has it take; the drain waits
            web = self._webs[number % len(self._webs)]
            base = f"{web.address}/api/v1"
            with contextlib.suppress(*AWAY, ValueError, KeyError):
                async with httpx.AsyncClient(base_url=base, headers=headers, timeout=10.0) as client:
                    # Under its one key: a database that was put back may not know it any more.
                    key = {"Idempotency-Key": "lista"}
                    lote = (await client.post("/lotes", files=files, data=fields, headers=key)).json()
                    if lote["estado"] == "concluido":
                        return
                    if lote["espera"]:  # also after a database was put back
                        await self._write(MAILED, issuer.cnpj, self.listed)
                    if lote["estado"] == "aguardando_confirmacao":
                        yes = {"Idempotency-Key": f"sim-{number}"}
                        body = {"revisao": lote["revisao"]}
                        await client.post(f"/lotes/{lote['id']}/confirmar", json=body, headers=yes)
            await asyncio.sleep(PAUSE)

    async def _post(self, wish: Wish, what: str, path: str, body: dict[str, Any]) -> Any:
        """Return what was answered, ``None`` for what is not known there. Raises ``TimeoutError``."""
        headers = {
            "Authorization": f"Bearer {self._keys[wish.emitente.cnpj]}",
            "Idempotency-Key": f"{what}-{wish.who}",
        }
        for number in range(TRIES):
            web = self._webs[number % len(self._webs)]
            try:
                async with httpx.AsyncClient(base_url=f"{web.address}/api/v1", headers=headers, timeout=10.0) as client:
                    answer = await client.post(path, json=body)
            except AWAY:
                await asyncio.sleep(PAUSE)
                continue
            if answer.is_success:
                return answer.json()
            if answer.status_code in {404, 422}:
                return None
            if answer.status_code not in AGAIN:
                raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
            await asyncio.sleep(PAUSE)
        raise TimeoutError

    async def _write(self, statement: str, *values: Any) -> None:
        """Write past the API what an operator would have; again and again while the database is away."""
        for _ in range(TRIES):
            try:
                connection = await asyncpg.connect(self._database_url)
                try:
                    await connection.execute(statement, *values)
                finally:
                    await connection.close()
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(PAUSE)
            else:
                return
        raise TimeoutError
