"""Hands mails to the server over one connection, and says what each answer means."""

from __future__ import annotations

import asyncio
import re
import ssl
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aiosmtplib import SMTP, SMTPException, SMTPRecipientRefused, SMTPResponseException, SMTPServerDisconnected

from gateway.mail.message import STARTTLS, TLS, Mail, MailServer, to_bytes
from state_machine.mailing.delivery import (
    MailAccepted,
    MailDeferred,
    MailLost,
    MailOutcome,
    MailRejected,
    MailUnmade,
    MailUnreachable,
)

ANSWER_SECONDS: Final = 60.0  # for one command; a server that scans what it takes needs some of them
TEMPORARY: Final = 400  # answers from here on say no
PERMANENT: Final = 500  # answers from here on are final
CLOSING: Final = 421  # the server ends the connection with this answer
# Answers to an address that say that nobody has it. What a server has against us it says as 5.7, and it is not meant.
_NO_ADDRESS: Final = frozenset({550, 551, 553})
_ENHANCED: Final = re.compile(r"5\.(\d{1,3})\.\d{1,3}\b")
_FAULTS = (SMTPException, OSError, ValueError)  # ``TimeoutError`` and ``ssl.SSLError`` are among the second


def mail_tls(ca_file: Path | None) -> ssl.SSLContext:
    """Return what a server's certificate is held against: the authorities of a PEM file, or else the system's."""
    return ssl.create_default_context(cafile=ca_file)


class MailConnection:
    """A connection for one mail after the other; it is opened when it is needed, and anew after a fault.

    Nothing raises for what the server does.
    """

    def __init__(self, server: MailServer, tls: ssl.SSLContext, *, seconds: float = ANSWER_SECONDS) -> None:
        self._server = server
        self._tls = tls
        self._seconds = seconds
        self._smtp: SMTP | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            try:
                await smtp.quit()
            except _FAULTS:
                smtp.close()

    async def send(self, mail: Mail) -> MailOutcome:
        """Hand one mail in, once."""
        try:
            content = await asyncio.to_thread(to_bytes, mail) if mail.files else to_bytes(mail)  # files take a while
        except ValueError:
            return MailUnmade()
        return await self._hand_in(mail, content)

    async def _hand_in(self, mail: Mail, content: bytes) -> MailOutcome:
        kept = self._smtp is not None
        try:
            smtp = await self._begin(mail.sender)
        except SMTPServerDisconnected as error:
            if not kept:  # a server may end a line that was idle for a while; a new one says more
                return self._unreachable(error)
            self._drop()
            return await self._hand_in(mail, content)
        except _FAULTS as error:
            return self._unreachable(error)
        try:
            await smtp.rcpt(mail.to)
        except SMTPRecipientRefused as error:
            if error.code >= TEMPORARY:
                return await self._refused(smtp, error.code, address=_is_nobodys(error))
            return self._unreachable(error)
        except _FAULTS as error:
            return self._unreachable(error)
        try:
            await smtp.data(content)
        except SMTPResponseException as error:
            if error.code >= TEMPORARY:
                return await self._refused(smtp, error.code)
            self._drop()
            return MailLost()  # an answer that says neither yes nor no
        except _FAULTS:
            self._drop()
            return MailLost()
        return MailAccepted()

    async def _begin(self, sender: str) -> SMTP:
        """Connect if need be, and say whose mail comes: whatever the server has against that is not about the mail."""
        smtp = self._smtp
        if smtp is None:
            server = self._server
            smtp = SMTP(
                hostname=server.host,
                port=server.port,
                username=server.user or None,
                password=server.password or None,
                use_tls=server.scheme == TLS,
                start_tls=server.scheme == STARTTLS,
                tls_context=self._tls if server.scheme in {TLS, STARTTLS} else None,
                timeout=self._seconds,
            )
            await smtp.connect()
            self._smtp = smtp
        await smtp.mail(sender)
        return smtp

    async def _refused(self, smtp: SMTP, code: int, *, address: bool = False) -> MailOutcome:
        """Tell a final no from another, and make the connection ready for the next mail."""
        try:
            if code == CLOSING:
                self._drop()
            else:
                await smtp.rset()
        except _FAULTS:
            self._drop()
        return MailRejected(code, address) if code >= PERMANENT else MailDeferred(code)

    def _unreachable(self, error: Exception) -> MailUnreachable:
        self._drop()
        code = f" {error.code}" if isinstance(error, SMTPResponseException) else ""
        return MailUnreachable(f"{type(error).__name__}{code}")

    def _drop(self) -> None:
        if self._smtp is not None:
            self._smtp.close()
            self._smtp = None


def _is_nobodys(error: SMTPRecipientRefused) -> bool:
    said = _ENHANCED.match(error.message)
    return error.code in _NO_ADDRESS and (said is None or said[1] == "1")
