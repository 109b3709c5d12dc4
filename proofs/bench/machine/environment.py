"""The settings of a product under measurement: an operator's, without the wait for a person who is still typing."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proofs.bench.machine.place import Place

META, GATEWAY = MetaConfig(), PlugNotasConfig()
APP_SECRET = META.app_secret
NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens, and nobody is to be called
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


def settings(
    place: Place, database: str, *, graph: str = NOWHERE, register: str = NOWHERE, channel: Mapping[str, str] = _NONE
) -> dict[str, str]:
    """Return the environment with what the ``channel`` of the invoices asks for; logs at the production level."""
    return {
        "PROSA_DATABASE_URL": database,
        "PROSA_REDIS_URL": place.redis_url,
        "PROSA_PORT": "0",
        "PROSA_WHATSAPP_API_URL": graph,
        "PROSA_WHATSAPP_PHONE_NUMBER_ID": META.account.phone_number_id,
        "PROSA_WHATSAPP_ACCESS_TOKEN": META.access_token,
        "PROSA_WHATSAPP_APP_SECRET": META.app_secret,
        "PROSA_WHATSAPP_VERIFY_TOKEN": META.verify_token,
        "PROSA_PLUGNOTAS_URL": NOWHERE,
        "PROSA_PLUGNOTAS_API_KEY": GATEWAY.api_key,
        "PROSA_GATEWAY_WEBHOOK_SECRET": GATEWAY.webhook_secret,
        "PROSA_CNPJ_API_URL": register,
        "PROSA_DEBOUNCE_SECONDS": "0",
        "PROSA_PERSON_ANSWERS_BURST": "1000000",  # counted as ever, and nobody is ever silent
        **channel,
    }
