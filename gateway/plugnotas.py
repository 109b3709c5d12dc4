"""Owns the conversation with PlugNotas (Tecnospeed); every answer becomes a value in ``gateway.outcome``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import httpx

from gateway import payload as bodies
from gateway import tape
from gateway.http import Destination
from gateway.outcome import download_of, finding, submit_outcome
from state_machine.emission import NotReady

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Literal

    from gateway.http import Answer, Exchange
    from gateway.port import Intent
    from state_machine.breaker import Breaker
    from state_machine.emission import Download, Finding, NaturalKey, Outcome

_JSON = {"content-type": "application/json"}


class PlugNotas:
    """``FiscalGateway`` over PlugNotas; natural key (CNPJ of the prestador, ``idIntegracao``), kept by a rejection too.

    ``submit_timeout`` and ``query_timeout`` bound each whole call, in seconds. Every call is one server's, so one
    ``breaker`` hears of all of them.
    """

    name = "plugnotas"

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        guard: Callable[[], None],
        submit_timeout: float = 60.0,  # a city may take most of a minute to answer
        query_timeout: float = 30.0,
        observe: Callable[[Exchange], None] = tape.observe,
        breaker: Breaker | None = None,
    ) -> None:
        def destination(timeout: float) -> Destination:
            headers = {"x-api-key": api_key, "accept": "application/json, */*"}
            return Destination(
                base_url, timeout=timeout, guard=guard, headers=headers, observe=observe, breaker=breaker
            )

        self._submissions = destination(submit_timeout)  # apart, so that slow submissions never starve the questions
        self._questions = destination(query_timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._submissions.aclose()
        await self._questions.aclose()

    def payload(self, intent: Intent) -> bytes:
        """Return the exact bytes to send for ``intent``; raises ``ValueError`` for an impossible value."""
        return bodies.build(intent)

    async def submit(self, payload: bytes) -> Outcome:
        """Send stored bytes once, as they are; raises ``ValueError`` if they are not one note of ours."""
        key = bodies.key_of(payload)
        return submit_outcome(await _call(self._submissions, "POST", "/nfse", payload), key)

    async def find(self, key: NaturalKey) -> Finding:
        """Ask for the note under ``key``."""
        path = f"/nfse/consultar/{quote(key.id_integracao, safe='')}/{quote(key.prestador, safe='')}"
        return finding(await _call(self._questions, "GET", path), key)

    async def download(self, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch the rendered document of an authorised note."""
        if not re.fullmatch(r"[\w-]{1,100}", id_externo):  # it came from outside and becomes part of a path
            return NotReady("the note's id is not one of PlugNotas")
        return download_of(await _call(self._questions, "GET", f"/nfse/{formato}/{id_externo}"), formato)


async def _call(
    destination: Destination, method: str, path: str, content: bytes | None = None
) -> Answer | httpx.HTTPError:
    try:
        return await destination.request(method, path, content=content, headers=_JSON if content else None)
    except httpx.HTTPError as error:
        return error
