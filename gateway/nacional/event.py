"""Owns the request to cancel a national NFS-e (event e101101, unsigned), and the reading of registered events."""

from __future__ import annotations

from datetime import datetime

import nfelib.nfse.bindings.v1_0 as nb

from gateway.keys import CANCELAMENTO, ChaveInvalida, ChaveNFSe, IdEvento, IdPedidoEvento
from gateway.nacional.dps import TP_AMB, VER_APLIC, checked, moment, text
from gateway.nacional.layouts import NS, Layout, parse
from state_machine.cancellation.machine import MotivoCancelamento
from state_machine.protocol.channel import Ambiente
from state_machine.values.documents import CNPJ


def build_cancellation(
    chave: ChaveNFSe,
    autor: CNPJ,
    motivo: MotivoCancelamento,
    *,
    layout: Layout,
    ambiente: Ambiente,
    dh_evento: datetime,
    ver_aplic: str = VER_APLIC,
) -> tuple[IdPedidoEvento, bytes]:
    """Return the identity of the request and its bytes, held against the official XSD: same arguments, same bytes.

    ``dh_evento`` as ``dh_emi`` of a DPS. Raises ``ValueError`` that begins with the field which is wrong.
    """
    identity = IdPedidoEvento(chave, CANCELAMENTO)
    event = nb.Te101101(
        xDesc=nb.Te101101XDesc.CANCELAMENTO_DE_NFS_E,
        cMotivo=motivo.codigo.value,
        xMotivo=text("motivo.texto", motivo.texto, 255, least=15),
    )
    request = nb.PedRegEvento(
        versao=layout.versao,
        infPedReg=nb.TcinfPedReg(
            Id=str(identity),
            tpAmb=TP_AMB[ambiente],
            verAplic=text("ver_aplic", ver_aplic, 20),
            dhEvento=moment("dh_evento", dh_evento),
            CNPJAutor=autor.numero,
            chNFSe=str(chave),
            e101101=event,
        ),
    )
    return identity, checked("pedRegEvento", request, layout)


def read(xml: bytes) -> IdEvento | None:
    """Return the identity of an event that the authority registered; ``None`` for any other document."""
    try:
        root = parse(xml)
        info = root.find(f"{{{NS}}}infEvento")
        if root.tag != f"{{{NS}}}evento" or info is None:
            return None
        return IdEvento.parse(info.get("Id") or "")
    except (ValueError, ChaveInvalida):
        return None
