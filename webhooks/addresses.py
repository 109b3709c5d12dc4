"""Tells whose address a request comes from: the peer's, or what the operator's own proxies say of theirs."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aiohttp import web

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED = "X-Forwarded-For"
_ONE_CLIENT = 64  # bits; a household or a rented server has a whole IPv6 network of this size to itself


def networks(text: str) -> tuple[Network, ...]:
    """Read CIDRs or addresses, separated by commas. Raises ``ValueError`` for anything else."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def client_address(request: web.BaseRequest, trusted: Sequence[Network]) -> str:
    """Return who asks, as limits count them: an IPv4 address, or an IPv6 network of 64 bits.

    Each proxy appends the address that it saw to X-Forwarded-For. So all lines are read as one list, from the right,
    past ``trusted`` proxies only; what stands further left is what the client claims. Where the list holds something
    that is no address, the peer itself is taken.
    """
    peer = request.remote or ""
    client = _parsed(peer)
    if client is None or not _is_in(client, trusted):
        return grouped(peer)
    listed = ",".join(request.headers.getall(FORWARDED, ())).split(",")
    for entry in reversed([part.strip() for part in listed if part.strip()]):
        found = _parsed(entry)
        if found is None:
            return grouped(peer)
        client = found
        if not _is_in(client, trusted):
            break
    return _group(client)


def grouped(address: str) -> str:
    """Return what one client can't change at will: the address, or the network of an IPv6 one."""
    parsed = _parsed(address)
    return address if parsed is None else _group(parsed)


def is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    """Tell whether this peer speaks for many: a trusted proxy, or a program of this machine."""
    parsed = _parsed(address)
    return parsed is not None and (parsed.is_loopback or _is_in(parsed, trusted))


def is_internal(address: str) -> bool:
    """Tell whether this is an address that the internet does not reach."""
    parsed = _parsed(address)
    return parsed is not None and (parsed.is_loopback or parsed.is_private or parsed.is_link_local)


@lru_cache(maxsize=1024)  # every request of a proxy asks for the same ones
def _parsed(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # without the interface of a link-local one
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_in(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _group(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((int(address), _ONE_CLIENT), strict=False))
