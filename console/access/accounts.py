"""Decides who may log in, and what a login leaves behind."""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

import structlog

from console.access.credentials import (
    NOBODY,
    SENHA_MAX,
    SENHA_MIN,
    Passwords,
    enrolment_uri,
    new_password,
    new_secret,
    step_of,
)
from operations.protocol import CommandRefusedError
from persistence.access import accounts as staff
from persistence.access import delay as staff_delay
from persistence.access import devices as staff_devices
from persistence.access import sessions as staff_sessions
from persistence.access.delay import Tentativa
from persistence.audit import records as audit
from persistence.crypto import UnreadableSecretError, is_sealed
from state_machine.values.documents import CNPJ, DocumentoInvalido

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from persistence.access.accounts import Conta, Papel, Staff
    from persistence.crypto import Vault
    from persistence.db.engine import Database

log = structlog.get_logger(__name__)

NO_ACCOUNT: Final = "nome sem conta"  # in the audit; no account can be called so
_NAME: Final = re.compile(r"[a-z][a-z0-9._-]{1,39}")
EXIBICAO_MAX: Final = 40  # characters; what a customer reads above each message
_READ: Final = 400  # characters of a display name that are looked at
_PUNCTUATION: Final = frozenset(" .'’-")  # WhatsApp reads * _ ~ as emphasis


class AccountError(CommandRefusedError):
    """An account can't be made as asked; nothing was stored."""

    code = "account"


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
    exibicao: str | None = None,
) -> Enrolment:
    """Create the account, or set it anew, with a password for one login; ``known``: with these lasting ones (demo).

    ``exibicao`` is the name that customers read; without it a known one stays, else it is made of the login.

    Raises ``AccountError``.
    """
    if not cofre:
        raise AccountError("Falta PROSA_MASTER_KEY, a chave que cifra o segredo do autenticador. Nada mudou.")
    nome = nome.strip().lower()
    if not _NAME.fullmatch(nome):
        raise AccountError("O nome tem de 2 a 40 letras minúsculas, números, ponto, hífen ou sublinhado. Nada mudou.")
    exibicao = None if exibicao is None else display_name(exibicao)
    try:
        bare = [CNPJ(cnpj).numero for cnpj in cnpjs]
    except DocumentoInvalido as error:
        raise AccountError("--empresa: um destes CNPJs não confere. Nada mudou.") from error
    given = known or Enrolment(nome, new_password(), new_secret())
    senha_hash = await Passwords().hashed(given.senha)
    sealed = cofre.seal(given.segredo, staff.totp_place(nome))
    try:
        async with database.transaction() as connection:
            await staff.save(
                connection, nome, papel, senha_hash, sealed, bare, provisoria=known is None, exibicao=exibicao
            )
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


def display_name(text: str) -> str:
    """Return a display name as it is stored; raises ``AccountError``."""
    name = " ".join(unicodedata.normalize("NFC", text[:_READ]).split())
    plain = all(c.isalnum() or c in _PUNCTUATION for c in name)
    if not plain or not any(c.isalpha() for c in name) or not 2 <= len(name) <= EXIBICAO_MAX:  # noqa: PLR2004 - Jô
        raise AccountError(
            "O nome de exibição tem de 2 a 40 letras, com espaço, ponto, hífen ou apóstrofo. Nada mudou."
        )
    return name


async def rename(database: Database, nome: str, exibicao: str) -> str:
    """Change the name that customers read, with its row in the audit; returns it. Raises ``AccountError``."""
    nome, name = nome.strip().lower(), display_name(exibicao)
    async with database.transaction() as connection:
        if not await staff.rename(connection, nome, name):
            raise AccountError(f"Não há conta com o nome {nome}. Nada mudou.")
        await audit.write(connection, staff_id=None, quem="linha de comando", acao="nome de exibição", alvo=nome)
    return name


@dataclass(frozen=True, slots=True)
class LoginRefusal:
    """Why nobody was let in; ``espera``: too many attempts, in whole seconds to wait. It does not say what was wrong.

    ``sem_chave``: the installation has no master key, so that nobody's code can be checked.
    """

    espera: int = 0
    sem_chave: bool = False


@dataclass(frozen=True, slots=True)
class BrowserTokens:
    """What a login leaves in the browser: a session's token, and the one by which the browser is known again."""

    token: str
    aparelho: str


