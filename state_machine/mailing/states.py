"""The states of a batch, of its work, and of each of its rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


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
