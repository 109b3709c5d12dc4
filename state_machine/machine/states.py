"""The states of a session and the reasons why a snapshot of it was taken; names are the specification's."""

from __future__ import annotations

from enum import StrEnum


class Estado(StrEnum):
    """Where a session stands."""

    COLETA = "coleta"
    DADOS_INCOMPLETOS = "dados_incompletos"
    AGUARDANDO_CONFIRMACAO = "aguardando_confirmacao"
    PROCESSANDO = "processando"
    APROVADO = "aprovado"
    REJEITADO = "rejeitado"
    ERRO = "erro"
    CANCELADO_USUARIO = "cancelado_usuario"
    EXPIRADO = "expirado"


# Every state is in one of these three.
ESPERAM_USUARIO = frozenset({Estado.COLETA, Estado.DADOS_INCOMPLETOS, Estado.AGUARDANDO_CONFIRMACAO})
COM_AUTORIDADE = frozenset({Estado.PROCESSANDO})  # confirmed, and not decided yet
FINAIS = frozenset(
    {Estado.APROVADO, Estado.REJEITADO, Estado.ERRO, Estado.CANCELADO_USUARIO, Estado.EXPIRADO},
)


class SnapshotReason(StrEnum):
    """Why the snapshot was last written on entering a state."""

    MANUAL = "manual"
    DATA_COMPLETE = "data_complete"
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    ERROR = "error"
    WEBHOOK_SUCCESS = "webhook_success"
    WEBHOOK_REJECTED = "webhook_rejected"


# dados_incompletos has none of its own: the reason stays what it was.
REASON_ON_ENTRY: dict[Estado, SnapshotReason | None] = {
    Estado.COLETA: SnapshotReason.MANUAL,
    Estado.DADOS_INCOMPLETOS: None,
    Estado.AGUARDANDO_CONFIRMACAO: SnapshotReason.DATA_COMPLETE,
    Estado.PROCESSANDO: SnapshotReason.CONFIRMED,
    Estado.APROVADO: SnapshotReason.WEBHOOK_SUCCESS,
    Estado.REJEITADO: SnapshotReason.WEBHOOK_REJECTED,
    Estado.ERRO: SnapshotReason.ERROR,
    Estado.CANCELADO_USUARIO: SnapshotReason.CANCELLED,
    Estado.EXPIRADO: SnapshotReason.EXPIRED,
}
