"""Batches: lists that were sent to us, their rows, which of them a worker should look at, and who wants no mail."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from persistence.tables.base import MOMENT, id_, metadata, now
from persistence.versions import literals
from state_machine.mailing.states import EstadoLinha, EstadoLote, StatusLote, TipoLote

_ADDRESS = 255  # characters of an address, as in the specification
_BY = 64  # characters of the name of who did it


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


lotes = sa.Table(
    "lotes",
    metadata,
    id_(),
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), nullable=False),
    sa.Column("tipo", sa.String(20), nullable=False),
    sa.Column("nome_arquivo", sa.String(255), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),  # of the file, in hex
    _count("tamanho"),  # bytes of the file
    sa.Column("assunto", sa.Text),  # of the rows that have none of their own
    sa.Column("mensagem", sa.Text),
    sa.Column("estado", sa.String(30), nullable=False, server_default=EstadoLote.LENDO.value),
    sa.Column("revisao", sa.String(16), nullable=False),  # of the rows as they were read: a yes names it
    _count("linhas"),  # rows of the file below its header
    _count("ignoradas"),  # of them, the empty ones
    _count("iguais"),  # of them, those whose cells stood above already
    sa.Column("status", sa.String(20), nullable=False, server_default=StatusLote.PENDING.value),
    _count("attempts"),
    sa.Column("last_attempt", MOMENT),  # of the worker that has it: its heartbeat
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),  # fence against late commits
    sa.Column("erro", sa.Text),  # why the last attempt failed
    sa.Column("usuario", sa.String(_BY)),  # who sent the list
    sa.Column("confirmado_por", sa.String(_BY)),
    sa.Column("confirmado_em", MOMENT),
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("empresa_id", "nome_arquivo", "sha256"),
    sa.Index("ix_lotes_sha256", "empresa_id", "sha256"),
    sa.Index("ix_lotes_last_attempt", "last_attempt", postgresql_where=sa.text("status = 'PROCESSING'")),
    sa.CheckConstraint(f"estado IN ({literals(EstadoLote)})", name="estado"),
    sa.CheckConstraint(f"status IN ({literals(StatusLote)})", name="status"),
    sa.CheckConstraint(f"tipo IN ({literals(TipoLote)})", name="tipo"),
)

lote_linhas = sa.Table(
    "lote_linhas",
    metadata,
    id_(),  # also the order of the file
    sa.Column("lote_id", sa.ForeignKey("lotes.id", ondelete="CASCADE"), nullable=False),
    sa.Column("chave", sa.String(300), nullable=False),  # address (and document, month of notes), or line
    sa.Column("linha", sa.Integer, nullable=False),  # as a spreadsheet program numbers it
    sa.Column("estado", sa.String(20), nullable=False, server_default=EstadoLinha.PENDING.value),
    sa.Column("email", sa.String(_ADDRESS)),
    sa.Column("dados", JSONB, nullable=False, server_default="{}"),  # the other columns by their names
    sa.Column("problemas", JSONB, nullable=False, server_default="[]"),  # why it is not sent: codigo, detalhe
    sa.Column("notas", JSONB(none_as_null=True)),  # emissao_id and numero of each that goes; null: it has a text
    sa.Column("token", sa.String(64), nullable=False, unique=True),  # by which its reader says no to more
    sa.Column("attempts", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("incertas", sa.SmallInteger, nullable=False, server_default="0"),  # attempts whose answer was lost
    sa.Column("last_attempt", MOMENT),
    sa.Column("a_partir_de", MOMENT),  # not before this moment; null: at once
    sa.Column("external_id", sa.String(255)),  # the Message-ID, stored before the first byte leaves
    now("criado_em"),
    now("atualizado_em"),
    sa.UniqueConstraint("lote_id", "chave"),
    sa.Index("ix_lote_linhas_estado", "lote_id", "estado", "id"),
    sa.Index("ix_lote_linhas_last_attempt", "last_attempt", postgresql_where=sa.text("last_attempt IS NOT NULL")),
    sa.CheckConstraint(f"estado IN ({literals(EstadoLinha)})", name="estado"),
)

lote_fila = sa.Table(
    "lote_fila",  # what workers have not been told yet; who takes it deletes it, so a batch stands here once
    metadata,
    sa.Column("lote_id", sa.ForeignKey("lotes.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("a_partir_de", MOMENT, nullable=False, server_default=sa.func.now(), index=True),
)

email_suprimido = sa.Table(
    "email_suprimido",
    metadata,
    sa.Column("empresa_id", sa.ForeignKey("empresa.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("email", sa.String(_ADDRESS), primary_key=True),  # normalised
    sa.Column("motivo", sa.Text, nullable=False),
    now("criado_em"),
)
