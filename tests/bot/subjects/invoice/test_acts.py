from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

import pytest

from bot.conversation.inbound import Palavras
from bot.subjects.invoice.acts import ANSWERS, Momento, moment
from bot.subjects.invoice.plan import RECENT, Plano, plan
from extractor.contract import WHOLE, Ato, Context, Extraction
from extractor.rules import extract
from extractor.utterance import Utterance, without
from proofs.diagrams.session import example
from state_machine.invoice.draft import Lido, Rascunho, StatusCampo
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado
from state_machine.machine.events import Cancelou, Confirmou, Informou, Negou, PediuAjuda
from state_machine.machine.transition import transition
from tests.bot.subjects.invoice.test_plan import NOW, Remembered

if TYPE_CHECKING:
    from state_machine.invoice.session import Sessao
    from state_machine.machine.events import Evento

COLLECTING, SHOWN = example(Estado.DADOS_INCOMPLETOS), example(Estado.AGUARDANDO_CONFIRMACAO)
OPEN = {Momento.COLETANDO: COLLECTING, Momento.RESUMO: SHOWN}
ENDED = {Momento.EMITINDO: Estado.PROCESSANDO, Momento.EMITIDA: Estado.APROVADO, Momento.ENCERRADA: Estado.EXPIRADO}
DECIDE = (Confirmou, Cancelou, Negou)
# What is answered by the invoice's own rules, or as a request. Together with ANSWERS it covers every pair (a test).
ELSEWHERE = frozenset(
    {
        *((ato, momento) for ato in WHOLE | {Ato.DADOS} for momento in Momento),  # ``transition``
        *((Ato.CORRIGE, momento) for momento in Momento if momento is not Momento.RESUMO),  # ``transition``
        *((ato, momento) for ato in (Ato.REGISTRO, Ato.REPETE, Ato.PESSOA) for momento in Momento),  # ``requests``
    }
)

WAITS = (
    *("peraí", "pera aí", "guenta aí", "aguenta aí um pouco", "já volto", "só um minutinho", "não, pera", "calma"),
    *("um tiquinho", "um cadinho", "aguarde", "segura aí", "xô ver com o contador", "deixa eu conferir", "carma aí"),
    *("oxe, pera", "um momento por favor", "rapidinho", "tô dirigindo", "vou ver aqui", "espere", "sim, não pera"),
)
QUESTIONS = (
    *("qual o prazo pra cancelar uma nota?", "e se eu errar dá pra cancelar depois?", "quanto de imposto eu pago?"),
    *("quando vence o DAS?", "qual o limite do mei?", "posso cancelar depois?", "cancela?", "é seguro?"),
    *("depois que eu confirmar o que acontece?", "qual a capital da frança?", "quanto fica 1500 menos 6%?"),
)
COMPLAINTS = ("tava errado o valor da nota que você acabou de emitir", "você errou a nota", "a nota saiu errada")


def remembered(momento: Momento) -> Remembered:
    if momento in OPEN:
        return Remembered(OPEN[momento])
    return Remembered(last=(example(ENDED[momento]), NOW)) if momento in ENDED else Remembered()


def read(texto: str, sessao: Sessao | None = None) -> Extraction:
    conhecidos = {c: v for c in Campo if sessao and (v := sessao.rascunho.validado(c))}
    shown = sessao is not None and sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    return extract(without(texto), Context(date(2026, 11, 21), conhecidos=conhecidos, resumo_mostrado=shown))


async def planned(texto: str, momento: Momento, ato: Ato | None = None) -> Plano:
    memory = remembered(momento)
    dita = Utterance(texto, replace(read(texto, memory.ativa), agreed=ato))
    return await plan(Palavras(texto, NOW), dita, memory, NOW)


def events(plano: Plano) -> list[type[Evento]]:
    return [type(evento) for evento in plano.eventos]


def said(plano: Plano) -> str:
    """The text that the person reads."""
    if plano.resposta:
        return plano.resposta.texto
    [evento] = plano.eventos
    assert isinstance(evento, PediuAjuda)
    assert evento.resposta
    return evento.resposta.texto


