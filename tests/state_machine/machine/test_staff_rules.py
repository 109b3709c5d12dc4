"""What a summary is still good for after the staff stepped in."""

from __future__ import annotations

from state_machine.invoice.session import Estado
from state_machine.machine.events import Confirmou, EquipeAssumiu, EquipeDevolveu, EquipeEncerrou
from tests.state_machine.made_sessions import AGORA, SEGUNDO, diz, emissoes, no_resumo, resposta


def test_a_takeover_voids_every_summary_shown_so_far():
    """While people talk nothing of before can be confirmed, by its button or in words."""
    antes = no_resumo()
    assumida = diz(antes, EquipeAssumiu("Bia")).sessao
    assert not emissoes(diz(assumida, Confirmou(antes.revisao)))
    assert not emissoes(diz(assumida, Confirmou(None, AGORA + 5 * SEGUNDO)))


def test_after_the_hand_over_only_its_own_summary_counts():
    """Neither the button of before nor one made up in between: what was agreed with people is shown first."""
    antes = no_resumo()
    assumida = diz(antes, EquipeAssumiu("Bia")).sessao
    decision = diz(assumida, EquipeDevolveu(), agora=AGORA + 60 * SEGUNDO)
    de_volta = decision.sessao
    assert next(botao.id for botao in resposta(decision).botoes) == f"confirmar:{de_volta.sessao_id}:{de_volta.revisao}"
    for revisao in (antes.revisao, assumida.revisao):
        assert not emissoes(diz(de_volta, Confirmou(revisao)))
    assert not emissoes(diz(de_volta, Confirmou(None, AGORA + 30 * SEGUNDO)))
    assert emissoes(diz(de_volta, Confirmou(de_volta.revisao)))


def test_what_the_staff_close_is_over():
    """The button of before says so, and issues nothing."""
    antes = no_resumo()
    encerrada = diz(antes, EquipeEncerrou()).sessao
    assert encerrada.estado is Estado.CANCELADO_USUARIO
    assert not emissoes(diz(encerrada, Confirmou(antes.revisao)))
