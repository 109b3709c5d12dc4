"""Keeps the connections of companies that show their own certificate, for as long as it is the company's."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gateway.certificate.access import UnusableCertificateError
from gateway.http.mutual_tls import client_context_apart

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Hashable
    from pathlib import Path

    from gateway.certificate.access import Certificates
    from gateway.http.client import Destination

MOST: Final = 64  # certificates with an open context; each holds the trusted authorities, about a megabyte
SECONDS: Final = 3600.0  # for which a key stays in a context


@dataclass(slots=True)
class _Shown:
    """The context of one certificate and its ways out; they are closed when the last call has ended."""

    context: ssl.SSLContext
    since: float
    ends: datetime
    ways: dict[Hashable, Destination] = field(default_factory=dict)
    calls: int = 0
    retired: bool = False

    async def close_if_unused(self) -> None:
        if self.retired and not self.calls:
            ways, self.ways = self.ways, {}
            for way in ways.values():
                await way.aclose()


class CompanyConnections:
    """One TLS context for each certificate, by its fingerprint, and one destination in it for each ``kind`` of call.

    ``opens`` makes the destination of a kind on a context. ``also_trusted``: a PEM file of further authorities for the
    server. At most ``most`` certificates are held, the one unused for longest goes first, each for ``seconds`` at most.
    """

    def __init__(
        self,
        certificates: Certificates,
        opens: Callable[[Hashable, ssl.SSLContext], Destination],
        *,
        also_trusted: Path | None = None,
        most: int = MOST,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._certificates = certificates
        self._opens = opens
        self._also_trusted = also_trusted
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[str, _Shown] = {}  # the one used last is the last
        self._of_company: dict[str, str] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def of(self, cnpj: str, kind: Hashable, nota: str | None = None) -> AsyncIterator[Destination]:
        """Return the destination that shows the company's certificate of this moment; ``nota`` is for the audit.

        Raises ``UnusableCertificateError``.
        """
        shown = await self._current(cnpj, nota)
        way = shown.ways.get(kind)
        if way is None:
            way = shown.ways[kind] = self._opens(kind, shown.context)
        shown.calls += 1
        try:
            yield way
        finally:
            shown.calls -= 1
            await shown.close_if_unused()

    async def aclose(self) -> None:
        """Close all of them; calls that are under way end first."""
        for impressao in list(self._shown):
            await self._retire(impressao)

    async def _current(self, cnpj: str, nota: str | None) -> _Shown:
        impressao = await self._certificates.current(cnpj)
        before = self._of_company.get(cnpj)
        if before is not None and before != impressao:
            del self._of_company[cnpj]
            if before not in self._of_company.values():  # a branch may show the same one
                await self._retire(before)
        if impressao is None:
            raise UnusableCertificateError(cnpj)
        async with self._opening.setdefault(cnpj, asyncio.Lock()):  # several calls, one context
            shown = self._fresh(impressao) or await self._opened(cnpj, nota)
        if datetime.now(UTC) >= shown.ends:
            raise UnusableCertificateError(cnpj)
        return shown

    def _fresh(self, impressao: str) -> _Shown | None:
        shown = self._shown.pop(impressao, None)
        if shown is None:
            return None
        self._shown[impressao] = shown
        return shown if self._clock() - shown.since < self._seconds else None

    async def _opened(self, cnpj: str, nota: str | None) -> _Shown:
        opened = await self._certificates.open(cnpj, "conectar", nota)
        if opened is None or datetime.now(UTC) >= opened.valido_ate:
            raise UnusableCertificateError(cnpj)
        try:
            context = await client_context_apart(opened.chave, opened.cadeia, also_trusted=self._also_trusted)
        except (ValueError, OSError) as error:  # ssl's own errors are among the second
            raise UnusableCertificateError(cnpj) from error
        await self._retire(opened.impressao)
        while len(self._shown) >= self._most:
            await self._retire(next(iter(self._shown)))
        shown = self._shown[opened.impressao] = _Shown(context, self._clock(), opened.valido_ate)
        self._of_company[cnpj] = opened.impressao
        return shown

    async def _retire(self, impressao: str) -> None:
        shown = self._shown.pop(impressao, None)
        if shown is not None:
            shown.retired = True
            await shown.close_if_unused()