def test_each_act_has_a_place_in_each_moment() -> None:
    """An answer of its own or another's work on purpose, never both and never neither."""
    assert set(ANSWERS) | ELSEWHERE == set(itertools.product(Ato, Momento))
    assert not set(ANSWERS) & ELSEWHERE


@pytest.mark.parametrize("momento", Momento)
async def test_moments_are_told_apart(momento: Momento) -> None:
    """What is open comes first; what ended counts for a day."""
    assert await moment(remembered(momento), NOW, RECENT) is momento
    assert await moment(remembered(momento), NOW + RECENT, RECENT) in {Momento.SEM_NOTA, *OPEN}


@pytest.mark.parametrize("momento", Momento)
@pytest.mark.parametrize("texto", [*WAITS, *QUESTIONS, *COMPLAINTS])
async def test_a_wait_a_question_and_a_complaint_decide_nothing(texto: str, momento: Momento) -> None:
    """None of them confirms, cancels or stores anything, wherever the conversation stands."""
    plano = await planned(texto, momento)
    assert events(plano) in ([], [PediuAjuda])
    if momento in OPEN and plano.eventos:
        depois = transition(OPEN[momento], plano.eventos[0], NOW).sessao
        assert (depois.estado, depois.rascunho) == (OPEN[momento].estado, OPEN[momento].rascunho)


@pytest.mark.parametrize("texto", WAITS)
async def test_after_a_wait_the_button_still_confirms(texto: str) -> None:
    """The summary's revision stays, and a yes in words shows the summary first."""
    [evento] = (await planned(texto, Momento.RESUMO)).eventos
    waiting = transition(SHOWN, evento, NOW).sessao
    assert waiting.revisao == SHOWN.revisao
    assert transition(waiting, Confirmou(SHOWN.revisao), NOW).sessao.estado is Estado.PROCESSANDO
    assert transition(waiting, Confirmou(None, NOW), NOW).sessao.estado is Estado.AGUARDANDO_CONFIRMACAO


@pytest.mark.parametrize("ato", [ato for ato in Ato if ato is not Ato.CONFIRMA])
@pytest.mark.parametrize("intent", [Ato.CONFIRMA, Ato.RECUSA, Ato.NEGA])
async def test_an_act_that_the_readers_agree_on_outweighs_an_intent(ato: Ato, intent: Ato) -> None:
    """Only an agreed yes confirms, only an agreed refusal gives up."""
    memory = Remembered(SHOWN)
    plano = await plan(Palavras("hm", NOW), Utterance("hm", Extraction(intent, agreed=ato)), memory, NOW)
    gives_up = ato is Ato.RECUSA and intent is not Ato.CONFIRMA
    assert any(isinstance(evento, DECIDE) for evento in plano.eventos) == gives_up


@pytest.mark.parametrize("texto", ["valeu!", "ok, tchau", "até amanhã"])
async def test_who_leaves_before_anything_was_said_leaves_no_draft(texto: str) -> None:
    """A draft without customer, amount and service waits for nobody; any other stays."""
    palavras, dita = Palavras(texto, NOW), Utterance(texto, Extraction(Ato.SOCIAL))
    vazia = replace(SHOWN, estado=Estado.DADOS_INCOMPLETOS, rascunho=Rascunho())
    assert (await plan(palavras, dita, Remembered(vazia), NOW)).eventos == (Cancelou(),)
    com_valor = replace(vazia, rascunho=Rascunho(valor=SHOWN.rascunho.valor))
    assert not any(
        isinstance(evento, DECIDE) for evento in (await plan(palavras, dita, Remembered(com_valor), NOW)).eventos
    )


