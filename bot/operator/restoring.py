"""What ``prosa restaurado`` asks the authorities with: their channels alone, opened for one command."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bot.master_key import vault_of
from bot.policy import lines_of
from gateway.registry import REGISTRY, Channels
from persistence.db.engine import refuse_in_transaction
from persistence.people.certificate_access import KeptCertificates
from state_machine.protocol.channel import Ambiente, Canal
from telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from bot.settings import Settings
    from persistence.db.engine import Database


@asynccontextmanager
async def channels_of(settings: Settings, database: Database) -> AsyncIterator[Channels]:
    """Open the channels; nobody is told how their breakers stand."""
    channels = Channels(
        REGISTRY,
        settings,
        Canal(settings.gateway, Ambiente(settings.fiscal_environment)),
        guard=refuse_in_transaction,
        lines=lines_of(settings, Metrics(), _unheard),
        certificates=KeptCertificates(database, vault_of(settings)),
    )
    try:
        yield channels
    finally:
        await channels.aclose()


def _unheard(_destino: str) -> Callable[[int], None]:
    return lambda _abertos: None
