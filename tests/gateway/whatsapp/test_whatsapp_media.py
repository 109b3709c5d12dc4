"""Media up to Meta and down from it."""

from __future__ import annotations

import base64
import hashlib

import pytest

from gateway.whatsapp.client import WhatsApp
from gateway.whatsapp.errors import Broken, Halted, RetryLater
from gateway.whatsapp.media import Baixada, Indisponivel, Uploaded

VOICE = b"OggS" + bytes(5000)
HEX = hashlib.sha256(VOICE).hexdigest()
BASE64 = base64.b64encode(hashlib.sha256(VOICE).digest()).decode()


def open_client(url: str, free) -> WhatsApp:
    return WhatsApp(f"{url}/v26.0", "106540352242922", "token", guard=free, media_timeout=2.0)


def about(url: str, **more: object) -> dict[str, object]:
    return {"url": url, "mime_type": "audio/ogg", "sha256": HEX, "file_size": len(VOICE), "id": "77", **more}


async def test_media_is_fetched_in_two_steps_and_checked(server, free):
    """The address is asked for with our number, the bytes with our token, and both digests must agree."""
    server.says(200, about(f"{server.url}/media/77"))
    server.says(200, VOICE)
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.download_media("77", sha256=BASE64) == Baixada(VOICE, "audio/ogg")
    first, second = server.received
    assert (first.path, second.path) == ("/v26.0/77?phone_number_id=106540352242922", "/media/77")
    assert second.headers["Authorization"] == "Bearer token"


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/media/77",
        "http://lookaside.fbsbx.com/media/77",
        "https://lookaside.fbsbx.com.evil.example/",
        "https://lookaside.fbsbx.com@evil.example/",
        "http://169.254.169.254/latest",
        "http://[::1/",
        "https://lookaside.fbsbx.com:8443/",
    ],
)
async def test_our_token_goes_to_no_other_host(server, free, address):
    """Whatever address Graph's answer names, only Graph itself and Meta's media host are asked."""
    server.says(200, about(address))
    async with open_client(server.url, free) as whatsapp:
        got = await whatsapp.download_media("77")
    assert got == Indisponivel("its address is not one of Meta", definitivo=True)
    assert len(server.received) == 1


async def test_a_redirect_of_the_media_host_is_not_followed(server, free):
    """The second step ends where it was sent."""
    server.says(200, about(f"{server.url}/media/77"))
    server.says(302, b"", Location="http://127.0.0.1:9/")
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.download_media("77") == Indisponivel("HTTP 302 for its bytes", definitivo=False)


async def test_too_large_is_refused_by_its_announcement_and_while_it_streams(server, free):
    """A size that is announced is believed when too large, and never when small."""
    server.says(200, about(f"{server.url}/media/77"))
    server.says(200, about(f"{server.url}/media/77", file_size="10"))
    server.says(200, VOICE)
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.download_media("77", max_bytes=4999) == Indisponivel("too large", definitivo=True)
        assert len(server.received) == 1
        assert await whatsapp.download_media("77", max_bytes=4999) == Indisponivel("too large", definitivo=True)


@pytest.mark.parametrize(("announced", "webhook"), [("0" * 64, None), (HEX, "AAAA"), ("", "0" * 64)])
async def test_other_bytes_than_announced_are_not_taken(server, free, announced, webhook):
    """Graph's digest and the webhook's must both fit."""
    server.says(200, about(f"{server.url}/media/77", sha256=announced))
    server.says(200, VOICE)
    async with open_client(server.url, free) as whatsapp:
        got = await whatsapp.download_media("77", sha256=webhook)
    assert isinstance(got, Indisponivel)
    assert not got.definitivo


@pytest.mark.parametrize(
    ("status", "body", "definitivo"),
    [
        (404, {"error": {"code": 100}}, True),
        (400, b"", True),
        (500, b"", False),
        (401, b"", False),
        (200, b"{}", False),
    ],
)
async def test_media_without_an_address_says_whether_to_ask_again(server, free, status, body, definitivo):
    """Gone is gone; trouble passes."""
    server.says(status, body)
    async with open_client(server.url, free) as whatsapp:
        got = await whatsapp.download_media("77")
    assert isinstance(got, Indisponivel)
    assert got.definitivo is definitivo


@pytest.mark.parametrize("media_id", ["", "../me", "77?x=1", "77/../8", "a b", "7" * 200])
async def test_an_id_that_is_none_becomes_no_path(server, free, media_id):
    """A media id came from outside."""
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.download_media(media_id) == Indisponivel("not a media id", definitivo=True)
    assert server.received == []


async def test_a_lost_line_is_worth_another_try(faulty, free):
    """A hanging host ends at the deadline."""
    async with open_client(await faulty("hang"), free) as whatsapp:
        assert await whatsapp.download_media("77") == Indisponivel("ReadTimeout", definitivo=False)


async def test_a_document_goes_up_with_its_name(server, free):
    """The form has Meta's three parts."""
    server.says(200, {"id": "9988"})
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.upload_media(b"%PDF-1.7", "application/pdf", "NFSe-42.pdf") == Uploaded("9988")
    (request,) = server.received
    assert request.path == "/v26.0/106540352242922/media"
    for part in (b'name="messaging_product"', b"whatsapp", b'filename="NFSe-42.pdf"', b"%PDF-1.7", b"application/pdf"):
        assert part in request.body


async def test_xml_goes_up_as_plain_text_because_meta_takes_no_xml(server, free):
    """The name keeps its ending, so it opens as XML on the phone."""
    server.says(200, {"id": "9988"})
    async with open_client(server.url, free) as whatsapp:
        await whatsapp.upload_media(b"<NFSe/>", "application/xml", "NFSe-42.xml")
    (request,) = server.received
    assert b"application/xml" not in request.body
    assert b"text/plain" in request.body
    assert b'filename="NFSe-42.xml"' in request.body


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, {"id": ""}, RetryLater(None, 0)),
        (200, b"<html/>", RetryLater(None, 0)),
        (500, b"", RetryLater(None, 0)),
        (400, {"error": {"code": 100, "message": "file type"}}, Broken(100, "file type")),
        (401, {"error": {"code": 190}}, Halted(190)),
    ],
)
async def test_an_upload_that_failed_says_what_to_do(server, free, status, body, expected):
    """A second upload harms nobody, so every doubt is another try."""
    server.says(status, body)
    async with open_client(server.url, free) as whatsapp:
        assert await whatsapp.upload_media(b"%PDF-1.7", "application/pdf", "a.pdf") == expected
