"""The comparison of both books, without a gateway or a database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from state_machine.cancellation.machine import StatusNota
from state_machine.documents import ConteudoServico
from state_machine.protocol.audit import Diferenca, DifferenceKind, Nossa, Periodo, compare
from state_machine.protocol.emission import Nota, Situacao, StatusEmissao

AGORA = datetime(2026, 11, 22, 15, tzinfo=UTC)
PERIODO = Periodo.ultimos(3, AGORA)
ONTEM = AGORA - timedelta(days=1)
CNPJ, PADARIA = "11222333000181", "12345678000195"
CONTEUDO = ConteudoServico(CNPJ, PADARIA, "17.01", Decimal("1500.00"), date(2026, 11, 21), "Consultoria")
AQUI = Nossa(
    emissao_id=7,
    id_integracao="211126-07f40961-r1-1",
    pedido=("211126-07f40961", 1),
    conteudo=CONTEUDO,
    impressao=CONTEUDO.impressao,
    status=StatusEmissao.CONCLUIDO,
    enviada_em=ONTEM,
    nota=StatusNota.AUTORIZADO,
    numero="42",
    id_externo="a1",
    conhecida_em=ONTEM + timedelta(minutes=1),
)
LA = Nota(
    id_externo="a1",
    id_integracao=AQUI.id_integracao,
    situacao=Situacao.AUTORIZADA,
    prestador=CNPJ,
    tomador=PADARIA,
    valor=Decimal("1500.00"),
    numero="42",
)
SEM_NOTA: dict[str, Any] = {"nota": None, "numero": None, "id_externo": None, "conhecida_em": None}


def _only(nossa: Nossa | None, *listadas: Nota) -> Diferenca:
    found = compare([nossa] if nossa else [], listadas, PERIODO).diferencas
    assert len(found) == 1, found
    return found[0]


def test_a_period_is_counted_in_days_of_sao_paulo() -> None:
    """At one in the morning in London it is still the day before where invoices are dated."""
    assert Periodo.ultimos(1, datetime(2026, 11, 22, 1, tzinfo=UTC)).inicio == date(2026, 11, 21)
    assert (PERIODO.inicio, PERIODO.fim) == (date(2026, 11, 20), date(2026, 11, 22))


def test_equal_books_have_no_difference() -> None:
    """The same note on both sides, with a number that one of them pads, and silence about its content."""
    for nota in (LA, replace(LA, numero="0042"), replace(LA, valor=None, tomador=None, prestador=None)):
        conferencia = compare([AQUI], [nota], PERIODO)
        assert (conferencia.diferencas, conferencia.reler, conferencia.listadas) == ((), frozenset(), 1)


def test_a_note_that_only_we_hold() -> None:
    """Authorised here and not in their list."""
    diferenca = _only(AQUI)
    assert (diferenca.tipo, diferenca.nossa, diferenca.deles) == (DifferenceKind.SO_NOSSAS, AQUI, None)
    assert diferenca.referencia == AQUI.id_integracao


@pytest.mark.parametrize(
    "change",
    [
        {"conhecida_em": AGORA - timedelta(minutes=5)},  # their list may lag behind
        {"enviada_em": AGORA - timedelta(days=4)},  # they may date it before the period
        {"enviada_em": None},
        {"nota": StatusNota.CANCELADO},  # a list may leave cancelled notes out
        {"status": StatusEmissao.ERRO, **SEM_NOTA},
        {"status": StatusEmissao.REJEITADO, **SEM_NOTA},
    ],
)
def test_what_need_not_be_listed_is_no_difference(change: dict[str, Any]) -> None:
    """Only a note that certainly falls within the days, and had time to appear, can be missed."""
    assert compare([replace(AQUI, **change)], [], PERIODO).diferencas == ()


@pytest.mark.parametrize("key", ["erp-901", ""])
@pytest.mark.parametrize("situacao", [Situacao.AUTORIZADA, Situacao.CANCELADA])
def test_a_note_that_only_they_know(key: str, situacao: Situacao) -> None:
    """Another program's, with a reference or without; a cancelled one is in the books too."""
    deles = replace(LA, id_externo="z9", id_integracao=key, situacao=situacao)
    diferenca = _only(None, deles)
    assert (diferenca.tipo, diferenca.nossa, diferenca.deles) == (DifferenceKind.SO_DELES, None, deles)
    assert diferenca.referencia == "z9"


