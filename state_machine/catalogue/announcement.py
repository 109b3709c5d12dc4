"""Says what a turn changed in the data, what of it was not taken, and what of an expired invoice is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from state_machine.invoice.draft import Rascunho, difere, mudancas
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Origem
from state_machine.invoice.session import Mensagem, Sessao
from state_machine.invoice.summary import CONFERE, NOME_DO_CADASTRO, TITULO_MAX, legivel, titulo_da_mudanca
from state_machine.values.local_time import SAO_PAULO
from state_machine.values.money import formata_brl
from state_machine.values.text import Escrita, apara, tamanho

_TRECHO_MAX = 40  # UTF-16 units of what was not taken
_VALOR_MAX = 60  # UTF-16 units of a value that is repeated
_ANTIGA = timedelta(hours=1)  # Meta delivers for days what it could not deliver
_CLIENTE = frozenset({Campo.DOCUMENTO, Campo.NOME})  # told by naming the client


def titulo(antes: Rascunho, depois: Rascunho) -> str | None:
    """Return the heading of a summary after a turn that changed something or meant to, ``None`` for the usual one."""
    mudou = mudancas(antes, depois)
    recusa = _nao_tomado(antes, depois)
    if recusa:
        junto = f"{recusa}\n{titulo_da_mudanca(mudou) if mudou else CONFERE}"
        return junto if tamanho(junto) <= TITULO_MAX else f"{recusa}\n{CONFERE}"
    achei = _achado(antes, depois)
    if achei:
        outras = [mudanca for mudanca in mudou if mudanca[0] not in _CLIENTE]
        junto = f"*{achei}*\n{titulo_da_mudanca(outras)}" if outras else f"*{achei}*\nConfere?"
        return junto if tamanho(junto) <= TITULO_MAX else f"*{achei}*\nConfere?"
    if mudou:
        return titulo_da_mudanca(mudou)
    so_o_nome = antes.completo and antes.nome != depois.nome and not difere(replace(antes, nome=depois.nome), depois)
    return NOME_DO_CADASTRO if so_o_nome and depois.cadastro else None


def escrita_em(escritas: Sequence[Escrita], agora: datetime) -> str | None:
    """Say when words were written that are read hours later: what they ask for may have been settled meanwhile."""
    em = min((escrita.em for escrita in escritas if escrita.em), default=agora)
    if agora - em < _ANTIGA:
        return None
    return f"*Isto você escreveu em {em.astimezone(SAO_PAULO):%d/%m, às %H:%M}, e só chegou agora.*"


def anotado(antes: Rascunho, depois: Rascunho) -> str:
    """Return what stands before the next question, often nothing: what was not taken, and what was stored just now.

    Stored, that is, other than by filling a required field: those are named with the question itself. A client found
    among the company's own is named first.
    """
    achei = _achado(antes, depois, inteiro=True)
    stored = (*((campo, novo) for campo, _, novo in mudancas(antes, depois)), *_opcionais(antes, depois))
    outros = [(campo, novo) for campo, novo in stored if not achei or campo not in _CLIENTE]
    mudou = [(campo, apara(legivel(campo, novo) or "", _VALOR_MAX)) for campo, novo in outros]
    novos = [f"{FIELDS[campo].label} {novo}" for campo, novo in mudou]
    partes = [f"Anotei: {', '.join(novos)}."] if novos else []
    saiu = None if achei else _saiu(antes, depois)
    recusa = _nao_tomado(antes, depois)
    return "".join(f"{parte}\n\n" for parte in (achei, saiu, *partes, recusa) if parte)


def _achado(antes: Rascunho, depois: Rascunho, *, inteiro: bool = False) -> str | None:
    """Say that this turn found the client among the company's own; ``inteiro``: with the document, too."""
    valor = depois.validado(Campo.DOCUMENTO)
    if depois.documento.origem is not Origem.CADASTRO or valor in {None, antes.documento.valor}:
        return None
    documento = legivel(Campo.DOCUMENTO, valor) or ""
    outro = _chamado(antes) if antes.validado(Campo.DOCUMENTO) else None
    nome = apara(depois.tomador_nome or documento, _VALOR_MAX)
    inicio = f"Troquei o cliente: {outro} → " if outro else "Achei entre os seus clientes: "
    return f"{inicio}{nome}{f', {documento}' if inteiro and nome != documento else ''}."


