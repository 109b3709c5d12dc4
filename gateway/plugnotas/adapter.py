"""Owns the conversation with PlugNotas (Tecnospeed); every answer becomes a value in ``gateway.plugnotas.outcome``."""

from __future__ import annotations

import json
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

from gateway.http import recording as tape
from gateway.http.client import MAX_BODY, MAX_FILE, Destination
from gateway.http.wire import Answer, NoAnswerError
from gateway.lines import CallKind, Lines
from gateway.nfse_xml import with_content
from gateway.plugnotas import payload as bodies
from gateway.plugnotas.cancellation import cancel_finding, cancel_outcome
from gateway.plugnotas.listing import listing_of
from gateway.plugnotas.outcome import download_of, finding, submit_outcome
from gateway.plugnotas.payload import IntegrationKey
from gateway.plugnotas.rejection import explain
from state_machine.protocol.channel import Ambiente, Natureza
from state_machine.protocol.emission import Documento, Found, NotReady, Situacao

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime
    from types import TracebackType
    from typing import Literal

    from gateway.http.client import Exchange
    from gateway.port import Explicacao, InvoiceIntent
    from gateway.registry import Surroundings
    from state_machine.cancellation.machine import MotivoCancelamento
    from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
    from state_machine.protocol.audit import Listagem
    from state_machine.protocol.emission import Download, Finding, Nota, Outcome, Rejected

_JSON = {"content-type": "application/json"}
NATUREZA = Natureza(lists_by="days", numbers="company", webhook=True)
_ID = re.compile(r"[\w-]{1,100}")  # ids come from outside and become part of a path


