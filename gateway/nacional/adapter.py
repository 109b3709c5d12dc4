"""Owns the conversation with SEFIN Nacional, each company under its own certificate."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final, Literal, Protocol

import structlog

from gateway.certificate.connections import Certificates, CompanyConnections, OpenA1, UnusableCertificateError
from gateway.http import recording as tape
from gateway.http.client import Destination, Exchange
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.keys import ChaveNFSe, IdDPS
from gateway.lines import CallKind, Lines
from gateway.nacional import outcome, payload
from gateway.nacional.cancellation import as_it_stands, cancel_finding, cancel_outcome, how_it_ended
from gateway.nacional.dps import TP_AMB, id_dps, short_reference
from gateway.nacional.layouts import REFUSED, LayoutChoice, LayoutDays, deadlines, parse
from gateway.nacional.processes.danfse import DanfsePool
from gateway.nacional.processes.signing_process import Signed, Signers, SigningError
from gateway.nacional.signature import pack
from gateway.port import Explicacao, Prepared, Surroundings
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.cancellation.reconciliation import AlreadyCancelled, CancelFinding, CancelOutcome
from state_machine.documents import Documento, load
from state_machine.protocol.audit import Ended, Listagem
from state_machine.protocol.channel import Ambiente, Leiaute, Natureza
from state_machine.protocol.emission import (
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
    Unknown,
)
from state_machine.values.errors import ProsaError

NATUREZA: Final = Natureza(
    absences=3,
    # The last look comes 42 seconds after an unknown outcome. A copy that arrives later is met by uniqueness (E0014).
    absence_spacing=timedelta(seconds=20),
    synchronous=True,
    lists_by="documents",
    numbers="we",
    environments="each",
    prepares=True,
    substitutes=True,
    draws=True,
    reference=short_reference,
)
# Hosts: the national portal's page "APIs - Prod. Restrita e Produção" (gov.br/nfse), read in 2026.
SEFIN: Final = {
    Ambiente.PRODUCAO: "https://sefin.nfse.gov.br/SefinNacional",
    Ambiente.HOMOLOGACAO: "https://sefin.producaorestrita.nfse.gov.br/SefinNacional",
}
CHECK_DEADLINE: Final = 3.0  # seconds that a summary waits at most; a process starts in one, and then takes 0.01
_JSON: Final = {"content-type": "application/json"}

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NationalKey:
    """The identity of a DPS, on which SEFIN is unique; 45 characters in its text form."""

    dps: IdDPS

    @property
    def prestador(self) -> str:
        """The issuer's CNPJ."""
        return self.dps.inscricao.numero

    def __str__(self) -> str:
        return str(self.dps)


class NoteRender(Protocol):
    """What draws the PDF of a note, of its XML; without it ``download`` has none."""

    async def render(self, xml: bytes, *, watermark: Literal["cancelada", "substituida"] | None) -> bytes:
        """Return the PDF. Raises ``ProsaError`` where the XML cannot be drawn."""
        ...

    async def aclose(self) -> None:
        """End what draws."""
        ...


