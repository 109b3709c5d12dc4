"""The adapter of the city: what leaves, what does not, and what an answer makes of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.http.wire import Answer, MaybeSentError, NoAnswerError
from gateway.lines import Lines
from gateway.paulistana.adapter import NATUREZA, Paulistana, unfit
from gateway.paulistana.rps import leiaute_de
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.cancellation.reconciliation import AlreadyCancelled
from state_machine.protocol.audit import Listagem, Pagina
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import (
    Absent,
    CannotTell,
    Found,
    Issued,
    Misconfigured,
    Nota,
    NotSent,
    Rejected,
    Unknown,
)
from tests.gateway.paulistana.made_answers import KEY, answer, issued, note
from tests.gateway.paulistana.made_rps import CNPJ, complaints, invoice
from tests.made_certificates import company, rsa_key

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
SENT, ASKED, ENDED = "RetornoEnvioRPS", "RetornoConsulta", "RetornoCancelamentoNFe"


@dataclass(frozen=True)
class Open:
    """The company's certificate in the open."""

    impressao: str = "00"
    valido_ate: datetime = NOW + timedelta(days=1)
    chave: bytes = field(
        default_factory=lambda: rsa_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    cadeia: bytes = field(default_factory=lambda: company().certificate.public_bytes(Encoding.PEM))


class Certificates:
    """One company's, or none."""

    def __init__(self, opened: Open | None) -> None:
        self._opened = opened

    async def current(self, cnpj: str) -> str | None:
        """Return its fingerprint."""
        return self._opened.impressao if self._opened else None

    async def open(self, cnpj: str, purpose: str, nota: str | None) -> Open | None:
        """Return it."""
        return self._opened


class Asked(Paulistana):
    """The adapter with the city's answers in a list; ``calls`` are what left."""

    def __init__(
        self, *answers: Answer | NoAnswerError, ambiente: Ambiente = Ambiente.PRODUCAO, **changed: Any
    ) -> None:
        certificates = Certificates(changed.pop("opened", Open()))
        super().__init__(
            "https://localhost:1/lotenfe.asmx",
            certificates,
            guard=lambda: None,
            lines=Lines(clock=time.monotonic),
            ambiente=ambiente,
            clock=lambda: NOW,
        )
        self.answers = list(answers)
        self.calls: list[tuple[str, bytes]] = []

    async def _call(self, prestador: str, kind: Any, operacao: str, message: bytes, *_: Any, **_also: Any) -> Any:
        self.calls.append((operacao, message))
        return self.answers.pop(0)


async def signed(city: Paulistana, *antes: bytes) -> bytes:
    """The bytes that are stored and sent, made after those ``antes``."""
    made = await city.prepare(city.payload(invoice()), NOW, antes)
    assert isinstance(made, bytes)
    return made


async def test_the_stored_bytes_are_the_citys_own_and_carry_their_key() -> None:
    """Made in a process apart, taken by its schema, sent as they are."""
    city = Asked(answer(SENT, issued(), agreed=True))
    try:
        made = await signed(city)
        assert complaints(made) == []
        assert isinstance(await city.submit(made), Issued)
        assert city.calls == [("EnvioRPS", made)]
        assert str(city.key_for(invoice())) == str(KEY)
        assert city.key(CNPJ, str(KEY)) == city.key_for(invoice())
    finally:
        await city.aclose()


async def test_outside_of_production_no_rps_leaves() -> None:
    """The city has no test host: what is sent there is a note."""
    city = Asked(ambiente=Ambiente.HOMOLOGACAO)
    try:
        assert isinstance(await city.submit(await signed(city)), NotSent)
        assert city.calls == []
    finally:
        await city.aclose()


async def test_without_a_certificate_nothing_is_made() -> None:
    """The company hears what it lacks."""
    city = Asked(opened=None)
    try:
        assert isinstance(await city.prepare(city.payload(invoice()), NOW), Misconfigured)
    finally:
        await city.aclose()


async def test_the_layout_is_changed_once_for_the_same_number() -> None:
    """641, then 631: made anew in layout 1 under its number, and then a refusal for people."""
    city = Asked(answer(SENT, errors=("641",)), answer(SENT, errors=("631",)))
    try:
        first = await signed(city)
        changed = await city.submit(first)
        assert isinstance(changed, NotSent)
        assert changed.refazer
        second = await signed(city, first)
        assert [leiaute_de(first), leiaute_de(second)] == [2, 1]
        assert b"<NumeroRPS>1</NumeroRPS>" in second
        assert isinstance(await city.submit(second), NotSent)
        refused = await city.prepare(city.payload(invoice()), NOW, (first, second))
        assert isinstance(refused, Rejected)
        assert refused.codigos == ("631",)
    finally:
        await city.aclose()


async def test_a_restart_permits_no_second_change_of_layout() -> None:
    """A process that died keeps nothing: the bytes made before say which layouts were tried."""
    stored: list[bytes] = []
    for codes in (["641"], ["641"], ["631"], ["631"]):  # it dies after each answer; only the second one is heeded
        city = Asked(*(answer(SENT, errors=(code,)) for code in codes))
        try:
            stored.append(await signed(city, *stored))
            assert isinstance(await city.submit(stored[-1]), NotSent)
            if len(stored) == 2:
                stored.append(await signed(city, *stored))
            again = await city.prepare(city.payload(invoice()), NOW, stored)
            assert isinstance(again, Rejected) is (1 in map(leiaute_de, stored[:-1]))
        finally:
            await city.aclose()
    assert [leiaute_de(each) for each in stored] == [2, 2, 1, 1, 1]


async def test_absence_takes_both_questions() -> None:
    """Presence in the period beats absence of the key; a period that cannot be read proves nothing."""
    absent, empty = answer(ASKED, errors=("1106",)), answer(ASKED, agreed=True)
    page = Answer(502, {}, b"<html/>")
    city = Asked(absent, empty, absent, answer(ASKED, note(), agreed=True), absent, *[page] * 5)
    key = city.key(CNPJ, str(KEY))
    try:
        assert await city.find(key) == Absent()
        assert isinstance(await city.find(key), Found)
        assert isinstance(await city.find(key), CannotTell)
        assert [operacao for operacao, _ in city.calls] == [
            *("ConsultaNFe", "ConsultaNFeEmitidas") * 3,
            *["ConsultaNFeEmitidas"] * 4,
        ]
        assert all(complaints(message) == [] for _, message in city.calls)
    finally:
        await city.aclose()


async def test_keys_in_doubt_share_a_walk_that_began_after_their_question() -> None:
    """One walk under way, one behind it for all who came meanwhile; a page that did not come is asked for again."""
    absent, empty = answer(ASKED, errors=("1106",)), answer(ASKED, agreed=True)
    many, everybody = 20, asyncio.Event()

    class Slow(Asked):
        """A city that answers once everybody has asked."""

        async def _call(self, *asked: Any, **_also: Any) -> Any:
            self.calls.append((asked[2], asked[3]))
            if asked[2] == "ConsultaNFe":
                if sum(operacao == "ConsultaNFe" for operacao, _ in self.calls) == many:
                    everybody.set()
                return absent
            await everybody.wait()
            return self.answers.pop(0)

    city = Slow(MaybeSentError("ReadTimeout", ""), empty, answer(ASKED, note(), agreed=True))
    key = city.key(CNPJ, str(KEY))
    try:
        told = await asyncio.gather(*(city.find(key) for _ in range(many)))
        assert [each for each in told if not isinstance(each, Found)] == [Absent()]  # whose walk began before the note
        assert city.answers == []
        assert not city._walks
    finally:
        await city.aclose()


async def test_a_note_that_comes_while_pages_are_asked_for_together_hides_none() -> None:
    """A city that lists the newest first: page 3 was told before the note came, page 2 after; ours stood between."""
    absent = answer(ASKED, errors=("1106",))
    known = Asked(answer(ASKED, note(), agreed=True))
    third = asyncio.Event()

    class Newest(Asked):
        listed: list[Nota]

        async def listing(self, _prestador: str, _inicio: date, _fim: date, cursor: str | None = None) -> Listagem:
            page = int(cursor or "1")
            if page == 2 and not third.is_set():
                await third.wait()
                self.listed.insert(0, replace(ours, id_integracao="another, that came now"))
            some = tuple(self.listed[50 * (page - 1) : 50 * page])
            if page == 3:
                third.set()
            return Pagina(some, str(page + 1) if len(some) == 50 else None)

    city = Newest(absent, absent)
    key = city.key(CNPJ, str(KEY))
    try:
        found = await known.find(key)
        assert isinstance(found, Found)
        ours = found.nota
        city.listed = [replace(ours, id_integracao=f"another {number}") for number in range(120)]
        city.listed[99] = ours
        assert await city.find(key) == Found(ours)
    finally:
        await city.aclose()
        await known.aclose()


async def test_a_question_in_the_wrong_layout_is_asked_again_in_the_other() -> None:
    """It says nothing of the note."""
    city = Asked(answer(ASKED, errors=("641",)), answer(ASKED, note(), agreed=True))
    try:
        assert isinstance(await city.find(city.key(CNPJ, str(KEY))), Found)
        assert [leiaute_de(message) for _, message in city.calls] == [2, 1]
    finally:
        await city.aclose()


async def test_a_lost_answer_is_unknown_and_nothing_is_repeated() -> None:
    """One call, whatever became of it."""
    city = Asked(MaybeSentError("ReadTimeout", ""))
    try:
        assert isinstance(await city.submit(await signed(city)), Unknown)
        assert len(city.calls) == 1
    finally:
        await city.aclose()


async def test_a_cancellation_tries_the_other_string_once() -> None:
    """1305 cancelled nothing; what worked is kept for the company."""
    done = answer(ENDED, agreed=True)
    city = Asked(answer(ENDED, errors=("1305",)), done, done)
    reason = MotivoCancelamento(Codigo.ERRO_NA_EMISSAO, "valor errado na nota")
    try:
        for _ in range(2):
            assert isinstance(await city.cancel(CNPJ, "SP_31000000_42", reason), AlreadyCancelled)
        assert len(city.calls) == 3
        assert all(complaints(message) == [] for _, message in city.calls)
    finally:
        await city.aclose()


def test_the_channel_says_that_a_second_sending_is_destructive() -> None:
    """Two absences, the first of them 210 s after the sending, a minute apart."""
    assert NATUREZA.resend_is_destructive
    assert NATUREZA.synchronous
    assert (NATUREZA.absences, NATUREZA.absence_age.seconds, NATUREZA.absence_spacing.seconds) == (2, 210, 60)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"regime": "mei"}, "nacional"),
        ({"regime": "simples"}, "nacional"),
        ({"municipio_ibge": "3304557"}, "nacional"),
        ({"inscricao_municipal": "abc"}, "--inscricao-municipal"),
        ({"serie_rps": "prosa"}, "--serie-rps"),
        ({"codigo_servico": "170101"}, "--codigo-servico"),
        ({"aliquota": None}, "--aliquota"),
        ({"nbs": None}, "--nbs"),
    ],
)
def test_a_company_that_does_not_fit_is_told_what_to_do(changed: dict[str, Any], word: str) -> None:
    """In a sentence that names the option, or the channel that serves it."""
    whole = {
        "regime": "normal",
        "municipio_ibge": "3550308",
        "inscricao_municipal": "31000000",
        "serie_rps": "PROSA",
        "codigo_servico": "02658",
        "aliquota": 5,
        "nbs": "118054000",
        "ind_op": "100301",
        "class_trib": "000001",
    }
    assert unfit(whole) is None
    assert word in (unfit(whole | changed) or "")