async def log_in(
    database: Database,
    cofre: Vault,
    passwords: Passwords,
    nome: str,
    senha: str,
    codigo: str,
    *,
    endereco: str,
    aparelho: str,
) -> BrowserTokens | LoginRefusal:
    """Return fresh tokens, never those that the browser brought; or a refusal.

    ``aparelho``: the token of a browser that logged in before, or nothing. A name that is no account's takes the same
    steps and is stored only as a keyed hash: what was typed may be a password in the wrong field.
    """
    if not cofre:
        return LoginRefusal(sem_chave=True)
    nome = nome.strip().lower()[:40]
    async with database.transaction() as connection:  # counted before the password is looked at: guesses run abreast
        conta = await staff.account(connection, nome)
        known = conta is not None and await staff_devices.knows(connection, aparelho, conta.staff.id)
        tentativa = Tentativa(
            conta.staff.nome if conta else cofre.blind(nome), endereco, staff_delay.device(aparelho) if known else ""
        )
        espera = await staff_delay.attempt(connection, tentativa)
    if espera:
        return LoginRefusal(espera=_seconds(espera))
    fits = await passwords.fits(conta.senha_hash if conta else NOBODY, senha)
    segredo = _opened(cofre, conta) if conta else None
    passo = step_of(segredo, codigo, conta.agora) if conta and segredo else None
    if conta is None or segredo is None or not fits or passo is None:
        await _note_refusal(database, conta)
        return LoginRefusal()
    token = secrets.token_urlsafe(32)
    async with database.transaction() as connection:
        if not await staff.use_code(connection, conta.staff.id, passo):
            return LoginRefusal()
        if cofre.is_stale(conta.totp_segredo):
            place = staff.totp_place(conta.staff.nome)
            await staff.reseal(connection, conta.staff.id, conta.totp_segredo, cofre.seal(segredo, place))
        await staff_sessions.open_session(connection, token, conta.staff.id)
        await staff_delay.succeeded(connection, tentativa)
        fresh = await staff_devices.remember(connection, aparelho, conta.staff.id)
        await audit.write(connection, staff_id=conta.staff.id, quem=conta.staff.nome, acao="entrou")
    return BrowserTokens(token, fresh)


def _seconds(espera: timedelta) -> int:
    return ceil(espera.total_seconds())


def too_soon(segundos: int) -> str:
    """Return what somebody is told who tries again too soon, in pt-BR."""
    return f"Foram tentativas demais. Tente de novo em {segundos} segundo{'s' if segundos > 1 else ''}."


async def unblock(database: Database, nome: str) -> bool:
    """Forget every wrong attempt at an account, with the audit; False when there is none of this name."""
    async with database.transaction() as connection:
        conta = await staff.account(connection, nome)
        if conta is None:
            return False
        alvo = conta.staff.nome
        await staff_delay.forget(connection, alvo)
        await audit.write(connection, staff_id=None, quem="linha de comando", acao="conta desbloqueada", alvo=alvo)
    return True


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
    staff_id, quem = (conta.staff.id, conta.staff.nome) if conta else (None, NO_ACCOUNT)
    async with database.transaction() as connection:
        await audit.write(connection, staff_id=staff_id, quem=quem, acao="entrada recusada")


async def change_password(
    database: Database, passwords: Passwords, quem: Staff, atual: str, nova: str, repetida: str
) -> str | None:
    """Set a new password and end all sessions, the present one too; returns what is wrong instead, in pt-BR."""
    if nova != repetida:
        return "As duas senhas novas não são iguais."
    if not SENHA_MIN <= len(nova) <= SENHA_MAX:
        return f"A senha nova precisa ter de {SENHA_MIN} a {SENHA_MAX} caracteres."
    if nova == atual or quem.nome in nova.lower():
        return "Escolha uma senha diferente da atual e sem o seu nome."
    tentativa = Tentativa(quem.nome, proprio=staff_delay.PASSWORD_CHANGE)
    async with database.transaction() as connection:
        espera = await staff_delay.attempt(connection, tentativa)  # a stolen session must not guess the password
        conta = await staff.account(connection, quem.nome)
    if espera:
        return too_soon(_seconds(espera))
    if conta is None or not await passwords.fits(conta.senha_hash, atual):
        return "A senha atual não confere."
    senha_hash = await passwords.hashed(nova)
    async with database.transaction() as connection:
        await staff.set_password(connection, quem.id, senha_hash)
        await staff_sessions.close_all(connection, quem.id)
        await staff_delay.succeeded(connection, tentativa)
        await audit.write(connection, staff_id=quem.id, quem=quem.nome, acao="trocou a senha")
    return None
