"""What the webhooks need, handed in by the composition root; refuses to exist without secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import web

from webhooks.bodies import Bodies
from webhooks.figures import Figures

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from persistence.db.engine import Database
    from persistence.queue.backlog import Backlog
    from persistence.queue.inbox import Inbox
    from telemetry.metrics import Metrics


class NamedNote(Protocol):
    """A note that a gateway's webhook names."""

    @property
    def id_externo(self) -> str | None:
        """The gateway's id."""

    @property
    def id_integracao(self) -> str:
        """Ours."""

    @property
    def protocolo(self) -> str | None:
        """The gateway's receipt."""

    @property
    def parte(self) -> Any:
        """The part of the body that names it, as JSON."""


@dataclass(slots=True)
class Doors:
    """Whether the process takes requests; closed when it is about to stop, so that senders try again elsewhere."""

    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDeps:
    """Secrets are bytes, two of a kind while they are rotated.

    ``gateway_headers`` is empty where the gateway cannot send ``X-Prosa-Secret``. Without ``gateway_paths``, where no
    gateway is used, its door opens to nobody.
    ``ping_redis`` raises when Redis is away. ``metrics_token`` opens ``/metrics``; without it only a probe port does.
    ``bodies`` is the process's one budget for what has not been authenticated yet.
    """

    inbox: Inbox
    backlog: Backlog
    database: Database
    metrics: Metrics
    whatsapp_secrets: Sequence[bytes]
    whatsapp_verify_token: bytes
    gateway_paths: Sequence[bytes]
    gateway_headers: Sequence[bytes]
    read_hints: Callable[[bytes], Sequence[NamedNote]]
    ping_redis: Callable[[], Awaitable[object]]
    metrics_token: bytes | None = None
    bodies: Bodies = field(default_factory=Bodies)
    doors: Doors = field(default_factory=Doors)
    figures: Figures = field(init=False)

    def __post_init__(self) -> None:
        needed = (self.whatsapp_verify_token, *self.whatsapp_secrets, *self.gateway_paths, *self.gateway_headers)
        half = self.gateway_headers and not self.gateway_paths
        if not self.whatsapp_secrets or half or not all(needed):
            raise ValueError(
                "webhooks need a WhatsApp app secret, a verify token and whole gateway secrets, none empty"
            )
        object.__setattr__(self, "figures", Figures(self.metrics))  # once, as any field of a frozen class


DEPS = web.AppKey("DEPS", WebhookDeps)
