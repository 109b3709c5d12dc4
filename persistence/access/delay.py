"""Counts wrong logins and says how long the next one waits; a wait grows, is bounded, and locks nobody out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from persistence.db.connection import Connection
from persistence.tables import staff_atraso

FORGET: Final = timedelta(hours=1)  # after the last wait was over a counter begins anew
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Regra:
    """``livres`` attempts cost nothing, then each wrong one doubles the wait, from 1 s to ``teto`` seconds."""

    livres: int
    teto: int

    def espera(self, falhas: int) -> timedelta:
        """Return the wait after so many wrong attempts."""
        if falhas < self.livres:
            return _NOTHING
        return timedelta(seconds=min(2 ** min(falhas - self.livres, 20), self.teto))


PAR: Final = Regra(5, 900)  # one account from one address: a person mistypes a few times; more is guessing
ENDERECO: Final = Regra(40, 60)  # all accounts from one address: an office shares one
CONTA: Final = Regra(10, 60)  # one account from all addresses; ``teto`` is the longest that its owner ever waits
PROPRIO: Final = Regra(5, 300)  # a known device, or a session that changes its password: only its own mistakes


@dataclass(frozen=True, slots=True)
class Tentativa:
    """One attempt at ``conta``: an account's name, or the keyed hash of a name that is none.

    ``endereco``: of a stranger. ``proprio``: what proves that it is none, and is counted by itself.
    """

    conta: str
    endereco: str = ""
    proprio: str = ""

    @property
    def chave(self) -> tuple[str, str]:
        """Its own counter; everybody locks the address's, the account's and this one in this order."""
        return self.conta, self.proprio or self.endereco

    @property
    def da_conta(self) -> tuple[str, str]:
        """The counter of all strangers at this account."""
        return self.conta, ""

    @property
    def do_endereco(self) -> tuple[str, str]:
        """The counter of this address at all accounts."""
        return "", self.endereco


@dataclass(frozen=True, slots=True)
class _Contador:
    """A counter whose row is locked; ``novo``: nothing is counted there, or nothing that still matters."""

    falhas: int
    livre_em: datetime
    novo: bool


def device(token: str) -> str:
    """Return the name under which a known device's own mistakes are counted."""
    return f"aparelho {hashlib.sha256(token.encode()).hexdigest()}"


PASSWORD_CHANGE: Final = "troca de senha"  # noqa: S105 - the name of a counter


async def attempt(connection: Connection, tentativa: Tentativa) -> timedelta:
    """Return how long this attempt has to wait; zero: it may be looked at, and counts as wrong until ``succeeded``.

    A stranger never competes for a turn: while an account is guessed at, each address waits for itself, at most
    ``CONTA.teto`` seconds before its first attempt. What is refused here is not counted and prolongs no wait.
    """
    if tentativa.proprio:
        agora, own = await _locked(connection, tentativa.chave)
        if own.livre_em <= agora:
            await _count(connection, tentativa.chave, own.falhas + 1, agora + PROPRIO.espera(own.falhas + 1))
        return max(own.livre_em - agora, _NOTHING)
    agora, address = await _locked(connection, tentativa.do_endereco)
    if address.livre_em > agora:  # before any other row is made: who only knocks fills no table
        return address.livre_em - agora
    agora, account = await _locked(connection, tentativa.da_conta)
    agora, own = await _locked(connection, tentativa.chave)
    if own.novo and (guarded := CONTA.espera(account.falhas)):
        await _count(connection, tentativa.chave, 0, agora + guarded)
        return guarded
    if own.livre_em > agora:
        return own.livre_em - agora
    everywhere, here = account.falhas + 1, own.falhas + 1
    await _count(connection, tentativa.do_endereco, address.falhas + 1, agora + ENDERECO.espera(address.falhas + 1))
    await _count(connection, tentativa.da_conta, everywhere, agora)
    await _count(connection, tentativa.chave, here, agora + max(PAR.espera(here), CONTA.espera(everywhere)))
    return _NOTHING


async def succeeded(connection: Connection, tentativa: Tentativa) -> None:
    """Forget the mistakes of whoever has just logged in, and of nobody else."""
    shared = () if tentativa.proprio else (tentativa.do_endereco, tentativa.da_conta)
    counted = [(chave, *await _locked(connection, chave)) for chave in shared]
    _, own = await _locked(connection, tentativa.chave)
    for chave, agora, contador in counted:
        left = max(contador.falhas - own.falhas, 0)
        await _count(connection, chave, left, min(contador.livre_em, agora))
    await connection.execute(staff_atraso.delete().where(_is(tentativa.chave)))


async def forget(connection: Connection, nome: str) -> None:
    """Forget every wrong attempt at an account, whoever made it; addresses keep their own waits."""
    await connection.execute(staff_atraso.delete().where(staff_atraso.c.conta == nome))


def _is(chave: tuple[str, str]) -> sa.ColumnElement[bool]:
    return sa.and_(staff_atraso.c.conta == chave[0], staff_atraso.c.origem == chave[1])


async def _locked(connection: Connection, chave: tuple[str, str]) -> tuple[datetime, _Contador]:
    """Lock a counter, made where it is missing, so that attempts at the same moment are counted one by one.

    Returns the database's moment too, after the lock was had.
    """
    a = staff_atraso.c
    new = insert(staff_atraso).values(conta=chave[0], origem=chave[1], falhas=0, livre_em=_NEVER)
    upsert = new.on_conflict_do_update(index_elements=[a.conta, a.origem], set_={"falhas": a.falhas})
    row = (
        await connection.execute(upsert.returning(a.falhas, a.livre_em, sa.func.clock_timestamp().label("agora")))
    ).one()
    if row.livre_em + FORGET < row.agora:
        return row.agora, _Contador(0, _NEVER, novo=True)
    return row.agora, _Contador(row.falhas, row.livre_em, novo=False)


async def _count(connection: Connection, chave: tuple[str, str], falhas: int, livre_em: datetime) -> None:
    await connection.execute(staff_atraso.update().where(_is(chave)).values(falhas=falhas, livre_em=livre_em))
