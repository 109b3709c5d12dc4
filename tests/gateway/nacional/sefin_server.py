"""A small SEFIN over mutual TLS for tests of the adapter; it keeps notes and events, and answers as it is told."""

from __future__ import annotations

import json
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from gateway.keys import ChaveNFSe
from gateway.nacional.layouts import parse
from gateway.nacional.signature import pack, unpack
from tests.gateway.nacional.made_documents import event_of, note_of
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENVELOPE = {"tipoAmbiente": 2, "versaoAplicativo": "teste", "dataHoraProcessamento": "2026-11-21T10:00:00-03:00"}
NO_NOTE = {  # of a DPS, as clients of the real one have written it down
    "tipoAmbiente": 0,
    "dataHoraProcessamento": ENVELOPE["dataHoraProcessamento"],
    "erro": {"codigo": "E2404", "descricao": "Nenhuma NFS-e desta DPS."},
}


@dataclass
class Sefin:
    """What it holds, by the identity of the DPS; ``planned`` answers come first, ``silent``: it takes and is cut."""

    notes: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    events: dict[str, str] = field(default_factory=dict)  # kind of the event that ended a note, by its key
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, who
    received: list[bytes] = field(default_factory=list)
    planned: list[tuple[int, Any]] = field(default_factory=list)
    silent: bool = False
    url: str = ""  # where it listens

    def take(self, dps: bytes) -> tuple[int, Any]:
        """Issue a note of a DPS, or say that there is one."""
        self.received.append(dps)
        identity = parse(dps)[0].get("Id")
        if identity in self.notes:
            return 400, refusal("E0014")
        cnpj, number = identity[11:25], len(self.notes) + 42
        chave = str(ChaveNFSe("3550308", "2", "2", cnpj, number, "2611", number))
        xml = note_of(dps, chave=chave, cnpj=cnpj).replace(b"<nNFSe>42<", f"<nNFSe>{number}<".encode())
        self.notes[identity] = chave, xml
        return 201, {**ENVELOPE, "idDps": identity, "chaveAcesso": chave, "nfseXmlGZipB64": pack(xml)}

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return status and JSON."""
        parts = path.removeprefix("/SefinNacional").strip("/").split("/")
        by_key = dict(self.notes.values())
        match method, parts:
            case "POST", ["nfse"]:
                return self.take(unpack(body["dpsXmlGZipB64"]))
            case "POST", ["nfse", chave, "eventos"]:
                if chave in self.events:
                    return 400, refusal("E0840")
                self.received.append(unpack(body["pedidoRegistroEventoXmlGZipB64"]))
                self.events[chave] = "101101"
                return 201, {**ENVELOPE, "eventoXmlGZipB64": pack(event_of(chave))}
            case (("GET" | "HEAD"), ["dps", identity]) if identity in self.notes:
                return 200, {**ENVELOPE, "idDps": identity, "chaveAcesso": self.notes[identity][0]}
            case "GET", ["nfse", chave] if chave in by_key:
                return 200, {**ENVELOPE, "chaveAcesso": chave, "nfseXmlGZipB64": pack(by_key[chave])}
            case "GET", ["nfse", chave, "eventos", *kind] if (
                kind in ([], [self.events.get(chave)]) and chave in self.events
            ):
                return 200, {**ENVELOPE, "eventos": [{"arquivoXml": pack(event_of(chave, self.events[chave]))}]}
            case (("GET" | "HEAD"), ["dps", _]):
                return 404, NO_NOTE
            case "GET", ["nfse", _]:
                return 404, refusal("E2401")
            case "GET", ["nfse", _, "eventos", *_]:
                return 404, ENVELOPE
            case _:
                return 404, b"<html><body>404 - File or directory not found.</body></html>"


def refusal(code: str) -> dict[str, Any]:
    """Return the authority's complaint."""
    return {**ENVELOPE, "erros": [{"Codigo": code, "Descricao": "porque não"}]}


@contextmanager
def serving(sefin: Sefin, ca: Path, server_pem: Path) -> Iterator[str]:
    """Serve it at the address that this yields; who shows no certificate of the authority gets no answer."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            shown: dict[str, Any] = self.connection.getpeercert() or {}
            names = dict(part for rdn in shown.get("subject", ()) for part in rdn)
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            sefin.asked.append((self.command, self.path, names.get("commonName", "")))
            status, told = sefin.answer(self.command, self.path, json.loads(content) if content else None)
            if sefin.silent and self.command == "POST":
                sefin.silent = False
                self.close_connection = True
                return
            if sefin.planned:
                status, told = sefin.planned.pop(0)
            sent = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(sent)

        do_GET = do_HEAD = do_POST = _serve  # noqa: N815 - http.server's names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca))
    context.load_cert_chain(server_pem)
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        running = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        running.start()
        try:
            yield f"https://localhost:{server.server_port}/SefinNacional"
        finally:
            server.shutdown()
            running.join(PATIENCE)