class Nacional:
    """``FiscalGateway`` over SEFIN Nacional; natural key: the ``idDPS``, made of city, CNPJ, series and our number.

    ``submit_timeout``, ``cancel_timeout`` and ``query_timeout`` bound each whole call, in seconds. ``clock`` gives the
    aware moment of a check and of a cancellation; the moment of an invoice is the caller's. A call without a usable
    certificate never leaves. ``danfse`` is closed with the adapter. ``days``: from when a DPS has which shape and group
    (``layouts.deadlines``); ``sozinho``: of ``layouts.LayoutChoice``.
    """

    name = "nacional"
    natureza = NATUREZA

    def __init__(
        self,
        base_url: str,
        certificates: Certificates,
        *,
        guard: Callable[[], None],
        lines: Lines,
        ambiente: Ambiente,
        ca_file: Path | None = None,
        submit_timeout: float = 60.0,  # SEFIN answers with the note, and may take tens of seconds
        cancel_timeout: float = 60.0,
        query_timeout: float = 30.0,
        observe: Callable[[Exchange], None] = tape.observe,
        signers: Signers | None = None,
        danfse: NoteRender | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        check_deadline: float = CHECK_DEADLINE,
        days: LayoutDays | None = None,
        sozinho: bool = False,
    ) -> None:
        timeouts = {CallKind.SUBMISSION: submit_timeout, CallKind.CANCELLATION: cancel_timeout}

        def destination(kind: Hashable, context: ssl.SSLContext) -> Destination:
            assert isinstance(kind, CallKind)  # noqa: S101 - ``_call``
            timeout = timeouts.get(kind, query_timeout)
            headers = {"accept": "application/json"}
            return Destination(base_url, timeout=timeout, guard=guard, headers=headers, observe=observe, tls=context)

        self.ambiente = ambiente
        self.lines = lines
        self._certificates = certificates
        self._connections = CompanyConnections(certificates, destination, also_trusted=ca_file)
        self._signers = signers or Signers()
        self._danfse = danfse
        self._clock = clock
        self._check_deadline = check_deadline
        self._days = days or LayoutDays()
        self.leiaute = LayoutChoice(ambiente, self._days.nt009, sozinho)
        self._checks: set[asyncio.Task[Rejected | None]] = set()

    async def aclose(self) -> None:
        """Close all connections, and end the signing processes."""
        for checking in self._checks:
            checking.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)
        await self._connections.aclose()
        await self._signers.aclose()
        if self._danfse is not None:
            await self._danfse.aclose()

    def key_for(self, intent: Documento) -> NationalKey:
        """Return the key that the DPS of ``intent`` has. Raises ``ValueError`` where its parts make none."""
        return NationalKey(id_dps(intent))

    def key(self, prestador: str, texto: str) -> NationalKey:
        """Read a key back. Raises ``ValueError`` for text that is none, or another company's."""
        found = NationalKey(IdDPS.parse(texto))
        if found.prestador != prestador:
            raise ValueError("the key is another company's")
        return found

    def payload(self, intent: Documento) -> bytes:
        """Return the invoice as it is stored until its DPS is made. Raises ``ValueError`` where it names no DPS."""
        return payload.encode(intent)

    async def check(self, intent: Documento) -> Rejected | None:
        """Make the DPS of an invoice without signing it, and return what is wrong with it."""
        try:
            stored = payload.encode(intent)
        except ValueError as error:
            return payload.refusal(str(error))
        if (unfit := payload.unfit_at_once(intent, self._days, self._clock())) is not None:
            return unfit
        # One that is late goes on without us: a process that is still starting will make the document.
        checking = asyncio.create_task(self._checked(stored))
        self._checks.add(checking)
        checking.add_done_callback(self._checks.discard)
        await asyncio.wait({checking}, timeout=self._check_deadline)
        if not checking.done():
            log.warning("check_failed", reason="late")
            return None
        return checking.result()

    async def _checked(self, stored: bytes) -> Rejected | None:
        try:
            unfit = await self._signers.unsigned(stored, self.ambiente, self._clock(), self.leiaute.nt009)
        except SigningError as error:
            log.warning("check_failed", reason=str(error))
            return None
        return payload.refusal(unfit.porque) if unfit else None

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why a note was refused, and which field repairs it."""
        return payload.explained(recusa.campos) if recusa.campos else outcome.explain(recusa)

    async def prepare(self, payload_: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> Prepared:  # noqa: ARG002 - port
        """Return the signed DPS of a stored invoice, or what is wrong with the invoice or the certificate."""
        intent = load(payload_)
        if (refused_by_day := payload.refused_by_day(intent, self._days, agora)) is not None:
            return refused_by_day
        cnpj, reference = intent.prestador.cnpj, str(id_dps(intent))
        try:
            opened = await self._to_sign(cnpj, reference)
            made = await self._signers.dps(payload_, self.ambiente, agora, opened, self.leiaute.nt009)
        except UnusableCertificateError:
            return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        except SigningError as error:
            log.error("signing_failed", reason=str(error))  # noqa: TRY400 - its text is all there is
            return NotSent(f"not signed: {error}")
        return made.xml if isinstance(made, Signed) else payload.refusal(made.porque)

    async def takes(self, intent: Documento, agora: datetime, leiaute: Leiaute) -> bool | None:
        """Ask whether the authority takes a layout, by a document of it that can become no note; ``None``: not told.

        Its schema is believed to be looked at before its rules: who names a rule has taken the layout.
        """
        cnpj, reference = intent.prestador.cnpj, str(id_dps(intent))
        nt009 = date.min if leiaute == "nt009" else None
        try:
            opened = await self._to_sign(cnpj, reference)
            made = await self._signers.canary(payload.encode(intent), self.ambiente, agora, opened, nt009)
        except (UnusableCertificateError, SigningError):
            return None
        said = await self.submit(made.xml) if isinstance(made, Signed) else None
        if not isinstance(said, Rejected):
            return None
        return None if not said.codigos else said.codigos != (REFUSED,)

    async def submit(self, payload_: bytes) -> Outcome:
        """Send stored bytes once, as they are; raises ``ValueError`` if they are not a DPS."""
        key = _key_of(payload_)
        body = json.dumps({"dpsXmlGZipB64": pack(payload_)}).encode()
        result = await self._call(key.prestador, CallKind.SUBMISSION, "POST", "/nfse", body, nota=str(key))
        return _stopped(result) or outcome.submit_outcome(_of_network(result), str(key))

    async def find(self, key: NationalKey) -> Finding:
        """Ask for the note of this DPS with its XML, which alone shows all of it, and whether an event ended it."""
        path, kind = f"/dps/{key}", CallKind.QUESTION
        exists = await self._asked(key.prestador, kind, path, method="HEAD")
        told = await self._asked(key.prestador, kind, path) if isinstance(exists, Answer) else None
        found = outcome.finding(exists, told, str(key), TP_AMB[self.ambiente])
        if not isinstance(found, str):
            return found
        note = await self._fetched(key.prestador, kind, found)
        return as_it_stands(note, await self._how_it_ended(key.prestador, found) if isinstance(note, Found) else None)

    async def whole(self, prestador: str, nota: Nota) -> Found:
        """Return a note with its text, competence and code; as it is where it cannot be fetched now."""
        found = await self._fetched(prestador, CallKind.QUESTION, nota.id_externo)
        return found if isinstance(found, Found) else Found(nota)

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch the XML of an authorised note of this prestador (CNPJ); its PDF is drawn of that by ``danfse``.

        A PDF does not wait for word of events: without it, the page is that of a note that stands.
        """
        chave = str(ChaveNFSe.parse(id_externo))
        xml = outcome.xml_of(await self._asked(prestador, CallKind.DOWNLOAD, f"/nfse/{chave}"), chave)
        if formato == "xml" or not isinstance(xml, Arquivo):
            return xml
        if self._danfse is None:
            return NotReady("nothing here draws a PDF")
        ended = await self._how_it_ended(prestador, chave)
        unmarked = isinstance(ended, CannotTell)
        try:
            pdf = await self._danfse.render(xml.conteudo, watermark=None if isinstance(ended, CannotTell) else ended)
        except ProsaError as error:
            return NotReady(error.code)
        return Arquivo(pdf, "application/pdf", unmarked)

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        """Ask once for the cancellation of this note, unless it is registered already.

        The request is made and signed anew each time: SEFIN knows it by its ``Id``, made of the note's key and the kind
        of event, so a second one is refused as a repetition (E0840, E0802), whatever its bytes.
        """
        chave = str(ChaveNFSe.parse(id_externo))
        if isinstance(before := await self._how_it_ended(prestador, chave), CannotTell):
            return NotSent(f"not asked before: {before.motivo}")
        if before is not None:
            return AlreadyCancelled()
        try:
            opened = await self._to_sign(prestador, chave)
            made = await self._signers.cancellation(chave, prestador, motivo, self.ambiente, self._clock(), opened)
        except UnusableCertificateError:
            return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        except SigningError as error:
            return NotSent(f"not signed: {error}")
        if not isinstance(made, Signed):
            return Rejected(made.porque)
        body = json.dumps({"pedidoRegistroEventoXmlGZipB64": pack(made.xml)}).encode()
        result = await self._call(prestador, CallKind.CANCELLATION, "POST", f"/nfse/{chave}/eventos", body, nota=chave)
        if (stopped := _stopped(result)) is not None:
            return stopped
        answered = cancel_outcome(_of_network(result), chave)
        if answered is not None:
            return answered
        after = await self._how_it_ended(prestador, chave)
        hidden = Unknown("an event is registered that cannot be seen", recusada=True)
        return AlreadyCancelled() if isinstance(after, str) else hidden

    async def cancellation(self, key: NationalKey, id_externo: str, protocolo: str | None) -> CancelFinding:  # noqa: ARG002 - there is no protocol here: the event is the answer
        """Say how the note stands, by its events and by itself."""
        chave = str(ChaveNFSe.parse(id_externo))
        found = await self._fetched(key.prestador, CallKind.QUESTION, chave)
        if isinstance(found, CannotTell):
            return found
        events = await self._asked(key.prestador, CallKind.QUESTION, f"/nfse/{chave}/eventos")
        return cancel_finding(events, found, str(key), chave, TP_AMB[self.ambiente])

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:  # noqa: ARG002 - port
        """Say that SEFIN lists no notes by day; ``natureza.lists_by`` says so before anybody asks."""
        return CannotTell("SEFIN lists no notes by day")

    async def _how_it_ended(self, prestador: str, chave: str) -> Ended | CannotTell | None:
        path = f"/nfse/{chave}/eventos"  # of every kind: the authority, or another note, may have ended it
        return how_it_ended(await self._asked(prestador, CallKind.QUESTION, path), chave, TP_AMB[self.ambiente])

    async def _fetched(self, prestador: str, kind: CallKind, chave: str) -> Found | CannotTell:
        try:
            chave = str(ChaveNFSe.parse(chave))  # it comes from outside and becomes part of a path
        except ValueError:
            return CannotTell("the authority names no key")
        return outcome.fetched(await self._asked(prestador, kind, f"/nfse/{chave}"), chave)

    async def _to_sign(self, cnpj: str, nota: str) -> OpenA1:
        opened = await self._certificates.open(cnpj, "assinar", nota)
        if opened is None or self._clock() >= opened.valido_ate:
            raise UnusableCertificateError(cnpj)
        return opened

    async def _asked(self, prestador: str, kind: CallKind, path: str, method: str = "GET") -> Answer | NoAnswerError:
        """Ask; without a usable certificate there is no answer."""
        return _of_network(await self._call(prestador, kind, method, path))

    async def _call(
        self,
        prestador: str,
        kind: CallKind,
        method: str,
        path: str,
        content: bytes | None = None,
        nota: str | None = None,
    ) -> Answer | NoAnswerError | UnusableCertificateError:
        """Call on this company's line, showing its certificate."""
        try:
            with self.lines.call(prestador, kind) as breaker:
                async with self._connections.of(prestador, kind, nota) as way:
                    headers = _JSON if content else None
                    return await way.request(method, path, content=content, headers=headers, breaker=breaker)
        except (NoAnswerError, UnusableCertificateError) as error:
            return error