@pytest.mark.parametrize("momento", Momento)
@pytest.mark.parametrize(
    ("texto", "ato", "words"),
    [
        ("qual o limite do mei?", None, "R$ 81.000,00"),
        ("limite do caminhoneiro mei?", None, "R$ 251.600,00"),
        ("quando vence o das?", None, "dia 20"),
        ("qual meu cnpj?", None, "11.222.333/0001-81"),
        ("qual o meu cnpj", None, "11.222.333/0001-81"),
        ("o que é competência?", None, "o mês em que o serviço foi prestado"),
        ("voce e gente?", None, "Sou a Prosa"),
        ("preciso pagar iss nessa nota?", None, "O MEI paga um valor fixo"),
        ("qual a capital da frança?", None, "prefiro não chutar"),
        ("todo mês", None, "não agendo"),
        ("gera a guia do DAS", None, "não faço"),
        ("me empresta 50 reais", None, "não faço"),
        ("obrigada!", None, "Por nada"),
        ("tchau, até mais!", None, "Até mais"),
        ("vai se foder", None, "irritação"),
        ("aquela nota lá", Ato.CANCELA_NOTA, "Nada foi cancelado"),
        ("tira o imposto", Ato.FISCAL, "Ainda não sei fazer isso"),
        ("retém o ISS de 5%", None, "Ainda não sei reter"),
        ("o cliente é do exterior", None, "fora do Brasil"),
        ("usa o código de serviço 1.07", None, "código do serviço"),
        ("coloca alíquota de 3%", None, "alíquota"),
    ],
)
async def test_each_act_has_its_own_answer(texto: str, ato: Ato | None, words: str, momento: Momento) -> None:
    """The same act is answered wherever the conversation stands."""
    assert words in said(await planned(texto, momento, ato))


@pytest.mark.parametrize("texto", ["retém o ISS de 5%", "destaca o desconto na nota", "o cliente é do exterior"])
async def test_a_fiscal_instruction_withholds_every_summary_so_far(texto: str) -> None:
    """The button shown before issues nothing any more."""
    [evento] = (await planned(texto, Momento.RESUMO)).eventos
    withheld = transition(SHOWN, evento, NOW)
    shown = transition(withheld.sessao, Confirmou(SHOWN.revisao), NOW).sessao
    assert shown.estado is Estado.AGUARDANDO_CONFIRMACAO


@pytest.mark.parametrize(
    ("texto", "words"),
    [("não, é outra padaria", "Qual é o cliente certo?"), ("não, é outra coisa", "O que está errado")],
)
async def test_another_one_of_the_customers_kind_is_another_customer(texto: str, words: str) -> None:
    """A word of the customer's name says which part is wrong; any other word leaves it open."""
    nome = Lido(StatusCampo.VALIDATED, "PADARIA DO ZÉ")
    memory = Remembered(replace(SHOWN, rascunho=replace(SHOWN.rascunho.com(Campo.NOME, nome), cadastro=None)))
    dita = Utterance(texto, read(texto, memory.ativa))
    assert words in said(await plan(Palavras(texto, NOW), dita, memory, NOW))


@pytest.mark.parametrize("texto", ["tá errado", "tem coisa errada aí", "errado"])
async def test_what_is_wrong_is_asked_with_a_button_for_each_part(texto: str) -> None:
    """Nothing is given up; the buttons fit three, and each takes back one field."""
    [evento] = (await planned(texto, Momento.RESUMO)).eventos
    assert isinstance(evento, PediuAjuda)
    assert evento.resposta
    assert [botao.titulo for botao in evento.resposta.botoes] == ["Cliente", "Valor", "Serviço"]


async def test_data_beside_a_later_are_kept() -> None:
    """The order is taken, and the answer says that nothing is scheduled."""
    plano = await planned("nota de 1500 pra 12.345.678/0001-95, consultoria, só amanhã", Momento.COLETANDO)
    assert events(plano) == [Informou, PediuAjuda]


async def test_a_question_with_an_amount_stores_none() -> None:
    """Arithmetic that is asked about is no invoice's."""
    plano = await planned("quanto fica 1500 menos 6%?", Momento.SEM_NOTA)
    assert not plano.eventos


async def test_a_question_that_names_a_customer_is_still_an_order() -> None:
    """A document is worth more than a question mark."""
    plano = await planned("posso fazer nota de 1500 pra 12.345.678/0001-95?", Momento.COLETANDO)
    assert events(plano) == [Informou]
