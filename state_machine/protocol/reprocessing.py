"""Decides whether a new attempt at a refused invoice may be sent: only while every earlier one still stands refused.

The earlier ones are those at the same revision, and those of the sessions whose data this one took up to mend them.

A refusal can become an authorisation later (late truth). So the gateway is asked again under each earlier key right
before the new one is sent, and its answer is read by the same laws as any other
(``state_machine.protocol.reconciliation``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from state_machine.protocol.channel import Canal
from state_machine.protocol.emission import Absent, Found, Situacao, StatusEmissao
from state_machine.protocol.reconciliation import after_query
from state_machine.protocol.standing import Passo
from state_machine.protocol.taken import is_anothers

if TYPE_CHECKING:
    from datetime import datetime

    from state_machine.protocol.emission import Finding
    from state_machine.protocol.retry import Politica
    from state_machine.protocol.standing import Andamento


class Parecer(Enum):
    """What the earlier attempt lets the new one do."""

    ENVIA = "envia"  # it still stands refused
    AUSENTE = "ausente"  # not there now, but a call of it may have been accepted: it must be absent twice
    ESPERA = "espera"  # not known now: ask again later
    RELE = "rele"  # it has news: its own emission must take them in first; the new one waits
    DISPENSA = "dispensa"  # it became the note: the new one is never sent
    NOSSA = "nossa"  # the note under its number is the new one's own
    PESSOAS = "pessoas"  # it is in conflict: people decide, nothing is sent


@dataclass(frozen=True, slots=True)
class Anterior:
    """An earlier attempt, as we know it; ``id_externo`` when the gateway had made a note of it.

    ``numero`` is that of its note while it stands; ``reparada``: it was of another session, which this one repairs.
    """

    id: int
    andamento: Andamento
    id_externo: str | None
    numero: str | None = None
    reparada: bool = False
    canal: Canal = field(default_factory=Canal)


def judge_unasked(anterior: Anterior) -> Parecer | None:
    """Decide by what our own records say of it; ``None``: they say refused, so ask the gateway."""
    match anterior.andamento.status:
        case StatusEmissao.REJEITADO | StatusEmissao.DISPENSADO:
            return None
        case StatusEmissao.CONCLUIDO if anterior.numero is None and anterior.reparada:
            return Parecer.ENVIA  # cancelled since: mending it is what this one is for
        case StatusEmissao.CONCLUIDO:
            return Parecer.DISPENSA
        case StatusEmissao.CONFLITO:
            return Parecer.PESSOAS
        case _:  # no new attempt begins before the earlier one was settled
            return Parecer.ESPERA


def judge(anterior: Anterior, finding: Finding, agora: datetime, politica: Politica) -> Parecer:
    """Decide by the gateway's word of this moment."""
    depois = after_query(anterior.andamento, finding, agora, politica).andamento.status
    if depois in {StatusEmissao.CONCLUIDO, StatusEmissao.CONFLITO}:
        return Parecer.RELE
    match finding:
        case Found(nota=nota) if is_anothers(anterior.andamento, nota, politica.natureza):
            return Parecer.ENVIA  # its number is another's, so it has none
        case Found(nota=nota) if nota.ja_existe:  # refused because there is one: which one, people find out
            return Parecer.PESSOAS
        case Found(nota=nota) if nota.situacao is Situacao.REJEITADA:
            return Parecer.ENVIA
        case Absent() if anterior.id_externo is None:  # refused on submission: there never was a note
            return Parecer.AUSENTE if anterior.andamento.duvida else Parecer.ENVIA
        case _:
            return Parecer.ESPERA


def ask_about_both(andamento: Andamento, anterior: Anterior) -> Passo:
    """Hold a mended invoice back: the refused one became a note after all, or nobody knows; its person decides."""
    motivo = f"{anterior.andamento.id_integracao} is {anterior.andamento.status}"
    novo = replace(andamento, status=StatusEmissao.PENDENTE, avisado=True, consultas=0, ausente_desde=None)
    return Passo(novo, None, aviso="ainda_quer", motivo=motivo, retida="pessoa", outra=anterior.numero)
