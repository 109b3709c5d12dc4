"""What the console needs, handed in by the composition root.

Makes and checks passwords (argon2id) and one-time codes (TOTP, RFC 6238).
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import jinja2
import pyotp
from aiohttp import web
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from operations.channel import KnownChannels
from persistence.conversations.sessions import LiveSessions
from persistence.crypto import Vault
from persistence.db.engine import Database
from persistence.queue.backlog import Backlog
from persistence.queue.inbox import Inbox
from webhooks.bodies import Bodies
from webhooks.console.render.model_spend import Preco
from webhooks.month import Months
from webhooks.whatsapp_payload import Network

SENHA_MIN: Final = 12  # characters; ASVS 5.0 6.2.1 asks for 8 and recommends 15, the second factor makes up for it
SENHA_MAX: Final = 128  # characters; beyond it hashing would be a way to keep us busy
STEP_SECONDS: Final = 30  # RFC 6238's own; what every authenticator uses
DRIFT_STEPS: Final = 1  # a phone's clock may be half a minute off
AT_ONCE: Final = 2  # a check takes 64 MiB and a core for some 50 ms

_hasher = PasswordHasher()  # RFC 9106's second recommended setting
# Somebody who does not exist takes as long as somebody who does: the hash of a password that nobody knows.
NOBODY: Final = "$argon2id$v=19$m=65536,t=3,p=4$7MBHHFq6KY+JgwTVfpHC2Q$/FMJA7bAAv5Yoo3jS+NRQgG9WgHtnyKZBxLySRStvGA"


def new_password() -> str:
    """Return a password of 96 random bits in four groups, to be read out or copied once."""
    text = secrets.token_hex(12)
    return "-".join(text[i : i + 6] for i in range(0, len(text), 6))


def new_secret() -> str:
    """Return a TOTP secret of 160 bits in base32."""
    return pyotp.random_base32()


def enrolment_uri(nome: str, segredo: str) -> str:
    """Return the ``otpauth://`` address that an authenticator reads from a QR code."""
    return pyotp.TOTP(segredo).provisioning_uri(name=nome, issuer_name="Prosa")


def hash_password(senha: str) -> str:
    """Return the argon2id hash to store; takes some 50 ms."""
    return _hasher.hash(senha)


class Passwords:
    """Checks and hashes away from the event loop, few at a time."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def fits(self, senha_hash: str, senha: str) -> bool:
        """Tell whether this is the password of the hash."""
        if len(senha) > SENHA_MAX:
            return False
        async with self._turns:
            return await asyncio.to_thread(_verify, senha_hash, senha)

    async def hashed(self, senha: str) -> str:
        """Return the hash to store."""
        async with self._turns:
            return await asyncio.to_thread(hash_password, senha)


def step_of(segredo: str, codigo: str, agora: datetime) -> int | None:
    """Return the 30-second step whose code this is, at most one step away from ``agora``; ``None``: it is none."""
    totp = pyotp.TOTP(segredo)
    digits = codigo.replace(" ", "").encode()
    now = int(agora.timestamp()) // STEP_SECONDS
    steps = range(now - DRIFT_STEPS, now + DRIFT_STEPS + 1)
    fits = [step for step in steps if hmac.compare_digest(totp.at(step * STEP_SECONDS).encode(), digits)]
    return fits[-1] if fits else None


def _verify(senha_hash: str, senha: str) -> bool:
    try:
        return _hasher.verify(senha_hash, senha)
    except (VerificationError, InvalidHashError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleDeps:
    """``secure``: behind https, where cookies may be ``__Host-`` ones; only the demo on 127.0.0.1 goes without.

    ``channels``: those that a company may be given. ``origins``: what staff read of each kind of origin.
    ``proxies``: whose word about the client's address is believed.
    ``bodies``: the budget for reading forms, of the console alone: whoever fills those of webhooks keeps no staff out.
    """

    database: Database
    inbox: Inbox
    backlog: Backlog
    cofre: Vault
    secure: bool
    templates: jinja2.Environment
    months: Months
    preco: Preco | None = None
    vivas: LiveSessions | None = None  # what Redis holds; an erasure reaches it
    channels: KnownChannels = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    proxies: Sequence[Network] = ()
    bodies: Bodies = field(default_factory=Bodies)
    passwords: Passwords = field(default_factory=Passwords)
    closing: asyncio.Event = field(default_factory=asyncio.Event)  # set when the house stops: streams end

    @property
    def cookie(self) -> str:
        """The name of the session cookie."""
        return "__Host-prosa" if self.secure else "prosa-console"

    def origem(self, kind: str) -> str:
        """Return what staff read of a kind of origin; one that this release does not know is called by its name."""
        return self.origins.get(kind, kind)

    @property
    def device_cookie(self) -> str:
        """The name of the cookie by which a browser that logged in before is known."""
        return "__Host-prosa-aparelho" if self.secure else "prosa-aparelho"


DEPS = web.AppKey("CONSOLE", ConsoleDeps)
