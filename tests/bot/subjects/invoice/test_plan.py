from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from bot.conversation.inbound import Outro, Palavras, Toque
from bot.subjects.invoice.plan import RECENT, Plano, plan
from extractor.contract import INTENTS, Ato, Extraction
from extractor.utterance import Utterance
from persistence.conversations.snapshots import Mudanca, Ouvida
from persistence.people.companies import Empresa
from proofs.diagrams.session import example
from state_machine.catalogue import acts, messages, staff_messages
from state_machine.catalogue import announcement as anuncio
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.records import DeCliente, Emitida, Emitidas
from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.session import Estado, Sessao
from state_machine.machine.events import (
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    Escolheu,
    Evento,
    Informou,
    MandouArquivo,
    Negou,
    PediuAjuda,
    PediuCorrecao,
)
from state_machine.machine.transition import transition
from state_machine.proposal import draft

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from state_machine.catalogue.requests import NotaListada
    from state_machine.invoice.choices import Cliente, Costume
    from state_machine.values.local_time import MesOuAno
    from state_machine.values.money import Medidor

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
COMPANY = Empresa(1, "11222333000181", "ANA DESIGN ME", "1", "3550308", "mei", "010701", None, None, NOW)
OPEN = Sessao("211126-aaaaaaaa", "106:BR.77", 1, "ANA DESIGN ME", estado=Estado.AGUARDANDO_CONFIRMACAO, revisao=2)
VALOR = Candidate(Campo.VALOR, "1800.00", "1.800")
SERVICO = Candidate(Campo.DESCRICAO, "consultoria", "consultoria")
DOCUMENTO = Candidate(Campo.DOCUMENTO, "12345678000195", "12345678000195")


@dataclass
class Remembered:
    """What a conversation remembers, said outright."""

    ativa: Sessao | None = None
    stored: dict[str, Sessao] = field(default_factory=dict)
    last: tuple[Sessao, datetime] | None = None
    taken_up: bool = False
    waits: bool = False
    was_cancelled: bool = False
    empresa: Empresa = COMPANY
    mails: bool = False

    async def load(self, sessao_id: str) -> Sessao | None:
        """One session of this conversation."""
        return self.stored.get(sessao_id)

    async def latest(self) -> tuple[Sessao, datetime] | None:
        """The newest."""
        return self.last

    async def repaired(self, sessao_id: str) -> bool:
        """Whether it was taken up."""
        return self.taken_up

    async def refused_instead(self, sessao: Sessao) -> Sessao | None:
        """No substitution of it was refused."""
        return None

    async def stopped(self, sessao: Sessao) -> bool:
        """Whether its invoice waits for a yes, having been accepted by nobody for a day."""
        return self.waits

    async def cancelled(self, sessao: Sessao) -> bool:
        """Whether its note was cancelled."""
        return self.was_cancelled

    async def wrong(self, sessao: Sessao) -> str | None:
        """What was said to be wrong with it."""
        return "o valor era 1.800" if self.was_cancelled else None

    async def heard(self, wamid: str) -> Ouvida:
        """A message that never came before."""
        return Ouvida()

    async def changes(self, wamids: Collection[str]) -> Sequence[Mudanca]:
        """No message was edited or deleted."""
        return ()

    async def notes(
        self,
        limit: int,
        *,
        numero: str | None = None,
        autorizadas: bool = True,
        emissao_id: int | None = None,
        documento: str | None = None,
        valem: bool = False,
    ) -> Sequence[NotaListada]:
        """No invoice was ever issued."""
        return ()

    async def clients(self, nome: str) -> Sequence[Cliente]:
        """Nobody was ever invoiced."""
        return ()

    async def usual(self, documento: str) -> Costume | None:
        """Nor is anything usual."""
        return None

    async def issued_in(self, mes: MesOuAno) -> bool:
        """Nor was a note of any month."""
        return False

    async def largest(self, periodo: MesOuAno, documento: str | None = None) -> Emitida | None:
        """So none is the largest."""
        return None

    async def of_clients(self, periodo: MesOuAno) -> list[DeCliente]:
        """Nor was anybody invoiced."""
        return []

    async def issued(self, periodo: MesOuAno, documento: str | None = None) -> Emitidas:
        """Nothing was issued in any month."""
        return Emitidas()

    async def email_of(self, documento: str) -> str | None:
        """No client's address is known."""
        return None

    async def called(self) -> bool:
        """Nobody of the staff was asked for."""
        return False

    async def mei(self, hoje: date) -> Medidor | None:
        """The company is no MEI."""
        return None


def ended(estado: Estado, pendente: Campo | None = None) -> Sessao:
    return replace(OPEN, estado=estado, pendente=pendente)


