"""Owns the conversation with the states' tax offices (SEFAZ) about goods, each company under its own certificate.

The authority keeps no document: the bytes that were signed under a key, and what was made of them, come from
``Surroundings.kept``. Nothing here is sent in contingency.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from gateway.certificate.connections import Certificates, CompanyConnections, UnusableCertificateError, trusted
from gateway.http import recording as tape
from gateway.http.client import Destination, Exchange
from gateway.http.wire import Answer, NoAnswerError, NotSentError
from gateway.keys import NFCE, ChaveNFe
from gateway.lines import CallKind, Lines
from gateway.nacional.dps import short_reference
from gateway.nacional.layouts import parse
from gateway.nacional.processes.danfse import DanfsePool
from gateway.nacional.processes.signing_process import Signed, Signers, SigningError
from gateway.nfe import layouts, outcome, sale
from gateway.nfe.document import CARTA, consulta, lot, wrapped
from gateway.nfe.layouts import NS, states
from gateway.nfe.sale import CSC, MODELS, Maker, NotaInvalida, Rules, chave_of, moment_of, note_of
from gateway.port import Explicacao, KeptDocuments, NoneKept, Prepared, Surroundings
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.cancellation.reconciliation import CancelFinding, CancelOutcome
from state_machine.documents import Documento, dump, goods, load
from state_machine.invoice.fields import Campo
from state_machine.protocol.audit import Listagem
from state_machine.protocol.channel import Ambiente, Natureza, TipoDocumento
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
    Postponed,
    Rejected,
    Situacao,
)
from state_machine.values.documents import CNPJ
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import zone_of
from state_machine.values.text import as_latin, single_line

NATUREZA: Final = Natureza(
    absences=2,
    absence_age=timedelta(seconds=120),  # the office may still work on a sending whose answer was lost
    absence_spacing=timedelta(seconds=60),
    synchronous=True,
    numbers="we",
    environments="each",
    prepares=True,
    draws=True,
    reference=short_reference,
    documento=TipoDocumento.PRODUTO,
    ladder=(120.0, 180.0, 720.0, 2520.0, 3600.0),
    spent=outcome.SPENT,
)
CONSULTS: Final = 8  # of one key in an hour, over all workers; from ten on the office stops the company (656)
STOPPED: Final = 3600.0  # seconds without any call of a company that it stopped
FRESH: Final = timedelta(minutes=4, seconds=30)  # of an NFC-e: after five minutes it is refused for its age (704)
_KIND: Final = {"nfe": TipoDocumento.PRODUTO, "nfce": TipoDocumento.CONSUMIDOR}
_EVER: Final = datetime.min.replace(tzinfo=UTC)
_BACK: Final = timedelta(seconds=5)  # no clock is exact, and a document of the future is refused (703)
_MONTH_OVER: Final = (
    "a NFC-e não saiu antes da virada do mês, e com este número não pode mais sair; peça a nota de novo"
)
_REASON: Final = 15  # characters of a reason, at least
_ASKED_ENOUGH: Final = "asked often enough within the hour"
_WAIT: Final = "SEFAZ stopped this company for an hour (656)"
_REPAIRS: Final[Mapping[str, Campo]] = {
    "destinatario": Campo.DOCUMENTO,
    "destinatario.documento": Campo.DOCUMENTO,
    "destinatario.nome": Campo.NOME,
    "destinatario.email": Campo.EMAIL,
    "destinatario.endereco": Campo.ENDERECO,
    "item.quantidade": Campo.ITENS,
    "item.preco": Campo.ITENS,
    "itens": Campo.ITENS,
}


@dataclass(frozen=True, slots=True)
class GoodsKey:
    """The key of 44, on whose parts (without month and code) the authority is unique."""

    chave: ChaveNFe

    @property
    def prestador(self) -> str:
        """The issuer's CNPJ."""
        return self.chave.emitente

    def __str__(self) -> str:
        return str(self.chave)


