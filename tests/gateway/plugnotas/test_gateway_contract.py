"""The adapters against the simulated services: both were written from the same contracts, by different hands."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

import pytest

from gateway.plugnotas.adapter import PlugNotas
from gateway.plugnotas.note import hinted_keys
from gateway.plugnotas.outcome import explain
from gateway.plugnotas.payload import IntegrationKey
from gateway.register import CNPJRegister, CompanyEntry, NotFound, Unavailable
from gateway.whatsapp.client import WhatsApp
from gateway.whatsapp.errors import Ambiguous, Halted, RetryLater, RetryPair, Sent, WindowClosed
from gateway.whatsapp.media import Baixada, Indisponivel, Uploaded
from gateway.whatsapp.messages import (
    ComBotoes,
    DocumentoMidia,
    ListMessage,
    ListRow,
    ListSection,
    ReplyButton,
    Template,
    Texto,
)
from proofs.sandbox.cnpj_register import CnpjRegister, companies
from proofs.sandbox.faults import Fault
from proofs.sandbox.meta.meta import MetaConfig, MetaSimulator
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import (
    Absent,
    Accepted,
    Arquivo,
    CannotTell,
    Duplicate,
    Found,
    Misconfigured,
    NotReady,
    Postponed,
    Rejected,
    Situacao,
    Unknown,
)
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PHONE = "5511987654321"
KEY = "sandbox-plugnotas-api-key"


@pytest.fixture
async def city() -> AsyncIterator[PlugNotasSimulator]:
    """A simulated gateway whose city answers at once."""
    async with PlugNotasSimulator(PlugNotasConfig(processing=0.0, rendering=0.0)) as simulator:
        yield simulator


@pytest.fixture
async def meta() -> AsyncIterator[MetaSimulator]:
    """A simulated Graph API to which one person has just written."""
    async with MetaSimulator() as simulator:
        await simulator.user_text(PHONE, "oi")
        yield simulator


@asynccontextmanager
async def settled(city: PlugNotasSimulator) -> AsyncIterator[None]:
    """Wait, on leaving, until the city has spoken about the note that was sent inside."""
    spoken = asyncio.Event()
    stop = city.ledger.listen(lambda record: spoken.set() if record.kind == "note.settled" else None)
    yield
    async with asyncio.timeout(PATIENCE):
        await spoken.wait()
    stop()


@asynccontextmanager
async def open_whatsapp(
    meta: MetaSimulator, free, token: str | None = None, send_timeout: float = PATIENCE
) -> AsyncIterator[WhatsApp]:
    number = meta.config.account.phone_number_id
    async with WhatsApp(
        f"{meta.url}/v26.0", number, token or meta.config.access_token, guard=free, send_timeout=send_timeout
    ) as whatsapp:
        yield whatsapp


async def test_an_invoice_goes_its_whole_way(city, free, intent, key):
    """Absent, taken, authorised with the very content that was sent, rendered, and a duplicate ever after."""
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        payload = gateway.payload(replace(intent, valor=Decimal("1500.10")))
        assert await gateway.find(key) == Absent()
        async with settled(city):
            taken = await gateway.submit(payload)
            assert isinstance(taken, Accepted)
        found = await gateway.find(key)
        assert isinstance(found, Found)
        nota = found.nota
        assert (nota.situacao, nota.valor, nota.tomador) == (Situacao.AUTORIZADA, Decimal("1500.10"), "12345678000195")
        assert nota.id_externo == taken.id_externo
        assert nota.numero
        assert len(nota.chave or "") == 50
        formats: dict[Literal["pdf", "xml"], str] = {"pdf": "application/pdf", "xml": "application/xml"}
        for formato, mime in formats.items():
            document = await gateway.download(key.prestador, nota.id_externo, formato)
            assert isinstance(document, Arquivo)
            assert document.mime == mime
        again = await gateway.submit(payload)
        assert isinstance(again, Duplicate)
        assert again.nota is not None
        assert again.nota.numero == nota.numero
    assert len(city.issued()) == 1


async def test_without_a_key_nobody_is_asked(intent, key):
    """A stored invoice waits for somebody to repair it, a question stays open, and nothing leaves."""
    leaving = []
    async with PlugNotas("http://127.0.0.1:9", "", guard=lambda: leaving.append(True)) as gateway:
        assert isinstance(await gateway.submit(gateway.payload(intent)), Misconfigured)
        assert isinstance(await gateway.find(key), CannotTell)
        assert isinstance(await gateway.download(key.prestador, "a1", "pdf"), NotReady)
    assert leaving == []


async def test_the_classic_layout_passes_the_door_too(city, free, intent):
    """A municipal service code is accepted with its ISS group."""
    prestador = replace(intent.prestador, codigo_servico="14.10", aliquota=Decimal("2.00"))
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        assert isinstance(await gateway.submit(gateway.payload(replace(intent, prestador=prestador))), Accepted)


async def test_a_refusal_at_the_door_points_to_the_field(city, free, intent):
    """A person without a name is a rejection that the user can repair."""
    nameless = replace(intent, tomador=replace(intent.tomador, documento="52998224725", razao_social=None))
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        outcome = await gateway.submit(gateway.payload(nameless))
    assert isinstance(outcome, Rejected)
    assert explain(outcome).campo is Campo.NOME


async def test_a_rejection_by_the_city_is_read_from_the_note(city, free, intent, key):
    """It was taken first and rejected later; the code says that support must help."""
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        async with settled(city):
            await gateway.submit(gateway.payload(replace(intent, descricao="REJEITAR isto")))
        found = await gateway.find(key)
    assert isinstance(found, Found)
    assert (found.nota.situacao, found.nota.codigos) == (Situacao.REJEITADA, ("E0314",))
    assert explain(found.nota).suporte


FAULTS = [
    (Fault.DROP_BEFORE, Unknown, 0),
    (Fault.TOO_MANY, Postponed, 0),
    (Fault.ERROR_500, Unknown, 0),
    (Fault.ERROR_500_ACCEPTED, Unknown, 1),
    (Fault.HTML, Unknown, 0),
    (Fault.HTML_ACCEPTED, Unknown, 1),
    (Fault.TRUNCATED, Unknown, 1),
    (Fault.LOSE_ANSWER, Unknown, 1),
    (Fault.HANG, Unknown, 1),
    (Fault.BAD_REQUEST_ACCEPTED, Accepted, 1),
    (Fault.OTHER_REFERENCE, Unknown, 1),
]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: case[0].name)
async def test_after_every_fault_asking_tells_what_happened(city, free, intent, case):
    """The outcome never claims more than the answer proves, and the key finds the note exactly where there is one."""
    fault, expected, notes = case
    hangs = fault is Fault.HANG
    city.faults.set(fault, times=1, **({"seconds": PATIENCE} if hangs else {}))
    # A quarter of it is for connecting; less than a busy machine needs would read as "certainly not sent".
    async with PlugNotas(city.url, KEY, guard=free, submit_timeout=2.0 if hangs else PATIENCE) as gateway:
        payload = gateway.payload(intent)
        assert isinstance(await gateway.submit(payload), expected)
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        found = await gateway.find(IntegrationKey(intent.prestador.cnpj, intent.id_integracao))
        assert isinstance(found, Found if notes else Absent)
        again = await gateway.submit(payload)
        assert isinstance(again, Duplicate if notes else Accepted)
    assert len(city.notes) == 1


async def test_an_approval_without_a_number_is_not_yet_one(city, free, intent, key):
    """The lying gateway says authorised; we keep asking."""
    city.faults.set(Fault.NO_NUMBER)
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        async with settled(city):
            await gateway.submit(gateway.payload(intent))
        found = await gateway.find(key)
    assert isinstance(found, Found)
    assert found.nota.situacao is Situacao.PROCESSANDO


async def test_a_wrong_token_stops_the_company_and_loses_nothing(city, free, intent, key):
    """Submitting is misconfigured, asking cannot tell, downloading is not ready."""
    async with PlugNotas(city.url, "wrong", guard=free) as gateway:
        assert isinstance(await gateway.submit(gateway.payload(intent)), Misconfigured)
        assert isinstance(await gateway.find(key), CannotTell)
        assert isinstance(await gateway.download("11222333000181", "5bb4", "pdf"), NotReady)


async def test_the_webhook_of_a_note_names_its_key(city, free, intent, server, key):
    """What the simulated gateway posts is understood as a hint to read that note."""
    server.says(200, b"")
    city.courier.url = f"{server.url}/webhooks/gateway/x"
    arrived = asyncio.Event()
    stop = city.ledger.listen(lambda record: arrived.set() if record.kind.startswith("webhook.") else None)
    async with PlugNotas(city.url, KEY, guard=free) as gateway:
        await gateway.submit(gateway.payload(intent))
        async with asyncio.timeout(PATIENCE):
            while not server.received:
                arrived.clear()
                await arrived.wait()
    stop()
    assert hinted_keys(server.received[0].body)[0].id_integracao == key.id_integracao


async def test_every_company_of_the_register_is_read_whole(free):
    """Name and address of each simulated company survive, and an unknown number is told from trouble."""
    async with CnpjRegister() as simulated, CNPJRegister(simulated.url, guard=free) as register:
        for cnpj, row in companies().items():
            found = await register.lookup(cnpj)
            assert isinstance(found, CompanyEntry)
            assert found.razao_social == row["razao_social"]
            assert found.endereco is not None
        assert await register.lookup("99999999999962") == NotFound()
        simulated.faults.set(Fault.ERROR_500)
        assert isinstance(await register.lookup(next(iter(companies()))), Unavailable)


MESSAGES = [
    Texto("Oi! 👋"),
    ComBotoes(
        "Confere?",
        (ReplyButton("c:1", "Confirmar"), ReplyButton("e:1", "Corrigir"), ReplyButton("x:1", "Cancelar")),
        "NFS-e",
        "Prosa",
    ),
    ListMessage(
        "Qual?", "Ver clientes", (ListSection((ListRow("1", "Padaria", "CNPJ …0195"), ListRow("2", "Açougue"))),)
    ),
    Template("nota_pronta", ("42", "R$ 1.500,00")),
]


@pytest.mark.parametrize("mensagem", MESSAGES, ids=lambda m: type(m).__name__)
async def test_every_kind_of_message_is_taken(meta, free, mensagem):
    """The limits of both sides agree, and our outbox id arrives."""
    async with open_whatsapp(meta, free) as whatsapp:
        result = await whatsapp.send(mensagem, PHONE, "outbox-7")
    assert isinstance(result, Sent)
    (sent,) = meta.outbound(PHONE)
    assert (sent["wamid"], sent["payload"]["biz_opaque_callback_data"]) == (result.wamid, "outbox-7")


async def test_a_person_without_a_phone_number_is_reached_by_bsuid(meta, free):
    """The id that came in the webhook is the address of the answer."""
    await meta.user_text("BR.1502576394655843", "oi")
    async with open_whatsapp(meta, free) as whatsapp:
        result = await whatsapp.send(Texto("Oi"), "BR.1502576394655843", "outbox-1")
    assert isinstance(result, Sent)
    assert result.wa_id is None


async def test_documents_go_up_and_out_and_voice_comes_down(meta, free):
    """PDF and XML are uploaded and sent; what a person sent is fetched and checked."""
    voice = b"OggS" + bytes(100)
    await meta.user_media(PHONE, voice, "audio/ogg", kind="audio")
    incoming = max(meta.phones.media)
    async with open_whatsapp(meta, free) as whatsapp:
        for content, mime, name in ((b"%PDF-1.7", "application/pdf", "a.pdf"), (b"<a/>", "application/xml", "a.xml")):
            up = await whatsapp.upload_media(content, mime, name)
            assert isinstance(up, Uploaded)
            assert isinstance(await whatsapp.send(DocumentoMidia(up.media_id, name, "NFS-e 42"), PHONE, "o-1"), Sent)
        assert await whatsapp.download_media(incoming) == Baixada(voice, "audio/ogg")
        assert isinstance(await whatsapp.download_media("123"), Indisponivel)


async def test_read_and_typing_are_accepted(meta, free):
    """The courtesy call has the shape that Graph takes."""
    wamid = await meta.user_text(PHONE, "nota")
    async with open_whatsapp(meta, free) as whatsapp:
        assert await whatsapp.mark_read_and_typing(wamid)
    assert meta.phones.is_typing(PHONE)


SEND_FAULTS = [
    (Fault.TOO_MANY, RetryLater, 0),
    (Fault.ERROR_500, RetryLater, 0),
    (Fault.HTML_ACCEPTED, Ambiguous, 1),
    (Fault.LOSE_ANSWER, Ambiguous, 1),
    (Fault.HANG, Ambiguous, 1),
]


@pytest.mark.parametrize(("fault", "expected", "sent"), SEND_FAULTS, ids=[fault.name for fault, *_ in SEND_FAULTS])
async def test_only_what_was_surely_not_taken_may_be_sent_again(meta, free, fault, expected, sent):
    """A message that Meta did take is never called retryable."""
    hangs = fault is Fault.HANG
    meta.faults.set(fault, times=1, **({"seconds": PATIENCE} if hangs else {}))
    # A quarter of it is for connecting; less than a busy machine needs would read as "certainly not sent".
    async with open_whatsapp(meta, free, send_timeout=4.0 if hangs else PATIENCE) as whatsapp:
        assert isinstance(await whatsapp.send(Texto("Oi"), PHONE, "outbox-1"), expected)
    assert len(meta.outbound(PHONE)) == sent


async def test_the_closed_window_the_pair_rate_and_the_token_are_told_apart(free):
    """Three refusals, three different things to do."""
    async with MetaSimulator(MetaConfig(pair_interval=60.0)) as meta:
        async with open_whatsapp(meta, free) as whatsapp:
            assert await whatsapp.send(Texto("Oi"), PHONE, "o-1") == WindowClosed()
            await meta.user_text(PHONE, "oi")
            assert isinstance(await whatsapp.send(Texto("Oi"), PHONE, "o-2"), Sent)
            assert await whatsapp.send(Texto("Oi"), PHONE, "o-3") == RetryPair(1.0)
        async with open_whatsapp(meta, free, token="wrong") as whatsapp:
            assert await whatsapp.send(Texto("Oi"), PHONE, "o-4") == Halted(190)
