"""Posts to an address that a stranger chose: only where the internet is, and only to the address that was looked at.

Nothing inside is reached by it: neither by a name, nor by a name that leads elsewhere the second time, nor by a
redirect. The environment's proxies are not used.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gateway.http.wire import CHUNK, InvalidAddressError, trust

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SECONDS: Final = 15.0  # of the whole call
MOST: Final = 64 * 1024  # bytes of the answer that are read, and thrown away
URL_MAX: Final = 2048  # characters
FORBIDDEN: Final = "endereco_proibido"  # the reason where it leads to no place of the internet
_V6: Final = ipaddress.IPv6Network("2000::/3")  # all that is given out
_SPECIAL: Final = tuple(  # beside what the library knows: protocols, relays, wrapped IPv4, the host of Azure's machines
    ipaddress.ip_network(each)
    for each in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16", "2001::/23", "2002::/16", "3fff::/20")
)


class _ForbiddenError(OSError):
    """A connection was about to be made to a place that is not the internet."""


def is_outside(address: str, permitted: Sequence[Network] = (), *, secret: bool = True) -> bool:
    """Tell whether something may be sent to an address: it is of the internet, or one of ``permitted`` networks.

    What goes unencrypted (not ``secret``) goes to those alone.
    """
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if any(ip in network for network in permitted):
        return True
    if not secret or not ip.is_global or ip.is_multicast or ip.is_reserved or any(ip in each for each in _SPECIAL):
        return False
    return isinstance(ip, ipaddress.IPv4Address) or ip in _V6


def checked_url(text: str, permitted: Sequence[Network] = ()) -> URL:
    """Return an address that may be posted to as far as it shows; where its name leads shows at each connection.

    Raises ``InvalidAddressError``.
    """
    if len(text) > URL_MAX or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidAddressError("characters")
    try:
        url = URL(text, encoded=True)
        host, port = url.host, url.port
    except ValueError as error:
        raise InvalidAddressError(type(error).__name__) from error
    if not host or not port or url.scheme not in ({"https", "http"} if permitted else {"https"}):
        raise InvalidAddressError("scheme")
    if url.user is not None or url.password is not None or url.fragment:
        raise InvalidAddressError("parts")
    if _written(host) and not is_outside(host, permitted, secret=url.scheme == "https"):
        raise InvalidAddressError(FORBIDDEN)
    return url


def _written(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def is_postable(text: str, permitted: Sequence[Network] = ()) -> bool:
    """Tell whether this is such an address."""
    try:
        checked_url(text, permitted)
    except InvalidAddressError:
        return False
    return True


Resolve = Callable[[str, int], Awaitable[Sequence[tuple[int, str]]]]
"""Return family and address of each that a name and a port have. Raises ``OSError``."""


async def resolve(host: str, port: int) -> Sequence[tuple[int, str]]:
    """Ask the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, str(address[0])) for family, _, _, _, address in found]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a post: the status that was answered, or why none was."""

    status: int | None
    why: str = ""


class Guarded:
    """Posts, each over a connection of its own. ``permitted``: networks that count as outside, in a trial or a test."""

    def __init__(
        self,
        permitted: Sequence[Network] = (),
        *,
        seconds: float = SECONDS,
        names: Resolve = resolve,
        tls: Any = None,
    ) -> None:
        self._permitted, self._seconds, self._names = permitted, seconds, names
        self._trust = tls or trust()

    async def post(self, address: str, content: bytes, headers: Mapping[str, str]) -> Told:
        """Send it once; never raises for what the network or the other side does. A status says it all."""
        status, why = None, ""
        try:
            url = checked_url(address, self._permitted)
            async with (
                asyncio.timeout(self._seconds),
                self._session(secret=url.scheme == "https") as session,
                session.post(url, data=content, headers=headers, allow_redirects=False) as response,
            ):
                status, left = response.status, MOST
                while left > 0 and (read := await response.content.read(min(CHUNK, left))):
                    left -= len(read)
        except InvalidAddressError:
            why = FORBIDDEN
        except TimeoutError:
            why = "demorou"
        except (aiohttp.ClientError, OSError) as error:
            why = FORBIDDEN if _forbidden(error) else type(error).__name__
        return Told(status, why if status is None else "")

    def _session(self, *, secret: bool) -> aiohttp.ClientSession:
        def connected(info: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
            """Make the socket of a connection: the last moment, and the only place, at which its address is known."""
            family, kind, protocol, _, where = info
            if not is_outside(str(where[0]), self._permitted, secret=secret):
                raise _ForbiddenError
            return socket.socket(family, kind, protocol)

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_Names(self._names, self._permitted, secret=secret),
                socket_factory=connected,
                ssl=self._trust,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"accept-encoding": "identity", "user-agent": "prosa"},
            auto_decompress=False,  # no bombs
            trust_env=False,
        )


class _Names(AbstractResolver):
    """Names, of which one that leads inside, among whatever others, leads nowhere."""

    def __init__(self, names: Resolve, permitted: Sequence[Network], *, secret: bool) -> None:
        self._names, self._permitted, self._secret = names, permitted, secret

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._names(host, port)
        if not all(is_outside(each, self._permitted, secret=self._secret) for _, each in found):
            raise _ForbiddenError
        return [
            ResolveResult(
                hostname=host, host=each, port=port, family=kind, proto=socket.IPPROTO_TCP, flags=socket.AI_NUMERICHOST
            )
            for kind, each in found
            if family in {socket.AF_UNSPEC, kind}
        ]

    async def close(self) -> None:
        """Keep nothing."""


def _forbidden(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, _ForbiddenError):
            return True
        error = error.__cause__ or error.__context__
    return False
