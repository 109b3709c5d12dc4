"""``python -m proofs.bench.load.generator``: loads a webhook with signed, distinct messages; prints JSON."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import itertools
import json
import secrets
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import uvloop

from proofs.bench.figure import percentile
from proofs.bench.load.line import address, content_length

PHONE_NUMBER_ID = "106540352242922"
OK = 200


class Envelope:
    """Bodies of one text message each, like Meta's but for the id; ``take`` signs the next one."""

    def __init__(self, host: str, path: str, secret: bytes, people: int) -> None:
        self._secret = secret
        self._people = people
        self._run = secrets.token_hex(6)
        self._numbers = itertools.count()
        value = {
            "messaging_product": "whatsapp",
            "metadata": {"display_phone_number": "551140028922", "phone_number_id": PHONE_NUMBER_ID},
            "contacts": [{"profile": {"name": "Ana Souza"}, "wa_id": "@who"}],
            "messages": [
                {"from": "@who", "id": "@id", "timestamp": "1763779200", "type": "text",
                 "text": {"body": "nota de 1500 pra 12.345.678/0001-95, consultoria de marketing"}}
            ],
        }  # fmt: skip
        entry = {"id": "102290129340398", "changes": [{"value": value, "field": "messages"}]}
        self._template = json.dumps({"object": "whatsapp_business_account", "entry": [entry]}, separators=(",", ":"))
        self._head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"

    def take(self) -> bytes:
        """Return a whole request."""
        number = next(self._numbers)
        text = self._template.replace("@id", f"wamid.{self._run}{number:012d}")
        body = text.replace("@who", f"55119{80_000_000 + number % self._people}").encode()
        digest = hmac.digest(self._secret, body, "sha256").hex()
        head = f"{self._head}X-Hub-Signature-256: sha256={digest}\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


class Sender(asyncio.Protocol):
    """One connection that sends the next request when the last is answered, after ``pause`` seconds."""

    def __init__(self, envelope: Envelope, until: float, pause: float, taken: list[float], bad: list[int]) -> None:
        self._envelope, self._until, self._pause = envelope, until, pause
        self._taken, self._bad = taken, bad
        self._buffer = b""
        self._began = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first."""
        self._transport: Any = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Take an answer; it may come in pieces."""
        self._buffer += data
        head, mark, body = self._buffer.partition(b"\r\n\r\n")
        if not mark or len(body) < content_length(head):
            return
        self._buffer = b""
        now = time.perf_counter()
        status = int(head[9:12])
        if status == OK:
            self._taken.append(now - self._began)
        else:
            self._bad.append(status)
        if now >= self._until:
            self._transport.close()
        elif self._pause:
            asyncio.get_running_loop().call_later(self._pause, self._send)
        else:
            self._send()

    def connection_lost(self, _: Exception | None) -> None:
        """End; a server that hangs up in the middle is a fault."""
        if time.perf_counter() < self._until:
            self._bad.append(0)
        if not self.ended.done():
            self.ended.set_result(None)

    def _send(self) -> None:
        request = self._envelope.take()
        self._began = time.perf_counter()
        self._transport.write(request)


async def press(url: str, secret: str, connections: int, seconds: float, pause: float, people: int) -> dict[str, Any]:
    """Press for ``seconds``; returns counts, rate and latencies in ms, and the generator's own CPU share."""
    host, port = address(url)
    envelope = Envelope(f"{host}:{port}", urlsplit(url).path, secret.encode(), people)
    loop = asyncio.get_running_loop()
    taken: list[float] = []
    bad: list[int] = []
    began, spent = time.perf_counter(), time.process_time()
    made = [
        await loop.create_connection(lambda: Sender(envelope, began + seconds, pause, taken, bad), host, port)
        for _ in range(connections)
    ]
    await asyncio.gather(*(sender.ended for _, sender in made))
    lasted = time.perf_counter() - began
    return {
        "answered": len(taken),
        "bad": len(bad),
        "per_second": len(taken) / lasted,
        "p50_ms": percentile(taken, 0.5) * 1000,
        "p99_ms": percentile(taken, 0.99) * 1000,
        "taken_ms": [round(seconds * 1000, 3) for seconds in taken],
        "generator_cpu": (time.process_time() - spent) / lasted,
    }


def main() -> None:
    """Read the command line, press, print one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m proofs.bench.load.generator")
    parser.add_argument("url")
    parser.add_argument("--secret", default="sandbox-app-secret")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between answer and next request")
    parser.add_argument("--people", type=int, default=2000)
    args = parser.parse_args()
    result = uvloop.run(press(args.url, args.secret, args.connections, args.seconds, args.pause, args.people))
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
