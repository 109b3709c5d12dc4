"""Conversations: who spoke last and from which exact address, and what is known of them.

Moves a person to the id that WhatsApp gave them instead of another: rights, and whatever is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people import channels, goods, services
from persistence.people.companies import COLUMNS, Empresa, PhoneError, canonical_phone, company_columns, company_of
from persistence.tables import conversas, empresa, usuario
from persistence.tables.base import literals
from state_machine.cancellation.machine import CONVERSANDO
from state_machine.invoice.session import ESPERAM_USUARIO

APAGADO = "apagado"  # the address of a conversation whose person was erased: nothing goes there
PHONES = 4096  # numbers remembered: each turn asks twice what its own is called


@dataclass(frozen=True, slots=True)
class Contato:
    """Who writes, as a webhook tells: ``endereco`` is the exact address to answer to."""

    conversa: str
    phone_number_id: str
    endereco: str
    wa_id: str | None
    nome_perfil: str | None


@dataclass(frozen=True, slots=True)
class Conversa:
    """What we know of who writes, at ``agora``; ``empresa`` is ``None`` for a number that we don't know.

    ``ativa`` is the session that waits for the user, as stored: its id and its version. ``nova``: nothing came from
    this id before.
    """

    empresa: Empresa | None
    ativa: tuple[str, int] | None
    orientada_em: datetime | None
    agora: datetime
    atendida: bool  # by staff: the bot is silent
    cancelando: bool  # a cancellation waits for its next word
    telefone: str | None  # E.164; of somebody who hides it, the one by which they were authorised, where that is known
    nova: bool = False  # of a telephone that wrote under another id


# The person is found by phone when Meta gives one, else by what the conversation was before. States are literals: by
# them the planner knows that the partial indexes serve; and the limits keep it from reading all that wait.
_FIND = f"""
SELECT {", ".join(f"e.{name}" for name in COLUMNS)}, {services.column("e")} AS servicos,
    {channels.column("e")} AS canal, {goods.column("e")} AS comercio,
    s.sessao_id, s.versao AS sessao_versao, c.orientada_em,
    c.atendente_id IS NOT NULL AS atendida, k.id IS NOT NULL AS cancelando, now() AS agora,
    '+' || coalesce(p.telefone, u.telefone) AS telefone, c.conversa IS NULL AND EXISTS (
        SELECT FROM conversas f WHERE f.phone_number_id = $3 AND "right"(f.wa_id, 8) = "right"($4, 8) AND f.wa_id = $4
    ) AS nova