class PlugNotas:
    """``FiscalGateway`` over PlugNotas; natural key (CNPJ of the prestador, ``idIntegracao``), kept by a rejection too.

    ``submit_timeout``, ``cancel_timeout`` and ``query_timeout`` bound each whole call, in seconds. Each kind of call
    has its own connections, and in ``lines`` each company its own breaker and places: one never holds up another.
    """

    name = "plugnotas"
    natureza = NATUREZA
    leiaute = None

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        guard: Callable[[], None],
        submit_timeout: float = 60.0,  # a city may take most of a minute to answer
        cancel_timeout: float = 60.0,
        query_timeout: float = 30.0,
        observe: Callable[[Exchange], None] = tape.observe,
        lines: Lines | None = None,
        ambiente: Ambiente = Ambiente.PRODUCAO,
    ) -> None:
        def destination(timeout: float) -> Destination:
            headers = {"x-api-key": api_key, "accept": "application/json, */*"}
            return Destination(base_url, timeout=timeout, guard=guard, headers=headers, observe=observe)

        self.ambiente = ambiente
        self._refused = None if api_key else Answer(HTTPStatus.UNAUTHORIZED, {}, b"")
        self.lines = lines or Lines(clock=time.monotonic)
        self._ways = {
            CallKind.SUBMISSION: destination(submit_timeout),
            CallKind.QUESTION: destination(query_timeout),
            CallKind.CANCELLATION: destination(cancel_timeout),
            CallKind.DOWNLOAD: destination(query_timeout),
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        for way in self._ways.values():
            await way.aclose()

    def key_for(self, intent: InvoiceIntent) -> IntegrationKey:
        """Return the key that the bytes for ``intent`` carry."""
        return self.key(intent.prestador.cnpj, intent.id_integracao)

    def key(self, prestador: str, texto: str) -> IntegrationKey:
        """Read a key back: its text form is our reference."""
        return IntegrationKey(prestador, texto)

    async def check(self, intent: InvoiceIntent) -> Rejected | None:  # noqa: ARG002 - port
        """Know nothing before PlugNotas does: what a city takes, it says itself."""
        return None

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why a note was refused, and which field repairs it."""
        return explain(recusa)

    def payload(self, intent: InvoiceIntent) -> bytes:
        """Return the exact bytes to send for ``intent``; raises ``ValueError`` for an impossible value."""
        return bodies.build(intent)

    async def prepare(self, payload: bytes, agora: datetime) -> bytes:  # noqa: ARG002 - protocol
        """Return the bytes as the turn made them: PlugNotas signs for us."""
        return payload

    async def submit(self, payload: bytes) -> Outcome:
        """Send stored bytes once, as they are; raises ``ValueError`` if they are not one note of ours."""
        key = bodies.key_of(payload)
        return submit_outcome(await self._call(key.prestador, CallKind.SUBMISSION, "/nfse", payload), key)

    async def find(self, key: IntegrationKey) -> Finding:
        """Ask for the note under ``key``; an authorised one comes with its XML, which alone shows its whole content."""
        found = finding(await self._call(key.prestador, CallKind.QUESTION, _by_key(key)), key)
        if not isinstance(found, Found) or found.nota.situacao is not Situacao.AUTORIZADA:
            return found
        return await self.whole(key.prestador, found.nota)

    async def whole(self, prestador: str, nota: Nota) -> Found:
        """Return an issued note with what only its XML shows; as it is where there is none yet."""
        xml = await self._document(prestador, CallKind.QUESTION, nota.id_externo, "xml")
        return Found(with_content(nota, xml.conteudo), xml) if isinstance(xml, Documento) else Found(nota)

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch the rendered document of an authorised note of this prestador (CNPJ)."""
        return await self._document(prestador, CallKind.DOWNLOAD, id_externo, formato)

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        """Ask once for the cancellation of this note; raises ``ValueError`` for an id that is not one of PlugNotas."""
        path = f"/nfse/cancelar/{_path_id(id_externo)}"
        body = json.dumps({"motivo": motivo.texto, "codigo": motivo.codigo}, ensure_ascii=False).encode()
        return cancel_outcome(await self._call(prestador, CallKind.CANCELLATION, path, body), id_externo)

    async def cancellation(self, key: IntegrationKey, id_externo: str, protocolo: str | None) -> CancelFinding:
        """Ask what became of a request, then how the note stands."""
        asked = None
        if protocolo is not None:
            path = f"/nfse/cancelar/status/{quote(protocolo, safe='')}"
            asked = await self._call(key.prestador, CallKind.QUESTION, path)
        note = await self._call(key.prestador, CallKind.QUESTION, _by_key(key))
        return cancel_finding(asked, note, key, id_externo)

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:
        """Ask for one page of a prestador's notes of some days, both included."""
        query = {"cpfCnpj": prestador, "dataInicial": inicio.isoformat(), "dataFinal": fim.isoformat()}
        if cursor is not None:
            query["hashProximaPagina"] = cursor
        path = f"/nfse/consultar/periodo?{urlencode(query)}"
        return listing_of(await self._call(prestador, CallKind.QUESTION, path))

    async def _document(
        self, prestador: str, kind: CallKind, id_externo: str, formato: Literal["pdf", "xml"]
    ) -> Download:
        if not _ID.fullmatch(id_externo):
            return NotReady("the note's id is not one of PlugNotas")
        path = f"/nfse/{formato}/{id_externo}"
        return download_of(await self._call(prestador, kind, path, max_body=MAX_FILE), formato)

    async def _call(
        self, prestador: str, kind: CallKind, path: str, content: bytes | None = None, *, max_body: int = MAX_BODY
    ) -> Answer | NoAnswerError:
        """Call on this company's line: POST where there is something to send, GET else.

        Without an API key nobody is asked: the answer is what PlugNotas would say.
        """
        if self._refused is not None:
            return self._refused
        method, headers = ("POST", _JSON) if content else ("GET", None)
        try:
            with self.lines.call(prestador, kind) as breaker:
                return await self._ways[kind].request(
                    method, path, content=content, headers=headers, max_body=max_body, breaker=breaker
                )
        except NoAnswerError as error:
            return error


def _by_key(key: IntegrationKey) -> str:
    return f"/nfse/consultar/{quote(key.id_integracao, safe='')}/{quote(key.prestador, safe='')}"


def _path_id(id_externo: str) -> str:
    if not _ID.fullmatch(id_externo):
        raise ValueError("the note's id is not one of PlugNotas")
    return id_externo


def opened(around: Surroundings) -> PlugNotas:
    """Open the adapter as the program's settings say; PlugNotas' environment is that of its address and API key."""
    settings = around.settings
    return PlugNotas(
        settings.plugnotas_url,
        settings.plugnotas_api_key.get_secret_value(),
        guard=around.guard,
        submit_timeout=settings.gateway_timeout_seconds,
        query_timeout=settings.gateway_query_timeout_seconds,
        cancel_timeout=settings.cancel_timeout_seconds,
        lines=around.lines,
        ambiente=around.ambiente,
    )


def missing(settings: Any) -> str | None:
    """Say in pt-BR what of the installation's settings is missing; without them no company may come here."""
    if settings.plugnotas_api_key.get_secret_value() and settings.gateway_headers:
        return None
    return "faltam PROSA_PLUGNOTAS_API_KEY e PROSA_GATEWAY_WEBHOOK_SECRET nesta instalação"
