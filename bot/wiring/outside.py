"""The clients of what is outside: fiscal gateway, WhatsApp, CNPJ register, model."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.extractors import MeteredExtractor, open_extractor
from bot.loops.worker import process_name
from bot.orders.breakers import Breakers
from bot.policy import open_lines
from gateway.plugnotas.adapter import PlugNotas
from gateway.register.cnpj import CNPJRegister
from gateway.whatsapp.client import WhatsApp
from persistence.db.engine import refuse_in_transaction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bot.ports import Extractor, Register
    from bot.wiring.stores import Stores
    from gateway.lines import Lines


@dataclass(frozen=True, slots=True)
class Outside:
    """The open clients, the lines to the gateway, and how the circuit breakers stand."""

    gateway: PlugNotas
    whatsapp: WhatsApp
    register: Register
    extractor: Extractor
    lines: Lines
    breakers: Breakers


@asynccontextmanager
async def open_outside(stores: Stores) -> AsyncIterator[Outside]:
    """Open them; none of them calls anybody under an open transaction."""
    settings = stores.settings
    breakers = Breakers(stores.database, process_name())
    lines = open_lines(settings, stores.metrics, breakers.watch)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            PlugNotas(
                settings.plugnotas_url,
                settings.plugnotas_api_key.get_secret_value(),
                guard=refuse_in_transaction,
                submit_timeout=settings.gateway_timeout_seconds,
                query_timeout=settings.gateway_query_timeout_seconds,
                lines=lines,
                cancel_timeout=settings.cancel_timeout_seconds,
            )
        )
        whatsapp = await stack.enter_async_context(
            WhatsApp(
                settings.whatsapp_api_url,
                settings.whatsapp_phone_number_id,
                settings.whatsapp_access_token.get_secret_value(),
                guard=refuse_in_transaction,
            )
        )
        register = await stack.enter_async_context(CNPJRegister(settings.cnpj_api_url, guard=refuse_in_transaction))
        extractor = await stack.enter_async_context(
            open_extractor(settings, refuse_in_transaction, breakers.watch, stores.budgets.model)
        )
        counted = MeteredExtractor(extractor, stores.database, settings.openai_model)
        yield Outside(gateway, whatsapp, register, counted, lines, breakers)
