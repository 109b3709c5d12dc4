"""Whose address a request is counted under: nobody chooses another's, and nobody has more than one."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from webhooks.whatsapp_payload import client_address, grouped, is_internal, is_trusted, networks

PROXY = "10.0.0.5"
TRUSTED = networks("10.0.0.0/24, 2001:db8:ff::/48")


def asked(*lines: str, peer: str = PROXY, trusted: str | None = None) -> str:
    """The address of a request that came from ``peer`` with these lines of X-Forwarded-For."""
    headers = CIMultiDict([("X-Forwarded-For", line) for line in lines])
    request = make_mocked_request("GET", "/", headers=headers).clone(remote=peer)
    return client_address(request, TRUSTED if trusted is None else networks(trusted))


@pytest.mark.parametrize(
    ("lines", "client"),
    [
        ((), PROXY),
        (("203.0.113.9",), "203.0.113.9"),
        (("198.51.100.1, 203.0.113.9",), "203.0.113.9"),  # the client claims the first
        (("198.51.100.1", "203.0.113.9"), "203.0.113.9"),  # in a line of its own too
        (("203.0.113.9, 10.0.0.7",), "203.0.113.9"),  # through two proxies of ours
        (("203.0.113.9", "10.0.0.7, 10.0.0.8"), "203.0.113.9"),
        (("10.0.0.9, 10.0.0.7",), "10.0.0.9"),  # all of them ours: a program of ours asks
        (("203.0.113.9, ",), "203.0.113.9"),
        (("203.0.113.9, unknown",), PROXY),
        (("203.0.113.9, 10.0.0.7 10.0.0.8",), PROXY),
        (("lixo, 203.0.113.9",), "203.0.113.9"),  # what lies beyond the client is not even looked at
        (("2001:db8:1:2:aaaa::1",), "2001:db8:1:2::/64"),
        (("::ffff:203.0.113.9",), "203.0.113.9"),
    ],
)
def test_the_list_is_read_from_the_right_past_trusted_proxies(lines: tuple[str, ...], client: str) -> None:
    """All lines are one list; its first address from the right that is none of our proxies' is the client's."""
    assert asked(*lines) == client


@pytest.mark.parametrize("peer", ["203.0.113.50", "127.0.0.1", "172.18.0.1"])
def test_nobody_else_is_believed(peer: str) -> None:
    """A peer that is not listed speaks for itself alone, also one of this machine; without a list, every one does."""
    assert asked("198.51.100.1", peer=peer) == peer
    assert asked("198.51.100.1", peer=PROXY, trusted="") == PROXY


def test_an_ipv6_client_has_one_address_however_many_it_has() -> None:
    """Its whole network of 64 bits counts as one; an IPv4 address in IPv6 clothes is an IPv4 address."""
    assert grouped("2001:db8::1") == grouped("2001:db8::ffff:1") == "2001:db8::/64"
    assert grouped("2001:db8:0:1::1") != grouped("2001:db8::1")
    assert grouped("::ffff:203.0.113.9") == "203.0.113.9"
    assert grouped("fe80::1%eth0") == "fe80::/64"
    assert grouped("") == ""


@given(st.text(max_size=80), st.text(max_size=40))
def test_no_header_raises(line: str, peer: str) -> None:
    """Whatever stands there, an answer of bounded length comes back."""
    for whose in (peer, PROXY):
        assert len(asked(line, peer=whose)) <= max(len(whose), 43)


def test_who_speaks_for_many() -> None:
    """This machine and the trusted proxies; the internet reaches neither loopback nor private addresses."""
    assert is_trusted("127.0.0.1", ())
    assert is_trusted("10.0.0.9", TRUSTED)
    assert not is_trusted("10.0.1.9", TRUSTED)
    assert is_internal("172.18.0.3")
    assert not is_internal("8.8.8.8")
    assert not is_internal("")
