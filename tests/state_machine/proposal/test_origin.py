"""What a draft takes over from a proposal, and how a conversation with its approver begins and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.invoice.session import Estado, Responder
from state_machine.machine.events import Abriu, Cancelou, Confirmou
from state_machine.machine.transition import transition
from state_machine.proposal import draft, proposed_by
from tests.state_machine.made_sessions import AGORA, CNPJ, nova

VALORES = {Campo.DOCUMENTO: CNPJ, Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria", Campo.NOME: "Padaria"}


def test_each_value_says_where_it_came_from() -> None:
    """Evidence of a proposal is its number; what a person says instead is theirs."""
    rascunho = draft(12, VALORES)
    assert rascunho.completo
    assert {lido.origem for lido in rascunho.lidos if lido.valor} == {Origem.PROPOSTA}
    assert proposed_by(rascunho) == "proposta 12"
    assert proposed_by(Rascunho()) is None
    corrected = aplicar(rascunho, [Candidate(Campo.VALOR, "1800.00", "1.800")], (), ())
    assert corrected.valor.origem is Origem.REGRAS
    assert proposed_by(corrected) == "proposta 12"


def test_what_cannot_stand_in_an_invoice_is_left_out() -> None:
    """An address longer than an invoice takes is no reason to ask the approver."""
    rascunho = draft(12, {**VALORES, Campo.EMAIL: f"a@{'b' * 90}.com"})
    assert rascunho.completo
    assert rascunho.email.valor is None


def test_a_yes_in_words_does_not_approve() -> None:
    """Nobody asked for the summary, so that a yes may be meant for something else: only its button issues."""
    shown = transition(nova(), Abriu(draft(12, VALORES), proposta=True), AGORA).sessao
    assert shown.estado is Estado.AGUARDANDO_CONFIRMACAO
    words = transition(shown, Confirmou(None, escrita_em=AGORA, visto=True), AGORA)
    assert words.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    (answer,) = (efeito for efeito in words.efeitos if isinstance(efeito, Responder))
    assert any(key.startswith("confirmar:") for key in answer.mensagem.ids)
    own = replace(shown, rascunho=aplicar(Rascunho(), [Candidate(c, v, v) for c, v in VALORES.items()], (), ()))
    assert transition(own, Confirmou(None, escrita_em=AGORA, visto=True), AGORA).sessao.estado is Estado.PROCESSANDO
    button = transition(words.sessao, Confirmou(revisao=shown.revisao), AGORA)
    assert button.sessao.estado is Estado.PROCESSANDO
    assert transition(shown, Confirmou(revisao=shown.revisao - 1), AGORA).sessao.estado is not Estado.PROCESSANDO


def test_words_from_before_it_was_shown_give_no_proposal_up() -> None:
    """They were meant for something else: it is shown again, and its button or words written later give it up."""
    shown = transition(nova(), Abriu(draft(12, VALORES), proposta=True), AGORA).sessao
    early = transition(shown, Cancelou(AGORA - timedelta(seconds=2)), AGORA + timedelta(seconds=1))
    assert early.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    (answer,) = (efeito for efeito in early.efeitos if isinstance(efeito, Responder))
    assert any(key.startswith("cancelar:") for key in answer.mensagem.ids)
    later = AGORA + timedelta(seconds=9)
    for evento in (Cancelou(later), Cancelou()):
        assert transition(early.sessao, evento, later).sessao.estado is Estado.CANCELADO_USUARIO
