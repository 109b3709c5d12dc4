from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from state_machine.catalogue import requests as pedidos
from state_machine.catalogue import staff_messages
from state_machine.catalogue.requests import LISTADAS, NotaListada
from state_machine.protocol.emission import StatusEmissao
from tests.state_machine.made_sessions import fits

NOTA = NotaListada(
    7,
    "1042",
    StatusEmissao.CONCLUIDO,
    Decimal("1500.00"),
    "12345678000195",
    "PADARIA DO ZÉ LTDA",
    "consultoria",
    datetime(2026, 11, 22, 1, 30, tzinfo=UTC),
)


def test_the_list_is_what_a_phone_shows() -> None:
    """Five lines at most, each with number, amount, client and the day in Brazil, and how to get a copy."""
    texto = pedidos.minhas_notas([NOTA] * 9)
    assert texto.count("• *1042* · R$ 1.500,00 · PADARIA DO ZÉ LTDA · 21/11/2026") == LISTADAS
    assert "segunda via da nota 1042" in texto
    assert "última nota" in pedidos.minhas_notas([NOTA])


def test_a_client_without_a_name_is_told_by_the_document() -> None:
    """Somebody must be named."""
    assert "12.345.678/0001-95" in pedidos.minhas_notas([replace(NOTA, nome=None)])


@pytest.mark.parametrize("status", StatusEmissao)
def test_every_stage_of_an_invoice_has_words(status: StatusEmissao) -> None:
    """What is still under way is never called issued or failed."""
    texto = pedidos.status(replace(NOTA, status=status, numero=None))
    em_andamento = status in {
        StatusEmissao.PENDENTE,
        StatusEmissao.ENVIANDO,
        StatusEmissao.ENVIADO,
        StatusEmissao.DESCONHECIDO,
    }
    assert ("em emissão" in texto) == em_andamento
    assert ("autorizada" in texto) == (status is StatusEmissao.CONCLUIDO)


@pytest.mark.parametrize("em_aberto", [True, False])
@pytest.mark.parametrize(
    "texto",
    [
        pedidos.minhas_notas([replace(NOTA, nome="X" * 300)] * 9),
        pedidos.status(None),
        pedidos.sem_nota("1042"),
        pedidos.sem_nota(None),
        staff_messages.chamada(ja=False),
        staff_messages.chamada(ja=True),
        pedidos.parar(),
        pedidos.cancelar_emitida("1042"),
        pedidos.cancelar_emitida(None),
        pedidos.nada_a_retomar(),
    ],
)
def test_every_answer_fits_and_says_that_the_open_invoice_stays(texto: str, em_aberto: bool) -> None:
    """Within what one message holds, whatever the data."""
    mensagem = pedidos.mensagem(texto, em_aberto=em_aberto)
    fits(mensagem)
    assert ("continua guardada" in mensagem.texto) == em_aberto


def test_a_cancelled_invoice_is_never_listed_as_a_valid_one() -> None:
    """The list strikes it through, the status says it, the second copy carries it, and the example is a valid one."""
    gone = replace(NOTA, cancelada=True)
    texto = pedidos.minhas_notas([gone, replace(NOTA, numero="77")])
    assert f"• ~{NOTA.numero} · " in texto
    assert texto.count("*cancelada*") == 1
    assert "_segunda via da nota 77_" in texto
    assert pedidos.status(gone).endswith("está cancelada.")
    assert "(cancelada)" in (pedidos.segunda_via(gone).legenda or "")


@pytest.mark.parametrize("primeiro", [None, ("a" * 255, "b" * 200, "c\n" * 10_000)])
def test_the_question_about_a_list_fits(primeiro: tuple[str, str, str] | None) -> None:
    """However long its names and its first mail are."""
    asked = pedidos.ask_to_send((2**63 - 1, "x" * 255), "0" * 16, (10_000, 10_000), primeiro)
    fits(asked)
    assert [botao.titulo for botao in asked.botoes] == ["Enviar", "Não enviar"]


@pytest.mark.parametrize(
    "texto",
    [
        pedidos.list_goes((7, "a.csv"), 1),
        pedidos.list_changed(7),
        pedidos.list_decided(7, stopped=True),
        pedidos.list_decided(7, stopped=False),
        pedidos.list_of_another_environment(7),
        pedidos.list_without_server(7),
    ],
)
def test_an_answer_about_a_list_names_it(texto: str) -> None:
    """By the number by which it is stopped."""
    fits(pedidos.mensagem(texto, em_aberto=True))
    assert "lote 7" in texto


def test_staff_send_a_note_of_goods_under_its_own_name() -> None:
    """A consumer's note is no invoice of services."""
    pdf, xml = staff_messages.de_novo(7, "12", "NFC-e", cancelada=False)
    assert (pdf.nome, xml.nome, pdf.legenda) == ("NFCe-12.pdf", "NFCe-12.xml", "Segunda via da NFC-e 12")