async def words(memory: Remembered, intent: Ato, *candidates: Candidate, when: datetime | None = None) -> Plano:
    return await plan(Palavras("…", when), Utterance("…", Extraction(intent, candidates)), memory, NOW)


@pytest.mark.parametrize(
    ("intent", "event"),
    [
        (Ato.CONFIRMA, Confirmou(None, NOW)),
        (Ato.NEGA, Negou()),
        (Ato.RECUSA, Cancelou(NOW)),
        (Ato.PERGUNTA, PediuAjuda()),
        (Ato.CORRIGE, PediuCorrecao()),
        (Ato.SOCIAL, Conversou()),
        (Ato.FORA, Conversou()),
    ],
)
async def test_words_speak_to_the_open_session(intent: Ato, event: Evento) -> None:
    """An intent without data becomes its event; the yes carries when it was written."""
    assert await words(Remembered(OPEN), intent, when=NOW) == Plano((event,), OPEN)


@pytest.mark.parametrize("intent", [i for i in INTENTS if i is not Ato.RECUSA])
async def test_data_weigh_more_than_a_yes_or_no(intent: Ato) -> None:
    """Whatever the words seem to be, a value in them is information: never a confirmation."""
    assert await words(Remembered(OPEN), intent, VALOR) == Plano((Informou((VALOR,)),), OPEN)


async def test_a_button_speaks_to_its_own_session() -> None:
    """A button of another session of this conversation goes to that one, with the revision it was shown at."""
    old = replace(OPEN, sessao_id="old")
    memory = Remembered(OPEN, {"old": old})
    assert await plan(Toque("confirmar", "old", 1), None, memory, NOW) == Plano((Confirmou(1),), old)
    assert await plan(Toque("cancelar", OPEN.sessao_id, 2), None, memory, NOW) == Plano((Cancelou(),), OPEN)
    assert await plan(Toque("corrigir", OPEN.sessao_id, 2), None, memory, NOW) == Plano((PediuCorrecao(),), OPEN)


@pytest.mark.parametrize(
    ("toque", "evento"),
    [
        (Toque("usar", OPEN.sessao_id, 2, "valor:70.00"), Escolheu(Campo.VALOR, "70.00", 2)),
        (Toque("usar", OPEN.sessao_id, None, "descricao:a: b"), Escolheu(Campo.DESCRICAO, "a: b", None)),
        (Toque("outro", OPEN.sessao_id, 2, "valor"), Escolheu(Campo.VALOR, None, 2)),
        (Toque("usar", OPEN.sessao_id, 2, "altura:x"), Conversou()),
        (Toque("usar", OPEN.sessao_id, 2), Conversou()),
    ],
)
async def test_a_chosen_reading_says_field_and_value(toque: Toque, evento: Evento) -> None:
    """As the button carried them; a field that we do not know is none."""
    assert await plan(toque, None, Remembered(OPEN), NOW) == Plano((evento,), OPEN)


async def test_who_wants_a_person_is_put_into_the_queue_and_keeps_the_invoice() -> None:
    """The button says what the words say, with the reason; the queue lists sessions, so who has none gets one."""
    button = Toque("pessoa", OPEN.sessao_id, 2)
    plano = await plan(button, None, Remembered(OPEN), NOW)
    answer = pedidos.mensagem(staff_messages.chamada(ja=False), em_aberto=True)
    assert plano == Plano((PediuAjuda(answer),), OPEN, chama=f"pergunta:{OPEN.rascunho.faltam[0]}")
    complaint = await plan(Toque("pessoa", "equipe", None), None, Remembered(OPEN), NOW)
    assert complaint.chama == "reclamacao"
    first = await plan(button, None, Remembered(), NOW)
    assert first.eventos[0] == Abriu()
    ended = await plan(button, None, Remembered(stored={OPEN.sessao_id: OPEN}, last=(OPEN, NOW)), NOW)
    assert (ended.eventos, ended.chama) == ((), "pergunta:")


async def test_a_confirm_button_without_a_revision_confirms_none() -> None:
    """It never counts as a yes in words, which would confirm whatever is shown."""
    plano = await plan(Toque("confirmar", OPEN.sessao_id, None), None, Remembered(OPEN), NOW)
    assert plano.eventos == (Confirmou(-1),)


async def test_a_button_of_nobody_we_know_reaches_no_session() -> None:
    """A forged id is small talk, or gets the answer that nothing is open."""
    forged = Toque("confirmar", "somebody-elses", 1)
    assert await plan(forged, None, Remembered(OPEN), NOW) == Plano((Conversou(),), OPEN)
    assert await plan(forged, None, Remembered(), NOW) == Plano(resposta=messages.nada_a_confirmar())