def _of_network(result: Answer | NoAnswerError | UnusableCertificateError) -> Answer | NoAnswerError:
    return NotSentError(outcome.UNUSABLE) if isinstance(result, UnusableCertificateError) else result


def _stopped(result: Answer | NoAnswerError | UnusableCertificateError) -> Misconfigured | None:
    return (
        Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        if isinstance(result, UnusableCertificateError)
        else None
    )


def _key_of(dps: bytes) -> NationalKey:
    """Return the key that stored bytes carry. Raises ``ValueError``."""
    root = parse(dps)
    return NationalKey(IdDPS.parse(root[0].get("Id") or "" if len(root) else ""))


def sefin_address(around: Surroundings) -> str:
    """Return where SEFIN is asked; an address that is set holds in the installation's environment.

    A company of the other one goes to that one's own host.
    """
    settings = around.settings
    own = around.ambiente == settings.fiscal_environment
    return (settings.nacional_sefin_url if own else "") or SEFIN[around.ambiente]


def opened(around: Surroundings) -> Nacional:
    """Open the adapter as the program's settings say."""
    settings = around.settings
    if around.certificates is None:
        raise ValueError("the national channel needs the companies' certificates")
    return Nacional(
        sefin_address(around),
        around.certificates,
        guard=around.guard,
        lines=around.lines,
        ambiente=around.ambiente,
        ca_file=settings.nacional_ca_file,
        submit_timeout=settings.gateway_timeout_seconds,
        query_timeout=settings.gateway_query_timeout_seconds,
        cancel_timeout=settings.cancel_timeout_seconds,
        danfse=DanfsePool(),
        days=deadlines(settings, around.ambiente),
        sozinho=settings.nacional_nt009_sozinho,
    )
