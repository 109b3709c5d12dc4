from __future__ import annotations

import pytest

from state_machine.invoice.draft import (
    Rascunho,
    Recusa,
    StatusCampo,
    aplicar,
    difere,
    mudancas,
    sem_apagada,
    sem_editada,
)
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.machine.events import Abriu
from state_machine.values.text import Escrita, escrita_de
from tests.state_machine.made_sessions import AGORA, CNPJ, OUTRO_CNPJ, TUDO, diz, nova

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


def test_an_older_message_changes_nothing_that_is_newer() -> None:
    """It is kept as what was not taken, with when it was written; a newer or equally old one takes the place."""
    antes = aplicar(Rascunho(), (valor("1500", "1.500"),), (), (), (_as(10),))
    tarde = aplicar(antes, (valor("1200", "1.200"),), (), (), (_as(9),))
    assert tarde.validado(Campo.VALOR) == "1500.00"
    assert tarde.valor.recusa == Recusa("1.200", "wamid.9", _as(9).em)
    for segundo in (10, 11):
        assert aplicar(antes, (valor("1200", "1.200"),), (), (), (_as(segundo),)).validado(Campo.VALOR) == "1200.00"


def test_an_older_doubt_or_retraction_changes_nothing_either() -> None:
    """Neither a doubtful word nor a "não é esse" that was written before reaches the newer value."""
    antes = aplicar(Rascunho(), (valor("1500", "1.500"),), (), (), (_as(10),))
    duvida = Doubt(Campo.VALOR, Motivo.VARIOS, "1.500")
    for depois in (aplicar(antes, (), (duvida,), (), (_as(9),)), aplicar(antes, (), (), {Campo.VALOR}, (_as(9),))):
        assert depois.validado(Campo.VALOR) == "1500.00"
        assert depois.valor.recusa is not None
    assert aplicar(antes, (), (), {Campo.VALOR}, (_as(11),)).valor.valor is None


def test_an_older_document_does_not_forget_a_newer_name() -> None:
    """What would be lost with it counts too."""
    antes = aplicar(Rascunho(), (Candidate(Campo.DOCUMENTO, CNPJ, CNPJ),), (), (), (_as(5),))
    antes = aplicar(antes, (Candidate(Campo.NOME, "Padaria", "Padaria"),), (), (), (_as(10),))
    depois = aplicar(antes, (Candidate(Campo.DOCUMENTO, OUTRO_CNPJ, OUTRO_CNPJ),), (), (), (_as(9),))
    assert (depois.validado(Campo.DOCUMENTO), depois.validado(Campo.NOME)) == (CNPJ, "Padaria")


def test_what_is_said_again_is_as_new_as_the_last_time() -> None:
    """And it is no other draft for that: the summary on the screen stays good."""
    antes = aplicar(Rascunho(), TUDO, (), (), (_as(5),))
    depois = aplicar(antes, TUDO, (), (), (_as(10),))
    assert not difere(antes, depois)
    assert aplicar(depois, (valor("1200", "1.200"),), (), (), (_as(9),)).validado(Campo.VALOR) == "1500.00"


def test_an_edited_message_loses_what_it_no_longer_says() -> None:
    """Its own fields go, unless it still speaks of them; other messages' stay."""
    antes = aplicar(Rascunho(), TUDO, (), (), (PRIMEIRA,))
    antes = aplicar(antes, (valor("1800", "1.800"),), (), (), (Escrita("wamid.9", "1.800"),))
    depois = sem_editada(antes, "wamid.1", {Campo.DOCUMENTO})
    assert depois.faltam == (Campo.DESCRICAO,)


def test_a_deleted_message_leaves_its_needed_fields_in_doubt() -> None:
    """An e-mail that only it gave is forgotten; a document that only it gave is asked for."""
    antes = aplicar(Rascunho(), (*TUDO, Candidate(Campo.EMAIL, "a@b.co", "a@b.co")), (), (), (PRIMEIRA,))
    depois = sem_apagada(antes, "wamid.1")
    assert depois.email.valor is None
    assert {depois.campo(c.campo).status for c in TUDO} == {StatusCampo.INVALID}
    assert sem_apagada(antes, "wamid.2") is antes


def _as(segundo: int) -> Escrita:
    return Escrita(f"wamid.{segundo}", "…", AGORA.replace(second=segundo))


def test_data_taken_up_keep_the_message_they_were_first_said_in() -> None:
    """A session that goes on with an ended one's data shows where they came from."""
    base = aplicar(Rascunho(), TUDO, (), (), (PRIMEIRA,))
    sessao = diz(nova(), Abriu(base)).sessao
    assert {sessao.rascunho.campo(c.campo).mensagem for c in TUDO} == {"wamid.1"}
