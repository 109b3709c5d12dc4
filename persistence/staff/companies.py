"""Reads companies as staff see them: the list with what each asks for, and one company whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from persistence.access.accounts import Alcance
from persistence.db.connection import Connection
from persistence.fiscal.history import issued
from persistence.national import elsewhere
from persistence.people import certificates, goods, services
from persistence.people.companies import company_columns
from persistence.staff.queue import Filtros, needing_eyes
from persistence.tables import conversas, empresa, usuario
from state_machine.catalogue.records import Emitidas
from state_machine.goods import Produto
from state_machine.services.codes import Servico
from state_machine.values.local_time import SAO_PAULO, MesOuAno

TROUBLE = 20  # sessions that need eyes on a company's page; the queue has all of them
OUTSIDE = 20  # notes that others issued, on a company's page
PEOPLE = 100  # of a company on its page
_E = empresa.c
_PEOPLE_COUNT = (
    sa.select(sa.func.count())
    .where(usuario.c.empresa_id == _E.id)
    .correlate(empresa)
    .scalar_subquery()
    .label("pessoas")
)
_COMPANY = certificates.with_certificate(empresa, *company_columns(), _PEOPLE_COUNT, sa.func.now().label("agora"))


@dataclass(frozen=True, slots=True)
class CompanyPage:
    """One company: its row with channel and certificate, codes, people, the month's notes, sessions that need eyes.

    ``de_fora``: notes that others issued for it. ``series``: those of ours that somebody else uses. ``produtos``:
    ``None`` where it sells no goods.
    """

    linha: Any
    servicos: tuple[Servico, ...]
    pessoas: list[Any]
    mes: MesOuAno
    emitidas: Emitidas
    abertas: list[Any]
    de_fora: list[Any]
    series: list[Any]
    produtos: tuple[Produto, ...] | None


async def page(connection: Connection, alcance: Alcance, nome: str, antes: int | None, limite: int) -> list[Any]:
    """List companies by name, those whose name holds ``nome``, after that of id ``antes``."""
    statement = _COMPANY.where(alcance.em(_E.id)).order_by(_E.razao_social, _E.id).limit(limite)
    if nome:
        statement = statement.where(_E.razao_social.icontains(nome, autoescape=True))
    if antes is not None:
        last = empresa.alias("ultima")
        name = sa.select(last.c.razao_social).where(last.c.id == antes).scalar_subquery()
        statement = statement.where(sa.tuple_(_E.razao_social, _E.id) > sa.tuple_(name, sa.literal(antes)))
    return list(await connection.execute(statement))


async def row(connection: Connection, alcance: Alcance, empresa_id: int) -> Any | None:
    """Return one company's row with its channel and certificate, if it is one that somebody may see."""
    return (await connection.execute(_COMPANY.where(alcance.em(_E.id), _E.id == empresa_id))).one_or_none()


async def phone(connection: Connection, empresa_id: int, pessoa_id: int) -> str | None:
    """Return the phone (canonical) of one who may issue for the company."""
    statement = sa.select(usuario.c.telefone).where(usuario.c.id == pessoa_id, usuario.c.empresa_id == empresa_id)
    telefone: str | None = (await connection.execute(statement)).scalar_one_or_none()
    return telefone


async def one(connection: Connection, alcance: Alcance, empresa_id: int) -> CompanyPage | None:
    """Return one company, if it is one that somebody may see."""
    found = await row(connection, alcance, empresa_id)
    if found is None:
        return None
    today = found.agora.astimezone(SAO_PAULO)
    mes = MesOuAno(today.year, today.month)
    return CompanyPage(
        found,
        await services.of_company(connection, empresa_id, found.codigo_servico),
        await _people(connection, empresa_id),
        mes,
        await issued(connection, empresa_id, mes),
        await needing_eyes(connection, alcance, Filtros(empresa_id=empresa_id), TROUBLE + 1),
        await elsewhere.newest(connection, empresa_id, OUTSIDE + 1),
        await elsewhere.taken(connection, empresa_id),
        await goods.of_company(connection, empresa_id) if await goods.seller(connection, empresa_id) else None,
    )


async def _people(connection: Connection, empresa_id: int) -> list[Any]:
    """List who may issue: (id, telefone, codigo, nome_perfil, ultima_entrada_em), of each their newest conversation."""
    c = conversas.c
    spoken = sa.select(c.codigo, c.nome_perfil, c.ultima_entrada_em).where(c.usuario_id == usuario.c.id)
    newest = spoken.order_by(c.ultima_entrada_em.desc()).limit(1).correlate(usuario).lateral("falou")
    statement = sa.select(
        usuario.c.id, usuario.c.telefone, newest.c.codigo, newest.c.nome_perfil, newest.c.ultima_entrada_em
    )
    statement = statement.select_from(usuario.outerjoin(newest, sa.true())).where(usuario.c.empresa_id == empresa_id)
    return list(await connection.execute(statement.order_by(usuario.c.id).limit(PEOPLE)))
