from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from proofs.diagrams.session import example
from state_machine.catalogue import acts, knowledge, messages
from state_machine.invoice.session import Botao, Estado, Mensagem, Responder
from state_machine.machine.events import Confirmou, MandouArquivo, PediuAjuda
from state_machine.machine.transition import transition
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, tamanho

NOW = example(Estado.AGUARDANDO_CONFIRMACAO).mostrado_em
SHOWN = example(Estado.AGUARDANDO_CONFIRMACAO)
CHATS = (
    *(acts.espera(resumo=r, aberta=a) for r in (True, False) for a in (True, False)),
    *(
        acts.espera_emissao(),
        acts.nao_sei(imposto=True),
        acts.nao_sei(imposto=False),
        acts.o_que_errado(SHOWN),
        acts.reclama(None, em_aberto=True),
    ),
    *(acts.depois(), acts.fora(), acts.obrigado(), acts.xingou(), acts.varias(3, ["x" * 300, "y"])),
)


@pytest.mark.parametrize("tema", knowledge.TEMAS, ids=lambda tema: tema.chave)
def test_an_answer_is_short_and_says_whence_it_is(tema: knowledge.Tema) -> None:
    """A source and a day stand beside each; a law is named in what people read."""
    assert tema.fonte
    assert date(2026, 1, 1) <= tema.escrito_em
    assert len(tema.texto) <= 420
    assert any(law in tema.texto for law in ("Lei", "Resolução")) == ("Lei" in tema.fonte or "Resolução" in tema.fonte)


def test_every_topic_has_its_own_name() -> None:
    """A name is what a test or a person speaks of."""
    assert len({tema.chave for tema in knowledge.TEMAS}) == len(knowledge.TEMAS)


@pytest.mark.parametrize(
    ("plain", "chave"),
    [
        ("qual o prazo pra cancelar uma nota?", "prazo_cancelar"),
        ("e se eu errar da pra cancelar depois?", "errar"),
        ("como corrijo uma nota emitida? da pra alterar a nota?", "errar"),
        ("posso cancelar depois?", "cancelar"),
        ("mei paga imposto?", "imposto_mei"),
        ("quanto de imposto eu pago?", "imposto"),
        ("o iss eh retido?", "retencao"),
        ("quanto o mei pode faturar?", "limite_mei"),
        ("qual o limite do caminhoneiro?", "limite_mei_transporte"),
        ("quando vence o das?", "das"),
        ("quem pode emitir?", "quem_emite"),
        ("eh mei, cpf serve?", "cpf_ou_cnpj"),
        ("quanto custa?", "preco"),
        ("meus dados ficam seguros?", "dados"),
        ("o que acontece depois que eu confirmar?", "depois_do_sim"),
        ("onde fica o xml?", "arquivos"),
        ("quanto tempo demora?", "demora"),
        ("da pra emitir pra fora do brasil?", "exterior"),
        ("voce eh um robo?", "quem_sou"),
        ("voces cobram quanto?", "preco"),
        ("eh de graca?", "preco"),
        ("o que eh tomador?", "tomador"),
        ("posso colocar dois servicos na mesma nota?", "varios_servicos"),
        ("precisa de certificado digital?", "certificado"),
        ("preciso de contador?", "contador"),
        ("atende minha cidade?", "cidade"),
        ("tem aplicativo?", "aparelho"),
    ],
)
def test_what_people_ask_finds_its_topic(plain: str, chave: str) -> None:
    """The narrower topic is found before the wider one."""
    tema = knowledge.find(plain)
    assert tema
    assert tema.chave == chave


@pytest.mark.parametrize("estado", [Estado.AGUARDANDO_CONFIRMACAO, Estado.DADOS_INCOMPLETOS])
def test_a_file_asks_for_nothing_that_is_known(estado: Estado) -> None:
    """An audio over an open invoice says that it was not read, and shows what is open."""
    [responder] = transition(example(estado), MandouArquivo("audio"), datetime(2026, 1, 1, tzinfo=UTC)).efeitos
    assert isinstance(responder, Responder)
    assert "Ainda não leio áudio." in responder.mensagem.texto
    assert "Me manda o CNPJ" not in responder.mensagem.texto
    assert ("R$ 1.500,00" in responder.mensagem.texto) == (estado is Estado.AGUARDANDO_CONFIRMACAO)


