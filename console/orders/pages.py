"""One order of another origin than a conversation on one page: the sentence, the facts, the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from console.pages.conflict import conflict
from console.pages.timeline import line
from console.pages.why import ALHEIA, CREDENCIAL, Frase, SituacaoDaSessao, por_que
from console.render import labels
from persistence.staff import orders as staff_orders
from state_machine.machine.states import Estado
from state_machine.protocol.emission import StatusEmissao

if TYPE_CHECKING:
    from console.access.visit import Visita
    from console.render.format import Olhar
    from persistence.db.connection import Connection

_SEM_CONVERSA: Final = "Quem pediu foi {origem}, e é lá que a notícia chega; aqui não há conversa."
# Where a session stands whose emission stands so; it is with the authority otherwise.
_ESTADOS: Final = {
    StatusEmissao.CONCLUIDO: Estado.APROVADO,
    StatusEmissao.REJEITADO: Estado.REJEITADO,
    StatusEmissao.CONFLITO: Estado.ERRO,
    StatusEmissao.ERRO: Estado.ERRO,
    StatusEmissao.DISPENSADO: Estado.CANCELADO_USUARIO,
}


async def page(connection: Connection, visita: Visita, pedido: str, olhar: Olhar, seen: str) -> web.Response:
    """Show the order with this id of its origin; raises 404 where there is none, or none for this person."""
    emissoes = await staff_orders.attempts(connection, visita.staff.alcance, pedido)
    if not emissoes:
        raise web.HTTPNotFound
    registro = await staff_orders.record(connection, emissoes)
    return visita.pagina(
        "pedido.html",
        pulso=seen,
        e=emissoes[0],
        origem=visita.deps.origem(emissoes[0].origem),
        frase=_sentence(emissoes[0], visita.deps.origem(emissoes[0].origem)),
        conflito=conflict(emissoes[0], olhar),
        linha=line(registro, olhar),
        olhar=olhar,
    )


def _sentence(emissao: Any, origem: str) -> Frase:
    """Say in one sentence how an order stands, and that its origin hears of it."""
    if emissao.status not in set(StatusEmissao):
        return ALHEIA
    status = StatusEmissao(emissao.status)
    frase = por_que(
        SituacaoDaSessao(
            estado=_ESTADOS.get(status, Estado.PROCESSANDO),
            idade=(emissao.agora - (emissao.processado_em or emissao.criado_em)).total_seconds(),
            status=status,
            envios=emissao.envios,
            ausente=emissao.ausente_desde is not None,
            numero=emissao.numero,
            nota=emissao.nota_status,
            substituta=emissao.substituta,
            motivo=labels.motivo(emissao.erro_mensagem),
            suspensa=emissao.envio_suspenso,
        )
    )
    told = _SEM_CONVERSA.format(origem=origem)
    return Frase(frase.texto, f"{CREDENCIAL} {told}" if frase.conselho == CREDENCIAL else told, frase.tom)
