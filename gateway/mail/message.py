"""The bytes of a mail: headers, and text in two forms.

No header that holds somebody's words goes through the library's reader of headers: it would take marks in them for its
own, whether they come as text or as an ``Address``. They are encoded here, and stand as they are.

Where mails are handed in: one address that says server, account, and how the line is kept secret.
"""

from __future__ import annotations

import html
import ipaddress
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.header import Header
from email.headerregistry import BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from state_machine.values.text import single_line

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,!&'-]{0,50}")  # a subject that stands as it is, on one line
_ADDRESS: Final = re.compile(r"[!#-'*+/-9=?A-Z^-~.-]+@[A-Za-z0-9.-]+")
_OURS: Final = ("from", "to", "subject", "message-id", "list-unsubscribe")
_NAMES: Final = (
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "List-Unsubscribe", "List-Unsubscribe-Post"),
    *("MIME-Version", "Content-Type"),
)
_TEXT: Final = """{texto}

—
{motivo}
Para não receber mais: {sair}
"""
_HTML: Final = """<!doctype html>
<html lang="pt-BR"><head><meta charset="utf-8"></head>
<body>
{body}
<hr>
<p><small>{motivo} <a href="{sair}">Não quero mais receber</a></small></p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class MailedFile:
    """A file that goes with a mail."""

    nome: str
    mime: str
    conteudo: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail: ``nome`` is what stands beside the sender's address, ``files`` go with it.

    ``motivo`` says why it came; ``sair`` is where its reader says no to more, with one click (RFC 8058).
    """

    message_id: str
    sender: str
    nome: str
    to: str
    assunto: str
    texto: str
    motivo: str
    sair: str
    files: tuple[MailedFile, ...] = ()


def to_bytes(mail: Mail) -> bytes:
    """Return the message as it is handed in, in ASCII. Raises ``ValueError`` where it would be another than ours."""
    registry = HeaderRegistry()
    for name in _OURS:
        registry.map_to_type(name, _AsItIs)
    message = EmailMessage(SMTP.clone(max_line_length=76, cte_type="7bit", header_factory=registry))
    message["From"] = f"{_encoded(mail.nome)} <{_address(mail.sender)}>"
    message["To"] = _address(mail.to)
    message["Subject"] = _encoded(mail.assunto)
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{mail.sair}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_TEXT.format(texto=mail.texto, motivo=mail.motivo, sair=mail.sair))
    message.add_alternative(_html(mail), subtype="html")
    for file in mail.files:
        kind, _, subtype = file.mime.partition("/")
        message.add_attachment(file.conteudo, maintype=kind, subtype=subtype, filename=file.nome)
    content = message.as_bytes()
    head = content.partition(b"\r\n\r\n")[0].split(b"\r\n")
    names = [line.partition(b":")[0].decode() for line in head if not line.startswith((b" ", b"\t"))]
    if sorted(names) != sorted(_NAMES):
        raise ValueError("the headers are not those that were written")
    return content


class _AsItIs(BaseHeader):
    """A header that is neither read nor encoded by the library: it is folded behind encoded words, if at all.

    One long word, as an address to click on, means nothing to programs once it is encoded.
    """

    max_count = 1

    @classmethod
    def parse(cls, value: str, kwds: dict[str, Any]) -> None:
        kwds["decoded"], kwds["parse_tree"] = value, None

    def fold(self, *, policy: Policy) -> str:
        folded = str(self).replace("?= ", f"?={policy.linesep} ")
        return f"{self.name}: {folded}{policy.linesep}"


def _encoded(words: str) -> str:
    """Return somebody's words on one line, in letters that mean nothing to a reader of headers."""
    line = single_line(words)
    return line if _PLAIN.fullmatch(line) else " ".join(Header(line, "utf-8", maxlinelen=60).encode().split())


def _address(address: str) -> str:
    if not _ADDRESS.fullmatch(address) or "=?" in address:
        raise ValueError("not an address for a header")
    return address


def _html(mail: Mail) -> str:
    paragraphs = (html.escape(part).replace("\n", "<br>\n") for part in mail.texto.split("\n\n"))
    body = "\n".join(f"<p>{part}</p>" for part in paragraphs)
    return _HTML.format(body=body, motivo=html.escape(mail.motivo), sair=html.escape(mail.sair))


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
