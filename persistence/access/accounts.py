"""Keeps staff accounts and what each may see."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.crypto import Lugar
from persistence.db.connection import Connection
from persistence.tables import conversas, empresa, staff, staff_aparelho, staff_empresa, staff_sessao
from state_machine.values.errors import ProsaError


class Papel(StrEnum):
    """A role; each may do what those before it may."""

    LEITURA = "leitura"
    SUPORTE = "suporte"
    SUPERVISOR = "supervisor"
    ADMIN = "admin"

    def alcanca(self, exigido: Papel) -> bool:
        """Tell whether this role is ``exigido`` or above it."""
        ordem = list(Papel)
        return ordem.index(self) >= ordem.index(exigido)


@dataclass(frozen=True, slots=True)
class Alcance:
    """Which companies' data somebody may see: all, or these."""

    todas: bool
    empresas: frozenset[int] = frozenset()

    def em(self, column: Any) -> sa.ColumnElement[bool]:
        """Return the condition that keeps a query inside; ``column`` holds a company's id."""
        return sa.true() if self.todas else column.in_(sorted(self.empresas))

    def inclui(self, empresa_id: int | None) -> bool:
        """Tell whether one company's data are inside; what belongs to none is only for those who see all."""
        return self.todas or empresa_id in self.empresas


@dataclass(frozen=True, slots=True)
class Staff:
    """Somebody who is logged in; ``nome`` is the login, ``exibicao`` the name that customers read."""

    id: int
    nome: str
    exibicao: str
    papel: Papel
    alcance: Alcance
    senha_provisoria: bool


@dataclass(frozen=True, slots=True)
class Conta:
    """What a login is checked against; the secret is sealed, ``agora`` is the database's clock."""

    staff: Staff
    senha_hash: str
    totp_segredo: str
    agora: datetime


class UnknownCompanyError(ProsaError, LookupError):
    """No company has this CNPJ."""

    code = "unknown_company"


_COMPANIES = (
    sa.select(sa.func.coalesce(sa.func.array_agg(staff_empresa.c.empresa_id), sa.text("'{}'")))
    .where(staff_empresa.c.staff_id == staff.c.id)
    .scalar_subquery()
)
# ``ana.souza`` is read as "Ana Souza" until somebody chooses another name.
SHOWN: sa.ColumnElement[str] = sa.func.coalesce(
    staff.c.exibicao, sa.func.initcap(sa.func.translate(staff.c.nome, "._-", "   "))
)
SELECT = sa.select(staff, SHOWN.label("exibido"), _COMPANIES.label("empresas"), sa.func.now().label("agora"))


def as_staff(row: Any) -> Staff:
    """Return the account of a row of ``SELECT``."""
    alcance = Alcance(row.todas_empresas, frozenset(row.empresas))
    return Staff(row.id, row.nome, row.exibido, Papel(row.papel), alcance, row.senha_provisoria)


async def account(connection: Connection, nome: str) -> Conta | None:
    """Return an account that is not switched off."""
    statement = SELECT.where(staff.c.nome == nome.strip().lower(), staff.c.desativado_em.is_(None))
    row = (await connection.execute(statement)).one_or_none()
    return Conta(as_staff(row), row.senha_hash, row.totp_segredo, row.agora) if row else None


async def save(
    connection: Connection,
    nome: str,
    papel: Papel,
    senha_hash: str,
    totp_segredo: str,
    cnpjs: Collection[str],
    *,
    provisoria: bool = True,
    exibicao: str | None = None,
) -> int:
    """Create the account or set it anew, and end its sessions; without ``cnpjs`` it sees every company.

    Without ``exibicao`` the display name stays as it is.

    Raises ``UnknownCompanyError``.
    """
    rows = await connection.execute(sa.select(empresa.c.id, empresa.c.cnpj).where(empresa.c.cnpj.in_(cnpjs)))
    found = {row.cnpj: row.id for row in rows}
    for cnpj in cnpjs:
        if cnpj not in found:
            raise UnknownCompanyError(cnpj)
    values = {
        "papel": papel,
        "senha_hash": senha_hash,
        "senha_provisoria": provisoria,
        "totp_segredo": totp_segredo,
        "totp_passo": 0,
        "todas_empresas": not cnpjs,
        "desativado_em": None,
    }
    if exibicao is not None:
        values["exibicao"] = exibicao
    statement = insert(staff).values(nome=nome, **values)
    upsert = statement.on_conflict_do_update(index_elements=[staff.c.nome], set_=values).returning(staff.c.id)
    staff_id = int((await connection.execute(upsert)).scalar_one())
    await connection.execute(staff_empresa.delete().where(staff_empresa.c.staff_id == staff_id))
    if found:
        linked = [{"staff_id": staff_id, "empresa_id": empresa_id} for empresa_id in found.values()]
        await connection.execute(staff_empresa.insert(), linked)
    await _shut_out(connection, staff_id)
    return staff_id


async def switch_off(connection: Connection, nome: str) -> bool:
    """Close an account, end its sessions and give its conversations back; False when there is none of this name."""
    off = staff.update().where(staff.c.nome == nome, staff.c.desativado_em.is_(None))
    found = (
        await connection.execute(off.values(desativado_em=sa.func.now()).returning(staff.c.id))
    ).scalar_one_or_none()
    if found is None:
        return False
    await _shut_out(connection, found)
    held = conversas.update().where(conversas.c.atendente_id == found)
    await connection.execute(held.values(atendente_id=None, assumida_em=None))
    return True


async def _shut_out(connection: Connection, staff_id: int) -> None:
    """End the account's sessions, and make its browsers strangers'."""
    for table in (staff_sessao, staff_aparelho):
        await connection.execute(table.delete().where(table.c.staff_id == staff_id))


async def rename(connection: Connection, nome: str, exibicao: str) -> bool:
    """Change the name that customers read; False when there is no account of this login."""
    named = staff.update().where(staff.c.nome == nome).values(exibicao=exibicao)
    return (await connection.execute(named)).rowcount == 1


async def set_password(connection: Connection, staff_id: int, senha_hash: str) -> None:
    """Replace a password by one that its owner chose."""
    chosen = staff.update().where(staff.c.id == staff_id).values(senha_hash=senha_hash, senha_provisoria=False)
    await connection.execute(chosen)


def totp_place(nome: str) -> Lugar:
    """Return the place that an account's authenticator secret is sealed for."""
    return Lugar("staff", "totp_segredo", nome)


async def reseal(connection: Connection, staff_id: int, antes: str, depois: str) -> int:
    """Replace a sealed secret by the same one under another key, unless it was changed meanwhile."""
    same = staff.update().where(staff.c.id == staff_id, staff.c.totp_segredo == antes)
    return (await connection.execute(same.values(totp_segredo=depois))).rowcount


async def use_code(connection: Connection, staff_id: int, passo: int) -> bool:
    """Use up the code of one 30-second step; False when it, or a later one, was used before."""
    used = staff.update().where(staff.c.id == staff_id, staff.c.totp_passo < passo).values(totp_passo=passo)
    return (await connection.execute(used)).rowcount == 1


async def everybody(connection: Connection) -> list[Any]:
    """List all accounts with their companies' CNPJ, by name."""
    names = (
        sa.select(sa.func.array_agg(empresa.c.cnpj))
        .select_from(staff_empresa.join(empresa))
        .where(staff_empresa.c.staff_id == staff.c.id)
        .scalar_subquery()
    )
    return list(
        await connection.execute(sa.select(staff, SHOWN.label("exibido"), names.label("cnpjs")).order_by(staff.c.nome))
    )
