"""Owns the conversation with the city of São Paulo, each company under its own certificate.

A second RPS of a number cancels the note of the first: nothing is sent again here without a proven absence, and no
binding or layout is changed inside of a sending. ``PROSA_PAULISTANA_SOAP`` says which of three bindings is spoken.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

import structlog

from gateway.certificate.connections import Certificates, CompanyConnections, UnusableCertificateError, trusted
from gateway.http import recording as tape
from gateway.http.client import Destination, Exchange
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.keys import ChaveRPS
from gateway.lines import CallKind, Lines
from gateway.nacional import payload
from gateway.nacional.dps import short_reference
from gateway.nacional.layouts import parse
from gateway.nacional.processes.signing_process import Signed, Signers, SigningError
from gateway.paulistana import outcome, rps
from gateway.paulistana.rps import MUNICIPIO, Leiaute, Soap
from gateway.port import Explicacao, Prepared, Surroundings
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
from state_machine.documents import Documento, dump, load
from state_machine.protocol.audit import Listagem, Pagina
from state_machine.protocol.channel import Ambiente, Natureza
from state_machine.protocol.emission import (
    Absent,
    CannotTell,
    Download,
    Finding,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotReady,
    NotSent,
    Outcome,
    Rejected,
)
from state_machine.values.local_time import SAO_PAULO

NATUREZA: Final = Natureza(
    absences=2,
    absence_spacing=timedelta(seconds=60),
    absence_age=timedelta(seconds=210),  # the city may hold a request for as long as a sending lasts, and two minutes
    resend_is_destructive=True,
    synchronous=True,
    lists_by="days",
    numbers="we",
    environments="each",
    prepares=True,
    page=True,
    reference=short_reference,
)
SERVICE: Final = "https://nfews.prefeitura.sp.gov.br/lotenfe.asmx"
_DAYS_BACK: Final = 8  # of the second look: an emission is asked about for seven days
_MOST_PAGES: Final = 100  # of it; more notes than that hide ours
_TRIES: Final = 5  # of a page
_PAUSE: Final = 0.2  # seconds before it is asked for again: all places of the line may be taken
_PATIENCE: Final = 5.0  # seconds that the city may ask to wait between them
_TOGETHER: Final = 8  # pages asked for at once, of a company that has many
_IN_TURN: Final = 2  # the first pages, which are asked for one after the other
_NO_TEST: Final = NotSent(
    "the city has no test host: EnvioRPS leaves in producao only",
    texto="a sua empresa está em homologação, e São Paulo não tem ambiente de testes. Quem cuida do cadastro passa a "
    "empresa para produção; depois disso, pede a nota de novo.",
)

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Walk:
    """The newest walk through a company's list: who waits for it, when it began (in ticks), what it told."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    callers: int = 0
    began: int = -1
    told: Sequence[Nota] | CannotTell = ()


async def _walked(page: Callable[[str], Awaitable[Listagem]], most: int) -> list[Pagina] | CannotTell:
    """Return a list's pages, of which up to so many are asked for at once."""
    pages, first, together = list[Pagina](), 1, 1
    while first <= _MOST_PAGES:
        some = (page(str(number)) for number in range(first, first + together))
        for told in await asyncio.gather(*some):  # beyond the last one there is an empty page
            if isinstance(told, CannotTell):
                return told
            pages.append(told)
            if told.seguinte is None:
                return pages
        first, together = first + together, min(2 * together, most)
    return CannotTell("the city lists more notes than are read")


@dataclass(frozen=True, slots=True)
class CityKey:
    """The RPS of a company, on which the city knows one note that stands; its text form is ``ChaveRPS``'s."""

    prestador: str
    rps: ChaveRPS

    def __str__(self) -> str:
        return str(self.rps)


