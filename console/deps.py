"""What the console needs, handed in by the composition root."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web

from console.access.credentials import Passwords
from webhooks.bodies import Bodies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jinja2

    from console.render.model_spend import Preco
    from operations.channel import KnownChannels
    from persistence.conversations.sessions import LiveSessions
    from persistence.crypto import Vault
    from persistence.db.engine import Database
    from persistence.queue.backlog import Backlog
    from persistence.queue.inbox import Inbox
    from webhooks.addresses import Network


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
