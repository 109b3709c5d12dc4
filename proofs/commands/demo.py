"""``prosa demo`` and ``prosa chat``: the words that start the demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import DEMO, Named, until_stopped
from bot.cli.opening import settings as read_settings
from bot.process.run import say

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Sequence

    from bot.process.servers import Storage
    from bot.settings import Settings
    from proofs.demo.world import Demo

NAMED = Named(port="--port", home="--home")


def demo(
    port: Annotated[int | None, typer.Option(help="Porta da página (padrão: PROSA_PORT, ou 8080).")] = None,
    home: Annotated[Path | None, typer.Option(help="Onde a demonstração guarda seus dados.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Mostra os logs, em vez de guardá-los.")] = False,
    with_history: Annotated[
        bool, typer.Option("--with-history", help="Inventa conversas passadas, para experimentar o console.")
    ] = False,
    sessions: Annotated[int, typer.Option(min=1, help="Quantas notas inventar com --with-history.")] = 300,
) -> None:
    """O produto inteiro nesta máquina, sem conta nem chave: abra o endereço e converse."""
    settings = read_settings(quiet=not verbose)
    update = {"home": home or settings.home / DEMO, "port": settings.port if port is None else port}
    # The demo has servers of its own: it must never touch a database that the environment names.
    settings = settings.model_copy(update={**update, "database_url": None, "redis_url": None})

    async def work(storage: Storage, stop: asyncio.Event, sockets: Sequence[socket.socket]) -> None:
        from proofs.demo.world import open_demo

        if not verbose:
            _logs_apart(settings)
        async with open_demo(settings, storage, sockets) as open_:
            typer.echo(f"\nProsa está no ar: {open_.address}\nAbra no navegador e mande uma nota. Ctrl+C encerra.\n")
            _tell_login(open_)
            if with_history:
                await _invent(open_, storage, sessions)
            await stop.wait()
            say("Encerrando; as conversas ficam guardadas.\n")

    until_stopped(settings, work, port=settings.port, named=NAMED)


def chat(
    home: Annotated[Path | None, typer.Option(help="Onde a demonstração guarda seus dados.")] = None,
) -> None:
    """Conversa com a demonstração aqui no terminal."""
    settings = read_settings(quiet=True)
    # A home of its own: the demo page may be running with its simulators at the same time.
    update = {"home": home or settings.home / "chat", "port": 0, "database_url": None, "redis_url": None}
    settings = settings.model_copy(update=update)

    async def work(storage: Storage, stop: asyncio.Event, sockets: Sequence[socket.socket]) -> None:
        from proofs.demo.chat import Terminal
        from proofs.demo.world import USERS, open_demo

        _logs_apart(settings)
        async with open_demo(settings, storage, sockets) as open_:
            me = USERS[0]
            await Terminal(open_.world.meta, me.wa_id, me.name, settings.home / "notas").converse(stop)

    until_stopped(settings, work, port=settings.port, named=NAMED)


def _logs_apart(settings: Settings) -> None:
    """Write the logs beside those of the servers: the terminal is for the words to who looks at it."""
    from telemetry.logs import configure

    path = settings.home / "logs" / "prosa.log"
    configure("WARNING", settings.log_format, path.open("a", buffering=1, encoding="utf-8"))


def _tell_login(open_: Demo) -> None:
    import pyotp

    login = open_.login
    typer.echo(f"Console do suporte: {open_.address}/console")
    typer.echo(f"  nome {login.nome} · senha {login.senha} · código de agora {pyotp.TOTP(login.segredo).now()}")
    typer.echo(f"  outro código, a cada 30 s: ./prosa staff code, e o segredo {login.segredo}\n")
    typer.echo(
        "\n  ".join(
            [
                "API (docs/api.md), e os dados daqui para outros comandos:",
                *open_.exports(),
            ]
        )
        + "\n"
    )


async def _invent(open_: Demo, storage: Storage, sessions: int) -> None:
    from proofs.history import HistoryExistsError, invent, tidy

    try:
        rows = await invent(open_.house.database, sessions)
        await tidy(storage.owner_url or storage.database_url)
    except HistoryExistsError:
        typer.echo("As conversas passadas já estavam aqui.")
    else:
        typer.echo(f"Inventei {sessions} notas passadas ({rows} linhas no diário); veja no console.")
