"""The national adapter against a server that demands the company's certificate."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bot.settings import Settings
from gateway.certificate.connections import CompanyConnections, UnusableCertificateError
from gateway.http.client import Destination
from gateway.lines import CallKind, Lines
from gateway.nacional import outcome, payload
from gateway.nacional.adapter import NATUREZA, Nacional
from gateway.nacional.dps import short_reference
from gateway.nacional.layouts import Layout, check, parse
from gateway.nacional.processes.signing_process import NICENESS, Signers, SigningError
from gateway.nacional.signature import verify
from gateway.port import Surroundings
from gateway.registry import REGISTRY
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.cancellation.reconciliation import AlreadyCancelled, Cancelled, Stands
from state_machine.documents import (
    ConteudoServico,
    DocumentoServico,
    Endereco,
    Prestador,
    Rps,
    Substituicao,
    Tomador,
    Tributos,
    load,
)
from state_machine.invoice.fields import Campo
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import (
    Absent,
    Arquivo,
    CannotTell,
    Duplicate,
    Found,
    Issued,
    Misconfigured,
    NotReady,
    NotSent,
    Rejected,
    Situacao,
    StatusEmissao,
    Unknown,
)
from state_machine.protocol.reconciliation import after_query
from state_machine.protocol.retry import Politica
from state_machine.protocol.standing import Andamento
from state_machine.services.codes import IbsCbs
from tests import made_certificates
from tests.gateway.nacional.sefin_server import ENVELOPE, Sefin, refusal, serving
from tests.made_certificates import COMPANY
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.made_certificates import Made

GROUP = IbsCbs("030101", "000", "000001")
WHY = MotivoCancelamento(Codigo("1"), "Erro no valor do serviço")


@dataclass(frozen=True)
class InTheOpen:
    """A certificate as the vault gives it."""

    impressao: str
    valido_ate: datetime
    chave: bytes = field(repr=False)
    cadeia: bytes = field(repr=False)


def in_the_open(made: Made, **change: Any) -> InTheOpen:
    """Take a made-up certificate out of its file."""
    key = made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = made.certificate.public_bytes(Encoding.PEM)
    return replace(InTheOpen(made.fingerprint, made.certificate.not_valid_after_utc, key, chain), **change)


@dataclass
class Drawer:
    """Certificates by CNPJ, and who opened one for what."""

    held: dict[str, InTheOpen] = field(default_factory=dict)
    opened: list[tuple[str, str, str | None]] = field(default_factory=list)

    async def current(self, cnpj: str) -> str | None:
        """Return its fingerprint."""
        return self.held[cnpj].impressao if cnpj in self.held else None

    async def open(self, cnpj: str, purpose: str, nota: str | None) -> InTheOpen | None:
        """Return it, and remember that."""
        self.opened.append((cnpj, purpose, nota))
        return self.held.get(cnpj)


def invoice(number: int = 7, **change: Any) -> DocumentoServico:
    """An invoice of the company, of today."""
    prestador = Prestador(
        cnpj=COMPANY,
        razao_social="ANA",
        inscricao_municipal="123",
        municipio_ibge="3550308",
        regime="simples",
        codigo_servico="010101",
        cnae=None,
        aliquota=None,
        tributos_sn=Decimal(6),
    )
    intent = DocumentoServico(
        id_integracao=f"zap-{number}-1",
        prestador=prestador,
        tomador=Tomador("11144477735", "João da Silva"),
        valor=Decimal("1500.00"),
        descricao="Consultoria",
        competencia=date(2026, 11, 20),
        rps=Rps("900", number),
    )
    return replace(intent, **change)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The authority's certificate, and the server's with its key."""
    home = tmp_path_factory.mktemp("sefin")
    root, key = made_certificates.authority(), made_certificates.rsa_key("server")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    builder = made_certificates._builder(
        name,
        root.certificate.subject,
        key,
        made_certificates.NOW - timedelta(days=1),
        made_certificates.NOW + timedelta(days=9),
        ca=False,
    )
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = builder.add_extension(names, critical=False).sign(root.key, hashes.SHA256())
    ca, server = home / "ca.pem", home / "server.pem"
    ca.write_bytes(root.certificate.public_bytes(Encoding.PEM))
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    server.write_bytes(pem + certificate.public_bytes(Encoding.PEM))
    return ca, server


