"""Decides who may log in, and what a login leaves behind.

The pages by which staff come in, choose a password and leave; what a login needs is decided in ``accounts``.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Final
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from operations.protocol import CommandRefusedError
from persistence.access import accounts as staff
from persistence.access import delay as staff_delay
from persistence.access import sessions as staff_devices
from persistence.access import sessions as staff_sessions
from persistence.access.accounts import Conta, Papel, Staff
from persistence.access.delay import Tentativa
from persistence.audit import records as audit
from persistence.crypto import UnreadableSecretError, Vault, is_sealed
from persistence.db.engine import Database
from state_machine.values.documents import CNPJ, DocumentoInvalido
from webhooks.console.access.visit import Visita, see_other, set_cookie, set_device_cookie
from webhooks.console.deps import (
    NOBODY,
    SENHA_MAX,
    SENHA_MIN,
    Passwords,
    enrolment_uri,
    new_password,
    new_secret,
    step_of,
)

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
        known = conta is not None and await staff_devices.knows_device(connection, aparelho, conta.staff.id)
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
        fresh = await staff_devices.remember_device(connection, aparelho, conta.staff.id)
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


INICIO = "/console"


async def login_page(visita: Visita) -> web.StreamResponse:
    """The login form; who is logged in goes on."""
    if visita.quem is not None:
        raise web.HTTPSeeOther(INICIO)
    return visita.pagina("entrar.html", erro=None, nome="", volta=_safe(visita.request.query.get("volta", "")))


async def enter(visita: Visita) -> web.StreamResponse:
    """Log in, with a fresh token: the one that the browser brought is worth nothing."""
    nome, volta = await visita.campo("nome"), _safe(await visita.campo("volta"))
    senha, codigo = await visita.campo("senha"), await visita.campo("codigo", 20)
    answer = await log_in(
        visita.deps.database,
        visita.deps.cofre,
        visita.deps.passwords,
        nome,
        senha,
        codigo,
        endereco=visita.endereco,
        aparelho=visita.request.cookies.get(visita.deps.device_cookie, ""),
    )
    if isinstance(answer, LoginRefusal) and answer.sem_chave:
        erro = "O console está sem a chave que confere os códigos. Quem opera precisa definir PROSA_MASTER_KEY."
        return visita.pagina("entrar.html", status=503, erro=erro, nome=nome[:40], volta=volta)
    if isinstance(answer, LoginRefusal):
        erro = (
            too_soon(answer.espera)
            if answer.espera
            else "Nome, senha ou código não conferem. Cada código vale uma vez só: se já usou este, espere o próximo."
        )
        status = 429 if answer.espera else 401
        response = visita.pagina("entrar.html", status=status, erro=erro, nome=nome[:40], volta=volta)
        if answer.espera:
            response.headers["Retry-After"] = str(answer.espera)
        return response
    response = see_other(volta or INICIO)
    set_cookie(visita.deps, response, answer.token)
    set_device_cookie(visita.deps, response, answer.aparelho)
    return response


async def leave(visita: Visita) -> web.StreamResponse:
    """End the session, in the database too."""
    async with visita.deps.database.transaction() as connection:
        await staff_sessions.close_session(connection, visita.token)
        await audit.write(connection, staff_id=visita.staff.id, quem=visita.staff.nome, acao="saiu")
    response = see_other("/console/entrar")
    response.del_cookie(visita.deps.cookie, path="/", secure=visita.deps.secure or None, httponly=True, samesite="Lax")
    return response


async def show_password(visita: Visita) -> web.StreamResponse:
    """The form to choose a password."""
    return visita.pagina("senha.html", erro=None, minimo=SENHA_MIN, maximo=SENHA_MAX)


async def set_password(visita: Visita) -> web.StreamResponse:
    """Choose a password; all sessions end, and the next login uses it."""
    atual, nova = await visita.campo("atual"), await visita.campo("nova")
    repetida = await visita.campo("repetida")
    erro = await change_password(visita.deps.database, visita.deps.passwords, visita.staff, atual, nova, repetida)
    if erro:
        return visita.pagina("senha.html", status=422, erro=erro, minimo=SENHA_MIN, maximo=SENHA_MAX)
    raise web.HTTPSeeOther("/console/entrar")


def _safe(volta: str) -> str:
    """Return the page to go back to, if it is one of ours."""
    parts = urlsplit(volta)
    ours = not parts.scheme and not parts.netloc and (parts.path == INICIO or parts.path.startswith(f"{INICIO}/"))
    return volta if ours and "\\" not in volta and volta.isprintable() else ""
