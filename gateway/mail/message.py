"""The bytes of a mail: headers, and text in two forms."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, formataddr


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail: ``nome`` is what stands beside the sender's address."""

    message_id: str
    sender: str
    nome: str
    to: str
    assunto: str
    texto: str


def to_bytes(mail: Mail) -> bytes:
    """Return the message as it is handed in, in ASCII. Raises ``ValueError`` for a header of several lines."""
    message = EmailMessage(SMTP.clone(max_line_length=76, cte_type="7bit"))
    message["From"] = formataddr((mail.nome, mail.sender))
    message["To"] = mail.to
    message["Subject"] = mail.assunto
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.texto)
    message.add_alternative(_html(mail.texto), subtype="html")
    return message.as_bytes()


def _html(texto: str) -> str:
    paragraphs = (html.escape(part).replace("\n", "<br>\n") for part in texto.split("\n\n"))
    body = "\n".join(f"<p>{part}</p>" for part in paragraphs)
    return f'<!doctype html>\n<html lang="pt-BR"><head><meta charset="utf-8"></head>\n<body>\n{body}\n</body></html>\n'
