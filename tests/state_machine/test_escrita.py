from __future__ import annotations

import pytest
from made_sessions import TUDO, diz, nova

from state_machine.escrita import Escrita, escrita_de
from state_machine.eventos import Abriu
from state_machine.fields import Campo, Candidate, Doubt, Motivo
from state_machine.rascunho import Rascunho, Recusa, StatusCampo, aplicar, mudancas

PRIMEIRA, SEGUNDA = Escrita("wamid.1", "nota de 1.500 pra padaria"), Escrita("wamid.2", "consultoria, 12 horas")
DUAS = (PRIMEIRA, SEGUNDA)


def valor(valor: str, trecho: str) -> Candidate:
    return Candidate(Campo.VALOR, valor, trecho)


@pytest.mark.parametrize(
    ("trecho", "textos", "qual"),
    [
        ("1.500", ("nota de 1.500", "consultoria"), 0),
        ("consultoria", ("nota de 1.500", "consultoria"), 1),
        ("500", ("500 reais", "digo, 1.500"), 0),  # not the tail of another number
        ("1.500", ("1.500", "1.500,50 não"), 0),
        ("12", ("dente 12", "123"), 0),
        ("aula", ("aula", "aulas"), 0),
        ("aula", ("x", "aulas", "y"), 1),  # better a piece of a word than nothing
        ("500", ("500", "isso, 500"), 1),  # said again: the last time counts
        ("500", ("1.500 ou 500", "1.500"), 0),  # whole only where it stands the second time
        ("50", ("50", "50,5"), 0),
        ("a.b*", ("a.b*", "a.b*c"), 0),  # no pattern, whatever it looks like
        ("500, 600", ("500 ou", "600"), 1),  # in no message alone: with the last it was complete
        ("", ("oi", "olá"), 1),
    ],
)
def test_a_span_belongs_to_the_message_that_holds_it(trecho: str, textos: tuple[str, ...], qual: int) -> None:
    """The last message with the whole word or number, else with a piece of it, else the last of all."""
    escritas = [Escrita(f"wamid.{i}", texto) for i, texto in enumerate(textos)]
    assert escrita_de(trecho, escritas) is escritas[qual]


def test_without_messages_there_is_none() -> None:
    """What was stored by older versions of us has no message."""
    assert escrita_de("500", ()) is None


def test_each_field_keeps_the_message_that_it_was_read_in() -> None:
    """Two messages read together: amount and doubt from the first, service from the second."""
    duvida = Doubt(Campo.DOCUMENTO, Motivo.INCOMPLETO, "padaria")
    rascunho = aplicar(
        Rascunho(),
        (valor("1500", "1.500"), Candidate(Campo.DESCRICAO, "consultoria", "consultoria")),
        (duvida,),
        (),
        DUAS,
    )
    lidos = (rascunho.valor, rascunho.descricao, rascunho.documento)
    assert [lido.mensagem for lido in lidos] == ["wamid.1", "wamid.2", "wamid.1"]


def test_a_correction_brings_its_own_message_and_leaves_the_others() -> None:
    """The amount is now of the later message, the service still of the first."""
    antes = aplicar(Rascunho(), TUDO, (), (), (PRIMEIRA,))
    depois = aplicar(antes, (valor("1800", "1.800"),), (), (), (Escrita("wamid.9", "na verdade é 1.800"),))
    assert (depois.valor.mensagem, depois.descricao.mensagem) == ("wamid.9", "wamid.1")


def test_what_is_said_again_changes_nothing() -> None:
    """Neither the data nor their evidence: the summary on the screen stays good."""
    antes = aplicar(Rascunho(), TUDO, (), (), (PRIMEIRA,))
    assert aplicar(antes, TUDO, (), (), (SEGUNDA,)) == antes


@pytest.mark.parametrize("dito", ["0", "-500"])
def test_no_amount_at_all_takes_the_place_of_none(dito: str) -> None:
    """Zero and less leave the good amount standing, and are kept as what was not taken, so that it can be said."""
    antes = aplicar(Rascunho(), (valor("1500", "1.500"),), (), (), (PRIMEIRA,))
    depois = aplicar(antes, (), (Doubt(Campo.VALOR, Motivo.NAO_POSITIVO, dito),), (), (Escrita("wamid.9", dito),))
    assert (depois.validado(Campo.VALOR), depois.valor.recusa) == ("1500.00", Recusa(dito, "wamid.9"))
    assert mudancas(antes, depois) == ()
    outra_vez = aplicar(depois, (), (Doubt(Campo.VALOR, Motivo.NAO_POSITIVO, dito),), (), (Escrita("wamid.10", dito),))
    assert outra_vez != depois  # each time it is said it gets its answer
    assert aplicar(depois, (valor("1800", "1800"),), (), ()).valor.recusa is None


def test_no_amount_at_all_is_asked_about_where_none_stands() -> None:
    """Without a good amount the question is the only answer."""
    rascunho = aplicar(Rascunho(), (), (Doubt(Campo.VALOR, Motivo.NAO_POSITIVO, "-500"),), ())
    assert rascunho.valor.status is StatusCampo.INVALID


def test_data_taken_up_keep_the_message_they_were_first_said_in() -> None:
    """A session that goes on with an ended one's data shows where they came from."""
    base = aplicar(Rascunho(), TUDO, (), (), (PRIMEIRA,))
    sessao = diz(nova(), Abriu(base)).sessao
    assert {sessao.rascunho.campo(c.campo).mensagem for c in TUDO} == {"wamid.1"}
