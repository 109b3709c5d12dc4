"""The clients of what is outside: channels to authorities, WhatsApp, CNPJ and CEP registers, model."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.extractors import MeteredExtractor, open_extractor
from bot.loops.worker import process_name
from bot.master_key import vault_of
from bot.orders.breakers import Breakers
from bot.policy import lines_of
from gateway.register.cep import CepRegister
from gateway.register.cnpj import CNPJRegister
from gateway.registry import Channels
from gateway.whatsapp.client import WhatsApp
from persistence.db.engine import refuse_in_transaction
from persistence.people.certificate_access import KeptCertificates
from state_machine.protocol.channel import Ambiente, Canal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from bot.ports import CepLookup, Extractor, Register
    from bot.wiring.stores import Stores
    from gateway.registry import ChannelRow


@dataclass(frozen=True, slots=True)
class Outside:
    """The channels to authorities, the open clients, and how the circuit breakers stand."""

    channels: Channels
    whatsapp: WhatsApp
    register: Register
    cep_register: CepLookup
    extractor: Extractor
    breakers: Breakers


@asynccontextmanager
async def open_outside(stores: Stores, registry: Mapping[str, ChannelRow]) -> AsyncIterator[Outside]:
    """Open them, and the channels of ``registry``; none of them calls anybody under an open transaction."""
    settings = stores.settings
    breakers = Breakers(stores.database, process_name())
    async with AsyncExitStack() as stack:
        channels = Channels(
            registry,
            settings,
            Canal(settings.gateway, Ambiente(settings.fiscal_environment)),
            guard=refuse_in_transaction,
            lines=lines_of(settings, stores.metrics, breakers.watch),
            certificates=KeptCertificates(stores.database, vault_of(settings)),
        )
        stack.push_async_callback(channels.aclose)
        whatsapp = await stack.enter_async_context(
            WhatsApp(
                settings.whatsapp_api_url,
                settings.whatsapp_phone_number_id,
                settings.whatsapp_access_token.get_secret_value(),
                guard=refuse_in_transaction,
            )
        )
        register = await stack.enter_async_context(
            CNPJRegister(settings.cnpj_api_url, timeout=settings.cnpj_api_timeout_seconds, guard=refuse_in_transaction)
        )
        cep_register = await stack.enter_async_context(CepRegister(settings.cep_url, guard=refuse_in_transaction))
        extractor = await stack.enter_async_context(
            open_extractor(settings, refuse_in_transaction, breakers.watch, stores.budgets.model)
        )
        metered = MeteredExtractor(extractor, stores.database, settings.openai_model)
        yield Outside(channels, whatsapp, register, cep_register, metered, breakers)