@pytest.fixture
def sefin(files: tuple[Path, Path]) -> Iterator[Sefin]:
    """An authority without notes."""
    sefin = Sefin()
    with serving(sefin, *files) as url:
        sefin.url = url
        yield sefin


@pytest.fixture
def drawer() -> Drawer:
    """The company's certificate."""
    return Drawer({COMPANY: in_the_open(made_certificates.company())})


@pytest.fixture(scope="module")
async def signers() -> AsyncIterator[Signers]:
    """One pair of processes for all tests."""
    signers = Signers()
    yield signers
    await signers.aclose()


@pytest.fixture
async def nacional(sefin: Sefin, drawer: Drawer, files: tuple[Path, Path], signers: Signers) -> AsyncIterator[Nacional]:
    """The adapter of homologation, which trusts the server."""
    adapter = Nacional(
        sefin.url,
        drawer,
        guard=lambda: None,
        lines=Lines(clock=time.monotonic),
        ambiente=Ambiente.HOMOLOGACAO,
        ca_file=files[0],
        submit_timeout=PATIENCE,
        query_timeout=PATIENCE,
        cancel_timeout=PATIENCE,
        signers=signers,
    )
    yield adapter
    await adapter._connections.aclose()


async def prepared(nacional: Nacional, intent: DocumentoServico) -> bytes:
    """Return the bytes to send."""
    made = await nacional.prepare(nacional.payload(intent), datetime.now(UTC))
    assert isinstance(made, bytes)
    return made


async def test_an_invoice_is_dated_by_the_callers_moment(nacional: Nacional) -> None:
    """A worker whose clock is an hour ahead or behind dates no document by it."""
    made = await nacional.prepare(nacional.payload(invoice()), datetime(2026, 12, 24, 15, 1, tzinfo=UTC))
    assert isinstance(made, bytes)
    assert b"<dhEmi>2026-12-24T12:00:00-03:00</dhEmi>" in made


def test_the_stored_invoice_comes_back_whole() -> None:
    """Same invoice, same bytes; every field comes back, and what is no invoice is refused."""
    intent = invoice()
    burden = Tributos(Decimal("13.45"), Decimal(0), Decimal(2))
    normal = replace(intent, prestador=replace(intent.prestador, regime="normal", tributos_sn=None, tributos=burden))
    instead = replace(normal, substitui=Substituicao("3" * 50, "Valor errado, corrigido"))
    grouped = replace(normal, prestador=replace(normal.prestador, codigo_nbs="115061000", ibs_cbs=GROUP))
    for each in (intent, normal, instead, grouped):
        assert load(payload.encode(each)) == each
    assert payload.encode(intent) == payload.encode(invoice())
    told = json.loads(payload.encode(instead))
    before = {"idDps": "DPS1", "substitui": told.pop("substitui"), "nota": told}
    assert load(json.dumps(before).encode()) == instead  # as an older release stored it
    unknown = payload.encode(intent).replace(b'"rps"', b'"lote"')
    for broken in (unknown, b"{}", b"[]", b"no", payload.encode(intent).replace(b'"1500.00"', b'"x"')):
        with pytest.raises(ValueError, match=r"\S"):
            load(broken)


def test_absence_is_sure_after_three_looks_over_forty_seconds() -> None:
    """ADR 10: an acceptance 40 s late is still met by a look; what stands is told by the reference in the DPS."""
    politica, now = Politica().de(NATUREZA), datetime.now(UTC)
    conteudo = ConteudoServico(COMPANY, "11144477735", "010101", Decimal("1500.00"), date(2026, 11, 20), "Consultoria")
    asked = Andamento("zap-7-1", conteudo, conteudo.impressao, StatusEmissao.DESCONHECIDO, now, duvida=True, envios=1)
    for seconds, status in ((2, "desconhecido"), (10, "desconhecido"), (22, "desconhecido"), (42, "pendente")):
        asked = after_query(asked, Absent(), now + timedelta(seconds=seconds), politica).andamento
        assert asked.status == status
    assert NATUREZA.reference is not None
    assert NATUREZA.reference("zap-7-1") == short_reference("zap-7-1")


