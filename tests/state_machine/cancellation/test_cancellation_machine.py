from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.diagrams.cancellation import COMMAND, arcs, refreshed
from state_machine.cancellation import machine
from state_machine.cancellation.machine import (
    EVENTOS,
    IGNORADOS,
    REGRAS,
    VIVOS,
    AutoridadeCancelou,
    AutoridadeManteve,
    Codigo,
    ConfirmouCancelamento,
    ConversouNoCancelamento,
    EstadoCancelamento,
    Manteve,
    Motivou,
    NotaEmitida,
    PrazoCancelamentoVencido,
    StatusNota,
    Substituiu,
    abre,
    decide,
)
from state_machine.catalogue.texts import cancellation as textos
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, tamanho

E = EstadoCancelamento
AGORA = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOTA = NotaEmitida(7, "1042", Decimal("1500.00"), "PADARIA DO ZÉ LTDA", "12345678000195", AGORA, StatusNota.AUTORIZADO)
WHY = "valor errado, vou emitir outra"

VERSOES = st.integers(min_value=0, max_value=6)
EVENTO = st.one_of(
    st.builds(Motivou, st.sampled_from(Codigo), st.text(max_size=300), st.none() | VERSOES),
    st.builds(ConfirmouCancelamento, VERSOES),
    st.sampled_from(
        [Manteve(), ConversouNoCancelamento(), Substituiu(), PrazoCancelamentoVencido(), AutoridadeCancelou()]
    ),
    st.builds(AutoridadeManteve, st.text(max_size=600)),
)


def test_every_pair_of_state_and_event_was_thought_of():
    """Rules and deliberate no-ops cover everything, and nothing twice."""
    assert REGRAS.keys() | IGNORADOS == set(itertools.product(E, EVENTOS))
    assert not REGRAS.keys() & IGNORADOS


@given(st.lists(st.tuples(EVENTO, st.integers(min_value=0, max_value=7200)), max_size=25))
def test_nothing_but_the_button_of_the_present_summary_sends(passos):
    """Whatever is said, pressed or swept: ``pendente`` comes once, from the summary, with its version, in time."""
    c = abre(1, NOTA, AGORA).cancelamento
    agora, entradas = AGORA, 0
    for evento, segundos in passos:
        agora += timedelta(seconds=segundos)
        depois = decide(c, evento, agora).cancelamento
        assert depois.versao >= c.versao
        assert (depois == replace(c, expira_em=depois.expira_em)) == (depois.versao == c.versao)
        if depois.estado is E.PENDENTE and c.estado is not E.PENDENTE:
            entradas += 1
            assert isinstance(evento, ConfirmouCancelamento)
            assert c.estado is E.AGUARDANDO_CONFIRMACAO
            assert evento.versao == c.versao
            assert c.expira_em is not None
            assert agora < c.expira_em
            assert depois.motivo is not None
            assert 15 <= len(depois.motivo.texto) <= 255
        if c.estado not in VIVOS:
            assert depois == c  # what has ended has ended
        if c.estado is E.PENDENTE:
            assert depois == c or isinstance(evento, AutoridadeCancelou | AutoridadeManteve)
        c = depois
    assert entradas <= 1


@given(EVENTO, st.sampled_from(E), st.text(max_size=500), st.text(max_size=255))
def test_every_answer_fits_a_message_with_buttons(evento, estado, nome, motivo):
    """However long names, reasons and refusals are."""
    c = replace(abre(10**15, replace(NOTA, tomador=nome), AGORA).cancelamento, estado=estado)
    c = replace(c, motivo=machine.MotivoCancelamento(Codigo.OUTROS, motivo))
    mensagem = decide(c, evento, AGORA).mensagem
    if mensagem is not None:
        assert tamanho(mensagem.texto) <= TEXTO_COM_BOTOES_MAX
        assert len(mensagem.botoes) <= 3
        assert all(tamanho(botao.titulo) <= 20 for botao in mensagem.botoes)


def test_the_question_which_note_fits_too():
    """Three notes with the longest names."""
    mensagem = textos.qual_nota([replace(NOTA, tomador="Ç" * 400)] * 9, "nota para “" + "x" * 60 + "”")
    assert tamanho(mensagem.texto) <= TEXTO_COM_BOTOES_MAX
    assert len(mensagem.botoes) == 3


