"""Owns the conversation with PlugNotas (Tecnospeed); every answer becomes a value in ``gateway.plugnotas.outcome``.

Turns the answer to "which notes has this prestador?" into a page; refuses one that it cannot read whole.

The one place that turns an HTTP answer, or its absence, into what we may believe of a cancellation.

Owns the reading of an issued note's XML: service text, competence, code, status code, the issuer's number.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from http import HTTPStatus
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

from gateway.http import recording as tape
from gateway.http.client import MAX_BODY, MAX_FILE, Destination, Exchange
from gateway.http.wire import (
    Answer,
    NoAnswerError,
    NotSentError,
    as_dict,
    json_object,
    parse_json,
    retry_after,
    scrub,
    text,
)
from gateway.lines import CallKind, Lines
from gateway.plugnotas import payload as bodies
from gateway.plugnotas.note import c_stat, codes, parse_any_nota, parse_nota
from gateway.plugnotas.outcome import download_of, explain, finding, postponed, says, says_absent, submit_outcome
from gateway.plugnotas.payload import IntegrationKey
from gateway.port import Explicacao, Surroundings
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.cancellation.reconciliation import (
    AlreadyCancelled,
    CancelFinding,
    Cancelled,
    CancelOutcome,
    InProcess,
    Refused,
    Stands,
)
from state_machine.documents import Documento
from state_machine.protocol.audit import Listagem, Pagina
from state_machine.protocol.channel import Ambiente, Natureza
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Download,
    Finding,
    Found,
    Misconfigured,
    Nota,
    NotReady,
    NotSent,
    Outcome,
    Rejected,
    Situacao,
    Unknown,
)
from state_machine.values.text import plain

_OK, _NOT_FOUND = 200, 404
# The page's shape is not published: the list has one of these names, or is the whole answer.
_NAMES = ("notas", "nfse", "nfses", "documents", "data")
_CURSOR = "hashProximaPagina"
_MAX_CURSOR = 512  # it becomes part of a path


def listing_of(result: Answer | NoAnswerError) -> Listagem:
    """Classify the answer; a listing that is not whole tells nothing, since what it lacks would look like a loss."""
    if not isinstance(result, Answer):
        return CannotTell(result.reason)
    if result.status == _NOT_FOUND and says_absent(json_object(result.body)):
        return Pagina((), None)
    if result.status != _OK:
        return CannotTell(says(result), retry_after(result.headers))
    try:
        body = parse_json(result.body)
    except ValueError:
        return CannotTell("HTTP 200 without JSON")
    lines = _lines(body)
    if lines is None:
        return CannotTell("the answer is no list of notes")
    notas = [parse_any_nota(line) for line in lines]
    known = [nota for nota in notas if nota is not None]
    cursor = text(as_dict(body).get(_CURSOR))
    if len(known) != len(notas) or len(cursor or "") > _MAX_CURSOR:
        return CannotTell("the list has something that is no note")
    return Pagina(tuple(known), cursor)


def _lines(body: Any) -> list[Any] | None:
    if isinstance(body, list):
        return body
    lists = [found for name in _NAMES if isinstance(found := as_dict(body).get(name), list)]
    return lists[0] if len(lists) == 1 else None


_SUCCESS, _REDIRECT, _BAD_REQUEST, _ABSENT, _CONFLICT, _UNPROCESSABLE = 200, 300, 400, 404, 409, 422
_OURS, _REFUSALS = (401, 403), (_BAD_REQUEST, _ABSENT, _CONFLICT, _UNPROCESSABLE)
_ALREADY = re.compile(r"\bja (?:esta|foi|se encontra|estava|encontra-se) cancelad[ao]")
_UNDER_WAY = re.compile(r"em (?:processamento|andamento)|processando|ja (?:foi )?solicitad[ao]|aguard")
_NO = re.compile(r"nao (?:autoriz|foi|permit|pode|e possivel)|rejeit|recus|neg(?:ad|ou)|indefer|expirad|prazo|fora do")
_MAX_MENSAGEM = 500
_READ = 4000  # characters; a city's explanation is shorter
# Codes of the national event 101101 that people can do something about, in their words.
_EXPLAINED = {
    "E0822": "o prazo que a cidade dá para cancelar já passou",
    "E0823": "a nota passa do valor que a cidade deixa cancelar sem análise",
}


def cancel_outcome(result: Answer | NoAnswerError, id_externo: str) -> CancelOutcome:
    """Classify the answer to "cancel this note"; what is not plainly something else is unknown."""
    if not isinstance(result, Answer):
        kind = NotSent if isinstance(result, NotSentError) else Unknown
        return kind(result.reason)
    says = f"HTTP {result.status}"
    if result.status in _OURS:
        return Misconfigured(says)
    if (later := postponed(result)) is not None:
        return later
    body = json_object(result.body)
    error = as_dict(body.get("error"))
    data = {**as_dict(error.get("data")), **as_dict(body.get("data"))}
    protocolo = text(data.get("protocol")) or text(body.get("protocol"))
    named = text(data.get("id")) or text(as_dict(data.get("current")).get("id"))
    if named not in {None, id_externo}:
        return Unknown(f"{says} about another note")
    if protocolo is not None and (_SUCCESS <= result.status < _REDIRECT or result.status in _REFUSALS):
        return Accepted(None, protocolo)  # a 400 that carries a protocol is being worked on all the same
    message = text(error.get("message"))
    if message is None or result.status not in _REFUSALS:
        refused = result.status in _REFUSALS
        return Unknown(f"{says} that does not speak of a cancellation", recusada=refused)
    return _refusal(message, as_dict(data.get("current")), says)


def _refusal(message: str, current: dict[str, Any], says: str) -> CancelOutcome:
    words = plain(message, _READ)
    nota = parse_nota(current)
    if _ALREADY.search(words) or (nota and nota.situacao is Situacao.CANCELADA):
        return AlreadyCancelled()
    found = codes(message)
    if _UNDER_WAY.search(words) or {"E0840", "E0802"} & set(found):  # a cancel event exists: ask what became of it
        return Unknown(f"{says}: a cancellation is under way", recusada=True)
    return Rejected(explained(message), found)


def cancel_finding(
    protocol: Answer | NoAnswerError | None,
    note: Answer | NoAnswerError,
    key: IntegrationKey,
    id_externo: str,
) -> CancelFinding:
    """Classify what the gateway says of the request (``protocol``: asked first) and of the note (asked after it).

    The note decides: cancelled is cancelled whoever did it, and a refusal counts only while the note stands.
    """
    found = finding(note, key)
    if isinstance(found, CannotTell):
        return found
    if isinstance(found, Absent):
        return CannotTell("the gateway does not know the note")
    assert isinstance(found, Found)  # noqa: S101 - the third and last of the union
    if found.nota.id_externo != id_externo:
        return CannotTell("another note stands under our key")
    match found.nota.situacao:
        case Situacao.CANCELADA:
            return Cancelled(found.nota)
        case Situacao.AUTORIZADA:
            return Stands() if protocol is None else _of_request(protocol)
        case _:  # some cities show the note as in process meanwhile
            return InProcess()


def _of_request(result: Answer | NoAnswerError) -> CancelFinding:
    if not isinstance(result, Answer):
        return CannotTell(result.reason)
    body = json_object(result.body)
    if result.status == _ABSENT and text(as_dict(body.get("error")).get("message")):
        return Stands()  # it does not know the request, and the note stands
    if result.status != _SUCCESS or not body:
        return CannotTell(f"HTTP {result.status}", retry_after(result.headers))
    data = as_dict(body.get("data"))
    said = text(data.get("response")) or text(data.get("mensagem")) or text(body.get("message")) or ""
    word = plain(text(data.get("situacao")) or text(data.get("status")) or "", _READ)
    words = plain(said, _READ)
    if _UNDER_WAY.search(word or words):
        return InProcess()
    if _NO.search(word) or (not word and _NO.search(words)):
        return Refused(explained(said))
    return InProcess()  # said to be done while the note still stands, or a word that we don't know: never final


def explained(mensagem: str) -> str:
    """Return a refusal in plain words where its code is known, else as the city wrote it, without secrets."""
    known = [_EXPLAINED[code] for code in codes(mensagem) if code in _EXPLAINED]
    return known[0] if known else scrub(mensagem)[:_MAX_MENSAGEM]


_MAX_BYTES = 1_000_000  # a note has some 20 kB; more is nothing that we asked for
# The national layout (infDPS of DPS 1.00 and 1.01) and the ABRASF family (1.00 to 2.04), which most cities speak.
_DESCRICAO = ("xDescServ", "Discriminacao")
_COMPETENCIA = ("dCompet", "Competencia")
_CODIGO = ("cTribNac", "ItemListaServico")
_C_STAT = ("cStat",)
_RPS = ("nDPS",)
_RPS_ABRASF = ("IdentificacaoRps",)  # whose ``Numero`` is the issuer's; the note's own and the address's are others
_MAX_RPS = 15  # digits, in both families


def with_content(nota: Nota, xml: bytes) -> Nota:
    """Return the note with what its XML says of the service and of itself; an unknown layout says nothing."""
    root = _parsed(xml)
    if root is None:
        return nota
    return replace(
        nota,
        descricao=nota.descricao or _first(root, _DESCRICAO),
        competencia=nota.competencia or _first(root, _COMPETENCIA),
        codigo_servico=nota.codigo_servico or _first(root, _CODIGO),
        c_stat=nota.c_stat or c_stat(_first(root, _C_STAT)),
        numero_rps=_numero(_first(root, _RPS) or _first(root, ("Numero",), within=_RPS_ABRASF)),
    )


def _numero(said: str | None) -> int | None:
    return int(said) if said and said.isdecimal() and len(said) <= _MAX_RPS else None


def _parsed(xml: bytes) -> ET.Element | None:
    if len(xml) > _MAX_BYTES or b"<!DOCTYPE" in xml or b"<!ENTITY" in xml:  # a note declares no entities
        return None
    try:
        return ET.fromstring(xml)  # noqa: S314 - no entities, see above
    except (ET.ParseError, ValueError, LookupError):  # also an encoding that nobody knows
        return None


def _first(root: ET.Element, names: tuple[str, ...], within: tuple[str, ...] | None = None) -> str | None:
    """Return the text of the one element of this name, in whatever namespace; several that differ say nothing.

    ``within``: only what stands directly in elements of these names counts.
    """
    every = root.iter()
    places = every if within is None else (child for place in every if _is(place, within) for child in place)
    found = {text for element in places if _is(element, names) and (text := _text(element))}
    return found.pop() if len(found) == 1 else None


def _is(element: ET.Element, names: tuple[str, ...]) -> bool:
    return isinstance(element.tag, str) and element.tag.rpartition("}")[2] in names


def _text(element: ET.Element) -> str:
    return (element.text or "").replace("\x00", "").strip()


_JSON = {"content-type": "application/json"}
NATUREZA = Natureza(lists_by="days", numbers="company", webhook=True, holds_certificate=True)
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

    def key_for(self, intent: Documento) -> IntegrationKey:
        """Return the key that the bytes for ``intent`` carry."""
        return self.key(intent.prestador.cnpj, intent.id_integracao)

    def key(self, prestador: str, texto: str) -> IntegrationKey:
        """Read a key back: its text form is our reference."""
        return IntegrationKey(prestador, texto)

    async def check(self, intent: Documento) -> Rejected | None:  # noqa: ARG002 - port
        """Know nothing before PlugNotas does: what a city takes, it says itself."""
        return None

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why a note was refused, and which field repairs it."""
        return explain(recusa)

    def payload(self, intent: Documento) -> bytes:
        """Return the exact bytes to send for ``intent``; raises ``ValueError`` for an impossible value."""
        return bodies.build(intent)

    async def prepare(self, payload: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> bytes:  # noqa: ARG002 - protocol
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
        return Found(with_content(nota, xml.conteudo), xml) if isinstance(xml, Arquivo) else Found(nota)

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