async def test_a_note_is_issued_found_and_fetched(nacional: Nacional, sefin: Sefin, drawer: Drawer) -> None:
    """Signed by the company, sent as it was made, found under its key with its XML and our reference; audited."""
    intent = invoice()
    key = nacional.key_for(intent)
    sent = await prepared(nacional, intent)
    assert verify(sent, str(key)).fingerprint(hashes.SHA256()).hex() == drawer.held[COMPANY].impressao
    issued = await nacional.submit(sent)
    assert isinstance(issued, Issued)
    assert issued.nota.referencia == short_reference(intent.id_integracao)
    assert sefin.received == [sent]
    assert sefin.asked[0] == ("POST", "/SefinNacional/nfse", f"ANA DESIGN ME:{COMPANY}")
    found = await nacional.find(nacional.key(COMPANY, str(key)))
    assert found == Found(issued.nota, issued.xml)
    assert await nacional.download(COMPANY, issued.nota.id_externo, "xml") == issued.xml
    assert drawer.opened == [(COMPANY, "assinar", str(key)), (COMPANY, "conectar", str(key))]


async def test_a_second_submission_is_a_duplicate(nacional: Nacional) -> None:
    """The same bytes again: SEFIN is unique on the DPS, and the answer is a question."""
    sent = await prepared(nacional, invoice())
    assert isinstance(await nacional.submit(sent), Issued)
    assert await nacional.submit(sent) == Duplicate()


async def test_a_lost_answer_is_unknown_and_the_note_is_found(nacional: Nacional, sefin: Sefin) -> None:
    """The note is there although nothing was heard of it."""
    sefin.silent = True
    sent = await prepared(nacional, invoice())
    assert isinstance(await nacional.submit(sent), Unknown)
    assert isinstance(await nacional.find(nacional.key_for(invoice())), Found)


async def test_absence_needs_the_authoritys_word(nacional: Nacional, sefin: Sefin) -> None:
    """SEFIN's own 404 is absence; a page, or a GET that gets no answer, is none."""
    key = nacional.key_for(invoice())
    assert await nacional.find(key) == Absent()
    sefin.planned = [(404, b""), (404, b"<html>not here</html>")]
    assert isinstance(await nacional.find(key), CannotTell)
    assert [method for method, *_ in sefin.asked] == ["HEAD", "GET"] * 2


async def test_a_company_without_a_certificate_is_told_so(nacional: Nacional, sefin: Sefin, drawer: Drawer) -> None:
    """Nothing is signed, nothing leaves; the words are for the company's people."""
    sent = await prepared(nacional, invoice())
    del drawer.held[COMPANY]
    stopped = Misconfigured("no usable certificate", outcome.NO_CERTIFICATE)
    assert await nacional.prepare(nacional.payload(invoice()), datetime.now(UTC)) == stopped
    assert await nacional.submit(sent) == stopped
    told = await nacional.find(nacional.key_for(invoice()))
    assert told == CannotTell("no usable certificate", None, outcome.NO_CERTIFICATE)
    assert sefin.asked == []


async def test_an_expired_certificate_is_none(nacional: Nacional, sefin: Sefin, drawer: Drawer) -> None:
    """Past its last moment it neither signs nor connects."""
    drawer.held[COMPANY] = replace(drawer.held[COMPANY], valido_ate=datetime.now(UTC) - timedelta(seconds=1))
    assert isinstance(await nacional.prepare(nacional.payload(invoice()), datetime.now(UTC)), Misconfigured)
    assert isinstance(await nacional.find(nacional.key_for(invoice())), CannotTell)
    assert sefin.asked == []


async def test_a_certificate_that_is_not_welcome_stops_the_company(nacional: Nacional, drawer: Drawer) -> None:
    """A strange one ends the handshake: known as refused where the alert is read, else unknown; never issued."""
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ESTRANHA")])
    key = made_certificates.rsa_key("stranger")
    strange = made_certificates._builder(
        own, own, key, made_certificates.NOW - timedelta(1), made_certificates.NOW + timedelta(1), ca=False
    ).sign(key, hashes.SHA256())
    sent = await prepared(nacional, invoice())
    drawer.held[COMPANY] = in_the_open(made_certificates.Made(key, strange))
    told = await nacional.submit(sent)
    assert isinstance(told, Misconfigured | Unknown)
    assert told.motivo in {"TlsRefused", "ReadError", "RemoteProtocolError"}


