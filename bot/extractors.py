"""Chooses the extractor: rules, or rules with a model behind them when there is a key."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from extractor.rules import RulesExtractor
from state_machine.protocol.breaker import Breaker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from bot.settings import Settings
    from extractor.contract import Extractor


@asynccontextmanager
async def open_extractor(
    settings: Settings,
    guard: Callable[[], None],
    watch: Callable[[str], Callable[[bool], None]],
    may_ask: Callable[[str], Awaitable[bool]],
) -> AsyncIterator[Extractor]:
    """Open the extractor of these settings; ``guard`` is called before anything leaves for a model.

    ``watch`` returns what the model's breaker, where there is one, tells its changes to; ``may_ask`` tells whether the
    budget of a conversation allows a question.
    """
    key = settings.openai_api_key.get_secret_value()
    if not key:
        yield RulesExtractor()
        return
    from extractor.hybrid import HybridExtractor  # noqa: PLC0415 - the SDK takes most of a second to import

    async with HybridExtractor(
        api_key=key,
        base_url=settings.openai_base_url,
        model=settings.openai_model,
        before_request=guard,
        breaker=Breaker(clock=time.monotonic, on_change=watch("modelo")),
        may_ask=may_ask,
    ) as extractor:
        yield extractor
