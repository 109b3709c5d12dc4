"""Shows one user's conversation as the database has it, for the demo page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from gateway.registry import REGISTRY
from persistence.fiscal import notes
from persistence.tables import conversas, gateway_tentativas, session_snapshot, transicoes
from proofs.diagrams.session import arcs
from proofs.history import INVENTED
from state_machine.cancellation.machine import StatusNota
from state_machine.invoice.field_table import FIELDS, field_named
from state_machine.invoice.session import Estado, SnapshotReason
from state_machine.invoice.summary import fim
from webhooks.console.render import labels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from persistence.db.connection import Connection
    from persistence.db.engine import Database

JOURNAL_ROWS = 100  # of one session; more than any conversation of a demo has

_DIAGRAMA = {"estados": [estado.value for estado in Estado], "arcos": [list(arc) for arc in arcs()]}
_SHOWN = (
    "sessao_id",
    "estado",
    "snapshot_reason",
    "revisao",
    "data_complete",
    "missing_fields",
    "cnpj_razao_social",
    "id_integracao",
    "origem",
)


class Inside:
    """What the page shows beside the phone; see ``proofs.sandbox.phone.ports.View``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def view(self, wa_id: str) -> Mapping[str, Any]:
        """Return the newest session of the user with this wa_id, its journal, emissions and a few counts."""
        async with self._database.transaction() as connection:
            conversa = await connection.scalar(sa.select(conversas.c.conversa).where(conversas.c.wa_id == wa_id))
            sessao = await _newest(connection, conversa) if conversa else None
            journal = await _journal(connection, sessao.sessao_id) if sessao else []
            notas = await notes.of_conversation(connection, conversa) if conversa else []
            chamadas = await _calls(connection, [row.id for row in notas])
            confirmacoes = await connection.scalar(
                sa.select(sa.func.count())
                .select_from(transicoes.join(session_snapshot, session_snapshot.c.sessao_id == transicoes.c.sessao_id))
                .where(transicoes.c.snapshot_reason == SnapshotReason.CONFIRMED, transicoes.c.evento == "Confirmou")
                .where(session_snapshot.c.conversa.not_like(INVENTED))  # the gateway has no notes of an invented past
            )
            sessoes = await connection.scalar(sa.select(sa.func.count()).select_from(session_snapshot))
        return {
            "sessao": _session(sessao) if sessao else None,
            "campos": _fields(sessao.rascunho) if sessao else [],
            "transicoes": journal,
            "emissoes": [
                {
                    "id_integracao": _reference(row),
                    "status": _stands(row),
                    "avisada": not _untold(row),
                    "valor": str(row.valor_servico),
                    "numero": row.numero,
                    "chamadas": chamadas.get(row.id, []),
                }
                for row in notas
            ],
            "contadores": {"confirmacoes": confirmacoes or 0, "sessoes": sessoes or 0},
            "diagrama": _DIAGRAMA,
        }


def _session(sessao: Any) -> dict[str, Any]:
    """Return what is shown of the snapshot, its reason and what is missing in words of the staff's pages."""
    shown = {name: getattr(sessao, name) for name in _SHOWN}
    faltam = [field.staff_name if (field := field_named(name)) else name for name in shown["missing_fields"]]
    return {**shown, "snapshot_reason": _reason(shown["snapshot_reason"]), "missing_fields": ", ".join(faltam)}


def _reason(stored: str) -> str:
    return labels.MOTIVOS.get(stored, stored)


def _stands(row: Any) -> str:
    known = {StatusNota.CANCELADO: fim(row.substituta), StatusNota.CANCELAMENTO_PENDENTE: "cancelamento pedido"}
    return known.get(row.nota) or labels.emissao(row.status)[0]


def _untold(row: Any) -> bool:
    """Say whether its channel tells of changes, and told nothing of this note."""
    channel = REGISTRY.get(row.canal)
    return channel is not None and channel.natureza.webhook and row.webhook_payload is None


def _reference(row: Any) -> str:
    """Return what the note carries for our reference at its channel: by this the page finds it in the other's book."""
    channel = REGISTRY.get(row.canal)
    shortens = channel.natureza.reference if channel else None
    return str(shortens(row.id_integracao) if shortens else row.id_integracao)


async def _newest(connection: Connection, conversa: str) -> Any:
    statement = session_snapshot.select().where(session_snapshot.c.conversa == conversa)
    return (await connection.execute(statement.order_by(session_snapshot.c.id.desc()).limit(1))).one_or_none()


async def _journal(connection: Connection, sessao_id: str) -> list[dict[str, Any]]:
    statement = transicoes.select().where(transicoes.c.sessao_id == sessao_id).order_by(transicoes.c.id)
    return [
        {
            "em": row.em.isoformat(),
            "de": row.de,
            "para": row.para,
            "evento": labels.evento(row.evento),
            "motivo": _reason(row.snapshot_reason),
            "revisao": row.revisao,
        }
        for row in await connection.execute(statement.limit(JOURNAL_ROWS))
    ]


async def _calls(connection: Connection, emissoes: list[int]) -> dict[int, list[dict[str, Any]]]:
    """Return what was asked of the gateway for each emission and what came of it, as it happened."""
    made = gateway_tentativas.c
    statement = gateway_tentativas.select().where(made.emissao_id.in_(emissoes)).order_by(made.id)
    calls: dict[int, list[dict[str, Any]]] = {}
    for row in await connection.execute(statement.limit(JOURNAL_ROWS)) if emissoes else ():
        said = {"em": row.em.isoformat(), "operacao": row.operacao, "resultado": row.resultado}
        said["dito"] = f"{labels.operacao(row.operacao)} → {labels.resultado(row.resultado)[0]}"
        calls.setdefault(row.emissao_id, []).append(said)
    return calls


def _fields(rascunho: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("status", "valor", "escrito", "origem", "confianca", "mensagem")
    lidos = ((campo.value, rascunho[campo.value]) for campo in FIELDS)
    return [{"campo": campo, **{name: lido.get(name) for name in names}} for campo, lido in lidos]