class Sefaz:
    """``FiscalGateway`` over the six services of a state; ``name`` is the model: "nfe" or "nfce".

    ``address`` gives the URL of a service for a state (IBGE), or raises ``ValueError`` with a pt-BR sentence.
    ``natureza`` has the installation's spacing and ladder; ``codes`` the CSC by CNPJ of whoever still needs QR codes of
    version 2. ``clock`` gives the aware moment of a question; that of an
    invoice is the caller's.
    """

    leiaute = None

    def __init__(
        self,
        name: str,
        address: Callable[[str, str], str],
        certificates: Certificates,
        *,
        guard: Callable[[], None],
        lines: Lines,
        ambiente: Ambiente,
        kept: KeptDocuments,
        natureza: Natureza = NATUREZA,
        rules: Rules | None = None,
        makers: Mapping[str, Maker] | None = None,
        codes: Mapping[str, tuple[str, str]] | None = None,
        ca_file: Path | None = None,
        submit_timeout: float = 60.0,
        query_timeout: float = 30.0,
        observe: Callable[[Exchange], None] = tape.observe,
        signers: Signers | None = None,
        danfe: DanfsePool | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        def destination(kind: Hashable, context: ssl.SSLContext) -> Destination:
            assert isinstance(kind, tuple)  # noqa: S101 - as ``_call`` makes it
            timeout = query_timeout if kind[0] is CallKind.QUESTION else submit_timeout
            return Destination(kind[1], timeout=timeout, guard=guard, observe=observe, tls=context)

        self.name = name
        self.ambiente = ambiente
        self.lines = lines
        self.natureza = replace(natureza, documento=_KIND[name])
        self._address = address
        self._certificates = certificates
        self._connections = CompanyConnections(certificates, destination, also_trusted=ca_file)
        self._kept = kept
        self._rules = rules or Rules()
        self._makers = makers or {}
        self._codes = codes or {}
        self._signers = signers or Signers()
        self._danfe = danfe or DanfsePool()
        self._clock = clock

    async def aclose(self) -> None:
        """Close all connections, and end the processes."""
        await self._connections.aclose()
        await self._signers.aclose()
        await self._danfe.aclose()

    def key_for(self, intent: Documento) -> GoodsKey:
        """Return the key of a confirmed invoice: of its number, its day and our reference. Raises ``ValueError``."""
        return GoodsKey(chave_of(goods(intent)))

    def key(self, prestador: str, texto: str) -> GoodsKey:  # noqa: ARG002 - the key names its issuer
        """Read a key back. Raises ``ValueError`` for text that is none."""
        return GoodsKey(ChaveNFe.parse(texto))

    def payload(self, intent: Documento) -> bytes:
        """Return the invoice as it is stored until it is signed. Raises ``ValueError`` where it has no number."""
        chave_of(goods(intent))
        return dump(intent)

    async def check(self, intent: Documento) -> Rejected | None:
        """Hold an invoice against the rules without signing it, and return what is wrong with it."""
        try:
            what = goods(intent)
            uf = chave_of(what).uf
            self._address(uf, "NFeAutorizacao4")
            sale.refuse(note_of(what, self.ambiente, self._clock(), self._makers.get(uf)), self._rules)
        except NotaInvalida as error:
            return Rejected(error.texto, campos=((error.campo, error.texto),))
        except ValueError as error:
            return Rejected(str(error), campos=(("", str(error)),))
        return None

    def explain(self, recusa: Rejected) -> Explicacao:
        """Say in plain pt-BR why an invoice was refused, and which field repairs it."""
        if not recusa.campos:
            return outcome.explain(recusa)
        campo, texto = recusa.campos[0]
        repair = _REPAIRS.get(campo)
        return Explicacao(texto, repair, suporte=repair is None)

    async def prepare(self, payload_: bytes, agora: datetime, antes: Sequence[bytes] = ()) -> Prepared:  # noqa: ARG002 - the office takes any version
        """Return the signed invoice, of this moment or of the last one of its key's month, or what is wrong with it."""
        what = goods(load(payload_))
        chave = chave_of(what)
        emissao = moment_of(chave, agora - _BACK, what)
        if chave.modelo == NFCE and agora - emissao > FRESH:
            return Rejected(_MONTH_OVER, campos=(("emissao", _MONTH_OVER),))
        maker = self._makers.get(chave.uf)
        asked = {
            "nota": payload_.decode(),
            "ambiente": self.ambiente.value,
            "emissao": emissao.isoformat(),
            "fim": self._rules.fim.isoformat() if self._rules.fim else None,
            "maker": asdict(maker) if maker else None,
            "csc": self._codes.get(chave.emitente),
        }
        try:
            return await self._signed(chave.emitente, str(chave), asked)
        except UnusableCertificateError:
            return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        except SigningError as error:
            return NotSent(f"not signed: {error}")
        except ValueError as error:
            campo, _, texto = str(error).partition(": ")
            return Rejected(texto or campo, campos=((campo, texto or campo),))

    async def submit(self, payload_: bytes) -> Outcome:
        """Send stored bytes once, as they are; an NFC-e that grew old is made anew under its key instead."""
        chave, emissao = signed_key(payload_)
        if chave.modelo == NFCE and self._clock() - emissao > FRESH:
            return NotSent("an NFC-e of more than five minutes is refused (704)", refazer=True)
        kept = await self._kept.of(chave.emitente, str(chave))
        if kept.parada > 0:
            return Postponed(kept.parada, _WAIT)
        number = int(self._clock().timestamp() * 1000)
        result = await self._call(chave, CallKind.SUBMISSION, "NFeAutorizacao4", lot(payload_, number), str(chave))
        return outcome.submit_outcome(result, payload_, chave)

    async def find(self, key: GoodsKey) -> Finding:
        """Ask for the invoice of a key, no oftener than the authority allows; its document is made of our bytes."""
        chave = key.chave
        kept = await self._kept.of(chave.emitente, str(chave))
        if kept.parada > 0:
            return CannotTell(_WAIT, kept.parada)
        if kept.consultas >= CONSULTS:
            return CannotTell(_ASKED_ENOUGH, STOPPED / CONSULTS)
        result = await self._asked(chave)
        return outcome.finding(result, chave, kept.versoes)

    async def whole(self, prestador: str, nota: Nota) -> Found:  # noqa: ARG002 - port
        """Return a note as it is: nothing is listed here."""
        return Found(nota)

    async def download(self, prestador: str, id_externo: str, formato: Literal["pdf", "xml"]) -> Download:
        """Return the legal document of a note, or the page drawn of it; the authority is asked where none is kept."""
        chave = ChaveNFe.parse(id_externo)
        kept = await self._kept.of(prestador, id_externo)
        xml: bytes | None = kept.xml
        if xml is None:
            found = await self.find(GoodsKey(chave))
            xml = found.xml.conteudo if isinstance(found, Found) and found.xml else None
        if xml is None:
            return NotReady("its document is not known yet")
        if formato == "xml":
            return Arquivo(xml, "application/xml")
        try:
            pdf = await self._danfe.render(xml, watermark="cancelada" if kept.cancelada else None)
        except ProsaError as error:
            return NotReady(error.code)
        return Arquivo(pdf, "application/pdf")

    async def cancel(self, prestador: str, id_externo: str, motivo: MotivoCancelamento) -> CancelOutcome:
        """Ask once for the cancellation of this note; the event has one number, so a second one is a repetition."""
        chave = ChaveNFe.parse(id_externo)
        document = await self.download(prestador, id_externo, "xml")
        if not isinstance(document, Arquivo):
            return NotSent(document.motivo)
        info = parse(document.conteudo).find(f"{{{NS}}}protNFe/{{{NS}}}infProt")
        protocolo = info.findtext(f"{{{NS}}}nProt") if info is not None else None
        if info is None or protocolo is None:
            return NotSent("its protocol is not known")
        texto = single_line(motivo.texto)
        said = texto if len(texto) >= _REASON else f"Cancelamento a pedido do emitente: {texto}"
        authorised = datetime.fromisoformat(info.findtext(f"{{{NS}}}dhRecbto") or _EVER.isoformat())
        asked = {"cancelamento": str(chave), "protocolo": protocolo, "motivo": said, "desde": authorised}
        result = await self._made(chave, CallKind.CANCELLATION, "NFeRecepcaoEvento4", asked)
        return outcome.cancel_outcome(result, chave) if isinstance(result, Answer | NoAnswerError) else result

    async def correct(self, id_externo: str, texto: str) -> outcome.Registered | outcome.NoOutcome:
        """Send a letter of correction (CC-e) of an NF-e under its next number; the last one holds.

        One of the same words that is the last already is not sent again, so that who heard nothing may ask once more.
        """
        chave, said = ChaveNFe.parse(id_externo), as_latin(single_line(texto))  # as SEFAZ keeps it
        kept = await self._kept.of(chave.emitente, id_externo)
        if kept.parada > 0:
            return NotSent(_WAIT)
        if kept.consultas >= CONSULTS:
            return NotSent(_ASKED_ENOUGH)
        result = await self._asked(chave)
        found = outcome.finding(result, chave, kept.versoes)
        if isinstance(found, CannotTell):
            return NotSent(found.motivo)
        if not isinstance(found, Found) or found.nota.situacao is not Situacao.AUTORIZADA or found.xml is None:
            return NotSent("SEFAZ does not show this note as it stands")
        letters = outcome.letters(result, chave)
        last = max(letters, default=0)
        if last and letters[last] == said:
            return outcome.Registered(None, linked=True)
        at = parse(found.xml.conteudo).findtext(f"{{{NS}}}protNFe/{{{NS}}}infProt/{{{NS}}}dhRecbto")
        since = datetime.fromisoformat(at) if at else _EVER
        asked = {"correcao": str(chave), "texto": said, "sequencia": last + 1, "desde": since}
        answer = await self._made(chave, CallKind.CANCELLATION, "NFeRecepcaoEvento4", asked)
        return outcome.event_outcome(answer, chave, CARTA) if isinstance(answer, Answer | NoAnswerError) else answer

    async def cancellation(self, key: GoodsKey, id_externo: str, protocolo: str | None) -> CancelFinding:  # noqa: ARG002 - by the note's key
        """Say how the note stands."""
        kept = await self._kept.of(key.prestador, str(key))
        if kept.parada > 0:
            return CannotTell(_WAIT, kept.parada)
        return outcome.cancel_finding(await self._asked(key.chave), key.chave, kept.versoes)

    async def listing(self, prestador: str, inicio: date, fim: date, cursor: str | None = None) -> Listagem:  # noqa: ARG002 - port
        """Nothing lists the notes of a company here."""
        return CannotTell("SEFAZ lists no notes")

    async def close_numbers(
        self, cnpj: str, municipio: str, serie: int, numeros: range, motivo: str
    ) -> outcome.Encerrado | outcome.NoOutcome:
        """Ask once that numbers without a note are closed for ever (inutilização)."""
        agora = self._clock()
        asked = {
            "inutilizar": [cnpj, MODELS[self.name], serie, numeros.start, numeros.stop, motivo],
            "ano": agora.astimezone(zone_of(municipio)).year,
            "municipio": municipio,
        }
        uf, first, last = municipio[:2], numeros.start, numeros.stop - 1
        result = await self._made((cnpj, uf), CallKind.SUBMISSION, "NFeInutilizacao4", asked)
        if isinstance(result, Answer | NoAnswerError):
            return outcome.closing_outcome(result, first, last)
        return result

    async def _asked(self, chave: ChaveNFe) -> Answer | NoAnswerError:
        return await self._call(chave, CallKind.QUESTION, "NFeConsultaProtocolo4", consulta(chave, self.ambiente))

    async def _made(
        self, whose: ChaveNFe | tuple[str, str], kind: CallKind, servico: str, asked: dict[str, Any]
    ) -> Answer | NoAnswerError | NotSent | Misconfigured | Rejected:
        """Sign a request, and send it once."""
        cnpj, nota = (whose.emitente, str(whose)) if isinstance(whose, ChaveNFe) else (whose[0], None)
        municipio = asked.pop("municipio", None) or f"{whose.uf if isinstance(whose, ChaveNFe) else whose[1]}00000"
        kept = await self._kept.of(cnpj, nota or "")
        if kept.parada > 0:
            return NotSent(_WAIT)
        at = max(self._clock() - _BACK, asked.pop("desde", _EVER))  # no event is older than its note (579)
        about = {"ambiente": self.ambiente.value, "municipio": municipio, "quando": at.isoformat()}
        try:
            message = await self._signed(cnpj, nota or servico, {**about, **asked})
        except UnusableCertificateError:
            return Misconfigured(outcome.UNUSABLE, outcome.NO_CERTIFICATE)
        except SigningError as error:
            return NotSent(f"not signed: {error}")
        except ValueError as error:
            return Rejected(str(error))
        return await self._call(whose, kind, servico, message, nota)

    async def _signed(self, cnpj: str, nota: str, asked: Mapping[str, Any]) -> bytes:
        """Raises ``UnusableCertificateError``, ``SigningError``, and ``ValueError`` for what makes no message."""
        opened = await self._certificates.open(cnpj, "assinar", nota)
        if opened is None or self._clock() >= opened.valido_ate:
            raise UnusableCertificateError(cnpj)
        made = await self._signers.goods(asked, opened)
        if not isinstance(made, Signed):
            raise ValueError(made.porque)  # noqa: TRY004 - a refusal of the document, no bug
        return made.xml

    async def _call(
        self,
        whose: ChaveNFe | tuple[str, str],
        kind: CallKind,
        servico: str,
        message: bytes,
        nota: str | None = None,
    ) -> Answer | NoAnswerError:
        """Call on this company's line, showing its certificate; an answer that stops the company is noted for all."""
        cnpj, uf = (whose.emitente, whose.uf) if isinstance(whose, ChaveNFe) else whose
        body, headers = wrapped(servico, message)
        try:
            base, _, path = self._address(uf, servico).rpartition("/")
            with self.lines.call(cnpj, kind) as breaker:
                async with self._connections.of(cnpj, (kind, base), nota) as way:
                    result = await way.request("POST", f"/{path}", content=body, headers=headers, breaker=breaker)
        except UnusableCertificateError:
            return NotSentError(outcome.UNUSABLE)
        except NoAnswerError as error:
            return error
        except ValueError as error:
            return NotSentError(str(error))
        if outcome.undue(result):
            await self._kept.stop(cnpj, STOPPED)
        return result


def signed_key(document: bytes) -> tuple[ChaveNFe, datetime]:
    """Return the key that stored bytes carry, and when they say that it was issued. Raises ``ValueError``."""
    info = parse(document).find(f"{{{NS}}}infNFe")
    emitted = info.findtext(f"{{{NS}}}ide/{{{NS}}}dhEmi") if info is not None else None
    if info is None or emitted is None:
        raise ValueError("the bytes are no NF-e")
    return ChaveNFe.parse(info.get("Id", "")), datetime.fromisoformat(emitted)


def unfit(company: Mapping[str, Any]) -> str | None:
    """Say in pt-BR what of a company's registration makes no invoice for goods; ``company``: its columns by name."""
    if company["regime"] not in sale.CRT:
        return "nota de produto, por enquanto, só de MEI e do Simples Nacional; no regime normal, use outro programa"
    return None


def addresses(base: str, hosts: Path | None, name: str, ambiente: Ambiente) -> Callable[[str, str], str]:
    """Return where each service of a state is: under ``base``, else as ``hosts`` says, else as our own table does.

    ``hosts`` is by UF, model, environment and service; a UF that it does not name is looked up in the table.
    """
    told: dict[str, Any] = json.loads(hosts.read_text(encoding="utf-8")) if hosts else {}
    known = {uf.ibge: told.get(uf.code) or layouts.hosts()[uf.authorizer(MODELS[name])] for uf in states().values()}
    return partial(_address, base.rstrip("/"), known, MODELS[name], ambiente)


def _address(base: str, known: Mapping[str, Any], modelo: str, ambiente: Ambiente, uf: str, servico: str) -> str:
    if base:
        return f"{base}/{servico}"
    found = known.get(uf, {}).get(modelo, {}).get(ambiente.value, {}).get(servico)
    if not isinstance(found, str) or not re.fullmatch(r"https://\S+/\S+", found):
        raise ValueError(f"o endereço da Secretaria da Fazenda do estado {uf} não está configurado; o suporte resolve")
    return found


def makers(file: Path | None) -> dict[str, Maker]:
    """Return who made the program as each state (IBGE) is told, of a file of JSON. Raises ``ValueError``."""
    if file is None:
        return {}
    told = json.loads(file.read_text(encoding="utf-8"))
    try:
        pairs = {uf: (str(of[0]), str(of[1])) for uf, of in told.pop("csrt", {}).items()}
        cnpj, contato, email, fone = (str(told.pop(name)) for name in ("cnpj", "contato", "email", "fone"))
    except (TypeError, LookupError, AttributeError) as error:
        raise ValueError('cnpj, contato, email e fone, e "csrt": {"PR": ["01", "…"]}') from error
    if told or not pairs.keys() <= states().keys():
        raise ValueError("a name that is not known")
    made = Maker(cnpj, contato, email, fone)
    return {uf.ibge: replace(made, csrt=pairs.get(code)) for code, uf in states().items()}


def codes(file: Path | None) -> dict[str, tuple[str, str]]:
    """Return the CSC (its id and its secret) by CNPJ, of a file of JSON. Raises ``ValueError``."""
    told = json.loads(file.read_text(encoding="utf-8")) if file else {}
    if not all(isinstance(each, str) and CSC.fullmatch(each) for each in told.values()):
        raise ValueError('a company and its code, as {"11222333000181": "1:0123456789ABCDEF"}')
    return {CNPJ(cnpj).numero: (each.split(":")[0], each.split(":")[1]) for cnpj, each in told.items()}


def opened(name: str, around: Surroundings) -> Sefaz:
    """Open the adapter of a model as the program's settings say."""
    settings = around.settings
    if around.certificates is None:
        raise ValueError("invoices for goods need the companies' certificates")
    age, spacing = settings.sefaz_absence_seconds
    natureza = replace(
        NATUREZA,
        absence_age=timedelta(seconds=age),
        absence_spacing=timedelta(seconds=spacing),
        ladder=settings.sefaz_ladder,
    )
    return Sefaz(
        name,
        addresses(settings.sefaz_url, settings.sefaz_hosts_file, name, around.ambiente),
        around.certificates,
        guard=around.guard,
        lines=around.lines,
        ambiente=around.ambiente,
        kept=around.kept or NoneKept(),
        natureza=natureza,
        makers=makers(settings.sefaz_maker_file),
        codes=codes(settings.sefaz_csc_file),
        ca_file=trusted(settings.sefaz_ca_file, settings.nacional_ca_file),
        submit_timeout=settings.gateway_timeout_seconds,
        query_timeout=settings.gateway_query_timeout_seconds,
    )
