"""Decides who may log in, and what a login leaves behind; it knows no page."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from console.credentials import (
    NOBODY,
    SENHA_MAX,
    SENHA_MIN,
    Passwords,
    enrolment_uri,
    new_password,
    new_secret,
    step_of,
)
from persistence import audit, staff, staff_sessions
from persistence.crypto import UnreadableSecretError, is_sealed
from state_machine.documents import CNPJ, DocumentoInvalido

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.crypto import Vault
    from persistence.engine import Database
    from persistence.staff import Conta, Papel, Staff

log = structlog.get_logger(__name__)

_NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,39}")


class AccountError(ValueError):
    """An account can't be made as asked; nothing was stored."""


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What the new member of staff is told, once."""

    nome: str
    senha: str
    segredo: str

    @property
    def uri(self) -> str:
        """The address in the QR code."""
        return enrolment_uri(self.nome, self.segredo)


async def enrol(
    database: Database,
    cofre: Vault,
    nome: str,
    papel: Papel,
    cnpjs: Sequence[str] = (),
    *,
    known: Enrolment | None = None,
) -> Enrolment:
    """Create the account, or set it anew, with a password for one login; ``known``: with these lasting ones (demo).

    Raises ``AccountError``.
    """
    if not cofre:
        raise AccountError("Falta PROSA_MASTER_KEY, a chave que cifra o segredo do autenticador. Nada mudou.")
    nome = nome.strip().lower()
    if not _NAME.fullmatch(nome):
        raise AccountError("O nome tem de 2 a 40 letras minúsculas, números, ponto, hífen ou sublinhado. Nada mudou.")
    try:
        bare = [CNPJ(cnpj).numero for cnpj in cnpjs]
    except DocumentoInvalido as error:
        raise AccountError("--empresa: um destes CNPJs não confere. Nada mudou.") from error
    given = known or Enrolment(nome, new_password(), new_secret())
    senha_hash = await Passwords().hashed(given.senha)
    sealed = cofre.seal(given.segredo, staff.totp_place(nome))
    try:
        async with database.transaction() as connection:
            await staff.save(connection, nome, papel, senha_hash, sealed, bare, provisoria=known is None)
            await audit.write(
                connection,
                staff_id=None,
                quem="linha de comando",
                acao="conta criada",
                alvo=nome,
                detalhe={"papel": papel},
            )
    except staff.UnknownCompanyError as error:
        raise AccountError(f"--empresa: não há empresa com o CNPJ {error}. Nada mudou.") from error
    return given


@dataclass(frozen=True, slots=True)
class Recusa:
    """Why nobody was let in; ``demais``: too many attempts. It does not say what was wrong.

    ``sem_chave``: the house has no master key, so that nobody's code can be checked.
    """

    demais: bool = False
    sem_chave: bool = False


async def log_in(
    database: Database, cofre: Vault, passwords: Passwords, nome: str, senha: str, codigo: str, endereco: str
) -> str | Recusa:
    """Return the token of a new session, never one that the browser brought; or a refusal."""
    if not cofre:
        return Recusa(sem_chave=True)
    nome = nome.strip().lower()[:40]
    async with database.transaction() as connection:
        await staff_sessions.attempt(connection, nome, endereco)
    async with database.transaction() as connection:
        if await staff_sessions.too_many(connection, nome, endereco):
            return Recusa(demais=True)
        conta = await staff.account(connection, nome)
    fits = await passwords.fits(conta.senha_hash if conta else NOBODY, senha)
    segredo = _opened(cofre, conta) if conta else None
    passo = step_of(segredo, codigo, conta.agora) if conta and segredo else None
    if conta is None or segredo is None or not fits or passo is None:
        await _note_refusal(database, conta)
        return Recusa()
    token = secrets.token_urlsafe(32)
    async with database.transaction() as connection:
        if not await staff.use_code(connection, conta.staff.id, passo):
            return Recusa()
        if cofre.is_stale(conta.totp_segredo):
            place = staff.totp_place(conta.staff.nome)
            await staff.reseal(connection, conta.staff.id, conta.totp_segredo, cofre.seal(segredo, place))
        await staff_sessions.open_session(connection, token, conta.staff.id)
        await staff_sessions.forgive(connection, nome)
        await audit.write(connection, staff_id=conta.staff.id, quem=conta.staff.nome, acao="entrou")
    return token


async def rekey(database: Database, cofre: Vault) -> tuple[int, list[str]]:
    """Seal every authenticator's secret under the newest key; returns how many, and whose could not be opened.

    The one place that takes a secret as it stands, from before there were keys: an operator asks for it.
    Raises ``NoMasterKeyError``.
    """
    done, lost = 0, []
    async with database.transaction() as connection:
        for row in await staff.everybody(connection):
            place = staff.totp_place(row.nome)
            try:
                plain = not is_sealed(row.totp_segredo)
                segredo = row.totp_segredo if plain else cofre.open(row.totp_segredo, place)
            except UnreadableSecretError:
                lost.append(row.nome)
                continue
            if cofre.is_stale(row.totp_segredo):
                done += await staff.reseal(connection, row.id, row.totp_segredo, cofre.seal(segredo, place))
    return done, lost


def _opened(cofre: Vault, conta: Conta) -> str | None:
    try:
        return cofre.open(conta.totp_segredo, staff.totp_place(conta.staff.nome))
    except UnreadableSecretError as error:
        log.error("staff_secret_unreadable", staff_id=conta.staff.id, why=str(error))  # noqa: TRY400 - no trace needed
        return None


async def _note_refusal(database: Database, conta: Conta | None) -> None:
    if conta is None:  # what was typed may be a password in the wrong field: it is not kept
        return
    async with database.transaction() as connection:
        await audit.write(connection, staff_id=conta.staff.id, quem=conta.staff.nome, acao="entrada recusada")


async def change_password(
    database: Database, passwords: Passwords, quem: Staff, atual: str, nova: str, repetida: str, endereco: str
) -> str | None:
    """Set a new password and end all sessions, the present one too; returns what is wrong instead, in pt-BR."""
    if nova != repetida:
        return "As duas senhas novas não são iguais."
    if not SENHA_MIN <= len(nova) <= SENHA_MAX:
        return f"A senha nova precisa ter de {SENHA_MIN} a {SENHA_MAX} caracteres."
    if nova == atual or quem.nome in nova.lower():
        return "Escolha uma senha diferente da atual e sem o seu nome."
    async with database.transaction() as connection:
        await staff_sessions.attempt(connection, quem.nome, endereco)  # a stolen session must not guess the password
    async with database.transaction() as connection:
        if await staff_sessions.too_many(connection, quem.nome, endereco):
            return "Foram tentativas demais. Espere 15 minutos."
        conta = await staff.account(connection, quem.nome)
    if conta is None or not await passwords.fits(conta.senha_hash, atual):
        return "A senha atual não confere."
    senha_hash = await passwords.hashed(nova)
    async with database.transaction() as connection:
        await staff.set_password(connection, quem.id, senha_hash)
        await staff_sessions.close_all(connection, quem.id)
        await audit.write(connection, staff_id=quem.id, quem=quem.nome, acao="trocou a senha")
    return None
