"""``prosa doctor``: asks everything that Prosa needs, at the same time, and prints a line for each answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from bot.operator.doctor import Achado
from bot.settings import Settings

ENV_FILE = Path(".env")


def doctor() -> None:
    """Confere configurações, Meta, gateway, banco, Redis, certificados, relógio e disco, sem mudar nada.

    Termina com 0 sem falhas (avisos podem haver), com 1 se algo impede a Prosa de trabalhar.
    """
    from pydantic import ValidationError

    from bot.operator.doctor import Veredito
    from bot.settings import Settings, wrongs
    from telemetry.logs import configure

    configure("ERROR", "console")
    try:
        settings = Settings()
    except ValidationError as error:
        for variable, said in wrongs(error):
            typer.echo(_line("falha", variable, said))
        typer.echo("\nCorrija as configurações e rode de novo: sem elas não há a quem perguntar.")
        raise typer.Exit(1) from None
    found = asyncio.run(_look(settings))
    weights = list(Veredito)
    for each in sorted(found, key=lambda each: -weights.index(each.veredito)):  # what is wrong stands first
        typer.echo(_line(each.veredito, each.assunto, each.dito))
    failed, warned = (sum(each.veredito is kind for each in found) for kind in (Veredito.FALHA, Veredito.AVISO))
    typer.echo(f"\n{failed} falha(s), {warned} aviso(s).")
    raise typer.Exit(1 if failed else 0)


async def _look(settings: Settings) -> list[Achado]:
    from bot.operator.doctor import (
        about_database,
        about_disk,
        about_env_file,
        about_gateway,
        about_history,
        about_meta,
        about_redis,
        about_settings,
    )

    asked = await asyncio.gather(
        about_meta(settings),
        about_gateway(settings),
        about_database(settings),
        about_history(settings),
        about_redis(settings),
    )
    here = [*about_settings(settings), *about_env_file(ENV_FILE), *about_disk(settings.home)]
    return [*here, *(each for lines in asked for each in lines)]


def _line(veredito: str, assunto: str, dito: str) -> str:
    return f"{veredito:<6} {assunto:<36} {dito}"
