"""Answers about what a company has issued: lists and sums by month or year, and the limit of a MEI."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003 - part of a record that is built at run time
from decimal import Decimal
from typing import TYPE_CHECKING

from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from state_machine.values.text_length import apara
from state_machine.values.yearly_limit import AVISA, MESES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.values.period import MesOuAno
    from state_machine.values.yearly_limit import Medidor

LISTADAS = 15  # lines of a month's list; the sum counts all of them
_NOME_MAX = 40  # UTF-16 units of a client in a list
_CONHECIDAS = "Conto só as notas que a Prosa conhece, sem as canceladas."


@dataclass(frozen=True, slots=True)
class Emitida:
    """An authorised note of a company that stands; ``dia`` is when the authority issued it."""

    numero: str
    valor: Decimal
    documento: str
    nome: str | None
    dia: date


def total(periodo: MesOuAno, notas: Sequence[Emitida], mei: Medidor | None = None) -> str:
    """Say how much the company issued in a month or a year."""
    texto = f"Em {periodo}, sua empresa emitiu {_quantas(notas)}. {_CONHECIDAS}"
    return f"{texto}\n\n{linha_mei(mei)}" if mei else texto


def lista(periodo: MesOuAno, notas: Sequence[Emitida]) -> str:
    """List what the company issued in a month or a year, newest first, with its sum."""
    if not notas:
        return f"Não achei nota da sua empresa em {periodo}. {_CONHECIDAS}"
    linhas = [f"• *{n.numero}* · {_brl(n.valor)} · {_cliente(n)} · {n.dia:%d/%m}" for n in notas[:LISTADAS]]
    if len(notas) > LISTADAS:
        linhas.append(f"… e mais {len(notas) - LISTADAS}.")
    return "\n".join([f"*Notas da sua empresa em {periodo}: {_quantas(notas)}.*", *linhas, "", _CONHECIDAS])


def _quantas(notas: Sequence[Emitida]) -> str:
    soma = _brl(sum((nota.valor for nota in notas), Decimal("0.00")))
    return f"{len(notas)} {'nota' if len(notas) == 1 else 'notas'}, no total de {soma}"


def _cliente(nota: Emitida) -> str:
    return apara(nota.nome or formata_documento(nota.documento), _NOME_MAX)


def _brl(valor: Decimal) -> str:
    return formata_brl(valor) if valor > 0 else "R$ 0,00"


def linha_mei(mei: Medidor) -> str:
    """Return one line: how much of the limit is used."""
    porcento = f"{mei.parte * 100:.0f}"
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
    """Return what is added after an issued note from ``AVISA`` of the limit on, ``None`` before."""
    return f"⚠️ {linha_mei(mei)} {_CONHECIDAS}" if mei.parte >= AVISA else None