@pytest.mark.parametrize("estado", [Estado.REJEITADO, Estado.CANCELADO_USUARIO, Estado.EXPIRADO])
async def test_an_ended_session_is_taken_up_once(estado: Estado) -> None:
    """Its data open a new session that names its origin, an open one given up for it; the second time they don't."""
    antiga = replace(ended(estado, Campo.DOCUMENTO), sessao_id="old")
    press = Toque("refazer", "old", None)
    opened = await plan(press, None, Remembered(None, {"old": antiga}), NOW)
    assert opened == Plano((Abriu(antiga.rascunho, Campo.DOCUMENTO),), None, origem="old")
    again = await plan(press, None, Remembered(None, {"old": antiga}, taken_up=True), NOW)
    assert again == Plano(resposta=messages.ja_retomada())
    busy = await plan(press, None, Remembered(OPEN, {"old": antiga}), NOW)
    assert busy == replace(opened, larga=OPEN)


@pytest.mark.parametrize("estado", [Estado.APROVADO, Estado.PROCESSANDO, Estado.ERRO])
async def test_what_was_sent_is_not_taken_up(estado: Estado) -> None:
    """An issued invoice, or one whose fate is open, can't be begun again by an old button."""
    memory = Remembered(None, {"old": replace(ended(estado), sessao_id="old")})
    assert (await plan(Toque("refazer", "old", None), None, memory, NOW)).eventos == ()


async def test_a_cancelled_note_is_made_anew_and_no_other() -> None:
    """Its data open an invoice of its own; while the note stands, they open none."""
    antiga = replace(ended(Estado.APROVADO), sessao_id="old")
    press = Toque("refazer", "old", None)
    cancelled = Remembered(None, {"old": antiga}, was_cancelled=True)
    anew = Plano((Abriu(antiga.rascunho),), errado="o valor era 1.800")
    assert await plan(press, None, cancelled, NOW) == anew
    stands = Remembered(None, {"old": antiga})
    assert await plan(press, None, stands, NOW) == Plano(resposta=messages.ja_retomada())
    busy = replace(cancelled, ativa=OPEN)
    assert await plan(press, None, busy, NOW) == replace(anew, larga=OPEN)
    proposed = replace(OPEN, rascunho=draft(12, {Campo.VALOR: "200.00"}))
    assert await plan(press, None, replace(cancelled, ativa=proposed), NOW) == Plano((Conversou(),), proposed)


async def test_first_words_open_a_session() -> None:
    """Data or small talk from somebody new open one; help needs none."""
    assert await words(Remembered(), Ato.DADOS, VALOR) == Plano((Abriu(), Informou((VALOR,))))
    assert await words(Remembered(), Ato.SOCIAL) == Plano((Abriu(), Conversou(messages.saudacao())))
    assert await words(Remembered(), Ato.PERGUNTA) == Plano(resposta=messages.ajuda())


async def test_a_fix_after_a_rejection_mends_it() -> None:
    """The refused field, or any one field where none is to blame, takes the rejected data up; once, for a day."""
    rejected = ended(Estado.REJEITADO, Campo.DOCUMENTO)
    memory = Remembered(last=(rejected, NOW))
    plano = await words(memory, Ato.DADOS, DOCUMENTO)
    assert plano == Plano((Abriu(rejected.rascunho, Campo.DOCUMENTO), Informou((DOCUMENTO,))), origem=OPEN.sessao_id)
    assert (await words(memory, Ato.DADOS, VALOR)).origem is None
    blameless = Remembered(last=(ended(Estado.REJEITADO), NOW))
    assert (await words(blameless, Ato.DADOS, VALOR)).origem == OPEN.sessao_id
    late = Remembered(last=(rejected, NOW - RECENT - timedelta(seconds=1)))
    assert (await words(late, Ato.DADOS, DOCUMENTO)).origem is None
    assert (await words(replace(memory, taken_up=True), Ato.DADOS, DOCUMENTO)).origem is None


async def test_a_whole_invoice_after_a_rejection_is_another_one() -> None:
    """Customer and value anew, when neither was refused: nothing is mixed in from the rejected one."""
    memory = Remembered(last=(ended(Estado.REJEITADO), NOW))
    assert (await words(memory, Ato.DADOS, DOCUMENTO, VALOR)).origem is None


@pytest.mark.parametrize("intent", [Ato.CONFIRMA, Ato.SOCIAL])
async def test_a_late_word_to_an_expired_invoice_offers_it_again(intent: Ato) -> None:
    """Who answers after the deadline is told, and may take the data up; not after somebody did, nor a day later."""
    expired = ended(Estado.EXPIRADO)
    offer = Plano(resposta=messages.expirada(expired.sessao_id))
    assert await words(Remembered(last=(expired, NOW)), intent) == offer
    assert await words(Remembered(last=(expired, NOW), taken_up=True), intent) != offer
    assert await words(Remembered(last=(expired, NOW - RECENT - timedelta(seconds=1))), intent) != offer