FROM (VALUES ($1::text, $2::text)) AS p(conversa, telefone)
LEFT JOIN conversas c ON c.conversa = p.conversa
LEFT JOIN usuario t ON t.telefone = p.telefone
LEFT JOIN usuario u ON u.id = CASE WHEN p.telefone IS NULL THEN c.usuario_id ELSE t.id END
LEFT JOIN empresa e ON e.id = u.empresa_id
LEFT JOIN LATERAL (
    SELECT sessao_id, versao FROM session_snapshot
    WHERE conversa = p.conversa AND estado IN ({literals(ESPERAM_USUARIO)}) LIMIT 1
) s ON true
LEFT JOIN LATERAL (
    SELECT id FROM cancelamento WHERE conversa = p.conversa AND estado IN ({literals(CONVERSANDO)}) LIMIT 1
) k ON true
"""  # noqa: S608 - our own constants


async def find(database: Database, contato: Contato) -> Conversa:
    """Return what we know of who writes."""
    who = contato.conversa, _canonical_or_none(contato.wa_id), contato.phone_number_id, contato.wa_id
    return _conversa(await database.pool.fetchrow(_FIND, *who))


def _issuer(*, by_phone: bool) -> Any:
    person = usuario.c.telefone == sa.bindparam("b_telefone")
    if not by_phone:
        known = sa.select(conversas.c.usuario_id).where(conversas.c.conversa == sa.bindparam("b_conversa"))
        person = usuario.c.id == known.scalar_subquery()
    columns = [empresa.c[name] for name in COLUMNS]
    return sa.select(*columns, *company_columns()).join(usuario).where(person).with_for_update(read=True, of=usuario)


# Made once: composing a statement costs more than running it.
_ISSUER = {by_phone: _issuer(by_phone=by_phone) for by_phone in (True, False)}


async def issuer(connection: Connection, contato: Contato) -> Empresa | None:
    """Return the company for which who writes may issue at this moment, ``None`` if there is none.

    Until the transaction ends nobody else can take this right away or give it for another company.
    """
    telefone = _canonical_or_none(contato.wa_id)
    values = {"b_telefone": telefone} if telefone is not None else {"b_conversa": contato.conversa}
    row = (await connection.execute(_ISSUER[telefone is not None], values)).one_or_none()
    return company_of(row) if row else None


async def person_of(connection: Connection, lane: str) -> int | None:
    """Return the id of who speaks in a conversation, ``None`` for a stranger."""
    known: int | None = await connection.scalar(sa.select(conversas.c.usuario_id).where(conversas.c.conversa == lane))
    return known


def _conversa(row: Any) -> Conversa:
    return Conversa(
        company_of(row) if row["id"] else None,
        (row["sessao_id"], row["sessao_versao"]) if row["sessao_id"] else None,
        row["orientada_em"],
        row["agora"],
        row["atendida"],
        row["cancelando"],
        row["telefone"],
        row["nova"],
    )


async def greet(connection: Connection, contato: Contato, mensagens: int) -> datetime:
    """Note that this conversation spoke; its person is found by phone, or stays the one that it was.

    Returns the moment of the transaction, by the database's clock (aware UTC).
    """
    agora: datetime = (await connection.execute(*_greeting(contato, mensagens))).scalar_one()
    return agora


def greet_later(connection: Connection, contato: Contato, mensagens: int) -> None:
    """Do the same at the end of the transaction."""
    connection.later(*_greeting(contato, mensagens))


def _greeting(contato: Contato, mensagens: int) -> tuple[Any, dict[str, Any]]:
    telefone = _canonical_or_none(contato.wa_id)
    return _GREET[telefone is not None], {
        "b_conversa": contato.conversa,
        "b_phone_number_id": contato.phone_number_id,
        "b_endereco": contato.endereco,
        "b_wa_id": contato.wa_id,
        "b_nome_perfil": contato.nome_perfil,
        "b_mensagens": mensagens,
        "b_telefone": telefone,
    }


def _greet(*, by_phone: bool) -> Any:
    told: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in ("endereco", "wa_id", "nome_perfil")}
    told["ultima_entrada_em"] = sa.func.now()
    if by_phone:
        told["usuario_id"] = (
            sa.select(usuario.c.id).where(usuario.c.telefone == sa.bindparam("b_telefone")).scalar_subquery()
        )
    new: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in ("conversa", "phone_number_id", "mensagens")}
    return (
        insert(conversas)
        .values(**new, **told)
        .on_conflict_do_update(
            index_elements=[conversas.c.conversa],
            set_={**told, "mensagens": conversas.c.mensagens + sa.bindparam("b_mensagens")},
        )
        .returning(sa.func.now())
    )


# Made once: composing a statement costs more than running it.
_GREET = {by_phone: _greet(by_phone=by_phone) for by_phone in (True, False)}
_ORIENTED = (
    conversas.update().where(conversas.c.conversa == sa.bindparam("b_conversa")).values(orientada_em=sa.func.now())
)


def mark_oriented(connection: Connection, conversa: str) -> None:
    """Note at the end of the transaction that an unknown number got its kind answer just now."""
    connection.later(_ORIENTED, {"b_conversa": conversa})


async def unknown_contacts(connection: Connection, limit: int = 100) -> list[Any]:
    """List conversations of numbers that belong to no company, the most recent first."""
    statement = (
        sa.select(
            conversas.c.wa_id,
            conversas.c.endereco,
            conversas.c.nome_perfil,
            conversas.c.mensagens,
            conversas.c.criado_em,
            conversas.c.ultima_entrada_em,
        )
        .where(conversas.c.usuario_id.is_(None), conversas.c.endereco != APAGADO)
        .order_by(conversas.c.ultima_entrada_em.desc())
        .limit(limit)
    )
    return list(await connection.execute(statement))


@lru_cache(PHONES)
def _canonical_or_none(wa_id: str | None) -> str | None:
    try:
        return canonical_phone(wa_id) if wa_id else None
    except PhoneError:
        return None


# What the person wrote stays where it was written. A phone is the same address for both ids.
_ARRIVE: Final = sa.text("""
INSERT INTO conversas AS c (conversa, phone_number_id, endereco, wa_id, nome_perfil, usuario_id, ultima_entrada_em,
    atendente_id, assumida_em, pessoa_pedida_em, pessoa_motivo)
