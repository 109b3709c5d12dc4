"""What every command begins with: settings, servers, and one sentence when something is wrong; works on nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from bot.settings import Settings
    from bot.storage import Storage


def fail(message: str) -> NoReturn:
    """Say what went wrong, and end with status 1."""
    typer.secho(message, fg="red", err=True)
    raise typer.Exit(1)


def settings(*, secrets: bool = False, quiet: bool = False) -> Settings:
    """Read the settings, set the logs up; ends with a sentence when they are wrong, or a secret is missing."""
    from pydantic import ValidationError

    from bot.observability import configure
    from bot.settings import MissingSettingError, Settings

    try:
        read = Settings()
        if secrets:
            read.require_secrets()
    except MissingSettingError as error:
        fail(str(error))
    except ValidationError as error:
        wrong = "; ".join(f"PROSA_{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
        fail(f"These settings are wrong: {wrong}. Nothing was started.")
    configure("WARNING" if quiet else read.log_level, read.log_format)
    return read


def with_storage(
    chosen: Settings, work: Callable[[Storage], Coroutine[object, object, None]], *, migrate: bool = False
) -> None:
    """Open the servers, then run ``work`` on an event loop of its own."""
    import uvloop

    from bot.storage import SchemaError, open_storage
    from persistence.embedded import EmbeddedError

    try:
        with open_storage(chosen, migrate=migrate) as storage:
            uvloop.run(work(storage))
    except (SchemaError, EmbeddedError) as error:
        fail(str(error))
    except typer.Exit:
        raise
    except Exception as error:
        from bot.complaints import complaint

        said = complaint(error)
        if said is None:
            raise
        fail(said)