BROKEN_OFF = replace(
    ended(Estado.EXPIRADO), rascunho=aplicar(Rascunho(), (VALOR,), (), ()), sessao_id="old"
)  # the amount was told, and nothing else


@pytest.mark.parametrize("intent", [Ato.CONFIRMA, Ato.SOCIAL, Ato.CORRIGE])
async def test_words_after_an_expiry_in_mid_collection_go_on_with_what_was_kept(intent: Ato) -> None:
    """The next word takes the data up and says which; not after somebody did, nor a day later."""
    plano = await words(Remembered(last=(BROKEN_OFF, NOW)), intent)
    assert plano.eventos == (Abriu(BROKEN_OFF.rascunho), PediuAjuda(anuncio.guardei(BROKEN_OFF), aberto=True))
    assert plano.origem == "old"
    assert "Guardei: valor R$ 1.800,00." in anuncio.guardei(BROKEN_OFF).texto
    assert (await words(Remembered(last=(BROKEN_OFF, NOW), taken_up=True), intent)).origem is None
    assert (await words(Remembered(last=(BROKEN_OFF, NOW - RECENT - timedelta(seconds=1))), intent)).origem is None


async def test_data_after_an_expiry_in_mid_collection_fill_what_was_missing() -> None:
    """What the expired invoice lacked is added to it; what it had, told anew, begins another, and that is said."""
    memory = Remembered(last=(BROKEN_OFF, NOW))
    goes_on = await words(memory, Ato.DADOS, DOCUMENTO)
    assert goes_on.eventos[:2] == (Abriu(BROKEN_OFF.rascunho), Informou((DOCUMENTO,)))
    assert goes_on.origem == "old"
    another = await words(memory, Ato.DADOS, DOCUMENTO, VALOR)
    aviso = PediuAjuda(anuncio.comecei_outra(BROKEN_OFF), aberto=True)
    assert another == Plano((Abriu(), Informou((DOCUMENTO, VALOR)), aviso))


async def test_nothing_is_confirmed_by_words_after_an_expiry() -> None:
    """What became complete is shown, and a yes in words shows it again: only its button, or the next yes, issues."""
    plano = await words(Remembered(last=(BROKEN_OFF, NOW)), Ato.DADOS, DOCUMENTO, SERVICO)
    sessao = replace(BROKEN_OFF, estado=Estado.COLETA, rascunho=Rascunho(), sessao_id="new")
    for evento in plano.eventos:
        sessao = transition(sessao, evento, NOW).sessao
    assert sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert transition(sessao, Confirmou(None, NOW), NOW).sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


async def test_words_while_the_authority_works() -> None:
    """Small talk hears that it is under way; a wish to cancel or correct reaches that session."""
    processing = ended(Estado.PROCESSANDO)
    memory = Remembered(last=(processing, NOW))
    assert await words(memory, Ato.SOCIAL) == Plano(resposta=messages.em_andamento())
    assert await words(memory, Ato.RECUSA) == Plano((Cancelou(),), processing)
    assert await words(memory, Ato.DADOS, VALOR) == Plano((Abriu(), Informou((VALOR,))))


@pytest.mark.parametrize("intent", [Ato.CONFIRMA, Ato.NEGA, Ato.RECUSA, Ato.SOCIAL])
async def test_words_decide_nothing_while_an_invoice_waits_for_its_button(intent: Ato) -> None:
    """Nobody accepted it for a day: a yes or no in words brings the question back, days later too."""
    stopped = example(Estado.PROCESSANDO)
    memory = Remembered(last=(stopped, NOW - timedelta(days=2)), waits=True)
    assert await words(memory, intent) == Plano(resposta=messages.ainda_quer(stopped))


async def test_a_no_where_nothing_is_open_gets_a_few_words() -> None:
    """It asked for nothing, and is told no list of commands."""
    memory = Remembered(last=(ended(Estado.APROVADO), NOW))
    assert await words(memory, Ato.NEGA) == Plano(resposta=acts.combinado())


@pytest.mark.parametrize("tipo", ["reaction", "system", "revoke", "sticker"])
async def test_silence_is_the_answer_to_some(tipo: str) -> None:
    """Nothing happens, with or without an open session."""
    for memory in (Remembered(), Remembered(OPEN)):
        assert await plan(Outro(tipo), None, memory, NOW) == Plano()


async def test_other_types_are_answered() -> None:
    """A file goes to the open session, or is answered without opening one."""
    assert await plan(Outro("audio"), None, Remembered(OPEN), NOW) == Plano((MandouArquivo("audio"),), OPEN)
    assert await plan(Outro("audio"), None, Remembered(), NOW) == Plano(resposta=messages.so_texto("audio"))