SELECT :nova, phone_number_id, CASE WHEN endereco = :de THEN :para ELSE endereco END, wa_id, nome_perfil, usuario_id,
    ultima_entrada_em, atendente_id, assumida_em, pessoa_pedida_em, pessoa_motivo
FROM conversas WHERE conversa = :antiga
ON CONFLICT (conversa) DO UPDATE SET usuario_id = coalesce(c.usuario_id, excluded.usuario_id),
    atendente_id = coalesce(c.atendente_id, excluded.atendente_id),
    assumida_em = coalesce(c.assumida_em, excluded.assumida_em),
    pessoa_pedida_em = coalesce(c.pessoa_pedida_em, excluded.pessoa_pedida_em),
    pessoa_motivo = coalesce(c.pessoa_motivo, excluded.pessoa_motivo)
RETURNING true
""")
# The conversation of the same telephone that spoke last, under another id.
_FORMER: Final = sa.text("""
SELECT conversa, endereco FROM conversas
WHERE phone_number_id = :numero AND "right"(wa_id, 8) = "right"(:wa_id, 8) AND wa_id = :wa_id AND conversa <> :nova
ORDER BY ultima_entrada_em DESC LIMIT 1
""")
_LEAVE: Final = sa.text("""
UPDATE conversas SET atendente_id = NULL, assumida_em = NULL, pessoa_pedida_em = NULL, pessoa_motivo = NULL
WHERE conversa = :antiga
""")


def _follow(table: str, waiting: str) -> sa.TextClause:
    """Return the statement that moves rows; what waits for the person stays where another one waits already."""
    return sa.text(f"""
UPDATE {table} t SET conversa = :nova, versao = t.versao + 1 WHERE t.conversa = :antiga AND NOT (
    t.{waiting} AND EXISTS (SELECT FROM {table} o WHERE o.conversa = :nova AND o.{waiting}))
""")  # noqa: S608 - our own constants


_SESSIONS: Final = _follow("session_snapshot", f"estado IN ({literals(ESPERAM_USUARIO)})")
_CANCELLATIONS: Final = _follow("cancelamento", f"estado IN ({literals(CONVERSANDO)})")


def _due(table: str, states: Iterable[str]) -> sa.TextClause:
    return sa.text(f"""
UPDATE {table} SET expira_em = now() WHERE conversa = ANY(:conversas) AND estado IN ({literals(states)})
""")  # noqa: S608 - our own constants


_DUE: Final = (_due("session_snapshot", ESPERAM_USUARIO), _due("cancelamento", CONVERSANDO))


async def end_open(connection: Connection, conversas: Sequence[str]) -> None:
    """Have whatever waits for the person in these conversations reach its deadline now, whose sweep ends it."""
    for statement in _DUE:
        await connection.execute(statement, {"conversas": list(conversas)})


async def reunite(connection: Connection, contato: Contato) -> str | None:
    """Give a person's first words under a new id what waits for the same telephone; return the former conversation."""
    keys = {"numero": contato.phone_number_id, "wa_id": contato.wa_id, "nova": contato.conversa}
    former = (await connection.execute(_FORMER, keys)).one_or_none()
    if former is None:
        return None
    await move(connection, former.conversa, contato.conversa, former.endereco, contato.endereco)
    return str(former.conversa)


async def move(connection: Connection, antiga: str, nova: str, de: str, para: str) -> bool:
    """Give the conversation ``nova`` what ``antiga`` has; False where nobody was known there.

    ``de`` and ``para`` are the ids themselves, which may be addresses.
    """
    keys = {"antiga": antiga, "nova": nova}
    if not (await connection.execute(_ARRIVE, {**keys, "de": de, "para": para})).rows:
        return False
    for statement in (_SESSIONS, _CANCELLATIONS):
        await connection.execute(statement, keys)
    await connection.execute(_LEAVE, {"antiga": antiga})
    return True
