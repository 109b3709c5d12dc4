"""``python -m proofs.bench.peers.front NAME``: the servers that our acknowledgement is compared with."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import uvloop

from bot.process.run import Ending, serving, settle
from telemetry.logs import configure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.queue.inbox import Arrival

SECRET = b"sandbox-app-secret"
EMPTY_ANSWER = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"status":"ok"}'


def started(address: str) -> None:
    """Tell the harness."""
    sys.stdout.write(json.dumps({"event": "started", "address": address}) + "\n")
    sys.stdout.flush()


class _Forgetful:
    """An inbox that stores nothing."""

    async def put(self, arrivals: Sequence[Arrival]) -> int:
        return len(arrivals)


async def verify() -> None:
    """Our own application: size, signature, parsing, figures and logs as always; only the storing is left out."""
    from telemetry.metrics import Metrics
    from webhooks.app import create_app
    from webhooks.deps import WebhookDeps

    nothing: Any = None

    async def ping() -> None:
        return None

    deps = WebhookDeps(
        inbox=_Forgetful(),  # type: ignore[arg-type] # what is measured is its absence
        backlog=nothing,
        database=nothing,
        metrics=Metrics(),
        whatsapp_secrets=(SECRET,),
        whatsapp_verify_token=b"sandbox-verify-token",
        gateway_paths=(b"x",),
        gateway_headers=(),
        read_hints=lambda _: (),
        ping_redis=ping,
    )
    stop = Ending().stop_event()
    settle()  # as `prosa web` does
    async with serving(create_app(deps), "127.0.0.1", 0) as address:
        started(address)
        await stop.wait()


class _Empty(asyncio.Protocol):
    """Answers 200 to every whole request and looks at nothing: the limit of the load generator."""

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._buffer.endswith(b"}"):  # every body of the generator is a JSON object, sent as one
            self._buffer = b""
            self._transport.write(EMPTY_ANSWER)


async def empty() -> None:
    """The empty server."""
    stop = Ending().stop_event()
    server = await asyncio.get_running_loop().create_server(_Empty, "127.0.0.1", 0)
    started(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await stop.wait()
    server.close()


def fastapi_insert() -> Any:
    """FastAPI that checks the signature and stores each body with one INSERT and its own commit."""
    import hashlib
    import hmac
    from contextlib import asynccontextmanager

    import asyncpg
    from fastapi import FastAPI, Request, Response

    pool: list[Any] = []

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        pool.append(await asyncpg.create_pool(os.environ["BENCH_DATABASE_URL"], min_size=20, max_size=20))
        yield
        await pool[0].close()

    async def receive(request: Any) -> Any:
        raw = await request.body()
        expected = "sha256=" + hmac.new(SECRET, raw, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers.get("x-hub-signature-256", ""), expected):
            return Response(status_code=401)
        value = json.loads(raw)["entry"][0]["changes"][0]["value"]
        message = value["messages"][0]
        await pool[0].execute(
            "INSERT INTO inbox (chave, lane, tipo, payload, correlacao) VALUES ($1, $2, 'mensagem', $3, '') "
            "ON CONFLICT (chave) DO NOTHING",
            message["id"],
            f"{value['metadata']['phone_number_id']}:{message['from']}",
            json.dumps(value),
        )
        return {"status": "ok"}

    receive.__annotations__["request"] = Request
    app = FastAPI(lifespan=lifespan)
    app.add_api_route("/webhooks/whatsapp", receive, methods=["POST"], response_model=None)
    return app


def pywa() -> Any:
    """Pywa's asynchronous client on FastAPI with one handler that does nothing, as its documentation shows."""
    from fastapi import FastAPI
    from pywa_async import WhatsApp, filters

    app = FastAPI()
    client = WhatsApp(
        phone_id="106540352242922",
        token="none",  # noqa: S106 - never used: it sends nothing
        server=app,
        webhook_endpoint="/webhooks/whatsapp",
        verify_token="sandbox-verify-token",  # noqa: S106 - likewise
        app_secret=SECRET.decode(),
        validate_updates=True,
    )

    async def ignore(*_: Any) -> None:
        return None

    client.on_message(filters.text)(ignore)
    return app


def asgi(app: Any) -> None:
    """Serve with uvicorn: one process, uvloop, httptools, no access log."""
    import socket

    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)

    class Server(uvicorn.Server):  # type: ignore[misc,unused-ignore] # without uvicorn its base is Any
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started(f"http://127.0.0.1:{listener.getsockname()[1]}")

    config = uvicorn.Config(app, loop="uvloop", http="httptools", access_log=False, log_level="warning")
    Server(config).run(sockets=[listener])


def main() -> None:
    """Serve the reference that is named on the command line."""
    name = sys.argv[1]
    configure("INFO", "json")
    match name:
        case "verify":
            uvloop.run(verify())
        case "empty":
            uvloop.run(empty())
        case "fastapi-insert":
            asgi(fastapi_insert())
        case "pywa":
            asgi(pywa())
        case _:
            raise SystemExit(f"nenhuma referência se chama {name}")


if __name__ == "__main__":
    main()