class Paulistana:
    """``FiscalGateway`` over the city's synchronous service (SOAP).

    ``natureza`` has the installation's spacing of absences. ``clock`` gives the aware moment of a question; that of an
    invoice is the caller's. A call without a usable certificate never leaves.
    """

    name = "paulistana"
    leiaute = None

    def __init__(
        self,
        url: str,
        certificates: Certificates,
        *,
        guard: Callable[[], None],
        lines: Lines,
        ambiente: Ambiente,
        soap: Soap = "soap12-header",
        natureza: Natureza = NATUREZA,
        ca_file: Path | None = None,
        submit_timeout: float = 90.0,
        query_timeout: float = 30.0,
        observe: Callable[[Exchange], None] = tape.observe,
        signers: Signers | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        def destination(kind: Hashable, context: ssl.SSLContext) -> Destination:
            timeout = query_timeout if kind is CallKind.QUESTION else submit_timeout
            return Destination(base, timeout=timeout, guard=guard, observe=observe, tls=context)

        base, _, self._path = url.rpartition("/")
        self.ambiente = ambiente
        self.lines = lines
        self.natureza = natureza
        self.soap = soap
        self._certificates = certificates
        self._connections = CompanyConnections(certificates, destination, also_trusted=ca_file)
        self._signers = signers or Signers()
        self._clock = clock
        self._layouts: dict[str, Leiaute] = {}  # of companies for which the city asked for the other one
        self._ticks = count()
        self._walks: dict[str, _Walk] = {}
        self._digits: dict[str, int] = {}  # of the inscription in a cancellation, where the city refused eight

    async def aclose(self) -> None:
        """Close all connections, and end the signing processes."""
        await self._connections.aclose()
        await self._signers.aclose()

    def key_for(self, intent: Documento) -> CityKey:
        """Return the key of the RPS of ``intent``. Raises ``ValueError`` where its parts make none."""
        return CityKey(intent.prestador.cnpj, rps.chave_de(intent))

    def key(self, prestador: str, texto: str) -> CityKey:
        """Read a key back. Raises ``ValueError`` for text that is none."""
        return CityKey(prestador, ChaveRPS.parse(texto))

    def payload(self, intent: Documento) -> bytes:
        """Return the invoice as it is stored until its RPS is made. Raises ``ValueError`` where it has no number."""
        rps.chave_de(intent)
        return dump(intent)

    async def check(self, intent: Documento) -> Rejected | None:
        """Make the RPS of an invoice without signing it, and return what is wrong with it."""
        try:
            made = rps.recibo_of(intent, self._today(self._clock()))
            made.signing_text(self._layout(intent.prestador.cnpj))
        except ValueError as error:
            return payload.refusal(str(error))
        return None

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why a note was refused, and which field repairs it."""
        if not recusa.campos:
            return outcome.explain(recusa)
        return outcome.ADDRESS if recusa.campos[0][0] == "tomador.endereco" else payload.explained(recusa.campos)

    async def prepare(self, payload_: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> Prepared:
        """Return the signed RPS of a stored invoice, or what is wrong with the invoice or the certificate.

        It changes its layout once: what the city refused in both is for people.
        """
        intent = load(payload_)
        cnpj = intent.prestador.cnpj
        made = [rps.leiaute_de(each) for each in antes]
        leiaute = self._layouts.get(cnpj, made[-1] if made else 2)
        if leiaute in made and leiaute != made[-1]:
            return Rejected(f"the city asks for layout {leiaute}, and has refused it already", (_ASKED[leiaute],))
        asked = {"envio": payload_.decode(), "hoje": self._today(agora).isoformat(), "leiaute": leiaute}
        try:
            return await self._signed(cnpj, str(self.key_for(intent)), asked)
        except UnusableCertificateError:
            return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        except SigningError as error:
            return NotSent(f"not signed: {error}")
        except ValueError as error:
            return payload.refusal(str(error))

    async def submit(self, payload_: bytes) -> Outcome:
        """Send stored bytes once, as they are; raises ``ValueError`` if they are no RPS."""
        key, leiaute = _key_of(payload_), rps.leiaute_de(payload_)
        if self.ambiente is not Ambiente.PRODUCAO:
            return _NO_TEST
        result = await self._call(key.prestador, CallKind.SUBMISSION, "EnvioRPS", payload_, nota=str(key))
        said = outcome.submit_outcome(result, key.rps, key.prestador, leiaute)
        if isinstance(said, Issued):  # made of these bytes, and the answer repeats none of them
            said = replace(said, nota=replace(said.nota, referencia=_reference(payload_)))
        if isinstance(said, NotSent) and said.refazer:
            self._layouts[key.prestador] = other = 1 if leiaute == 2 else 2  # noqa: PLR2004 - the layout's number
            log.warning("layout_changed", leiaute=str(other))
        return said

    async def find(self, key: CityKey) -> Finding:
        """Ask for the notes of this RPS; where the city has none, ask for those of the last days too.

        Presence beats absence: the key is absent only where both say so.
        """
        cnpj = key.prestador
        asked = {"consulta": str(key), "cnpj": cnpj}
        result = await self._asked(cnpj, "ConsultaNFe", asked)
        found = outcome.finding(result, key.rps, cnpj)
        if not isinstance(found, Absent):
            return found
        listed = await self._listed(cnpj)
        if isinstance(listed, CannotTell):
            return listed
        seen = [Found(nota) for nota in listed if nota.id_integracao == str(key)]
        return outcome.standing(seen) if seen else found

    async def _listed(self, cnpj: str) -> Sequence[Nota] | CannotTell:
        """Return a company's notes of the last days, by a walk that began after this call.

        Who comes while one is under way waits, and shares the next one: a hundred keys in doubt cost two walks.
        """
        came, walk = next(self._ticks), self._walks.setdefault(cnpj, _Walk())
        walk.callers += 1
        try:
            async with walk.turn:
                if walk.began < came:
                    walk.began, walk.told = next(self._ticks), await self._pages(cnpj)
                return walk.told
        finally:
            walk.callers -= 1
            if not walk.callers:
                del self._walks[cnpj]

    async def _pages(self, cnpj: str) -> Sequence[Nota] | CannotTell:
        """Return the notes of all pages, asked for together while the first one stays as it was.

        Nobody says in which order the city lists: a note that comes to the head meanwhile pushes another from a page
        that is asked for yet onto one that was told already. One page after the other, none is missed.
        """
        hoje = self._today(self._clock())
        page = partial(self.listing, cnpj, hoje - timedelta(days=_DAYS_BACK), hoje)
        walked = await _walked(page, _TOGETHER)
        if not isinstance(walked, CannotTell) and len(walked) > _IN_TURN and await page("1") != walked[0]:
            walked = await _walked(page, 1)
        return walked if isinstance(walked, CannotTell) else [nota for told in walked for nota in told.notas]

    async def whole(self, prestador: str, nota: Nota) -> Found:  # noqa: ARG002 - port
        """Return a listed note as it is: the city lists all that it shows."""
        return Found(nota)

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Fetch what the city shows of a note, which is the nearest to an XML that it has; it gives no PDF."""
        if formato == "pdf":
            return NotReady("the city shows a page, and gives no PDF")
        result = await self._about(prestador, id_externo)
        told = outcome.read(result, "RetornoConsulta")
        if isinstance(told, str):
            return NotReady(told)
        found = next((each for each in outcome.notes(told, prestador) if each.nota.id_externo == id_externo), None)
        return found.xml if found is not None and found.xml is not None else NotReady("no such note")

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:  # noqa: ARG002 - the service has no place for a reason
        """Ask once for the cancellation of this note; where its string is refused, once more with the other one."""
        inscricao, numero = outcome.read_id(id_externo)
        first = self._digits.get(prestador, 8 if len(inscricao) == 8 else 12)  # noqa: PLR2004 - places of the string
        for digits in (first, 20 - first):
            asked = {"cancelamento": inscricao, "numero": numero, "cnpj": prestador, "digitos": digits}
            try:
                message = await self._signed(prestador, id_externo, {**asked, "leiaute": self._layout(prestador)})
            except UnusableCertificateError:
                return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
            except (SigningError, ValueError) as error:
                return NotSent(f"not signed: {error}")
            result = await self._call(prestador, CallKind.CANCELLATION, "CancelamentoNFe", message, nota=id_externo)
            said = outcome.cancel_outcome(result)
            if said is not None:
                self._digits[prestador] = digits
                return said
        return Rejected("a prefeitura recusou a assinatura do cancelamento; o suporte verifica", ("1305",))

    async def cancellation(self, key: CityKey, id_externo: str, protocolo: str | None) -> CancelFinding:  # noqa: ARG002 - there is no protocol here
        """Say how the note stands, by the city's own record of it."""
        return outcome.cancel_finding(await self._about(key.prestador, id_externo), id_externo, key.prestador)

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:
        """Return one page of the notes that a company issued in some days.

        Asked up to five times: a walk of many pages would seldom end else while the city stumbles.
        """
        page = int(cursor or "1")
        span = {"inicio": inicio.isoformat(), "fim": fim.isoformat(), "pagina": page}
        for _ in range(_TRIES):
            result = await self._asked(prestador, "ConsultaNFeEmitidas", {"periodo": prestador, **span})
            told = outcome.listing(result, prestador, page)
            if not isinstance(told, CannotTell) or told.texto or (told.retry_after or 0.0) > _PATIENCE:
                break
            await asyncio.sleep(told.retry_after or _PAUSE)
        return told

    async def trial(self, intent: Documento, agora: datetime) -> Rejected | CannotTell | None:
        """Have the city hold an invoice against its rules, of which it makes no note; ``None``: it would."""
        asked = {"teste": dump(intent).decode(), "hoje": self._today(agora).isoformat()}
        return outcome.trial(await self._asked(intent.prestador.cnpj, "TesteEnvioLoteRPS", asked))

    async def binding(self, prestador: str) -> Soap | CannotTell:
        """Return the binding that the host takes, ours first, by a question that changes nothing."""
        first: Answer | NoAnswerError | None = None
        for soap in dict.fromkeys((self.soap, *get_args(Soap))):
            result = await self._asked(prestador, "ConsultaCNPJ", {"inscricoes": prestador}, soap)
            if outcome.speaks(result):
                return cast("Soap", soap)
            first = first or result
        assert first is not None  # noqa: S101 - there are bindings
        return outcome.cannot_tell(first, f"HTTP {first.status}" if isinstance(first, Answer) else first.reason)

    async def _about(self, prestador: str, id_externo: str) -> Answer | NoAnswerError:
        inscricao, numero = outcome.read_id(id_externo)
        return await self._asked(prestador, "ConsultaNFe", {"nota": inscricao, "numero": numero, "cnpj": prestador})

    async def _asked(
        self, prestador: str, operacao: str, asked: Mapping[str, Any], soap: Soap | None = None
    ) -> Answer | NoAnswerError:
        """Ask in the company's layout, and once more in the other one where the city asks for it."""
        for leiaute in (first := self._layout(prestador), 3 - first):
            try:
                message = await self._signed(prestador, operacao, {**asked, "leiaute": leiaute})
            except UnusableCertificateError:
                return NotSentError(outcome.UNUSABLE)
            except (SigningError, ValueError) as error:
                return NotSentError(f"not signed: {error}")
            result = await self._call(prestador, CallKind.QUESTION, operacao, message, soap=soap)
            if not outcome.asks_for_layout(result, leiaute):
                return result
        return result

    async def _signed(self, cnpj: str, nota: str, asked: Mapping[str, Any]) -> bytes:
        """Raises ``UnusableCertificateError``, ``SigningError``, and ``ValueError`` for what makes no message."""
        opened = await self._certificates.open(cnpj, "assinar", nota)
        if opened is None or self._clock() >= opened.valido_ate:
            raise UnusableCertificateError(cnpj)
        made = await self._signers.city(asked, opened)
        if not isinstance(made, Signed):
            raise ValueError(made.porque)  # noqa: TRY004 - a refusal of the document, no bug
        return made.xml

    async def _call(
        self,
        prestador: str,
        kind: CallKind,
        operacao: str,
        message: bytes,
        nota: str | None = None,
        soap: Soap | None = None,
    ) -> Answer | NoAnswerError:
        """Call on this company's line, showing its certificate."""
        body, headers = rps.wrapped(operacao, message, soap or self.soap)
        try:
            with self.lines.call(prestador, kind) as breaker:
                async with self._connections.of(prestador, kind, nota) as way:
                    return await way.request("POST", f"/{self._path}", content=body, headers=headers, breaker=breaker)
        except UnusableCertificateError:
            return NotSentError(outcome.UNUSABLE)
        except NoAnswerError as error:
            return error

    def _layout(self, cnpj: str) -> Leiaute:
        return self._layouts.get(cnpj, 2)

    def _today(self, agora: datetime) -> date:
        return agora.astimezone(SAO_PAULO).date()


def _key_of(message: bytes) -> CityKey:
    """Return the key that stored bytes carry. Raises ``ValueError``."""
    root = parse(message)
    cnpj, chave = root.findtext("Cabecalho/CPFCNPJRemetente/CNPJ"), root.find("RPS/ChaveRPS")
    if cnpj is None or chave is None:
        raise ValueError("the bytes are no RPS")
    inscricao, serie, numero = (chave.findtext(name) or "" for name in _KEY)
    return CityKey(cnpj, ChaveRPS(inscricao, serie, int(numero)))


def _reference(message: bytes) -> str | None:
    return rps.unmarked(parse(message).findtext("RPS/Discriminacao") or "")[1]


_ASKED: Final = {layout: code for code, layout in outcome.OTHER_LAYOUT.items()}
_KEY: Final = ("InscricaoPrestador", "SerieRPS", "NumeroRPS")


def unfit(company: Mapping[str, Any]) -> str | None:
    """Say in pt-BR what of a company's registration makes no RPS, and what to do; ``company``: its columns by name."""
    if company["regime"] != "normal":
        return "a prefeitura de São Paulo não emite por aqui para MEI nem para o Simples; cadastre com --canal nacional"
    if company["municipio_ibge"] != MUNICIPIO:
        return "o canal paulistana é só de empresas da cidade de São Paulo (3550308); use --canal nacional"
    if not re.fullmatch(r"[0-9]{1,8}|[1-9][0-9]{8,11}", re.sub(r"[.\-/ ]", "", company["inscricao_municipal"])):
        return "a inscrição municipal (CCM) são 8 a 12 algarismos, como em --inscricao-municipal 31000000"
    if not re.fullmatch(r"[0-9A-Z]{1,5}", company["serie_rps"] or ""):
        return "a série é de 1 a 5 letras maiúsculas ou algarismos, e só da Prosa, como em --serie-rps PROSA"
    if not re.fullmatch(r"[0-9]{4,5}", company["codigo_servico"]):
        return "o canal paulistana pede o código de serviço da prefeitura, como em --codigo-servico 02658"
    if company["aliquota"] is None:
        return "o canal paulistana pede a alíquota do ISS em %, como em --aliquota 5"
    if None in {company["nbs"], company["ind_op"], company["class_trib"]}:
        return (
            "o canal paulistana pede os códigos dos novos impostos, que a contabilidade sabe, como em --nbs 118054000 "
            "--cindop 100301 --cclasstrib 000001"
        )
    return None


def opened(around: Surroundings) -> Paulistana:
    """Open the adapter as the program's settings say."""
    settings = around.settings
    if around.certificates is None:
        raise ValueError("the city's channel needs the companies' certificates")
    age, spacing = settings.paulistana_absence_seconds
    return Paulistana(
        settings.paulistana_url,
        around.certificates,
        guard=around.guard,
        lines=around.lines,
        ambiente=around.ambiente,
        soap=settings.paulistana_soap,
        natureza=replace(NATUREZA, absence_age=timedelta(seconds=age), absence_spacing=timedelta(seconds=spacing)),
        ca_file=trusted(settings.paulistana_ca_file, settings.nacional_ca_file),
        query_timeout=settings.gateway_query_timeout_seconds,
    )
