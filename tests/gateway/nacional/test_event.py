"""The request to cancel: accepted by the official schema, signed and verified like a DPS."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from gateway.keys import ChaveNFSe
from gateway.nacional.event import build_cancellation
from gateway.nacional.layouts import Layout, check, parse
from gateway.nacional.signature import sign, verify
from state_machine.cancellation.machine import Codigo, MotivoCancelamento
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa

CHAVE = ChaveNFSe("3550308", "2", "2", "12ABC34501DE35", 42, "2611", 123456789)
AUTOR = CNPJ("12ABC34501DE35")


def cancellation(texto: str = "Erro no valor do serviço", **change: Any) -> tuple[Any, bytes]:
    """A request of ten in the morning, with what the test changes."""
    facts: dict[str, Any] = {
        "layout": Layout(),
        "ambiente": Ambiente.HOMOLOGACAO,
        "dh_evento": datetime(2026, 11, 21, 13, 0, tzinfo=UTC),
        **change,
    }
    return build_cancellation(CHAVE, AUTOR, MotivoCancelamento(Codigo("1"), texto), **facts)


@pytest.mark.parametrize("codigo", Codigo)
def test_a_request_is_accepted_signed_and_verified(
    identity: tuple[rsa.RSAPrivateKey, x509.Certificate], codigo: Codigo
) -> None:
    """Each reason; the schema takes it with its signature; its Id is key and type of event."""
    motivo = MotivoCancelamento(codigo, "Serviço não foi prestado — cliente desistiu")
    pedido, xml = build_cancellation(
        CHAVE,
        AUTOR,
        motivo,
        layout=Layout(),
        ambiente=Ambiente.PRODUCAO,
        dh_evento=datetime(2026, 11, 21, 13, 0, tzinfo=UTC),
    )
    assert str(pedido) == f"PRE{CHAVE}101101"
    signed = sign(xml, str(pedido), *identity)
    check(parse(signed), "pedRegEvento", Layout())
    assert verify(signed, str(pedido)) == identity[1]
    for part in (f"<cMotivo>{codigo.value}<", "<dhEvento>2026-11-21T10:00:00-03:00<", "<tpAmb>1<", " - cliente"):
        assert part in signed.decode()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("motivo.texto", {"texto": "curto"}),
        ("motivo.texto", {"texto": "😀" * 20}),
        ("motivo.texto", {"texto": "x" * 256}),
        ("ver_aplic", {"ver_aplic": ""}),
        ("dh_evento", {"dh_evento": datetime(2026, 11, 21, 13, 0)}),  # noqa: DTZ001 - without an offset on purpose
        ("pedRegEvento", {"layout": Layout(alphanumeric=False)}),
    ],
)
def test_an_illegal_request_is_refused_by_its_field(field: str, change: dict[str, Any]) -> None:
    """The error begins with what is wrong."""
    with pytest.raises(ValueError, match=rf"^{field}: "):
        cancellation(**change)
