"""Keeps the one-time links by which a company's people send its certificate: until when, how many tries, used or not.

Of a token only the SHA-256 is kept. The message that carries the link has it sealed, bound to the link's row.
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from persistence.audit import records as audit
from persistence.crypto import Lugar, Vault
from persistence.db.connection import Connection
from persistence.tables import certificado_link, empresa, empresa_canal, empresa_servico, outbox, usuario

TABLE: Final = "certificado_link"
PATH: Final = "/certificado"  # below the public address
LASTS: Final = timedelta(minutes=15)
ENOUGH: Final = timedelta(minutes=5)  # a link that lasts so long is sent again instead of a new one
TRIES: Final = 5
TOKEN_BYTES: Final = 32
HOUR: Final = timedelta(hours=1)
KEPT: Final = timedelta(days=1)  # after its end; nothing reads it then
_L = certificado_link.c
_OPEN = sa.and_(_L.usado_em.is_(None), _L.encerrado_em.is_(None), _L.expira_em > sa.func.now())
# Who asked must still be one of the company's people.
_ITS_OWN = sa.and_(usuario.c.id == _L.usuario_id, usuario.c.empresa_id == _L.empresa_id)
_C, _S = empresa_canal.c, empresa_servico.c
_MAIN = sa.and_(_S.empresa_id == empresa.c.id, _S.codigo == sa.func.replace(empresa.c.codigo_servico, ".", ""))
_ASKED = sa.and_(
    empresa.c.regime.in_(("simples", "simples-pendente")),
    sa.exists().where(_C.empresa_id == empresa.c.id, _C.tipo == "servico", _C.canal == "nacional"),
    sa.or_(empresa.c.apuracao_ibscbs.is_(None), ~sa.exists().where(_MAIN, _S.atividade_sn.is_not(None))),
).label("pergunta")
_COLUMNS = (
    *(_L.id, _L.empresa_id, _L.conversa, _L.expira_em, _L.tentativas),
    *(empresa.c.cnpj, empresa.c.razao_social, _ASKED),
)
_FIND = (
    sa.select(*_COLUMNS, sa.func.now().label("agora"))
    .join_from(certificado_link, empresa, empresa.c.id == _L.empresa_id)
    .join(usuario, _ITS_OWN)
    .where(_OPEN, _L.tentativas < TRIES)
)


@dataclass(frozen=True, slots=True)
class SealedLink:
    """A link to be sent: its row, its token, sealed, and how many minutes it lasts."""

    id: str
    selado: str
    minutos: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link that is open at ``agora``; ``tentativas`` counts the files that were begun to be read.

    ``pergunta``: the company's notes lack from 2027 on what only it knows of the Simples.
    """

    id: uuid.UUID
    empresa_id: int
    conversa: str
    expira_em: datetime
    tentativas: int
    cnpj: str
    razao_social: str
    pergunta: bool
    agora: datetime

    @property
    def restam(self) -> int:
        """How many tries are left."""
        return max(0, TRIES - self.tentativas)