async def test_a_new_certificate_is_shown_at_once(nacional: Nacional, sefin: Sefin, drawer: Drawer) -> None:
    """Stored bytes stay as they were signed; the connection is the new one's, and the old context is gone."""
    sent = await prepared(nacional, invoice())
    await nacional.find(nacional.key_for(invoice()))
    before = drawer.held[COMPANY].impressao
    drawer.held[COMPANY] = in_the_open(made_certificates.company(key=made_certificates.rsa_key("renewed")))
    assert isinstance(await nacional.submit(sent), Issued)
    assert sefin.received == [sent]
    assert set(nacional._connections._shown) == {drawer.held[COMPANY].impressao} != {before}


async def test_a_text_that_fits_into_no_note_is_refused_with_its_field(nacional: Nacional, sefin: Sefin) -> None:
    """Three characters of Latin-1 for each "…": the person is told which field, and nothing leaves."""
    made = await nacional.prepare(nacional.payload(invoice(descricao="…" * 900)), datetime.now(UTC))
    assert isinstance(made, Rejected)
    explained = nacional.explain(made)
    assert (explained.campo, explained.suporte) == ("descricao", False)
    later = await nacional.prepare(nacional.payload(invoice(competencia=date(2090, 1, 1))), datetime.now(UTC))
    assert isinstance(later, Rejected)
    assert nacional.explain(later).campo == "competencia"
    nowhere = Tomador("12ABC34501DE35", "X", None, Endereco("Rua A", "1", "Centro", "3550308", "São Paulo", "SP", "1"))
    unplaced = await nacional.prepare(nacional.payload(invoice(tomador=nowhere)), datetime.now(UTC))
    assert isinstance(unplaced, Rejected)
    assert nacional.explain(unplaced).campo == "endereco"
    company = await nacional.prepare(
        nacional.payload(invoice(prestador=replace(invoice().prestador, tributos_sn=None))), datetime.now(UTC)
    )
    assert isinstance(company, Rejected)
    assert nacional.explain(company).suporte
    assert sefin.asked == []


async def test_a_document_has_the_shape_of_the_day_of_its_emission(sefin: Sefin, drawer: Drawer) -> None:
    """Its moment lies a minute back: what is made in the first minute of NT 009 is still of the day before."""
    midnight = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)  # in São Paulo
    settings = Settings(nacional_nt009_producao=date(2026, 12, 1), nacional_sefin_url=sefin.url)
    around = Surroundings(settings, Ambiente.PRODUCAO, lambda: None, Lines(clock=time.monotonic), drawer)
    adapter = REGISTRY["nacional"].opens(around)
    assert isinstance(adapter, Nacional)
    try:
        for minutes, nt009 in ((-1, False), (0, False), (2, True)):
            agora = midnight + timedelta(minutes=minutes)
            adapter._clock = partial(datetime.fromtimestamp, agora.timestamp(), UTC)
            assert await adapter.check(invoice()) is None
            made = await adapter.prepare(adapter.payload(invoice()), agora)
            assert isinstance(made, bytes)
            check(parse(made), "DPS", Layout(nt009=nt009))
    finally:
        await adapter.aclose()


async def test_from_the_day_of_the_new_taxes_the_normal_regime_says_them(sefin: Sefin, drawer: Drawer) -> None:
    """Until then a note goes without them; from then on one that lacks them is refused before its yes and after."""
    moment = datetime(2026, 12, 1, 2, 59, tzinfo=UTC)  # a minute before midnight in São Paulo
    settings = Settings(nacional_ibs_cbs_obrigatorio=date(2026, 12, 1), nacional_nt009_producao=date(2027, 2, 1))
    around = Surroundings(settings, Ambiente.PRODUCAO, lambda: None, Lines(clock=time.monotonic), drawer)
    burden = Tributos(Decimal(3), Decimal(0), Decimal(2))
    bare = replace(invoice().prestador, regime="normal", tributos_sn=None, tributos=burden, codigo_nbs="115061000")
    adapter = REGISTRY["nacional"].opens(around)
    assert isinstance(adapter, Nacional)
    adapter._clock = lambda: moment
    try:
        assert await adapter.check(invoice(prestador=bare)) is None
        adapter._clock = lambda: moment + timedelta(minutes=1)
        refused = await adapter.check(invoice(prestador=bare))
        assert refused is not None
        assert (adapter.explain(refused).campo, adapter.explain(refused).suporte) == (None, True)
        assert "IBS e CBS" in adapter.explain(refused).texto
        stored = adapter.payload(invoice(prestador=bare))
        assert await adapter.prepare(stored, adapter._clock()) == refused
        assert await adapter.check(invoice(prestador=replace(bare, ibs_cbs=GROUP))) is None
        assert await adapter.check(invoice(prestador=bare, competencia=date(2026, 8, 2))) is None
        assert await adapter.check(invoice()) is None
        assert (sefin.asked, drawer.opened) == ([], [])
    finally:
        await adapter.aclose()


