from __future__ import annotations

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from aiohttp import web
from pydantic import SecretStr
from structlog.testing import capture_logs

from bot.cli.words import COLLECT
from bot.process.run import PARTS, run, settle
from bot.process.servers import listening, open_storage
from bot.settings import Settings
from webhooks.whatsapp_payload import networks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bot.house import House


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    """The collector as it was, for the other tests."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Knot:
    """Something that refers to itself."""

    def __init__(self) -> None:
        self.me = self


async def test_a_process_that_runs_for_long_lets_the_collector_leave_alone_what_is_loaded() -> None:
    """Once it works, modules and classes are out of the collector's reach: it stops for nothing that stays anyway."""

    async def work(_: asyncio.Event) -> None:
        assert gc.get_freeze_count() > 10_000

    house: Any = SimpleNamespace(work=work, probe_app=web.Application, settings=Settings())
    stop = asyncio.Event()
    stop.set()
    assert gc.get_freeze_count() < 10_000
    await run(cast("House", house), stop, PARTS["worker"], [])
    assert gc.get_freeze_count() > 10_000


def test_what_comes_later_is_still_collected() -> None:
    """Cycles that requests and turns leave behind are found as always, so memory stays flat."""
    settle()
    seen = weakref.ref(Knot())
    kept = [Knot() for _ in range(2 * COLLECT[0])]
    assert seen() is None
    assert len(kept) == 2 * COLLECT[0]


@pytest.mark.parametrize(("key", "proxies", "warned"), [("k", "", 1), ("k", "10.0.0.5", 0), ("", "", 0)])
async def test_a_console_whose_proxy_is_not_named_is_warned_of(key: str, proxies: str, warned: int) -> None:
    """At the start of what serves it, when somebody can log in at all and no proxy is trusted."""
    settings = Settings().model_copy(update={"master_key": SecretStr(key), "trusted_proxies": networks(proxies)})
    stop = asyncio.Event()
    stop.set()
    house: Any = SimpleNamespace(web_app=web.Application, settings=settings)
    with listening("127.0.0.1", 0, port="PROSA_PORT") as sockets, capture_logs() as logs:
        await run(cast("House", house), stop, PARTS["web"], sockets)
    assert [entry["event"] for entry in logs].count("trusted_proxies_unset") == warned


def test_each_database_has_a_witness_in_the_home_of_whoever_uses_it(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    """Redis may forget in the same minute in which a copy is put back; without a place for a file nothing is lost."""

    def opened(home: Path, url: str = database_url) -> Path | None:
        with open_storage(Settings(database_url=SecretStr(url), redis_url=SecretStr(redis_url), home=home)) as storage:
            return storage.witness_file

    file = opened(tmp_path / "home")
    assert file is not None
    assert file.parent == tmp_path / "home"
    assert file.parent.is_dir()
    assert opened(tmp_path / "home", f"{database_url}?application_name=other") == file
    (tmp_path / "taken").write_text("")
    assert opened(tmp_path / "taken" / "home") is None
