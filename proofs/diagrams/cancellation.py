"""Draws the diagram of a cancellation from its rules, by asking them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from proofs.diagrams.generated import INICIO, between, rewrite_pages, state_diagram
from state_machine.cancellation.machine import (
    PRAZO,
    VIVOS,
    AutoridadeCancelou,
    AutoridadeManteve,
    Codigo,
    ConfirmouCancelamento,
    ConversouNoCancelamento,
    EstadoCancelamento,
    Manteve,
    MotivoCancelamento,
    Motivou,
    NotaEmitida,
    PrazoCancelamentoVencido,
    StatusNota,
    Substituiu,
    abre,
    decide,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from state_machine.cancellation.machine import Cancelamento, Evento

COMMAND = "python -m proofs.diagrams.cancellation docs/estados.md"
_BEGIN, _END = "<!-- cancelamento: gerado, não edite -->\n", "<!-- fim do cancelamento -->\n"
_AGORA = datetime(2026, 1, 1, tzinfo=UTC)
_NOTA = NotaEmitida(1, "1", Decimal("1.00"), None, "12345678000195", _AGORA, StatusNota.AUTORIZADO)
_EXEMPLOS: tuple[Evento, ...] = (
    Motivou(Codigo.OUTROS, "valor errado, vou emitir outra"),
    ConfirmouCancelamento(1),
    Manteve(),
    ConversouNoCancelamento(),
    Substituiu(),
    PrazoCancelamentoVencido(),
    AutoridadeCancelou(),
    AutoridadeManteve(""),
)


def _example(estado: EstadoCancelamento) -> Cancelamento:
    c = replace(abre(1, _NOTA, _AGORA).cancelamento, estado=estado)
    if estado is EstadoCancelamento.AGUARDANDO_MOTIVO:
        return c
    return replace(c, motivo=MotivoCancelamento(Codigo.OUTROS, "valor errado, vou emitir outra"))


def arcs() -> Iterator[tuple[str, str, str]]:
    """Yield (from, to, event) for every passage that the rules can make, once; staying put is left out."""
    seen = {(INICIO, EstadoCancelamento.AGUARDANDO_MOTIVO.value, "Abriu"): None}
    for estado in EstadoCancelamento:
        for evento in _EXEMPLOS:
            agora = _AGORA + (PRAZO if isinstance(evento, PrazoCancelamentoVencido) else timedelta(0))
            para = decide(_example(estado), evento, agora).cancelamento.estado
            if para is not estado:
                seen[estado.value, para.value, type(evento).__name__] = None
    return iter(seen)


def mermaid() -> str:
    """Return the diagram as Mermaid text."""
    return state_diagram(arcs(), (estado.value for estado in EstadoCancelamento if estado not in VIVOS))


def refreshed(page: str) -> str:
    """Return ``page`` with the diagram of today's rules between its markers; raises ``ValueError`` without markers."""
    return between(page, _BEGIN, _END, f"```mermaid\n{mermaid()}```\n")


if __name__ == "__main__":
    rewrite_pages(refreshed)
