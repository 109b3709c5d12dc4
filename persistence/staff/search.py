"""Finds sessions by what people have in hand: phone, document, session, reference, wamid, note number, name, amount.

Lists sessions with every note that came of them, for the file that leaves the console, inside a scope.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import orjson
import sqlalchemy as sa

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.fiscal.history import DAY
from persistence.fiscal.issued import SUBSTITUTA
from persistence.people.channels import counts
from persistence.staff import queue as staff_queue
from persistence.staff.queue import Filtros, listing
from persistence.tables import (
    NOME_NA_SESSAO,
    SEM_NOTA,
    cliente_tomador,
    conversas,
    empresa,
    inbox,
    nfse_emissao,
    nfse_processada,
    outbox,
    session_snapshot,
    usuario,
)
from state_machine.invoice.session import COM_AUTORIDADE, ESPERAM_USUARIO

LIMIT = 50  # more is no answer
OPENS_WITHIN = timedelta(minutes=5)  # from the words to the session that they open
END_OF_A_PHONE = 8  # digits that every way of writing a Brazilian number shares
_S = session_snapshot.c
BEARERS = 50  # clients, people and companies of a name whose sessions are looked for; of more it tells nobody apart


async def by_session(connection: Connection, alcance: Alcance, sessao_id: str) -> list[Any]:
    """The session of this id."""
    return await _sessions(connection, alcance, _S.sessao_id == sessao_id)


async def by_reference(connection: Connection, alcance: Alcance, id_integracao: str) -> list[Any]:
    """The session whose emission has this reference at the gateway."""
    found = sa.select(nfse_emissao.c.session_id).where(nfse_emissao.c.id_integracao == id_integracao)
    return await _sessions(connection, alcance, _S.id.in_(found))


async def by_note(connection: Connection, alcance: Alcance, numero: str) -> list[Any]:
    """Sessions whose note has this number; each company counts for itself, so there may be several."""
    found = sa.select(nfse_emissao.c.session_id).join(nfse_processada)
    return await _sessions(connection, alcance, _S.id.in_(found.where(nfse_processada.c.numero == numero)))


async def by_document(connection: Connection, alcance: Alcance, documento: str) -> list[Any]:
    """Sessions whose customer has this CNPJ or CPF, bare."""
    return await _sessions(connection, alcance, _S.cnpj == documento)


async def by_amount(connection: Connection, alcance: Alcance, valor: Decimal) -> list[Any]:
    """Sessions of exactly this amount."""
    return await _sessions(connection, alcance, _S.valor == valor)


async def by_name(connection: Connection, alcance: Alcance, nome: str) -> list[Any]:
    """Sessions whose customer, person or company is called so in part, in any case and without accents.

    Of a name that more than ``BEARERS`` clients, people or companies bear, some sessions.
    """
    typed = re.sub("[/%_]", r"/\g<0>", nome)

    def called(name: Any) -> sa.ColumnElement[bool]:
        return sa.func.sem_acento(name).contains(sa.func.sem_acento(typed), escape="/")

    def some(column: Any, *where: Any) -> sa.Subquery:
        # By the index, whatever the planner knows: a LIMIT that it saw could have it walk through the table.
        named = sa.select(column.label("quem")).where(*where).cte().prefix_with("MATERIALIZED")
        return sa.select(sa.select(named.c.quem).limit(BEARERS).subquery().c.quem).distinct().subquery()

    def of(theirs: sa.Column[Any], bearer: sa.Column[Any], name: sa.Column[Any]) -> sa.Select[Any]:
        seen = () if alcance.todas else (sa.exists().where(theirs == bearer, alcance.em(_S.empresa_id)),)
        bearers = some(bearer, called(name), *seen)
        sessions = sa.select(_S.id).where(theirs == bearers.c.quem, alcance.em(_S.empresa_id))
        newest = sessions.order_by(_S.id.desc()).limit(LIMIT).correlate(bearers).lateral()
        return sa.select(newest.c.id).select_from(bearers.join(newest, sa.true()))

    in_draft = (called(sa.text(f"({NOME_NA_SESSAO})")), alcance.em(_S.empresa_id))
    found = sa.union(
        of(_S.cnpj, cliente_tomador.c.cnpj, cliente_tomador.c.razao_social),
        of(_S.conversa, conversas.c.conversa, conversas.c.nome_perfil),
        of(_S.empresa_id, empresa.c.id, empresa.c.razao_social),
        sa.select(some(_S.id, sa.text(SEM_NOTA), *in_draft).c.quem),
        sa.select(_S.id).where(_S.estado.in_(ESPERAM_USUARIO | COM_AUTORIDADE), *in_draft),
    ).subquery()
    first = sa.select(found.c.id).order_by(found.c.id.desc()).limit(LIMIT)
    return await _sessions(connection, alcance, _S.id.in_(first))


async def by_wamid(connection: Connection, alcance: Alcance, wamid: str) -> list[Any]:
    """The session that one message, theirs or ours, belongs to: the conversation's newest one at that moment."""
    ours = sa.select(outbox.c.conversa, outbox.c.criado_em.label("em")).where(outbox.c.wamid == wamid)
    theirs = sa.select(inbox.c.lane.label("conversa"), inbox.c.recebido_em.label("em")).where(inbox.c.chave == wamid)
    said = sa.union_all(ours, theirs).subquery()
    row = (await connection.execute(sa.select(said.c.conversa, said.c.em))).first()
    if row is None:
        return []
    # A message that opens a session comes a moment before it.
    one = (
        sa.select(_S.id)
        .where(_S.conversa == row.conversa, _S.created_at <= row.em + OPENS_WITHIN)
        .order_by(_S.id.desc())
        .limit(1)
    )
    return await _sessions(connection, alcance, _S.id.in_(one))


