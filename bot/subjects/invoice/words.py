"""What the words of a turn say to an invoice: one event, or a request that is about something else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from extractor.contract import Ato
from extractor.fields.clients import mentioned
from extractor.requests.requests import Pedido, RequestKind
from state_machine.invoice.fields import Campo
from state_machine.machine.events import (
    Cancelou,
    Confirmou,
    Conversou,
    Encaminhou,
    Evento,
    Informou,
    Negou,
    PediuAjuda,
    PediuCorrecao,
)
from state_machine.machine.states import Estado

if TYPE_CHECKING:
    from bot.conversation.inbound import Palavras
    from extractor.contract import Extraction
    from extractor.utterance import Utterance
    from state_machine.machine.session import Sessao

FINAL_WORDS = frozenset({Ato.CONFIRMA, Ato.NEGA})  # they answer us; they ask for nothing


def said(entrada: Palavras, dita: Utterance, proprias: Utterance | None) -> Evento:
    """Return what the words say; those of a forwarded message give data, and decide nothing."""
    leitura = dita.dados
    if entrada.proprias is None:
        return _event(leitura, entrada)
    if leitura.informs:
        return Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=entrada.escritas)
    evento = _event(proprias.dados, entrada) if proprias else Conversou()
    return Encaminhou() if isinstance(evento, Conversou) else evento


def _event(leitura: Extraction, entrada: Palavras) -> Evento:
    informing = leitura.informs
    match leitura.ato:
        case Ato.CONFIRMA if not informing and leitura.agreed in {None, Ato.CONFIRMA}:
            return Confirmou(None, entrada.escrita_em)
        case Ato.NEGA if not informing and leitura.agreed in {None, Ato.RECUSA}:
            return Negou()
        case Ato.RECUSA if leitura.agreed in {None, Ato.RECUSA}:
            return Cancelou()
        case Ato.PERGUNTA if not informing:
            return PediuAjuda()
        case Ato.CORRIGE if not informing:
            return PediuCorrecao()
        case _ if informing:
            return Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=entrada.escritas)
        case _:
            return Conversou()


def asked(entrada: Palavras, dita: Utterance, proprias: Utterance | None, ativa: Sessao | None) -> Pedido | None:
    """Return what the user asks for in words of their own."""
    if entrada.proprias is None:
        return _request(dita, ativa)
    return None if proprias is None or dita.dados.informs else _request(proprias, ativa)


def _request(dita: Utterance, ativa: Sessao | None) -> Pedido | None:
    """Return what the words ask for when they carry no data of an invoice; "cancela" alone is about the open one.

    Data beside "a mesma" say what differs, unless they are for the invoice that is being made. Without any, words that
    ask for a file ("manda a nota de novo") order no invoice.
    """
    leitura, pedido = dita.dados, dita.pedido
    if pedido and pedido.inteiro and _is_its_own(pedido, leitura, ativa):
        named = (c.valor for c in leitura.candidates if c.campo is Campo.DOCUMENTO)
        return replace(pedido, documento=next(named, None))
    sends = pedido is not None and pedido.tipo is RequestKind.SEGUNDA_VIA and not leitura.informs
    if leitura.ato is Ato.REPETE and not sends and not (leitura.informs and begun(ativa)):
        return Pedido(RequestKind.REPETIR, clientes=mentioned(dita.texto))
    if (leitura.informs and not _is_its_own(pedido, leitura, ativa)) or (ativa and leitura.ato in FINAL_WORDS):
        return None
    if leitura.agreed is Ato.PESSOA and pedido is None:
        return Pedido(RequestKind.ATENDENTE)
    if leitura.ato is Ato.RECUSA:
        return pedido if pedido and pedido.tipo in {RequestKind.CANCELAR_NOTA, RequestKind.PARAR} else None
    return pedido


# What a request names may look like data of an invoice: "notas de outubro", "o xml da 12".
_OWN_WORDS = {
    RequestKind.TOTAL: frozenset({Campo.COMPETENCIA, Campo.DATA}),
    RequestKind.MINHAS_NOTAS: frozenset({Campo.COMPETENCIA, Campo.DATA}),
    RequestKind.SEGUNDA_VIA: frozenset({Campo.VALOR}),
}
_CLIENTS_WORDS = frozenset({Campo.NOME, Campo.DESCRICAO})  # a client's name: "segunda via da oficina"


def _is_its_own(pedido: Pedido | None, leitura: Extraction, ativa: Sessao | None) -> bool:
    if pedido and pedido.tipo is RequestKind.EMAIL:  # an address, and a note's number; over a draft it may be its own
        said = {*(c.campo for c in leitura.candidates), *(d.campo for d in leitura.doubts)}
        return said <= {Campo.EMAIL, Campo.VALOR, Campo.NOME} and (pedido.numero is not None or not begun(ativa))
    if pedido is None or leitura.doubts or leitura.clear:
        return False
    said = {c.campo for c in leitura.candidates}
    if pedido.inteiro:
        number = {Campo.VALOR} if pedido.numero else set()
        service = set() if begun(ativa) else {Campo.DESCRICAO}  # over a draft these may be its words
        return said <= _OWN_WORDS[RequestKind.TOTAL] | {Campo.DOCUMENTO, Campo.NOME} | number | service
    if pedido.tipo is RequestKind.SEGUNDA_VIA and pedido.numero is None:
        return bool(pedido.clientes) and said <= _CLIENTS_WORDS
    return said <= _OWN_WORDS.get(pedido.tipo, frozenset())


def begun(ativa: Sessao | None) -> bool:
    """Tell whether an invoice is being made of which something is known."""
    return ativa is not None and ativa.estado is not Estado.COLETA
