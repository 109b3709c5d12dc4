"""What a stranger's address may reach: the internet, at the address that was looked at, and nothing inside."""

from __future__ import annotations

import socket
from collections import deque
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gateway.http.guarded import FORBIDDEN, URL_MAX, Guarded, Told, is_outside, is_postable
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

LOOPBACK = networks("127.0.0.1/32")
INSIDE = (
    *("0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "192.168.0.1"),
    *("192.0.0.192", "192.0.2.1", "198.18.0.1", "168.63.129.16", "100.100.100.200", "224.0.0.1", "239.1.1.1"),
    *("240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1"),
    *("64:ff9b::a00:1", "2002:a00:1::1", "2001:0:a00:1::1", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1"),
    *("fe80::1%lo", "fec0::1", "ff02::1", "64:ff9b:1::1", "", "localhost", "127.1", "0x7f.1"),
)
OUTSIDE = ("8.8.8.8", "177.1.2.3", "2001:4860:4860::8888", "2804:14c::1", "::ffff:8.8.8.8")


@pytest.mark.parametrize("address", INSIDE)
def test_inside_is_not_reached(address: str) -> None:
    """Private, loopback, link-local, shared, multicast, reserved and metadata addresses, in whatever wrapping."""
    assert not is_outside(address)


@pytest.mark.parametrize("address", OUTSIDE)
def test_the_internet_is_reached_encrypted_only(address: str) -> None:
    """What is not encrypted goes to networks alone that were permitted."""
    assert is_outside(address)
    assert not is_outside(address, secret=False)
    assert not is_outside(address, LOOPBACK, secret=False)


def test_a_permitted_network_counts_as_outside() -> None:
    """It, wrapped too, and no more than it."""
    assert is_outside("127.0.0.1", LOOPBACK, secret=False)
    assert is_outside("::ffff:127.0.0.1", LOOPBACK, secret=False)
    assert not is_outside("127.0.0.2", LOOPBACK)


@pytest.mark.parametrize(
    "url",
    [
        *("https://exemplo.com.br/x?y=1", "https://exemplo.com.br:8443", "https://8.8.8.8/"),
        "https://[2001:4860:4860::8888]/",
    ],
)
def test_an_address_of_the_internet_may_be_kept(url: str) -> None:
    """A name is looked at when it is connected to."""
    assert is_postable(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "http://exemplo.com.br", "ftp://exemplo.com.br", "https://", "https:///x", "//exemplo.com.br"),
        *("https://10.0.0.1/", "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://127.0.0.1"),
        *("https://a:b@exemplo.com.br", "https://exemplo.com.br/#x", "https://exemplo.com.br:99999/"),
        *("https://exemplo.com.br:0/", "https://exemplo .com.br", "https://exemplo.com.br/\n", "https://é.com.br/"),
        f"https://exemplo.com.br/{'x' * URL_MAX}",
    ],
)
def test_another_address_may_not(url: str) -> None:
    """Neither is one that is longer than anybody reads."""
    assert not is_postable(url)


class Names:
    """A name server that says something else each time; it counts how often it was asked."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = deque(answers), 0

    async def __call__(self, _host: str, _port: int) -> Sequence[tuple[int, str]]:
        """Return the next answer; the last one stays."""
        self.asked += 1
        found = self.answers.popleft() if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET6 if ":" in each else socket.AF_INET, each) for each in found]


class Server:
    """A server of this machine that counts who comes."""

    def __init__(self) -> None:
        self.port, self.seen = 0, 0

    async def answer(self, request: web.Request) -> web.Response:
        """Count, and answer."""
        self.seen += 1
        if request.path == "/elsewhere":
            raise web.HTTPTemporaryRedirect("/x")
        return web.Response(status=204)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    found = Server()
    app = web.Application()
    app.router.add_post("/{any:.*}", found.answer)
    async with TestServer(app, host="127.0.0.1") as opened:
        found.port = int(opened.port or 0)
        yield found


async def test_a_name_is_connected_to_where_it_was_looked_at(server: Server) -> None:
    """It is asked for once a post: a second answer is never used, and is looked at by the next post."""
    names = Names(["127.0.0.1"], ["127.0.0.2"])
    guarded = Guarded(LOOPBACK, names=names)
    url = f"http://sistema.exemplo:{server.port}/x"
    assert await guarded.post(url, b"{}", {}) == Told(204)
    assert names.asked == 1
    assert await guarded.post(url, b"{}", {}) == Told(None, FORBIDDEN)
    assert (names.asked, server.seen) == (2, 1)


async def test_a_name_of_one_of_each_leads_nowhere(server: Server) -> None:
    """In whichever order they come."""
    for found in (["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "::1"]):
        guarded = Guarded(LOOPBACK, names=Names(found))
        assert await guarded.post(f"http://sistema.exemplo:{server.port}/x", b"{}", {}) == Told(None, FORBIDDEN)
    assert server.seen == 0


async def test_a_connection_is_looked_at_whoever_named_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name and the written address were let through, the socket is not made."""
    monkeypatch.setattr("gateway.http.guarded.checked_url", lambda text, _: __import__("yarl").URL(text))
    for url in (f"http://127.0.0.1:{server.port}/x", f"https://127.0.0.1:{server.port}/x"):
        assert await Guarded().post(url, b"{}", {}) == Told(None, FORBIDDEN)
    assert server.seen == 0


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001"])
async def test_a_spelling_of_this_machine_is_seen_through(server: Server, host: str) -> None:
    """The system reads more spellings than anybody lists; what it reads is looked at."""
    told = await Guarded(networks("10.0.0.0/8")).post(f"http://{host}:{server.port}/x", b"{}", {})
    assert told.status is None
    assert server.seen == 0


async def test_neither_proxies_nor_redirects_lead_elsewhere(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is not asked, and where an answer points nobody goes."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert await Guarded(LOOPBACK).post(f"http://127.0.0.1:{server.port}/x", b"{}", {}) == Told(204)
    assert await Guarded(LOOPBACK).post(f"http://127.0.0.1:{server.port}/elsewhere", b"{}", {}) == Told(307)
    assert server.seen == 2


async def test_an_unknown_certificate_is_refused(server: Server) -> None:
    """What does not speak TLS, or is trusted by nobody, hears nothing."""
    told = await Guarded(LOOPBACK).post(f"https://127.0.0.1:{server.port}/x", b"{}", {})
    assert (told.status, server.seen) == (None, 0)
    assert told.why.startswith("Client")
