"""Says whose a note is that stands under a number of ours: this attempt's, a sibling's, or another confirmation's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.documents.service import divergencia

if TYPE_CHECKING:
    from state_machine.protocol.channel import Natureza
    from state_machine.protocol.emission import Nota
    from state_machine.protocol.standing import Andamento

ATTEMPTS = 10  # at one confirmation that are looked for, and that a taken number makes


def sibling(andamento: Andamento, nota: Nota, natureza: Natureza) -> str | None:
    """Return the reference of the other attempt at the same confirmation that the note carries; ``None`` otherwise.

    A new attempt keeps the refused one's number, so both are asked about under one key.
    """
    if natureza.reference is None or nota.referencia is None or _is_ours(andamento, nota, natureza):
        return None
    base, _, tentativa = andamento.id_integracao.rpartition("-")
    others = (f"{base}-{each}" for each in range(1, int(tentativa) + ATTEMPTS))
    return next((other for other in others if natureza.reference(other) == nota.referencia), None)


def is_anothers(andamento: Andamento, nota: Nota, natureza: Natureza) -> bool:
    """Tell whether a note under our very key is certainly another confirmation's, or another program's.

    One without any reference is, where its content differs too: an equal one may be ours.
    """
    if natureza.reference is None or nota.id_integracao != andamento.texto_da_chave:
        return False
    if nota.referencia is None:
        return divergencia(andamento.conteudo, andamento.impressao, nota) is not None
    return not _is_ours(andamento, nota, natureza) and sibling(andamento, nota, natureza) is None


def _is_ours(andamento: Andamento, nota: Nota, natureza: Natureza) -> bool:
    return natureza.reference is not None and nota.referencia == natureza.reference(andamento.id_integracao)