@pytest.mark.parametrize("status", [StatusNota.CANCELADO, StatusNota.CANCELAMENTO_PENDENTE])
def test_only_a_note_that_stands_is_opened(status):
    """The specification: only from AUTORIZADO."""
    with pytest.raises(ValueError, match="not cancelled"):
        abre(1, replace(NOTA, status=status), AGORA)


def test_two_taps_are_one_confirmation():
    """The second finds it at the authority and says so."""
    c = decide(abre(1, NOTA, AGORA).cancelamento, Motivou(Codigo.OUTROS, WHY), AGORA).cancelamento
    primeiro = decide(c, ConfirmouCancelamento(c.versao), AGORA)
    segundo = decide(primeiro.cancelamento, ConfirmouCancelamento(c.versao), AGORA)
    assert (primeiro.cancelamento.estado, segundo.cancelamento) == (E.PENDENTE, primeiro.cancelamento)
    assert segundo.mensagem is not None
    assert "já foi pedido" in segundo.mensagem.texto


@pytest.mark.parametrize("idade", [1, 2, -1])
def test_the_button_of_another_summary_cancels_nothing(idade):
    """Of an earlier one, or made up: the present summary is shown again, and only its own button sends."""
    c = abre(1, NOTA, AGORA).cancelamento
    for porque in (WHY, f"{WHY} agora"):
        c = decide(c, Motivou(Codigo.OUTROS, porque), AGORA).cancelamento
    outro = decide(c, ConfirmouCancelamento(c.versao - idade), AGORA)
    assert (outro.cancelamento.estado, outro.cancelamento.versao) == (E.AGUARDANDO_CONFIRMACAO, c.versao)
    assert outro.mensagem is not None
    assert decide(c, ConfirmouCancelamento(c.versao), AGORA).cancelamento.estado is E.PENDENTE


def test_a_press_after_the_deadline_cancels_nothing():
    """Also while the sweep has not come by: the question has expired, and the user hears it."""
    c = decide(abre(1, NOTA, AGORA).cancelamento, Motivou(Codigo.OUTROS, WHY), AGORA).cancelamento
    assert c.expira_em is not None
    tarde = decide(c, ConfirmouCancelamento(c.versao), c.expira_em)
    assert tarde.cancelamento.estado is E.EXPIRADO
    assert (
        decide(c, ConfirmouCancelamento(c.versao), c.expira_em - timedelta(seconds=1)).cancelamento.estado is E.PENDENTE
    )


def test_a_deadline_that_was_moved_expires_nothing():
    """The user spoke after the sweep had looked."""
    c = abre(1, NOTA, AGORA).cancelamento
    assert not decide(c, PrazoCancelamentoVencido(), AGORA + timedelta(minutes=59)).aplicado
    assert decide(c, PrazoCancelamentoVencido(), AGORA + timedelta(minutes=60)).cancelamento.estado is E.EXPIRADO


def test_a_channel_may_give_another_time() -> None:
    """Every word that keeps it waiting gives the channel's time anew."""
    prazo = timedelta(hours=5)
    c = abre(1, NOTA, AGORA, prazo).cancelamento
    assert c.expira_em == AGORA + prazo
    for evento in (
        ConversouNoCancelamento(),
        Motivou(Codigo.OUTROS, "curto"),
        Motivou(Codigo.OUTROS, WHY),
        ConfirmouCancelamento(0),
    ):
        agora = AGORA + timedelta(hours=1)
        c = decide(c, evento, agora).cancelamento
        assert c.expira_em == agora + prazo


def test_the_arrows_are_these():
    """Every way a cancellation can go; the page draws them from the rules."""
    ends = {
        (de.value, para) for de in (E.AGUARDANDO_MOTIVO, E.AGUARDANDO_CONFIRMACAO) for para in ("desistido", "expirado")
    }
    assert {(de, para) for de, para, _ in arcs()} == ends | {
        ("[*]", "aguardando_motivo"),
        ("aguardando_motivo", "aguardando_confirmacao"),
        ("aguardando_confirmacao", "pendente"),
        ("pendente", "cancelado"),
        ("pendente", "negado"),
    }


def test_the_page_shows_the_diagram_of_the_rules_as_they_are():
    """A drawing that the rules have outgrown fails here."""
    page = (Path(machine.__file__).parents[2] / "docs" / "estados.md").read_text(encoding="utf-8")
    assert page == refreshed(page), f"docs/estados.md is stale; refresh it: {COMMAND}"
