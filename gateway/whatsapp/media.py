"""Owns media at Meta: what may be uploaded and what may be believed of a download; refuses strange hosts and sizes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Any

import httpx

from gateway.http.client import Destination, ForbiddenDestinationError
from gateway.http.wire import Answer, BodyTooLargeError, InvalidAddressError, NoAnswerError, json_object

MAX_BYTES = 16 * 1024 * 1024  # Meta's own limit for voice; documents of a conversation are far smaller
_MEDIA_ID = re.compile(r"[\w-]{1,128}")
_OK = 200
_GONE = (400, 404, 410)  # expired after 7 days, or never ours

# Cloud API takes no XML (error 100 lists what it takes); as plain text it keeps its name and opens on every phone.
_SENT_AS = {"application/xml": "text/plain", "text/xml": "text/plain"}


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Meta keeps it under ``media_id`` for 30 days."""

    media_id: str


@dataclass(frozen=True, slots=True)
class Baixada:
    """What the person sent; ``mime`` is what Meta says it is, so look at the bytes before trusting it."""

    conteudo: bytes
    mime: str


@dataclass(frozen=True, slots=True)
class Indisponivel:
    """The media cannot be had; ``definitivo`` tells whether asking again is pointless."""

    motivo: str
    definitivo: bool


def multipart(conteudo: bytes, mime: str, filename: str) -> tuple[bytes, str]:
    """Return the body of an upload and its content type."""
    kind = _SENT_AS.get(mime, mime)
    form = httpx.Request(
        "POST",
        "http://form.invalid",  # only to borrow httpx's multipart encoder
        data={"messaging_product": "whatsapp", "type": kind},
        files={"file": (filename, conteudo, kind)},
    )
    return form.read(), form.headers["content-type"]


def uploaded(answer: Answer) -> Uploaded | None:
    """Return the media id that ``answer`` names, if any."""
    media_id = json_object(answer.body).get("id") if answer.status == _OK else None
    return Uploaded(media_id) if isinstance(media_id, str) and _MEDIA_ID.fullmatch(media_id) else None


async def download(
    graph: Destination, media_id: str, phone_number_id: str, *, sha256: str | None, max_bytes: int
) -> Baixada | Indisponivel:
    """Fetch the media in Graph's two steps: ask for its address, which lives 5 minutes, then read the bytes."""
    if not _MEDIA_ID.fullmatch(media_id):
        return Indisponivel("not a media id", definitivo=True)
    try:
        return await _download(graph, f"/{media_id}?phone_number_id={phone_number_id}", sha256, max_bytes)
    except BodyTooLargeError:
        return Indisponivel("too large", definitivo=True)
    except (ForbiddenDestinationError, InvalidAddressError):
        return Indisponivel("its address is not one of Meta", definitivo=True)
    except NoAnswerError as error:
        return Indisponivel(error.reason, definitivo=False)


async def _download(graph: Destination, path: str, sha256: str | None, max_bytes: int) -> Baixada | Indisponivel:
    about = await graph.request("GET", path)
    described = json_object(about.body)
    url = described.get("url")
    if about.status != _OK or not isinstance(url, str):
        return Indisponivel(f"HTTP {about.status} for its address", definitivo=about.status in _GONE)
    if _as_int(described.get("file_size")) > max_bytes:
        return Indisponivel("too large", definitivo=True)
    answer = await graph.request("GET", url, max_body=max_bytes)
    if answer.status != _OK:
        return Indisponivel(f"HTTP {answer.status} for its bytes", definitivo=False)
    promised = [digest for digest in (sha256, described.get("sha256")) if isinstance(digest, str) and digest]
    if not all(_is_digest_of(digest, answer.body) for digest in promised):
        return Indisponivel("the bytes are not those that were announced", definitivo=False)
    return Baixada(answer.body, str(described.get("mime_type") or "application/octet-stream"))


def _is_digest_of(promised: str, conteudo: bytes) -> bool:
    """Compare with SHA-256 in hexadecimal (Graph) or base64 (webhook)."""
    digest = hashlib.sha256(conteudo).digest()
    spellings = (digest.hex(), base64.b64encode(digest).decode())
    candidate = promised.strip()
    return any(
        hmac.compare_digest(spelling.encode(), given.encode())
        for spelling in spellings
        for given in (candidate, candidate.lower())
    )


def _as_int(value: Any) -> int:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0
