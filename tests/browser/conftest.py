"""Chromium for all modules here, and the demo for those that walk the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

import proofs.demo.world
from bot.process.servers import Storage
from bot.settings import Settings
from proofs.demo.world import open_demo
from tests.browser.test_demo_page import CHROMIUM, FLAGS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser

    from proofs.demo.world import Demo


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.fail("This test walks the pages and needs Chromium: install the package `chromium` (.ci/run does).")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
async def demo(database_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo as the command opens it, with a city that decides faster and people who may write without end."""
    settings = Settings(home=tmp_path_factory.mktemp("demo"), port=0, debounce_seconds=0.1, person_answers_burst=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs.demo.world, "PROCESSING_SECONDS", 0.3)
        async with open_demo(settings, Storage(database_url, redis_url, embedded=False)) as demo:
            yield demo
