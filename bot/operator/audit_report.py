"""The words of an audit for a terminal, without anybody's documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.protocol.audit import DifferenceKind
from state_machine.protocol.emission import CannotTell
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.orders.audit import Conferida
    from state_machine.protocol.audit import Conferencia, Diferenca

EQUAL, DIFFERS, UNKNOWN = 0, 1, 2  # exit statuses

_TITLES = {
    DifferenceKind.SO_NOSSAS: "só aqui",
    DifferenceKind.SO_DELES: "só no gateway",
    DifferenceKind.DIVERGEM: "divergem",
}


def status_of(conferidas: Sequence[Conferida]) -> int:
    """Return the exit status: a difference is certain, so it counts more than a gateway that could not tell."""
    resultados = [conferida.resultado for conferida in conferidas]
    if any(not isinstance(resultado, CannotTell) and resultado.diferencas for resultado in resultados):
        return DIFFERS
    return UNKNOWN if any(isinstance(resultado, CannotTell) for resultado in resultados) else EQUAL


def lines(conferidas: Sequence[Conferida]) -> list[str]:
    """Return one line for each company, and below it one for each difference."""
    found: list[str] = []
    for conferida in conferidas:
        quem = f"{conferida.razao_social} ({formata_documento(conferida.cnpj)})"
        resultado = conferida.resultado
        if isinstance(resultado, CannotTell):
            found.append(f"{quem}: o gateway não soube dizer ({resultado.motivo}); nada foi comparado.")
            continue
        found.append(f"{quem}: {_summary(resultado)}")
        found += [f"    {_line(diferenca)}" for diferenca in resultado.diferencas]
    return found or ["Nenhuma empresa cadastrada."]


def _summary(conferencia: Conferencia) -> str:
    periodo = conferencia.periodo
    dias = f"{periodo.inicio:%d/%m/%Y} a {periodo.fim:%d/%m/%Y}"
    counts = [f"{_TITLES[tipo]}: {len(found)}" for tipo in DifferenceKind if (found := conferencia.de(tipo))]
    if conferencia.em_curso:
        counts.append(f"em andamento: {conferencia.em_curso}")
    if conferencia.reler:
        counts.append(f"a Prosa pergunta de novo por {len(conferencia.reler)}")
    verdict = "" if conferencia.diferencas else ", tudo confere"
    return f"{dias}, {conferencia.listadas} no gateway{verdict}{''.join(f'; {count}' for count in counts)}."


def _line(diferenca: Diferenca) -> str:
    nossa, deles = diferenca.nossa, diferenca.deles
    parts = [_TITLES[diferenca.tipo].upper()]
    if reference := nossa.id_integracao if nossa else deles.id_integracao if deles else "":
        parts.append(reference)
    if numero := (deles.numero if deles else None) or (nossa.numero if nossa else None):
        parts.append(f"nota {numero}")
    match diferenca.valores:
        case (aqui, la):
            parts.append(f"{formata_brl(aqui)} aqui, {formata_brl(la)} lá")
        case (valor,):
            parts.append(formata_brl(valor))
    if deles:
        parts.append(f"id no gateway {deles.id_externo}")
    return f"{' · '.join(parts)}: {diferenca.motivo}"