@pytest.mark.parametrize("situacao", [Situacao.REJEITADA, Situacao.PROCESSANDO])
def test_another_programs_note_that_does_not_exist_is_none(situacao: Situacao) -> None:
    """A refused one never will, one in process may by the next audit."""
    assert compare([], [replace(LA, id_integracao="erp-901", situacao=situacao)], PERIODO).diferencas == ()


@pytest.mark.parametrize("status", [StatusEmissao.ERRO, StatusEmissao.REJEITADO, StatusEmissao.CONFLITO])
def test_ours_that_was_never_recorded_as_issued(status: StatusEmissao) -> None:
    """We gave it up, they authorised it: a debt that nobody here knows of; a conflict is not asked about again."""
    nossa = replace(AQUI, status=status, **SEM_NOTA)
    diferenca = _only(nossa, LA)
    assert (diferenca.tipo, diferenca.motivo) == (DifferenceKind.SO_DELES, f"autorizada lá, {status} aqui")
    assert compare([nossa], [LA], PERIODO).reler == ({7} if status is not StatusEmissao.CONFLITO else set())


@pytest.mark.parametrize(
    ("change", "motivo"),
    [
        ({"valor": Decimal("1500.01")}, "outro valor"),
        ({"tomador": "52998224725"}, "outro tomador"),
        ({"prestador": "99888777000166"}, "outro prestador"),
        ({"numero": "43"}, "número 43 lá, 42 aqui"),
        ({"id_externo": "b2"}, "outra nota deles sob a mesma referência"),
        ({"situacao": Situacao.CANCELADA}, "cancelada lá, autorizada aqui"),
        ({"situacao": Situacao.REJEITADA}, "rejeitada lá, autorizada aqui"),
        ({"situacao": Situacao.PROCESSANDO}, "em processamento lá, autorizada aqui"),
        ({"id_integracao": "erp-1"}, "o id que guardamos tem outra referência lá"),
    ],
)
def test_the_same_note_told_differently(change: dict[str, Any], motivo: str) -> None:
    """Each field that both sides name, and each standing that contradicts the other."""
    diferenca = _only(AQUI, replace(LA, **change))
    assert (diferenca.tipo, diferenca.motivo) == (DifferenceKind.DIVERGEM, motivo)


def test_two_values_are_shown_ours_first() -> None:
    """Staff read both."""
    assert _only(AQUI, replace(LA, valor=Decimal(2))).valores == (Decimal("1500.00"), Decimal(2))
    assert _only(AQUI, replace(LA, tomador="52998224725")).valores == (Decimal("1500.00"),)


def test_two_notes_under_one_reference() -> None:
    """The worst: a duplicate. The same note on two pages is one, and a refused attempt beside it is no note."""
    segunda = replace(LA, id_externo="b2", numero="43")
    assert _only(AQUI, LA, segunda).motivo == "2 notas sob a mesma referência"
    assert compare([AQUI], [LA, LA], PERIODO).diferencas == ()
    recusada = replace(LA, id_externo="b2", numero=None, situacao=Situacao.REJEITADA)
    assert compare([AQUI], [recusada, LA], PERIODO).diferencas == ()


def test_cancelled_here_and_standing_there() -> None:
    """A difference as soon as their list had time to follow."""
    nossa = replace(AQUI, nota=StatusNota.CANCELADO)
    assert _only(nossa, LA).motivo == "autorizada lá, cancelada aqui"
    assert compare([replace(nossa, conhecida_em=AGORA)], [LA], PERIODO).diferencas == ()
    assert compare([nossa], [replace(LA, situacao=Situacao.CANCELADA)], PERIODO).diferencas == ()