async def test_a_competence_of_today_is_never_after_its_emission() -> None:
    """Half a minute after midnight the document says midnight, not the evening before."""
    intent = invoice(competencia=date(2026, 11, 21))
    facts = payload.circumstances(intent, Ambiente.HOMOLOGACAO, datetime(2026, 11, 21, 3, 0, 30, tzinfo=UTC))
    assert facts.dh_emi == datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
    later = payload.circumstances(intent, Ambiente.HOMOLOGACAO, datetime(2026, 11, 21, 15, 0, tzinfo=UTC))
    assert later.dh_emi == datetime(2026, 11, 21, 14, 59, tzinfo=UTC)


async def test_a_note_is_cancelled_once(nacional: Nacional, sefin: Sefin) -> None:
    """Signed request; a second one sees the event and sends none; how the note stands is told by its events."""
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    chave, key = issued.nota.id_externo, nacional.key_for(invoice())
    assert await nacional.cancellation(key, chave, None) == Stands()
    assert await nacional.cancel(COMPANY, chave, WHY) == AlreadyCancelled()
    assert verify(sefin.received[-1], f"PRE{chave}101101")
    asked = len(sefin.received)
    assert await nacional.cancel(COMPANY, chave, WHY) == AlreadyCancelled()
    assert len(sefin.received) == asked
    assert isinstance(await nacional.cancellation(key, chave, None), Cancelled)


@pytest.mark.parametrize(
    ("tipo", "mark"),
    [("101101", "cancelada"), ("105104", "cancelada"), ("305101", "cancelada"), ("105102", "substituida")],
)
async def test_a_pdf_says_by_whatever_event_the_note_stands_no_more(
    nacional: Nacional, sefin: Sefin, tipo: str, mark: str
) -> None:
    """Cancelled here or by the treasury, or substituted; before that it says nothing; and it is cancelled no more."""
    marks: list[str | None] = []

    class Paper:
        async def render(self, xml: bytes, *, watermark: str | None) -> bytes:
            marks.append(watermark)
            return b"%PDF"

        async def aclose(self) -> None: ...

    nacional._danfse = Paper()
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    chave = issued.nota.id_externo
    assert isinstance(await nacional.download(COMPANY, chave, "pdf"), Arquivo)
    sefin.events[chave] = tipo
    assert isinstance(await nacional.download(COMPANY, chave, "pdf"), Arquivo)
    assert marks == [None, mark]
    assert await nacional.cancel(COMPANY, chave, WHY) == AlreadyCancelled()


async def test_a_cancelled_note_is_found_as_cancelled(nacional: Nacional) -> None:
    """A note does not say that it was cancelled, on the portal or by us: the events are asked for with it."""
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    key = nacional.key_for(invoice())
    standing = await nacional.find(key)
    assert isinstance(standing, Found)
    assert standing.nota.situacao is Situacao.AUTORIZADA
    await nacional.cancel(COMPANY, issued.nota.id_externo, WHY)
    gone = await nacional.find(key)
    assert isinstance(gone, Found)
    assert (gone.nota.situacao, gone.xml) == (Situacao.CANCELADA, issued.xml)


async def test_a_cancellation_that_was_registered_meanwhile_is_seen(nacional: Nacional, sefin: Sefin) -> None:
    """E0840 after nothing was seen: the event is looked at before anything is believed."""
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    sefin.planned = [(404, ENVELOPE), (400, refusal("E0840"))]
    assert await nacional.cancel(COMPANY, issued.nota.id_externo, WHY) == AlreadyCancelled()
    sefin.events.clear()
    for unseen in ((404, ENVELOPE), (500, b"")):
        sefin.planned = [(404, ENVELOPE), (400, refusal("E0840")), unseen]
        assert isinstance(await nacional.cancel(COMPANY, issued.nota.id_externo, WHY), Unknown)


async def test_a_key_of_another_company_is_refused(nacional: Nacional) -> None:
    """A key read back is the company's own, or none."""
    key = str(nacional.key_for(invoice()))
    with pytest.raises(ValueError, match="another company"):
        nacional.key("12ABC34501DE35", key)
    with pytest.raises(ValueError, match="idDPS"):
        nacional.key(COMPANY, "zap-1")


