from __future__ import annotations

import asyncio
import json
import signal
import ssl
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from proofs.sandbox.server import PortError
from proofs.sandbox.world import Ports, World, WorldConfig
from tests import children
from tests.held_port import taken_port
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

ANA = "5511987654321"


async def test_opens_everything_and_wires_the_bot(tmp_path: Path, listener) -> None:
    """Four services answer on their own ports, and a person's words reach the bot's route."""
    async with World(tmp_path, bot_url=listener.url.removesuffix("/hook")) as world:
        assert (world.meta.courier.url or "").endswith("/webhooks/whatsapp")
        assert (world.plugnotas.courier.url or "").endswith("/webhooks/gateway/sandbox-gateway-secret")
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{world.urls.cnpj_api}/12345678000195")).status_code == 200
            assert (await client.get(f"{world.urls.openai_base}/models")).status_code == 200
            assert (await client.get(f"{world.urls.plugnotas}/nfse/x")).status_code == 401
            assert (await client.get(f"{world.urls.whatsapp_api}/1")).status_code == 401
        await world.meta.user_text(ANA, "oi")
    assert "oi" in (tmp_path / "meta.jsonl").read_text()


async def start(home: Path, *more: str) -> tuple[asyncio.subprocess.Process, dict[str, str]]:
    """Run ``python -m proofs.sandbox`` and read the line it prints."""
    command = (sys.executable, "-m", "proofs.sandbox", "--home", str(home), *more)
    process = await children.start(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        return process, json.loads(await process.stdout.readline())


async def test_a_killed_process_comes_back_as_it_was(tmp_path: Path, listener) -> None:
    """After ``kill -9`` the next process has the conversation and delivers what was left."""
    process, urls = await start(tmp_path)
    async with httpx.AsyncClient() as client:
        await client.post(urls["meta"] + "/_sandbox/user", json={"who": ANA, "text": "antes da queda"})
    process.kill()
    await process.wait()
    process, again = await start(tmp_path, "--bot-url", listener.url.removesuffix("/hook"))
    async with httpx.AsyncClient() as client:
        seen = (await client.get(f"{again['meta']}/_sandbox/conversations/{ANA}")).json()
    await listener.heard(1)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    assert [bubble["text"] for bubble in seen["bubbles"]] == ["antes da queda"]
    assert b"antes da queda" in listener.bodies[0]


async def test_the_command_opens_the_national_channel_on_demand(tmp_path: Path) -> None:
    """Without the option nothing of it is named; with it the addresses and the file of the CA are."""
    process, plain = await start(tmp_path / "plain")
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    process, urls = await start(tmp_path / "both", "--nacional")
    trust = ssl.create_default_context(cafile=urls["nacional_ca_file"])
    async with httpx.AsyncClient(verify=trust) as client:
        assert (await client.get(urls["nacional_sefin"] + "/nfse/1")).status_code == 403
        assert (await client.get(urls["adn"] + "/_sandbox/ledger")).json() == []
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    assert "sefin" not in plain


@pytest.mark.parametrize("port", [None, 99_999])
async def test_a_port_that_cannot_be_opened_leaves_nothing_open(port: int | None) -> None:
    """The error names the option to change, and the simulators that were open already are closed again."""
    with taken_port() as taken:
        world = World(config=WorldConfig(ports=Ports(cnpj=port or taken)))
        with pytest.raises(PortError, match="--cnpj-port"):
            await world.__aenter__()
    for simulator in (world.meta, world.plugnotas):
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", simulator.port)
