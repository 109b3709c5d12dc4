"""Knows who approves a company's proposals, and in which conversation they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.conversations.conversations import APAGADO
from persistence.tables import conversas, empresa_aprovador, usuario

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.db.connection import Row as Found

_A, _C, _U = empresa_aprovador.c, conversas.c, usuario.c
LANE: Final = (  # of the person ``usuario``: where they wrote last
    sa.select(_C.conversa)
    .where(_C.usuario_id == _U.id, _C.endereco != APAGADO)
    .order_by(_C.ultima_entrada_em.desc())
    .limit(sa.literal_column("1"))
    .scalar_subquery()
)
# Who was chosen and issues for another company by now counts no longer.
_ASKED = (
    sa.select(_U.id, _U.telefone, LANE.label("conversa"), _A.usuario_id.is_not(None).label("escolhido"))
    .outerjoin(empresa_aprovador, sa.and_(_A.usuario_id == _U.id, _A.empresa_id == _U.empresa_id))
    .where(_U.empresa_id == sa.bindparam("b_empresa"))
    .order_by(_A.usuario_id.is_(None), _U.id)
    .limit(sa.literal_column("1"))
)
_PERSON = sa.select(_U.id).where(_U.empresa_id == sa.bindparam("b_empresa"), _U.telefone == sa.bindparam("b_telefone"))


async def of_company(connection: Connection, empresa_id: int) -> Found | None:
    """Return (id, telefone, conversa, escolhido) of who is asked; ``None``: nobody issues for the company.

    ``conversa`` is ``None`` for somebody who never wrote.
    """
    return (await connection.execute(_ASKED, {"b_empresa": empresa_id})).one_or_none()


async def choose(connection: Connection, empresa_id: int, telefone: str) -> bool:
    """Have the person with this phone (canonical) asked from now on; false: they do not issue for the company."""
    person = await connection.scalar(_PERSON, {"b_empresa": empresa_id, "b_telefone": telefone})
    if person is None:
        return False
    row = insert(empresa_aprovador).values(empresa_id=empresa_id, usuario_id=person)
    changed = {"usuario_id": person, "definido_em": sa.func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[_A.empresa_id], set_=changed))
    return True
