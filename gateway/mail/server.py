"""Where mails are handed in: one address that says server, account, and how the line is kept secret."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

TLS, STARTTLS, PLAIN = "smtps", "smtp", "smtp+plain"
_PORTS: Final = {TLS: 465, STARTTLS: 587, PLAIN: 25}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A server; ``scheme`` is ``smtps`` (TLS), ``smtp`` (STARTTLS, required) or ``smtp+plain`` (this machine only)."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)


def parse_server(url: str) -> MailServer:
    """Read ``smtps://user:password@host:465``, ``smtp://…:587`` or ``smtp+plain://localhost:25``.

    Raises ``ValueError`` for any other, and for a line without TLS to another machine.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in _PORTS or not host or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("not the address of a mail server")
    if parts.scheme == PLAIN and not _is_loopback(host):
        raise ValueError("a line without TLS is for this machine only")
    port = parts.port or _PORTS[parts.scheme]
    return MailServer(parts.scheme, host, port, unquote(parts.username or ""), unquote(parts.password or ""))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
