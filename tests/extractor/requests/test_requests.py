from __future__ import annotations

import pytest

from extractor.contract import RequestKind
from extractor.requests.cancellation import PorNumero, request
from extractor.requests.requests import Pedido, read_request

_OF_PADARIA = Pedido(RequestKind.EMAIL, clientes=("padaria",), emails=("ana@x.com.br",))


@pytest.mark.parametrize(
    ("texto", "pedido"),
    [
        ("segunda via", Pedido(RequestKind.SEGUNDA_VIA)),
        ("quero a 2ª via da nota 1042", Pedido(RequestKind.SEGUNDA_VIA, "1042")),
        ("2a via da NF nº 0012 por favor", Pedido(RequestKind.SEGUNDA_VIA, "12")),
        ("me manda o pdf de novo?", Pedido(RequestKind.SEGUNDA_VIA)),
        ("perdi o xml da nota 7", Pedido(RequestKind.SEGUNDA_VIA, "7", ("xml",))),
        ("preciso do xml", Pedido(RequestKind.SEGUNDA_VIA, None, ("xml",))),
        ("manda o pdf e o xml de novo", Pedido(RequestKind.SEGUNDA_VIA, formatos=("pdf", "xml"))),
        ("manda a nota de novo", Pedido(RequestKind.SEGUNDA_VIA)),
        ("manda de novo", Pedido(RequestKind.SEGUNDA_VIA)),
        ("manda a nota do cliente 11.222.333/0001-81", Pedido(RequestKind.SEGUNDA_VIA)),
        ("manda pro email da cliente", Pedido(RequestKind.EMAIL)),
        ("manda o pdf da nota 1 pro email x@y.com", Pedido(RequestKind.EMAIL, "1", emails=("x@y.com",))),
        ("manda por email pra maria@exemplo.com", Pedido(RequestKind.EMAIL, emails=("maria@exemplo.com",))),
        ("manda a 1 pro email dela", Pedido(RequestKind.EMAIL, "1")),
        ("reenvia a nota 5 por e-mail para o cliente", Pedido(RequestKind.EMAIL, "5")),
        ("encaminha a 3 pro e-mail Ana@X.com.br.", Pedido(RequestKind.EMAIL, "3", emails=("ana@x.com.br",))),
        ("envia a 7 pro email a@b.com e c@d.com", Pedido(RequestKind.EMAIL, "7", emails=("a@b.com", "c@d.com"))),
        ("manda a última pra nfe1@x.com.br", Pedido(RequestKind.EMAIL, emails=("nfe1@x.com.br",))),
        ("manda pro email do cliente a última nota", Pedido(RequestKind.EMAIL)),
        ("manda a nota da padaria pro email ana@x.com.br", _OF_PADARIA),
        ("manda a nota 2 pra maria@exemplo.com", Pedido(RequestKind.EMAIL, "2", emails=("maria@exemplo.com",))),
        ("minhas notas", Pedido(RequestKind.MINHAS_NOTAS)),
        ("Lista as minhas últimas notas", Pedido(RequestKind.MINHAS_NOTAS)),
        ("status", Pedido(RequestKind.STATUS)),
        ("qual o status da nota 1.042?", Pedido(RequestKind.STATUS, "1042")),
        ("a nota saiu?", Pedido(RequestKind.STATUS)),
        ("em que pé está a nota?", Pedido(RequestKind.STATUS)),
        ("como tá a minha nota?", Pedido(RequestKind.STATUS)),
        ("quando sai a nota?", Pedido(RequestKind.STATUS)),
        ("quando é que a nota chega?", Pedido(RequestKind.STATUS)),
        ("manda a última nota de novo em pdf e xml", Pedido(RequestKind.SEGUNDA_VIA, formatos=("pdf", "xml"))),
        ("cadê minha nota", Pedido(RequestKind.STATUS)),
        ("quero falar com um atendente", Pedido(RequestKind.ATENDENTE)),
        ("da pra falar com uma pessoa?", Pedido(RequestKind.ATENDENTE)),
        ("PARAR", Pedido(RequestKind.PARAR)),
        ("não quero mais receber mensagens", Pedido(RequestKind.PARAR)),
        ("retoma a nota", Pedido(RequestKind.RETOMAR)),
        ("volta com aquela nota", Pedido(RequestKind.RETOMAR)),
        ("cancelar nota 1042", Pedido(RequestKind.CANCELAR_NOTA, "1042")),
        ("cancela a nota fiscal nº 1.042 e me manda o pdf", Pedido(RequestKind.CANCELAR_NOTA, "1042")),
        ("quero cancelar a nota que saiu ontem", Pedido(RequestKind.CANCELAR_NOTA)),
    ],
)
def test_requests_are_told_apart(texto: str, pedido: Pedido) -> None:
    """What is asked, and of which invoice."""
    assert read_request(texto) == pedido


@pytest.mark.parametrize(
    "texto",
    [
        "cancela",
        "cancela a nota",
        "cancela essa nota de 1500",
        "faz a nota de novo",
        "manda mais uma nota de 500 de novo",
        "segunda via da chave do apartamento",
        "suporte técnico em informática",
        "nota de 1500 pra padaria",
        "sim",
        "não",
        "bom dia",
        "gestão de situação de risco",
    ],
)
def test_other_words_ask_for_nothing_of_the_kind(texto: str) -> None:
    """Giving up the open invoice, data, a service and a greeting are no requests."""
    assert read_request(texto) is None


@pytest.mark.parametrize(
    ("shown", "numero"),
    [
        ("2026/12346", "2026/12346"),
        ("2026-12346", "2026-12346"),
        ("12346/2026", "12346/2026"),
        ("12349-1", "12349-1"),
        ("202600000012345", "202600000012345"),
        ("000012348", "12348"),
        ("1.042", "1042"),
    ],
)
def test_a_number_is_read_as_notes_show_it(shown: str, numero: str) -> None:
    """Whatever is asked of the note, in each way to name it; a document in that place is no number."""
    for texto in (
        f"segunda via da nota {shown}",
        f"reenvia a nota {shown}",
        f"manda de novo a {shown}",
        f"manda o xml da {shown}",
        f"qual o status da nota {shown}?",
    ):
        pedido = read_request(texto)
        assert pedido is not None
        assert pedido.numero == numero, texto
    for texto in (f"cancela a nota {shown}", f"cancela a {shown}"):
        found = request(texto)
        assert isinstance(found, PorNumero), texto
        assert found.numero.lstrip("0") == numero
    for texto in ("reenvia a nota 12345678000195", "reenvia a nota 12.345.678/0001-95"):
        pedido = read_request(texto)
        assert pedido is not None
        assert pedido.numero is None
    assert not isinstance(request("cancela a nota 12/11"), PorNumero)  # a day
