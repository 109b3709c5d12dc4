"""The bytes that the demo page serves as they are: its own styles and modules, the chat's documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from aiohttp import web

from proofs.sandbox.phone.security import DOCUMENT_POLICY

if TYPE_CHECKING:
    from proofs.sandbox.phone.model import Document

TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
INLINE: Final = frozenset({"application/pdf", "application/xml", "text/plain", "image/jpeg", "image/png"})


class Assets:
    """The files of one folder; few and small, so they stay in memory and no path is ever followed."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in TYPES}

    async def asset(self, request: web.Request) -> web.Response:
        """``GET /static/{name}``, compressed."""
        name = request.match_info["name"]
        if name not in self._files:
            raise web.HTTPNotFound
        response = web.Response(body=self._files[name], content_type=TYPES[Path(name).suffix], charset="utf-8")
        response.enable_compression()
        return response

    async def icon(self, _: web.Request) -> web.Response:
        """``GET /favicon.ico``: the mark."""
        return web.Response(body=self._files["prosa.svg"], content_type=TYPES[".svg"])


def document_answer(document: Document) -> web.Response:
    """Return a document to be shown where browsers can show it safely, else to be saved."""
    mime = document.mime.partition(";")[0].strip().lower()
    if document.filename.lower().endswith(".xml"):
        mime = "application/xml"  # WhatsApp takes no XML: it travels as text/plain
    where, kind = ("inline", mime) if mime in INLINE else ("attachment", "application/octet-stream")
    return web.Response(
        body=document.content,
        content_type=kind,
        charset="utf-8" if kind == "text/plain" else None,
        headers={
            "Content-Disposition": f"{where}; filename*=UTF-8''{quote(document.filename)}",
            "Content-Security-Policy": DOCUMENT_POLICY,
        },
    )