async def test_calls_of_one_company_share_one_context(files: tuple[Path, Path], drawer: Drawer) -> None:
    """Ten at once open the certificate once; after an hour it is opened again, and the least used one goes first."""
    now = 0.0
    made: list[Any] = []

    def opens(kind: Any, context: Any) -> Destination:
        made.append((kind, context))
        return Destination("https://localhost:1", timeout=1.0, guard=lambda: None, tls=context)

    held = CompanyConnections(drawer, opens, also_trusted=files[0], most=1, clock=lambda: now)

    async def call(cnpj: str = COMPANY) -> None:
        async with held.of(cnpj, CallKind.QUESTION):
            await asyncio.sleep(0)

    await asyncio.gather(*(call() for _ in range(10)))
    assert (len(drawer.opened), len(made)) == (1, 1)
    now = 3599.0
    await call()
    assert len(drawer.opened) == 1
    now = 3600.0
    await call()
    assert len(drawer.opened) == 2
    shown = held._shown[drawer.held[COMPANY].impressao]
    ends, shown.ends = shown.ends, datetime.now(UTC)  # it ends within the hour
    with pytest.raises(UnusableCertificateError):
        await call()
    shown.ends = ends
    other = "12ABC34501DE35"
    drawer.held[other] = in_the_open(made_certificates.company(cnpj=other, key=made_certificates.rsa_key("other")))
    async with held.of(COMPANY, CallKind.QUESTION) as way:
        await call(other)
        assert way._wire._session is None or not way._wire._session.closed  # a call under way is not cut
    assert set(held._shown) == {drawer.held[other].impressao}
    await held.aclose()


@dataclass
class Pencil:
    """Draws what it is given, and remembers the watermark."""

    marks: list[str | None] = field(default_factory=list)

    async def render(self, xml: bytes, *, watermark: str | None) -> bytes:
        """Refuse the second page."""
        self.marks.append(watermark)
        if len(self.marks) == 2:
            raise SigningError("drawn too often")
        return b"%PDF-" + xml[:9]

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_the_pdf_is_drawn_of_the_notes_own_xml(nacional: Nacional, sefin: Sefin) -> None:
    """With a watermark where it was cancelled; without who draws, or where it fails, there is none yet."""
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    chave = issued.nota.id_externo
    assert isinstance(await nacional.download(COMPANY, chave, "pdf"), NotReady)
    nacional._danfse = pencil = Pencil()
    assert await nacional.download(COMPANY, chave, "pdf") == Arquivo(b"%PDF-<NFSe xml", "application/pdf")
    assert await nacional.download(COMPANY, chave, "pdf") == NotReady("signing_failed")
    sefin.events[chave] = "101101"
    assert isinstance(await nacional.download(COMPANY, chave, "pdf"), Arquivo)
    assert pencil.marks == [None, None, "cancelada"]


@pytest.mark.parametrize("events", [(404, refusal("E2003")), (503, b""), (200, {**ENVELOPE, "eventos": [{"x": "y"}]})])
async def test_a_pdf_waits_for_no_word_of_events(nacional: Nacional, sefin: Sefin, events: tuple[int, Any]) -> None:
    """Whatever the authority says of them, the page is drawn, and says that nobody knew of an end."""
    issued = await nacional.submit(await prepared(nacional, invoice()))
    assert isinstance(issued, Issued)
    chave = issued.nota.id_externo
    nacional._danfse = pencil = Pencil()
    sefin.planned = [sefin.answer("GET", f"/nfse/{chave}", None), events]
    drawn = await nacional.download(COMPANY, chave, "pdf")
    unknown = events[0] != 200
    assert drawn == Arquivo(b"%PDF-<NFSe xml", "application/pdf", unmarked=unknown)
    assert pencil.marks == [None]


async def test_no_xml_is_a_key(nacional: Nacional) -> None:
    """Stored bytes that are no DPS are not sent."""
    with pytest.raises(ValueError, match=r"\S"):
        await nacional.submit(b"<x/>")


