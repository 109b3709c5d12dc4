"""Chooses the service code of an invoice among the company's own by its description; where none wins, it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from state_machine.invoice.draft import LEITURAS_MAX, VAZIO, Lido, Rascunho, StatusCampo
from state_machine.invoice.fields import Campo, Confianca, Motivo, Origem
from state_machine.services.search import among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.services.own import Servico


def com_servico(antes: Rascunho, depois: Rascunho, servicos: Sequence[Servico]) -> Rascunho:
    """Return ``depois`` with the code that it is issued with: what stands, the only one, or the clear winner.

    ``antes`` is the draft before the turn: a code that was chosen for another description counts no more, unless this
    turn names it. A code that is not the company's is never taken. Where nobody wins it is in doubt, once all else
    stands, with the company's codes as readings. The very draft is returned where nothing changes; ``servicos`` is
    empty where the company's channel knows no list.
    """
    lido = depois.codigo
    if not servicos:
        return depois if lido == VAZIO else depois.com(Campo.CODIGO, VAZIO)
    novo = _escolhido(antes, depois, servicos)
    return depois if novo == lido else depois.com(Campo.CODIGO, novo)


def _escolhido(antes: Rascunho, depois: Rascunho, servicos: Sequence[Servico]) -> Lido:
    lido, own = depois.codigo, {servico.codigo: servico for servico in servicos}
    descricao = depois.validado(Campo.DESCRICAO)
    said_now = lido != antes.codigo
    another = antes.descricao.valor not in {None, depois.descricao.valor} and not said_now
    if lido.status is StatusCampo.VALIDATED and lido.valor in own and not another:
        return lido
    resto = replace(depois, codigo=VAZIO)
    if descricao is None or not (resto.completo or resto.valores_a_escolher):
        return VAZIO
    if len(own) == 1:
        return _taken(servicos[0].codigo, descricao)
    hits, clear = among(descricao, {codigo: servico.descricao for codigo, servico in own.items()})
    taken_back = antes.codigo.status is StatusCampo.VALIDATED and lido == VAZIO and antes.codigo.valor in own
    if clear and not taken_back:
        return _taken(hits[0].codigo, descricao)
    likely = {hit.codigo for hit in hits[:LEITURAS_MAX]}
    shown = [(number, servico) for number, servico in enumerate(servicos, 1) if servico.codigo in likely]
    return Lido(
        StatusCampo.INVALID,
        None,
        descricao,
        Origem.CADASTRO,
        Confianca.DUVIDOSA,
        Motivo.VARIOS,
        leituras=tuple(servico.codigo for _, servico in shown),
        nomes=tuple((servico.codigo, f"{number}. {servico.nome}") for number, servico in shown),
    )


def _taken(codigo: str, descricao: str) -> Lido:
    return Lido(StatusCampo.VALIDATED, codigo, descricao, Origem.CADASTRO, Confianca.PROVAVEL)