async def by_phone(connection: Connection, alcance: Alcance, digits: str) -> list[Any]:
    """Sessions of whoever has this number: with or without country, area code and ninth digit."""
    return await _sessions(connection, alcance, _S.conversa.in_(sa.select(conversas.c.conversa).where(_phone(digits))))


async def contacts_by_phone(connection: Connection, alcance: Alcance, digits: str) -> list[Any]:
    """Conversations of this number that have no session: somebody we don't know, or who only said hello."""
    c = conversas.c
    none = ~sa.exists().where(_S.conversa == c.conversa)
    joined = conversas.outerjoin(usuario, usuario.c.id == c.usuario_id)
    statement = sa.select(c.codigo, c.wa_id, c.nome_perfil, c.mensagens, c.ultima_entrada_em).select_from(joined)
    statement = statement.where(_phone(digits), none, alcance.em(usuario.c.empresa_id)).limit(LIMIT)
    return list(await connection.execute(statement))


def _phone(digits: str) -> sa.ColumnElement[bool]:
    """Compare the last eight digits by the index, then whatever stands before them."""
    end = digits[-END_OF_A_PHONE:]
    ends_alike = sa.func.right(conversas.c.wa_id, END_OF_A_PHONE) == end
    before = digits[:-END_OF_A_PHONE].removeprefix("55") if len(digits) > 11 else digits[:-END_OF_A_PHONE]  # noqa: PLR2004 - area code and nine digits
    area = before[:2] if len(before) >= 2 else ""  # noqa: PLR2004 - an area code; one digit is the ninth
    return sa.and_(ends_alike, conversas.c.wa_id.like(f"55{area}%")) if area else ends_alike


async def _sessions(connection: Connection, alcance: Alcance, condition: Any) -> list[Any]:
    statement = listing(sa.literal([], sa.ARRAY(sa.Text)).label("causas"))
    statement = statement.where(condition, alcance.em(_S.empresa_id)).order_by(_S.id.desc()).limit(LIMIT)
    return list(await connection.execute(statement))


_E, _N = nfse_emissao.c, nfse_processada.c
_NOTE = (
    _N.numero,
    _N.status.label("nota"),
    _N.criado_em.label("autorizada_em"),
    _N.cancelado_em,
    SUBSTITUTA.label("substituida_por"),
    _E.valor_servico,
    _E.descricao_servico,
    _E.bytes,
)
_BEGAN = sa.func.to_char(sa.func.timezone("America/Sao_Paulo", session_snapshot.c.created_at), "YYYY-MM-DD")
_day = sa.case((_N.id.is_not(None), DAY), else_=_BEGAN)


async def sessions_to_export(
    connection: Connection,
    alcance: Alcance,
    filtros: Filtros,
    limite: int,
    *,
    atencao: bool,
    meses: tuple[date, date] | None = None,
) -> list[Any]:
    """List sessions, the newest first: a row for each note, one without a number for a session that has none.

    ``atencao`` keeps those that somebody must look at. ``meses`` are the first day of a period and the first day after
    it; a note counts on the day that stands on it, a session without one on the day it began, in Brazil. Notes of
    practice are left out once the company issues in earnest.
    """
    notes = nfse_emissao.join(nfse_processada, _N.emissao_id == _E.id)
    statement = staff_queue.narrowed(alcance, filtros, *_NOTE, _day.label("dia"), atencao=atencao)
    statement = statement.outerjoin(notes, _E.session_id == session_snapshot.c.id)
    statement = statement.where(sa.or_(_E.id.is_(None), sa.text(counts("nfse_emissao"))))
    if meses is not None:
        statement = statement.where(_day >= meses[0].isoformat(), _day < meses[1].isoformat())
    statement = statement.order_by(session_snapshot.c.id.desc(), _E.id.desc()).limit(limite)
    return list(await connection.execute(statement))


def export_rate(payload: bytes | None) -> Decimal | None:
    """Return the rate of the ISS in % as the note was sent with it; ``None`` where the city's own was left to apply."""
    try:
        said = orjson.loads(payload or b"null")[0]["servico"][0]["iss"]["aliquota"]
        return Decimal(str(said))
    except (ValueError, TypeError, LookupError, InvalidOperation):
        return None