async def make(connection: Connection, cofre: Vault, *, telefone: str, conversa: str) -> SealedLink | None:
    """Return a link for the company of who has this phone (E.164).

    The one that they were sent in this conversation, while it lasts long enough; else a new one, audited, and an
    earlier one of the company ends.

    ``None``: nobody has this phone. Raises ``NoMasterKeyError``.
    """
    person = sa.select(usuario.c.id, usuario.c.empresa_id).where(usuario.c.telefone == telefone.removeprefix("+"))
    who = (await connection.execute(person.with_for_update(read=True))).one_or_none()
    if who is None:
        return None
    await lock(connection, who.empresa_id)
    if open_ := await _sent(connection, who, conversa):
        return open_
    earlier = certificado_link.update().where(
        _L.empresa_id == who.empresa_id, _L.usado_em.is_(None), _L.encerrado_em.is_(None)
    )
    await connection.execute(earlier.values(encerrado_em=sa.func.now()))
    id_, token = uuid.uuid4(), secrets.token_urlsafe(TOKEN_BYTES)
    row = {
        "id": id_,
        "empresa_id": who.empresa_id,
        "usuario_id": who.id,
        "conversa": conversa,
        "resumo": digest(token),
        "expira_em": sa.func.now() + LASTS,
    }
    await connection.execute(certificado_link.insert().values(row))
    await audit.write(
        connection,
        staff_id=None,
        quem="WhatsApp",
        acao="pediu o link do certificado",
        alvo=f"usuario {who.id}",
        empresa_id=who.empresa_id,
    )
    return SealedLink(str(id_), cofre.seal(token, place(str(id_))), int(LASTS.total_seconds() // 60))


async def _sent(connection: Connection, who: Any, conversa: str) -> SealedLink | None:
    """Return the person's open link as its message has it, sealed; ``None`` without one, or near its end."""
    o = outbox.c
    left = sa.func.floor(sa.func.extract("epoch", _L.expira_em - sa.func.now()) / 60)
    sent = (
        sa.select(_L.id, o.mensagem["selado"].astext.label("selado"), sa.cast(left, sa.Integer).label("minutos"))
        .join_from(certificado_link, outbox, sa.and_(o.conversa == _L.conversa, o.criado_em >= _L.criado_em))
        .where(o.mensagem["link"].astext == sa.cast(_L.id, sa.Text), _OPEN, _L.tentativas < TRIES)
        .where(_L.usuario_id == who.id, _L.conversa == conversa, _L.expira_em > sa.func.now() + ENOUGH)
        .limit(1)
    )
    row = (await connection.execute(sent)).one_or_none()
    return SealedLink(str(row.id), row.selado, row.minutos) if row else None


async def find(connection: Connection, token: str) -> Link | None:
    """Return the link if it can still be used; ``None`` for an unknown, used, ended or late one."""
    return _link((await connection.execute(_FIND.where(_L.resumo == digest(token)))).one_or_none())


async def take_try(connection: Connection, token: str) -> Link | None:
    """Count a try before its file is read, so that many at once are not more; ``None`` as of ``find``."""
    own = sa.select(usuario.c.id).where(_ITS_OWN).exists()
    counted = certificado_link.update().where(_L.resumo == digest(token), _OPEN, _L.tentativas < TRIES, own)
    counted = counted.where(empresa.c.id == _L.empresa_id).values(tentativas=_L.tentativas + 1)
    returned = counted.returning(*_COLUMNS, sa.func.now().label("agora"))
    return _link((await connection.execute(returned)).one_or_none())


async def tries(connection: Connection, empresa_id: int) -> int:
    """Count the files that the company had begun to be read by links that were open within the last hour."""
    counted = sa.select(sa.func.coalesce(sa.func.sum(_L.tentativas), 0))
    recent = counted.where(_L.empresa_id == empresa_id, _L.expira_em > sa.func.now() - HOUR)
    return int((await connection.execute(recent)).scalar_one())


async def use(connection: Connection, link: Link) -> bool:
    """Use it up; False when somebody else did, or its time is over. Its company's row is locked first."""
    await lock(connection, link.empresa_id)
    own = sa.select(usuario.c.id).where(_ITS_OWN).exists()
    used = certificado_link.update().where(_L.id == link.id, _OPEN, own).values(usado_em=sa.func.now())
    return (await connection.execute(used)).rowcount == 1


async def forget(connection: Connection) -> int:
    """Delete the links that ended a day ago; returns how many."""
    return (await connection.execute(certificado_link.delete().where(_L.expira_em < sa.func.now() - KEPT))).rowcount


async def lock(connection: Connection, empresa_id: int) -> None:
    """Have two who change one company's links or certificate go one after the other."""
    await connection.execute(sa.select(empresa.c.id).where(empresa.c.id == empresa_id).with_for_update())


def digest(token: str) -> str:
    """Return what is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def address(public_url: str, cofre: Vault, id_: str, selado: str) -> str:
    """Return the address of a link. Raises ``NoMasterKeyError`` or ``UnreadableSecretError``."""
    return f"{public_url}{PATH}/{cofre.open(selado, place(id_))}"


def place(id_: str) -> Lugar:
    """Bind a sealed token to its link."""
    return Lugar(TABLE, "token", id_)


def _link(row: Any) -> Link | None:
    return Link(**{name: getattr(row, name) for name in Link.__slots__}) if row else None
