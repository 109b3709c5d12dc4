"""Answers about what a company has issued: lists and sums by month or year, and the limit of a MEI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from state_machine.values.documents import formata_documento
from state_machine.values.local_time import MesOuAno
from state_machine.values.money import AVISA, MESES, Medidor, formata_brl
from state_machine.values.text import apara

LISTADAS = 15  # lines of a month's list; the sum counts all of them
_NOME_MAX = 40  # UTF-16 units of a client in a list
_NUMERO_MAX = 20  # UTF-16 units of an invoice's number
_CONHECIDAS = "Conto só as notas que a Prosa conhece, sem as canceladas."


@dataclass(frozen=True, slots=True)
class Emitida:
    """An authorised note of a company that stands; ``dia`` is when the authority issued it ("2026-11-23")."""

    numero: str
    valor: Decimal
    documento: str
    nome: str | None
    dia: str


@dataclass(frozen=True, slots=True)
class Emitidas:
    """Such notes of a period: how many, their sum in BRL, and the newest of them, at most ``LISTADAS``."""

    quantas: int = 0
    soma: Decimal = Decimal("0.00")
    notas: tuple[Emitida, ...] = ()


@dataclass(frozen=True, slots=True)
class DeCliente:
    """What one client was invoiced in a period: how many notes, and their sum in BRL."""

    documento: str
    nome: str | None
    quantas: int
    soma: Decimal


def clientes(periodo: MesOuAno, deles: Sequence[DeCliente]) -> str:
    """List whom the company invoiced in a month or a year, who paid most first; ``deles`` are all of them."""
    if not deles:
        return lista(periodo, Emitidas())
    linhas = [
        f"• {apara(cada.nome or formata_documento(cada.documento), _NOME_MAX)} · {_brl(cada.soma)} · {cada.quantas} "
        f"{'nota' if cada.quantas == 1 else 'notas'}"
        for cada in deles[:LISTADAS]
    ]
    if len(deles) > LISTADAS:
        linhas.append(f"… e mais {len(deles) - LISTADAS}.")
    return "\n".join([f"*Clientes da sua empresa em {periodo}: {len(deles)}.*", *linhas, "", _CONHECIDAS])


def largest(periodo: MesOuAno, nota: Emitida | None, cliente: str | None = None) -> str:
    """Tell the largest note of a month or a year, to a client where one is named."""
    if nota is None:
        return lista(periodo, Emitidas(), cliente)
    return f"*A maior nota da sua empresa{_para(cliente)} em {periodo}:*\n{_linha(nota)}\n\n{_CONHECIDAS}"


def total(periodo: MesOuAno, emitidas: Emitidas, mei: Medidor | None = None, cliente: str | None = None) -> str:
    """Say how much the company issued in a month or a year, to a client where one is named."""
    texto = f"Em {periodo}, sua empresa emitiu {_quantas(emitidas)}{_para(cliente)}. {_CONHECIDAS}"
    return f"{texto}\n\n{linha_mei(mei)}" if mei else texto


def lista(periodo: MesOuAno, emitidas: Emitidas, cliente: str | None = None) -> str:
    """List what the company issued in a month or a year, to a client where one is named, newest first, with its sum."""
    notas = emitidas.notas
    if not notas:
        return f"Não achei nota da sua empresa{_para(cliente)} em {periodo}. {_CONHECIDAS}"
    linhas = [_linha(nota) for nota in notas]
    if emitidas.quantas > len(notas):
        linhas.append(f"… e mais {emitidas.quantas - len(notas)}.")
    return "\n".join(
        [f"*Notas da sua empresa{_para(cliente)} em {periodo}: {_quantas(emitidas)}.*", *linhas, "", _CONHECIDAS]
    )


def fechamento(periodo: MesOuAno, emitidas: Emitidas, canceladas: int, link: str | None) -> str:
    """Say what stands in a month's workbook, by competence, and where its ZIP is."""
    fora = f", sem {canceladas} cancelada{'s' * (canceladas > 1)}" if canceladas else ""
    texto = f"*Fechamento de {periodo}*: {_quantas(emitidas)}{fora}."
    return f"{texto}\nPDF e XML de cada nota (o link vale 7 dias):\n{link}" if link else texto


def fechamento_vazio(periodo: MesOuAno) -> str:
    """Say that a month has no note."""
    return f"Não há nota da sua empresa com competência em {periodo}."


def fechamento_por_mes(periodo: MesOuAno) -> str:
    """Say that a workbook is of a month."""
    return f"O fechamento é de um mês. De qual de {periodo}? Por exemplo: _fechamento de novembro_."


def _para(cliente: str | None) -> str:
    return f" para {apara(cliente, _NOME_MAX)}" if cliente else ""


def _linha(nota: Emitida) -> str:
    _, mes, dia = nota.dia.split("-")
    return f"• *{apara(nota.numero, _NUMERO_MAX)}* · {_brl(nota.valor)} · {_cliente(nota)} · {dia}/{mes}"


def _quantas(emitidas: Emitidas) -> str:
    notas = "nota" if emitidas.quantas == 1 else "notas"
    return f"{emitidas.quantas} {notas}, no total de {_brl(emitidas.soma)}"


def _cliente(nota: Emitida) -> str:
    return apara(nota.nome or formata_documento(nota.documento), _NOME_MAX)


def _brl(valor: Decimal) -> str:
    return formata_brl(valor) if valor > 0 else "R$ 0,00"


def linha_mei(mei: Medidor) -> str:
    """Return one line: how much of the limit is used."""
    porcento = int(mei.parte * 100)  # rounded down: 100 % is all of it
    return f"Limite do MEI em {mei.ano}: {_brl(mei.emitido)} de {_brl(mei.limite)} ({porcento} %)."


def limite_mei(mei: Medidor) -> str:
    """Say how much may still be issued this year, and what that counts on."""
    falta = mei.limite - mei.emitido
    resta = (
        f"Ainda cabem {_brl(falta)}."
        if falta >= 0
        else f"Passou {_brl(-falta)} do limite: fala com quem cuida da sua contabilidade."
    )
    if not mei.abertura:
        base = "Não sei quando a empresa abriu: considerei o ano inteiro."
    elif mei.meses < MESES:
        base = f"A empresa abriu este ano: o limite é proporcional a {mei.meses} meses."
    else:
        base = "Considerei o ano inteiro."
    return (
        f"{linha_mei(mei)} {resta}\n\n{base} {_CONHECIDAS} Outras receitas também contam para o limite (LC 123/2006)."
    )


def sem_mei() -> str:
    """Say that the company is registered with another regime."""
    return (
        "Sua empresa não está cadastrada como MEI na Prosa, então não acompanho esse limite. "
        "Se ela é MEI, pede para quem cuida do cadastro corrigir o regime."
    )


def aviso_mei(mei: Medidor) -> str | None:
    """Return what the news of an issued note adds from ``AVISA`` of the limit on, ``None`` before."""
    if mei.parte > 1:
        return (
            f"⚠️ As notas de {mei.ano} que a Prosa conhece já passam do limite do MEI. Escreve _quanto falta pro "
            "limite do MEI_ para ver a conta, e fala com quem cuida da sua contabilidade."
        )
    return f"⚠️ {linha_mei(mei)} {_CONHECIDAS}" if mei.parte >= AVISA else None
