"""What a mail server's answer means for a row: sent, later, failed, or once more because nobody knows.

The states of a batch, of its work, and of each of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never


class EstadoLote(StrEnum):
    """How a batch stands for people."""

    LENDO = "lendo"
    AGUARDANDO_CONFIRMACAO = "aguardando_confirmacao"
    PROCESSANDO = "processando"
    PAUSADO = "pausado"
    CONCLUIDO = "concluido"
    CANCELADO = "cancelado"
    RECUSADO = "recusado"


class StatusLote(StrEnum):
    """How a batch stands for workers: the specification's ``status``."""

    PENDING = "PENDING"
    QUEUED = "QUEUED"
    PROCESSING = "PROCESSING"
    DONE = "DONE"
    FAILED = "FAILED"


class EstadoLinha(StrEnum):
    """How a row of a batch stands."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    DONE = "DONE"
    FAILED = "FAILED"
    INVALID = "INVALID"
    IGNORADA = "IGNORADA"
    CANCELADA = "CANCELADA"


class TipoLote(StrEnum):
    """What the rows of a batch become."""

    ENVIO = "envio"


LIVRES: Final = frozenset({StatusLote.PENDING, StatusLote.QUEUED, StatusLote.FAILED})
"""Batches that a worker may take at once; one in ``PROCESSING`` only when its worker is silent."""
ENCERRADOS: Final = frozenset({EstadoLote.CONCLUIDO, EstadoLote.CANCELADO, EstadoLote.RECUSADO})
"""Batches of which nothing more is sent."""


UNCERTAIN_MAX: Final = 2  # lost answers after which nothing is sent any more: a second copy at most
UNCERTAIN: Final = {"codigo": "sem_resposta", "detalhe": "o servidor não respondeu; pode ter chegado"}
CANCELLED: Final = {"codigo": "nota_cancelada", "detalhe": "uma nota deste e-mail foi cancelada depois da confirmação"}
NO_FILE: Final = {"codigo": "documento_indisponivel", "detalhe": "o PDF ou o XML de uma nota não pôde ser buscado"}
UNMADE: Final = {"codigo": "email_impossivel", "detalhe": "não há como escrever um e-mail com estas palavras"}


@dataclass(frozen=True, slots=True)
class MailAccepted:
    """The server took the mail (2xx)."""


@dataclass(frozen=True, slots=True)
class MailDeferred:
    """The server does not take it now (4xx)."""

    codigo: int


@dataclass(frozen=True, slots=True)
class MailRejected:
    """The server will not take it (5xx); ``address``: as nobody has this address."""

    codigo: int
    address: bool = False


@dataclass(frozen=True, slots=True)
class MailLost:
    """The connection ended after DATA: the mail may have been taken."""


@dataclass(frozen=True, slots=True)
class MailUnreachable:
    """No mail of ours gets through now, whoever it is for: nothing was sent, and the row is not to blame."""

    why: str


@dataclass(frozen=True, slots=True)
class MailIncomplete:
    """A note that the mail carries is not to be had now, or ``final``: never, as it was cancelled. Nothing was sent."""

    final: bool = False


@dataclass(frozen=True, slots=True)
class MailUnmade:
    """Of its words no mail can be made. Nothing was sent, and no repetition changes that."""


MailOutcome = MailAccepted | MailDeferred | MailRejected | MailLost | MailUnreachable | MailIncomplete | MailUnmade


@dataclass(frozen=True, slots=True)
class Settled:
    """How a row stands after an attempt.

    ``depois``: seconds until the next one. ``incerta``: its answer was lost. ``not_sent``: it does not count.
    ``suppressed``: why the address gets no more mail of the company.
    """

    estado: EstadoLinha
    depois: float | None = None
    problema: dict[str, str] | None = None
    incerta: bool = False
    not_sent: bool = False
    suppressed: str | None = None


def settle(outcome: MailOutcome, attempts: int, incertas: int, ladder: Sequence[float], unknown: float) -> Settled:
    """Decide what follows the answer to attempt number ``attempts``, before which ``incertas`` answers were lost.

    ``ladder``: seconds after each 4xx, and no attempt after its end. ``unknown``: seconds after a lost answer.
    """
    match outcome:
        case MailAccepted():
            return Settled(EstadoLinha.DONE)
        case MailDeferred(codigo):
            return _later(attempts - incertas, ladder, _said("recusado_por_ora", codigo))
        case MailRejected(codigo, address):
            why = f"o servidor deste endereço respondeu {codigo}" if address else None
            return Settled(EstadoLinha.FAILED, problema=_said("recusado", codigo), suppressed=why)
        case MailLost():
            if incertas + 1 >= UNCERTAIN_MAX:
                return Settled(EstadoLinha.FAILED, problema=UNCERTAIN, incerta=True)
            return Settled(EstadoLinha.PENDING, unknown, UNCERTAIN, incerta=True)
        case MailUnreachable():
            return Settled(EstadoLinha.PENDING, not_sent=True)
        case MailUnmade():
            return Settled(EstadoLinha.INVALID, problema=UNMADE, not_sent=True)
        case MailIncomplete(final=True):
            return Settled(EstadoLinha.FAILED, problema=CANCELLED)
        case MailIncomplete():
            return _later(attempts - incertas, ladder, NO_FILE)
        case _:
            assert_never(outcome)


def _later(refused: int, ladder: Sequence[float], problema: dict[str, str]) -> Settled:
    """Wait for the step after so many refusals; lost answers, which do not count here, have a pause of their own."""
    if refused > len(ladder):
        return Settled(EstadoLinha.FAILED, problema=problema)
    return Settled(EstadoLinha.PENDING, ladder[refused - 1], problema)


def _said(codigo: str, smtp: int) -> dict[str, str]:
    return {"codigo": codigo, "detalhe": f"o servidor respondeu {smtp}"}