async def test_a_signing_process_that_dies_sends_nothing(nacional: Nacional) -> None:
    """Its end, nonsense, or none in time: not sent, and the next one is another process."""
    words = {
        "dies": "import sys; sys.stdin.readline(); sys.exit(1)",
        "nonsense": "import sys; sys.stdin.readline(); print('{\"xml\": 7}', flush=True); sys.stdin.readline()",
        "late": "import sys; sys.stdin.readline(); sys.stdin.readline()",
    }
    for program in words.values():
        signers = Signers(words=(sys.executable, "-c", program), deadline=1.0)
        nacional._signers = signers
        made = await nacional.prepare(nacional.payload(invoice()), datetime.now(UTC))
        assert isinstance(made, NotSent), program
        assert signers._idle == []


async def test_what_makes_no_dps_is_known_before_it_is_confirmed(nacional: Nacional, drawer: Drawer) -> None:
    """The same words as after the yes, without key or network; what is fine gets no word."""
    assert await nacional.check(invoice()) is None
    for wrong in (
        invoice(tomador=Tomador("11144477735", None)),
        invoice(descricao="…" * 700),
        invoice(competencia=date(2027, 11, 20)),
        invoice(prestador=replace(invoice().prestador, codigo_servico="0101")),
    ):
        refused = await nacional.check(wrong)
        assert isinstance(refused, Rejected)
        assert refused == await nacional.prepare(nacional.payload(wrong), datetime.now(UTC))
    assert {use for _, use, _ in drawer.opened} == {"assinar"}
    drawer.opened.clear()
    await nacional.check(invoice())
    assert drawer.opened == []
    refused = await nacional.check(invoice(rps=Rps("A1", 7)))
    assert isinstance(refused, Rejected)


async def test_a_check_whose_process_dies_knows_nothing(nacional: Nacional) -> None:
    """Neither refused nor held up."""
    nacional._signers = Signers(words=(sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(1)"))
    assert await nacional.check(invoice(descricao="…" * 700)) is None


async def test_a_late_check_leaves_its_process_to_the_next_one(nacional: Nacional) -> None:
    """A process takes a second to start, and longer on a busy machine: killed then, it would never be there."""
    signers = nacional._signers = Signers()
    nacional._check_deadline = 0.0
    assert await nacional.check(invoice(descricao="…" * 700)) is None
    nameless = await nacional.check(invoice(tomador=Tomador("12ABC34501DE35", None)))
    assert nameless is not None  # what takes no document to know is known
    assert nacional.explain(nameless).campo is Campo.NOME
    await asyncio.gather(*nacional._checks)
    assert [child.made for child in signers._idle] == [1]
    nacional._check_deadline = PATIENCE
    assert isinstance(await nacional.check(invoice(descricao="…" * 700)), Rejected)
    assert [child.made for child in signers._idle] == [2]
    await signers.aclose()


async def test_the_loop_goes_on_while_documents_are_signed(nacional: Nacional, signers: Signers) -> None:
    """Fifty documents leave it room for many turns each: signed in this process, they would leave a handful."""
    await prepared(nacional, invoice())
    turns = 0
    done = asyncio.Event()

    async def watch() -> None:
        nonlocal turns
        while not done.is_set():
            await asyncio.sleep(0)
            turns += 1

    watching = asyncio.create_task(watch())
    for number in range(50):
        await prepared(nacional, invoice(number + 100))
    done.set()
    await watching
    assert turns > 50 * 20
    assert len(signers._idle) <= 2


async def test_who_answers_people_goes_before_who_signs(drawer: Drawer) -> None:
    """From its second document on: the start has a deadline."""
    signers = Signers()
    stored, agora = payload.encode(invoice()), datetime.now(UTC)
    for _ in range(2):
        await signers.dps(stored, Ambiente.HOMOLOGACAO, agora, drawer.held[COMPANY])
    [child] = signers._idle
    assert os.getpriority(os.PRIO_PROCESS, child.process.pid) == min(19, os.nice(0) + NICENESS)
    await signers.aclose()


async def test_a_signing_process_is_renewed(drawer: Drawer) -> None:
    """After so many documents another one takes over; the bounds hold, and no secret is in its environment."""
    signers = Signers(documents=2)
    stored, agora = payload.encode(invoice()), datetime.now(UTC)
    seen = set()
    for _ in range(4):
        await signers.dps(stored, Ambiente.HOMOLOGACAO, agora, drawer.held[COMPANY])
        seen |= {child.process.pid for child in signers._idle}
    assert len(seen) == 2
    await signers.aclose()