def _saiu(antes: Rascunho, depois: Rascunho) -> str | None:
    """Say that the client who stood is none any more: nobody is left for somebody else without a word."""
    if antes.validado(Campo.DOCUMENTO) is None or depois.validado(Campo.DOCUMENTO) is not None:
        return None
    novo = depois.tomador_nome
    if novo and novo != antes.tomador_nome:
        return f"Troquei o cliente: {_chamado(antes)} → {apara(novo, _VALOR_MAX)}."
    return f"O cliente não é mais {_chamado(antes)}."


def _chamado(rascunho: Rascunho) -> str:
    documento = legivel(Campo.DOCUMENTO, rascunho.validado(Campo.DOCUMENTO)) or ""
    return apara(rascunho.tomador_nome or documento, _VALOR_MAX)


def guardei(antiga: Sessao) -> Mensagem:
    """An invoice that expired while its data were collected goes on: what of it is kept."""
    return Mensagem(
        f"*A nota que ficou parada tinha expirado, e continuo dela.* {_dito(antiga.rascunho, 'Guardei')} "
        "Se for outra nota, escreve _cancela_ e me manda os dados dela."
    )


def comecei_outra(antiga: Sessao) -> Mensagem:
    """Data that an expired invoice had were told anew: that one is left, with what it had."""
    return Mensagem(
        "*A nota que ficou parada expirou sem ser emitida, e comecei outra com o que você mandou agora.* "
        f"{_dito(antiga.rascunho, 'Da anterior não usei')} Se ainda vale, me manda de novo."
    )


def _dito(rascunho: Rascunho, verbo: str) -> str:
    """List what a draft holds, as "Guardei: valor R$ 200,00."."""
    ditos = ((row, legivel(campo, rascunho.validado(campo))) for campo, row in FIELDS.items())
    tem = [f"{row.label} {apara(valor, _VALOR_MAX)}" for row, valor in ditos if valor]
    return f"{verbo}: {', '.join(tem)}." if tem else f"{verbo} o que estava em dúvida."


def _opcionais(antes: Rascunho, depois: Rascunho) -> tuple[tuple[Campo, str], ...]:
    """List the fields that nobody has to fill and that now are: (field, value); not a name that the register knows."""
    do_cadastro = {Campo.NOME} if depois.cadastro else set()
    livres = [campo for campo, row in FIELDS.items() if not row.required and campo not in do_cadastro]
    novos = [(campo, depois.validado(campo)) for campo in livres if antes.validado(campo) is None]
    return tuple((campo, novo) for campo, novo in novos if novo)


def _nao_tomado(antes: Rascunho, depois: Rascunho) -> str | None:
    return _mais_antiga(antes, depois) or _nao_positivo(antes, depois)


def _mais_antiga(antes: Rascunho, depois: Rascunho) -> str | None:
    """Name the first value that was not taken for being older than what stands."""
    for campo, velho, novo in zip(FIELDS, antes.lidos, depois.lidos, strict=True):
        recusa = novo.recusa
        if recusa is None or recusa == velho.recusa or recusa.antiga is None:
            continue
        vale = legivel(campo, novo.valor)
        continua = f" Continua {apara(vale, _VALOR_MAX)}." if vale and depois.validado(campo) else ""
        return (
            f"Não usei “{apara(recusa.trecho, _TRECHO_MAX)}”, que você escreveu em "
            f"{recusa.antiga.astimezone(SAO_PAULO):%d/%m, às %H:%M}, antes do que já estava aqui.{continua}"
        )
    return None


def _nao_positivo(antes: Rascunho, depois: Rascunho) -> str | None:
    recusa = depois.valor.recusa
    if recusa is None or recusa.antiga is not None or recusa == antes.valor.recusa:
        return None
    if depois.validado(Campo.VALOR) is None:
        return None
    return (
        f"Não usei “{apara(recusa.trecho, _TRECHO_MAX)}”: o valor da nota precisa ser maior que zero. "
        f"Continua {formata_brl(depois.valor_servico)}; se for desconto, me manda o valor final."
    )