def test_what_is_not_written_is_not_answered() -> None:
    """No nearest guess."""
    assert knowledge.find("qual a capital da franca?") is None


@pytest.mark.parametrize("mensagem", CHATS)
def test_a_message_has_wordings_that_fit(mensagem: Mensagem) -> None:
    """No two equal, each within what a message with buttons holds, and under the open summary as well."""
    formas = [forma.texto for forma in messages.formas(mensagem)]
    assert len(set(formas)) == len(formas) > 1
    for sessao in (SHOWN, example(Estado.DADOS_INCOMPLETOS)):
        for forma in messages.formas(acts.em_aberto(sessao, mensagem)):
            assert tamanho(forma.texto) <= TEXTO_COM_BOTOES_MAX


def test_a_repetition_at_the_limit_still_fits() -> None:
    """The heading gives way to the word that says so; a text of one line is cut."""
    buttons = (Botao("confirmar:a:1", "Confirmar"),)
    for texto in ("*Título*\n" + "a" * 1015, "a" * 1024):
        *_, repeated = messages.formas(Mensagem(texto, buttons))
        assert repeated.texto.startswith("_Repetindo:_")
        assert tamanho(repeated.texto) <= TEXTO_COM_BOTOES_MAX


def test_an_answer_beside_a_summary_draws_it_in_one_line() -> None:
    """The invoice is named in a line, and the buttons of its summary stay; a yes in words brings the summary."""
    told = acts.em_aberto(SHOWN, Mensagem("Isso."))
    assert told.texto.splitlines() == ["Isso.", "", "A nota de R$ 1.500,00 para PADARIA DO ZÉ LTDA espera o seu sim."]
    assert told.botoes == messages.lembrete(SHOWN).botoes
    assert NOW is not None
    evento = PediuAjuda(Mensagem("a" * 900), aberto=True)
    answered = transition(SHOWN, evento, NOW + timedelta(seconds=1))
    [said] = answered.efeitos
    assert isinstance(said, Responder)
    assert tamanho(said.mensagem.texto) <= TEXTO_COM_BOTOES_MAX
    assert "Só falta você confirmar" in str(transition(answered.sessao, Confirmou(None), NOW).efeitos)


def test_an_answer_with_its_own_buttons_keeps_them() -> None:
    """What it offers is not taken away by the invoice that waits."""
    own = (Botao("ver:1", "Ver nota"),)
    assert acts.em_aberto(SHOWN, Mensagem("Isso.", own)).botoes == own


@pytest.mark.parametrize(
    ("regime", "said", "unsaid"),
    [
        ("mei", "O MEI paga um valor fixo", "fora do Simples"),
        ("simples", "Sua empresa é do Simples", "2% a 5%"),
        ("normal", "2% a 5%", "12 meses"),
    ],
)
def test_a_question_about_tax_is_answered_for_the_companys_own_regime(regime: str, said: str, unsaid: str) -> None:
    """What another regime pays is left out, and retention is answered for a MEI."""
    tema = knowledge.find("preciso pagar iss nessa nota?", regime)
    assert tema
    assert said in tema.texto
    assert unsaid not in tema.texto
    retencao = knowledge.find("tem retencao?", regime)
    assert retencao
    assert ("Sua empresa é MEI" in retencao.texto) == (regime == "mei")


@pytest.mark.parametrize("words", ["qual meu cnpj?", "qual o meu cnpj", "qual eh o cnpj da minha empresa?"])
def test_the_companys_own_number_is_told(words: str) -> None:
    """It stands with the name in which the notes go out."""
    assert knowledge.OWN_CNPJ.search(words)
    assert (
        knowledge.own_cnpj("ANA DESIGN ME", "11222333000181")
        == "As notas saem por ANA DESIGN ME, CNPJ 11.222.333/0001-81."
    )
