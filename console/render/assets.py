"""The console's own styles and scripts, served from memory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from aiohttp import web

TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class Assets:
    """The files of one folder, few and small."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in TYPES}
        self._etag = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:16]

    async def asset(self, request: web.Request) -> web.Response:
        """``GET /console/estatico/{nome}``, compressed; open to everybody: it tells nothing."""
        nome = request.match_info["nome"]
        if nome not in self._files:
            raise web.HTTPNotFound
        headers = {"Cache-Control": "no-cache", "ETag": f'"{self._etag}"'}
        if request.headers.get("If-None-Match") == f'"{self._etag}"':
            return web.Response(status=304, headers=headers)
        body, kind = self._files[nome], TYPES[Path(nome).suffix]
        response = web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)
        response.enable_compression()
        return response