@pytest.mark.parametrize("situacao", Situacao)
@pytest.mark.parametrize(
    "status", [StatusEmissao.PENDENTE, StatusEmissao.ENVIANDO, StatusEmissao.ENVIADO, StatusEmissao.DESCONHECIDO]
)
def test_what_is_under_way_is_no_difference(status: StatusEmissao, situacao: Situacao) -> None:
    """Reconciliation asks anyway: at once where they say more than we know, and never for what may be sent."""
    nossa = replace(AQUI, status=status, **SEM_NOTA)
    conferencia = compare([nossa], [replace(LA, situacao=situacao)], PERIODO)
    assert (conferencia.diferencas, conferencia.em_curso) == ((), 1)
    moved = situacao is not Situacao.PROCESSANDO and status is not StatusEmissao.PENDENTE
    assert conferencia.reler == ({7} if moved else set())
    assert compare([nossa], [], PERIODO).diferencas == ()


def test_a_cancellation_under_way_is_no_difference() -> None:
    """Either word of theirs is believable meanwhile; that it is cancelled is worth a question now."""
    nossa = replace(AQUI, nota=StatusNota.CANCELAMENTO_PENDENTE)
    assert compare([nossa], [LA], PERIODO).reler == set()
    cancelada = compare([nossa], [replace(LA, situacao=Situacao.CANCELADA)], PERIODO)
    assert (cancelada.diferencas, cancelada.reler) == ((), frozenset({7}))


def test_cancelled_outside_is_asked_about() -> None:
    """An ordinary reading then tells the user; what is settled for good on both sides is left alone."""
    assert compare([AQUI], [replace(LA, situacao=Situacao.CANCELADA)], PERIODO).reler == {7}
    assert compare([AQUI], [replace(LA, situacao=Situacao.REJEITADA)], PERIODO).reler == set()


def test_refused_there_while_we_gave_up() -> None:
    """Their word is news; equal refusals are none, whatever the content."""
    assert _only(replace(AQUI, status=StatusEmissao.ERRO, **SEM_NOTA), replace(LA, situacao=Situacao.REJEITADA)).motivo
    recusada = replace(AQUI, status=StatusEmissao.REJEITADO, **SEM_NOTA)
    found = compare([recusada], [replace(LA, situacao=Situacao.REJEITADA, valor=Decimal(1))], PERIODO)
    assert (found.diferencas, found.reler) == ((), frozenset())


@pytest.mark.parametrize(
    ("diferente", "motivo"),
    [
        ({"descricao": "Outro serviço"}, "outro texto de serviço"),
        ({"competencia": "1999-01-31"}, "outra competência"),
        ({"codigo_servico": "14.10"}, "outro código de serviço"),
    ],
)
def test_content_that_only_the_xml_shows_is_compared_too(diferente: dict[str, Any], motivo: str) -> None:
    """Service text, month and code are held against the stored fingerprint, as value and customer are."""
    assert _only(AQUI, replace(LA, **diferente)).motivo == motivo


def test_a_changed_row_of_ours_is_told_as_such() -> None:
    """Our own columns no longer give the fingerprint that was stored at the confirmation."""
    mexida = replace(AQUI, conteudo=replace(CONTEUDO, descricao="Outro"))
    assert _only(mexida, LA).motivo == "o que guardamos não é mais o que foi confirmado"


def test_two_notes_of_one_confirmation_differ_even_if_each_is_right() -> None:
    """Both attempts of a revision are authorised: nothing else is wrong with either; a cancelled one does not count."""
    outra = replace(AQUI, emissao_id=8, id_integracao="211126-07f40961-r1-2", numero="43", id_externo="a2")
    la = replace(LA, id_integracao=outra.id_integracao, numero="43", id_externo="a2")
    [diferenca] = compare([AQUI, outra], [LA, la], PERIODO).diferencas
    assert (diferenca.tipo, diferenca.motivo) == (DifferenceKind.DIVERGEM, "2 notas para a mesma confirmação: 42 e 43")
    cancelada, la = replace(outra, nota=StatusNota.CANCELADO), replace(la, situacao=Situacao.CANCELADA)
    assert compare([AQUI, cancelada], [LA, la], PERIODO).diferencas == ()
