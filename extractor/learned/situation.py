"""What was said before a message, in the corpus' words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from extractor.contract import Context

INICIO, RESUMO = "inicio", "resumo"
ASKED: Final = {Campo.VALOR: "pede_valor", Campo.DOCUMENTO: "pede_documento", Campo.DESCRICAO: "pede_servico"}
CORPUS: Final = frozenset({INICIO, RESUMO, *ASKED.values()})  # the corpus has others, which no turn can tell yet


def situation(contexto: Context) -> str:
    """Return the situation of a turn: the summary is shown, a field is asked, or anything else."""
    if contexto.resumo_mostrado:
        return RESUMO
    return ASKED.get(contexto.pendente, INICIO) if contexto.pendente else INICIO
